"""What the documents show, and a shell that runs it as it stands.

A fenced block is named by the words behind its marks. `sh` is run, in the order of the page, in one shell whose folder,
variables and jobs stay: `sh status=2` must end so, all others well. `text` behind it is what it prints: every line of it;
with `text about` the lines shown are among those printed, in that order, and numbers with their units are any numbers (not in
a line that begins with "done:"); of one that begins with "bottleneck:" no more than that counts, and "…" is for the eye.
"""
import os
import pathlib
import queue
import re
import subprocess
import threading
import time
from typing import NamedTuple

MARK = "=== end of a block ==="
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?: ?(?:ns|µs|ms|s|min|B|KiB|MiB|GiB)\b)?")


class Block(NamedTuple):
    words: list  # ["sh", "status=2"]
    text: str
    line: int

    @property
    def language(self):
        return self.words[0] if self.words else ""


def blocks(path):
    found, opened = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        if opened is None and line.startswith("```"):
            opened = Block(line[3:].split(), "", number)
        elif opened is not None and line.startswith("```"):
            found.append(opened)
            opened = None
        elif opened is not None:
            opened = opened._replace(text=opened.text + line)
    assert opened is None, f"{path}:{opened.line}: the block does not end"
    return found


def about(line):
    """an expression for lines like this one"""
    if line.startswith("done:"):
        return re.escape(line)
    if line.startswith("bottleneck:"):
        return "bottleneck: .*"
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in re.split(r" +", NUMBER.sub("\0", line))]
    return r"\s+".join(parts).replace(re.escape("\0"), NUMBER.pattern)


def compare(expected, printed, loosely):
    """None, or what is wrong"""
    if not loosely:
        return None if expected.strip() == printed.strip() else f"printed\n{printed}\ninstead of\n{expected}"
    lines = iter(printed.splitlines())
    for wanted in expected.splitlines():
        if wanted.strip() != "…" and not any(re.fullmatch(about(wanted), line.rstrip()) for line in lines):
            return f"no line like\n  {wanted}\n(behind those before it) in\n{printed}"
    return None


class Shell:
    """bash, block after block; one that does not end as it should ends the shell"""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=folder, env={**environment, "SHELLOPTS": "errexit:pipefail"}, start_new_session=True)
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def run(self, block, seconds):
        """what it prints"""
        status = [word.removeprefix("status=") for word in block.words if word.startswith("status=")]
        before, after = ("set +e\n", "; set -e\n") if status else ("", "\n")
        self.process.stdin.write(f"{before}{block.text}printf '%s %s\\n' '{MARK}' $?{after}")
        self.process.stdin.flush()
        printed, deadline = "", time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"line {block.line}: not over after {seconds} s:\n{block.text}\n{printed}") from None
            assert line is not None, f"line {block.line}: failed:\n{block.text}\n{printed}"
            if line.startswith(MARK):
                break
            printed += line
        ended = line.split()[-1]
        assert ended == (status or ["0"])[0], f"line {block.line}: ended with {ended}:\n{block.text}\n{printed}"
        return printed

    def close(self):
        try:
            os.killpg(self.process.pid, 15)  # its own session: the jobs that were left
        except ProcessLookupError:
            pass
        self.process.wait(30)


def run_page(page, shell, chosen=lambda block: True, seconds=60):
    """Runs the blocks and compares what they print; how many were run, and how many compared."""
    ran = compared = 0
    printed = None
    for block in blocks(page):
        if block.language == "sh":
            printed = shell.run(block, seconds) if chosen(block) else None
            ran += printed is not None
        elif block.language == "text" and printed is not None:
            wrong = compare(block.text, printed, "about" in block.words)
            assert not wrong, f"{page.name}:{block.line}: {wrong}"
            compared += 1
            printed = None
    return ran, compared


def repository(root, build, folder):
    """A folder with all of the sources by reference, and this build as `build`: what the documents take for the place they are in."""
    folder.mkdir()
    for entry in root.iterdir():
        if entry.name not in ("build", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    for entry in build.iterdir():
        if entry.name != "venv":
            (folder / "build" / entry.name).symlink_to(entry)
    (folder / "build" / "venv").symlink_to(pathlib.Path(os.environ.get("HR_VENV") or root / "build" / "venv"))
    return folder


LINK = re.compile(r"(!?)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def prose(path):
    """its lines; those of fenced and indented blocks are empty"""
    lines, fenced = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        mark = line.startswith("```")
        lines.append("" if mark or fenced or line.startswith("    ") else line)
        fenced ^= mark
    return lines


def links(path):
    """(line, target, whether it is an image), of what does not stand in `code`"""
    text = re.sub(r"`[^`\n]*`", lambda code: "x" * len(code[0]), "\n".join(prose(path)))
    for found in LINK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[2], found[1] == "!"


def anchors(path):
    """the names that GitHub gives to headings, and those that stand there as <a id="">"""
    found, seen = set(), {}
    for line in prose(path):
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
        heading = re.match(r"#{1,6} +(.*?)(?: +#+)?$", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", text.lower().replace("`", "")).replace(" ", "-")
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
    return found
