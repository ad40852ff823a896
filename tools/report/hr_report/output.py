"""Where the page goes."""
import os
import pathlib
import sys

from .record import BadRun


def write(path, text, read):
    if path == "-":
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    if any(os.path.exists(path) and os.path.samefile(path, other) for other in read):
        raise BadRun(f"{path}: this is one of the runs; a page is not written over it")
    pathlib.Path(path).write_text(text, encoding="utf-8")
