"""Where the page goes, and what else is said on stdout. What cannot be written is an OSError with the name of what it is."""
import errno
import os
import pathlib
import sys

from .record import BadRun


def write_stdout(text):
    try:
        if sys.stdout is None:  # it was closed before we began
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        # a buffer of its own: of that of sys.stdout Python would write what is left once more at the end
        with open(sys.stdout.fileno(), "wb", closefd=False) as file:
            file.write(text.encode())
    except OSError as error:
        error.filename = "stdout"
        raise


def write_file(path, text):
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        error.filename = path  # known of what cannot be opened, not of a full disk
        raise


def write(path, text, read):
    if path == "-":
        write_stdout(text)
        return
    if any(os.path.exists(path) and os.path.samefile(path, other) for other in read):
        raise BadRun(f"{path}: this is one of the runs; a page is not written over it")
    write_file(path, text)
