"""Contestants of a benchmark as processes that obey lines, and what they and all below them have cost."""
import os
import pathlib
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")


def processes():
    """process id -> (parent's, user seconds, system seconds, both of children that have ended, which are counted in)"""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            text = pathlib.Path(f"/proc/{name}/stat").read_text()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        user, system, user_children, system_children = map(int, fields[11:15])
        found[int(name)] = (int(fields[1]), (user + user_children) / TICK, (system + system_children) / TICK,
                           (user_children + system_children) / TICK)
    return found


def tree(root):
    found = processes()
    members = {root}
    while True:
        more = {pid for pid, (parent, *_) in found.items() if parent in members} - members
        if not more:
            return {pid: found[pid] for pid in members if pid in found}
        members |= more


class Process:
    """something that obeys lines and answers with lines; @start: what starts it, if it is to be somewhere else"""
    def __init__(self, command, start=subprocess.Popen, **options):
        self.process = start([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        # nobody may wait for us to read what it has to say
        self.words = []
        threading.Thread(target=lambda: self.words.extend(self.process.stderr), daemon=True).start()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            time.sleep(0.2)
            said = b"".join(self.words).decode(errors="replace").strip().splitlines()
            raise RuntimeError((said or [f"ended with {self.process.returncode}"])[-1])
        return line

    def send(self, text):
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will say why

    def ask(self, text):
        self.send(text)
        return self.read()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def cpu(self):
        members = tree(self.process.pid).values()
        return sum(m[1] for m in members) * 1e3, sum(m[2] for m in members) * 1e3

    def clock(self):
        """CPU ms of the whole tree, to the nanosecond, but for those that have ended"""
        # the kernel's number for the processor clock of a process
        return sum(time.clock_gettime(~pid << 3 | 2) + ended
                   for pid, (*_, ended) in tree(self.process.pid).items()) * 1e3

    def memory(self):
        """proportional set size of the whole tree: shared pages count once"""
        total = 0
        for pid in tree(self.process.pid):
            try:
                lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        return total
