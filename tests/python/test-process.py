#!/usr/bin/env python3
"""headrace.Loader(process=True): the same as in this process, and how each of the two ends when the other does."""
import contextlib
import gc
import logging
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import time

import headrace
import tap
from dataset import DataSet, WithData, ids
from headrace import process

LONG = os.environ.get("HR_PROCESS_LONG") == "1"
ROUNDS = 40 if LONG else 4


def load(text, **options):
    return headrace.Loader(text, framework="numpy", **{"process": True, **options})


def digests(batches):
    return [batch.batch.digest() for batch in batches]


def through(loader):
    """the rest of the run, over all epochs"""
    while (batch := next(loader, None)) is not None:
        yield batch


def pid_of(loader):
    return loader._pipeline._pid


def run_python(code, *args, **options):
    return subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **options)


def is_there(pid):
    """and no zombie either"""
    return os.path.exists(f"/proc/{pid}")


def wait_until_gone(pid):
    """of a process that is not a child of this one"""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = process.select.poll()
    poll.register(fd, process.select.POLLIN)
    gone = poll.poll(30_000)
    os.close(fd)
    if not gone:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"process {pid} has not ended")


@contextlib.contextmanager
def interrupted(case, after):
    """KeyboardInterrupt behind so many seconds, which `case` expects"""
    def interrupt(*_unused):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with case.assertRaises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, after)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def patched(name, value):
    """of headrace.process"""
    before = getattr(process, name)
    setattr(process, name, value)
    try:
        yield before
    finally:
        setattr(process, name, before)


def halt(pid):
    os.kill(pid, signal.SIGSTOP)
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():  # each of its threads gets there in its own time
        while (task / "stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)


class Same(WithData):
    def test_bytes(self):
        """every batch is the same, byte for byte, with its numbers and where its samples come from"""
        for tail in ("prefetchqueue ! patchify", "prefetchqueue"):
            here = list(through(load(self.data.pipeline(tail=tail), epochs=2, process=False)))
            there = list(through(load(self.data.pipeline(tail=tail), epochs=2)))
            self.assertEqual(digests(there), digests(here))
            self.assertEqual(len(set(digests(here))), 12)
            for a, b in zip(here, there):
                self.assertEqual(list(a), list(b))
                self.assertEqual(a.batch.samples, b.batch.samples)
                self.assertEqual([(x.batch.step, x.batch.epoch, x.batch.place, x.batch.block_end) for x in (a,)],
                                 [(x.batch.step, x.batch.epoch, x.batch.place, x.batch.block_end) for x in (b,)])

    def test_options(self):
        """rank, seed, limit, variables, properties and cpus get there"""
        text = self.data.pipeline(size="${SIZE}").replace("imagedecode", "imagedecode name=decode")
        options = {"variables": {"SIZE": 3}, "properties": {"decode.workers": 3, "memory": "1GiB"}, "seed": 5, "rank": 1,
                   "world": 2, "limit": 17, "cpus": 1}
        here = load(text, process=False, **options)
        there = load(text, **options)
        self.assertEqual(digests(there), digests(here))
        self.assertIn("cpus=1 ", str(there._pipeline))

    def test_epochs(self):
        """epochs, set_epoch, n_steps and len"""
        loader = load(self.data.pipeline(head="scan=lines"), epochs=2)
        with self.assertRaisesRegex(TypeError, "not known"):
            len(loader)
        first = ids(loader)
        self.assertEqual(len(loader), 12)
        self.assertEqual(sorted(first), sorted(f"r{i}" for i in range(23)))
        with self.assertRaisesRegex(ValueError, "next epoch of this loader is 1"):
            loader.set_epoch(3)
        loader.set_epoch(1)
        self.assertNotEqual(ids(loader), first)
        self.assertEqual(list(loader), [])
        loader.close()
        self.assertEqual(len(loader), 12)

    def test_going_on(self):
        """a state is the same document, and goes on in either kind of loader"""
        text = self.data.pipeline()
        whole = digests(through(load(text, epochs=2, process=False)))
        here, there = load(text, epochs=2, process=False), load(text, epochs=2)
        for step in range(len(whole)):
            held = next(there)
            next(here)
            self.assertEqual(there.state_dict(), here.state_dict())
            self.assertEqual(there.state_dict(held), here.state_dict())
            if step % 3 == 0 or LONG:
                for other in (True, False):
                    again = load(text, epochs=2, process=other)
                    again.load_state_dict(there.state_dict())
                    self.assertEqual(digests(through(again)), whole[step + 1:])
        state = there.state_dict()
        there.close()
        self.assertEqual(there.state_dict(), state)

    def test_look_ahead(self):
        """a loop that looks ahead names any batch it has held"""
        loader = load(self.data.pipeline())
        batches = [next(loader) for _ in range(4)]
        for at in range(3):
            again = load(self.data.pipeline())
            again.load_state_dict(loader.state_dict(batches[at]))
            self.assertEqual(digests([next(again)]), digests([batches[at + 1]]))

    def test_copies(self):
        """a loader is pickled with its place, and taken back to a state it had"""
        loader = load(self.data.pipeline())
        next(loader)
        state = loader.state_dict()
        twin = pickle.loads(pickle.dumps(loader))
        rest = digests(loader)
        self.assertEqual(digests(twin), rest)
        self.assertIsInstance(twin._pipeline, process.ProcessPipeline)
        loader.load_state_dict(state)
        self.assertEqual(digests(loader), rest)

    def test_skipped(self):
        """what is skipped is logged as from here"""
        data = DataSet(bad=(5, 17))
        logs, batches = [], []
        for other in (False, True):
            with self.assertLogs("headrace", logging.WARNING) as logged:
                batches.append(list(load(data.pipeline(head="on-error=skip"), epochs=1, process=other)))
            logs.append(sorted(logged.output))
        self.assertEqual(logs[0], logs[1])
        self.assertEqual(len(logs[1]), 2)
        self.assertEqual([b.batch.samples for b in batches[0]], [b.batch.samples for b in batches[1]])
        data.remove()

    def test_many_messages(self):
        """more messages than a socket holds come before one batch"""
        with tempfile.TemporaryDirectory(prefix="headrace-python-") as folder:
            lines = ["{broken\n"] * 5000 + ['{"messages": [{"role": "user", "content": "a"}, {"role": "assistant",'
                                            ' "content": "b"}]}\n']
            pathlib.Path(folder, "a.jsonl").write_text("".join(lines), encoding="utf-8")
            text = f"on-error=skip filesrc location={folder}/ ! jsonlparse ! batch size=5001 ! appsink"
            with self.assertLogs("headrace", logging.WARNING) as logged:
                self.assertEqual(len(list(load(text, epochs=1))), 1)
            self.assertEqual(len(logged.output), 5000)

    def test_errors(self):
        """errors are the same classes, kinds and lines"""
        data = DataSet(bad=(2,))
        with tempfile.TemporaryDirectory(prefix="headrace-python-") as empty:
            texts = [data.pipeline(), "filesrc location=/no/such/folder/ ! jsonlparse ! appsink",
                     f"filesrc location={empty}/ ! jsonlparse ! appsink", "filesrc location=x ! nonsense ! appsink",
                     "fakesrc ! fakesink", self.data.pipeline(head="world=2 rank=3"),
                     self.data.pipeline(source="colour=red"),
                     "filesrc location=${NOBODY_SETS_THIS} ! jsonlparse ! appsink"]
            raised = 0
            for text in texts:
                errors = []
                for other in (False, True):
                    with self.assertRaises(headrace.Error) as caught:
                        list(load(text, process=other, epochs=1))
                    errors.append(caught.exception)
                self.assertEqual(*[(type(e), e.kind, str(e)) for e in errors])
                raised += isinstance(errors[1], headrace.ParseError)
            self.assertGreater(raised, 2)
        data.remove()
        loader = load(self.data.pipeline())
        next(loader)
        other = load(self.data.pipeline(), seed=9)
        other.load_state_dict(loader.state_dict())
        with self.assertRaisesRegex(headrace.Error, "seed.* was 3 and is 9"):
            next(other)

    def test_error_again(self):
        """a run that has failed says so again, and what is known of it stays known"""
        data = DataSet(bad=(9,))
        loader = load(data.pipeline(), epochs=1)
        said = []
        for _ in range(2):
            with self.assertRaises(headrace.DataError) as caught:
                list(loader)
            said.append(str(caught.exception))
        self.assertEqual(said[0], said[1])
        self.assertEqual(loader.stats()["status"], "failed")
        loader.close()
        self.assertEqual(loader.stats()["status"], "failed")
        data.remove()


class Place(WithData):
    def test_surroundings(self):
        """environment, working directory and stderr are this process's at the time of the start"""
        code = ("import headrace, os, sys\nos.environ['HR_DEBUG'] = 'core:3'\nos.chdir(sys.argv[2])\n"
                "loader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\n"
                "print(len(next(loader)['ids'] if 'ids' in (b := next(loader)) else b))\nloader.close()\n")
        folder = str(self.data.folder)
        text = self.data.pipeline().replace(folder, pathlib.Path(folder).name)
        child = run_python(code, text, str(self.data.folder.parent))
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, err)
        self.assertIn("started", err)

    def test_nice(self):
        """the pipeline's threads are as nice as told"""
        loader = load(self.data.pipeline(), nice=11)
        next(loader)
        nice = []
        for stat in pathlib.Path(f"/proc/{pid_of(loader)}/task").glob("*/stat"):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            nice.append((name, int(rest.split()[16])))
        loader.close()
        self.assertGreater(sum(value == 11 for _, value in nice), 5, nice)
        for wrong in ({"nice": 5, "process": False}, {"nice": 20}):
            with self.assertRaisesRegex(ValueError, "nice="):
                load(self.data.pipeline(), **wrong)

    def test_live(self):
        """a live property is set over there, a frozen one is refused as here"""
        text = self.data.pipeline(tail="prefetchqueue name=q")
        loader = load(text, epochs=1)
        next(loader)
        loader._pipeline.set("q", "max-batches", 1)
        with self.assertRaisesRegex(headrace.Error, "max-batches"):
            loader._pipeline.set("q", "max-batches", "many")
        with self.assertRaises(KeyError):
            loader._pipeline.set("nobody", "workers", 2)
        self.assertEqual(len(list(loader)), 5)

    def test_stats(self):
        """numbers of a run, also behind its end"""
        loader = load(self.data.pipeline(), epochs=1)
        list(loader)
        self.assertGreaterEqual(loader.stats()["samples"], 23)
        self.assertEqual(loader.stats()["status"], "ended")
        loader.close()
        self.assertIn("wait_ratio", loader.stats())


class Memory(WithData):
    def test_held(self):
        """all batches held at once stay what they were, behind the end of the process too"""
        loader = load(self.data.pipeline(), epochs=2)
        held = [(batch["pixel_values"], batch["pixel_values"].tobytes()) for batch in through(loader)]
        pid = pid_of(loader)
        loader.close()
        self.assertFalse(is_there(pid))
        del loader
        gc.collect()
        self.assertEqual(len(held), 12)
        for array, data in held:
            self.assertEqual(array.tobytes(), data)

    def test_written(self):
        """the trainer may write into what it got, and harms nothing"""
        wanted = digests(through(load(self.data.pipeline(), epochs=2, process=False)))
        got = []
        for batch in through(load(self.data.pipeline(), epochs=2)):
            got.append(batch.batch.digest())
            batch["pixel_values"][:] = 7
        self.assertEqual(got, wanted)

    def test_nothing_left(self):
        """closed or dropped in the middle, again and again: no process, no descriptor, no name"""
        def left():
            gc.collect()
            return len(os.listdir("/proc/self/fd")), sorted(os.listdir("/dev/shm"))
        before = left()
        for n in range(ROUNDS):
            loader = load(self.data.pipeline())
            for _ in range(n % 3):
                next(loader)
            pid = pid_of(loader)
            if n % 2:
                loader.close()
                self.assertTrue(pid == 0 or not is_there(pid))
            del loader
            gc.collect()
            self.assertTrue(pid == 0 or not is_there(pid))
        self.assertEqual(left(), before)


class Ends(WithData):
    def test_child_killed(self):
        """the process is killed at any moment: said with the signal; what was delivered stays; the state goes on"""
        text = self.data.pipeline()
        whole = digests(through(load(text, epochs=2, process=False)))
        for n in range(ROUNDS):
            number = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)[n % 3]
            loader = load(text, epochs=2)
            held = [next(loader) for _ in range(1 + n % 5)]
            pid = pid_of(loader)
            os.kill(pid, number)
            with self.assertRaises(headrace.ResourceError) as caught:
                for batch in through(loader):  # what was on its way may come yet
                    held.append(batch)
            self.assertIn(f"pid {pid}) was killed by signal {number.value} ({number.name})", str(caught.exception))
            self.assertIsInstance(caught.exception, OSError)
            self.assertFalse(is_there(pid))
            with self.assertRaisesRegex(headrace.ResourceError, "was killed"):
                next(loader)
            self.assertEqual(digests(held), whole[:len(held)])
            again = load(text, epochs=2)
            again.load_state_dict(loader.state_dict())
            self.assertEqual(digests(through(again)), whole[len(held):])
            loader.close()

    def test_killed_in_start(self):
        """killed before anything was delivered"""
        loader = load("appsrc name=in ! appsink")
        loader._start()
        os.kill(pid_of(loader), signal.SIGKILL)
        with self.assertRaisesRegex(headrace.ResourceError, "SIGKILL"):
            next(loader)

    def test_taken_status(self):
        """a program that lets the kernel reap its children is told what can be told"""
        code = ("import headrace, os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                "loader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\nnext(loader)\n"
                "os.kill(loader._pipeline._pid, 9)\ntry:\n    list(loader)\nexcept headrace.ResourceError as error:\n"
                "    print(error)\nother = headrace.Loader(sys.argv[1], framework='numpy', process=True)\nnext(other)\n"
                "other.close()\nprint('closed')\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=60)
        self.assertRegex(out, "how is not known[^\n]*\nclosed\n", err)

    def _parent(self, forked):
        code = ("import headrace, os, sys, time\n"
                "loader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\nnext(loader)\n"
                "child = os.fork() if sys.argv[2] else 0\n"
                "if sys.argv[2] and child == 0:\n    time.sleep(60)\n    os._exit(0)\n"
                "print(loader._pipeline._pid, child, flush=True)\n"
                "for batch in loader:\n    pass\nfor batch in loader:\n    pass\ntime.sleep(60)\n")
        parent = run_python(code, self.data.pipeline(), "fork" if forked else "")
        line = parent.stdout.readline()
        self.assertTrue(line, parent.communicate()[1] if not line else "")
        pid, sibling = map(int, line.split())
        self.assertTrue(is_there(pid))
        return parent, pid, sibling

    def test_parent_killed(self):
        """the loader is killed: its process ends, also while a child of the loader holds the sockets open"""
        for n in range(ROUNDS // 2):
            parent, pid, sibling = self._parent(forked=n % 2)
            parent.kill()
            parent.wait()
            wait_until_gone(pid)
            if sibling:
                self.assertTrue(is_there(sibling))
                os.kill(sibling, signal.SIGKILL)
            parent.communicate()

    def test_exit(self):
        """the interpreter ends in the middle of a run, with arrays held: nothing is left, and nothing is said"""
        code = ("import sys, headrace\nloader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\n"
                "held = [next(loader)['pixel_values'] for _ in range(2)]\nprint(loader._pipeline._pid)\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=60)
        self.assertEqual((err, child.returncode), ("", 0))
        wait_until_gone(int(out))

    def test_interrupt(self):
        """Ctrl-C in a terminal reaches both: the loader's program says what it means, its process goes on"""
        code = ("import headrace, os, sys\nloader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\n"
                "got = [next(loader)]\nprint(loader._pipeline._pid, flush=True)\n"
                "idle = headrace.Loader('appsrc name=in ! appsink', framework='numpy', process=True)\n"
                "try:\n    next(idle)\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
                "idle.close()\ngot += list(loader)\n"
                "print(' '.join(batch.batch.digest() for batch in got))\n")
        child = run_python(code, self.data.pipeline(), start_new_session=True)
        pid = int(child.stdout.readline())
        while len(pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()) < 2:
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=60)
        wanted = digests(load(self.data.pipeline(), process=False, epochs=1))
        self.assertEqual(out, "interrupted\n" + " ".join(wanted) + "\n", err)
        self.assertEqual(child.returncode, 0)
        wait_until_gone(pid)

    def test_interrupted_pull(self):
        """a pull that was broken off while it waits is gone on with: no batch is lost"""
        text = "fakesrc num-buffers=6 ! identity sleep=1500ms ! batch size=2 ! appsink"
        wanted = digests(load(text.replace("1500ms", "0s"), process=False))
        loader = load(text)
        loader._start()
        with interrupted(self, 0.05):  # long before there is anything
            next(loader)
        self.assertEqual(digests(through(loader)), wanted)

    def test_deaf(self):
        """questions to a process that does not answer are broken off by Ctrl-C; then it and the loader go on"""
        loader = load(self.data.pipeline())
        wanted = digests(load(self.data.pipeline(), process=False, epochs=1))
        got = digests([next(loader)])
        halt(pid_of(loader))
        for ask in (loader.stats, lambda: loader.n_steps, loader.stats):
            with interrupted(self, 0.1):
                ask()
        os.kill(pid_of(loader), signal.SIGCONT)
        self.assertIsNone(loader.n_steps)  # and no answer to an earlier question
        self.assertEqual(loader.stats()["status"], "running")
        self.assertEqual(got + digests(loader), wanted)

    def test_deaf_start(self):
        """so is a start, and the next batch that is asked for starts anew"""
        loader = load(self.data.pipeline())
        deaf = []

        def spawn(*ends):
            deaf.append(spawned(*ends))
            halt(deaf[0])
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            return deaf[0]

        with patched("_LEAVE_TIME", 0.2), patched("_spawn", spawn) as spawned, interrupted(self, 60):
            next(loader)
        self.assertFalse(is_there(deaf[0]))
        self.assertEqual(len(list(loader)), 6)

    def test_deaf_end(self):
        """a loader that is closed waits so long for a process that hangs, and kills it then"""
        loader = load(self.data.pipeline())
        held = next(loader)
        state = loader.state_dict()
        pid = pid_of(loader)
        halt(pid)
        with patched("_LEAVE_TIME", 0.2):
            loader.close()
        self.assertFalse(is_there(pid))
        self.assertEqual(loader.state_dict(), state)
        with self.assertRaisesRegex(headrace.ResourceError, rf"\(pid {pid}\) was killed by signal 9"):
            loader.stats()
        del held

    def test_deaf_after_stop(self):
        """also for one that hangs once it was asked to leave"""
        loader = load(self.data.pipeline())
        next(loader)
        pid = pid_of(loader)
        loader._pipeline.stop()
        halt(pid)
        with patched("_LEAVE_TIME", 0.2):
            loader.close()
        self.assertFalse(is_there(pid))

    def test_few_descriptors(self):
        """where a process may have few open, the error says so"""
        code = ("import headrace, resource, sys\nfor n in range(8, 24):\n"
                "    resource.setrlimit(resource.RLIMIT_NOFILE, (n, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
                "    try:\n        loader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\n"
                "        print(len(list(loader)))\n"
                "    except OSError as error:\n        assert 'Too many open' in str(error) or 'descriptors' in str(error), error\n"
                "    loader.close()\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=120)
        self.assertEqual((child.returncode, out.splitlines()[-1:]), (0, ["6"]), err)

    def test_closed_unused(self):
        """a loader that was closed before its first batch has none, and starts no process"""
        loader = load(self.data.pipeline())
        loader.close()
        with patched("PROGRAM", "/nowhere/headrace-worker"):
            self.assertEqual(list(loader), [])
            self.assertIsNone(next(loader, None))
        loader.close()

    def test_fork(self):
        """a child of fork() that uses the loader is told not to, and its end harms nothing"""
        loader = load(self.data.pipeline())
        wanted = digests(load(self.data.pipeline(), process=False, epochs=1))
        got = digests([next(loader)])
        child = os.fork()
        if child == 0:
            status = 1
            try:
                next(loader)
            except headrace.CoreError as error:
                status = error.kind != "forked"
            try:
                loader.close()
                del loader
                gc.collect()
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(got + digests(loader), wanted)

    def test_made_before_fork(self):
        """a loader that was made, and not started, works on both sides of a fork"""
        code = ("import sys, os, headrace\nloader = headrace.Loader(sys.argv[1], framework='numpy', process=True)\n"
                "child = os.fork()\nprint(sum(1 for _ in loader), flush=True)\n"
                "if child:\n    sys.exit(os.waitpid(child, 0)[1])\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, err, child.returncode), ("6\n6\n", "", 0))

    def test_closed(self):
        """a closed loader ends, and knows its places and numbers"""
        with load(self.data.pipeline()) as loader:
            batches = [next(loader) for _ in range(4)]
            states = [loader.state_dict(batch) for batch in batches]
            pid = pid_of(loader)
        self.assertFalse(is_there(pid))
        self.assertEqual([loader.state_dict(batch) for batch in batches], states)
        self.assertEqual(loader.stats()["status"], "stopped")
        self.assertEqual(list(loader), [])
        with self.assertRaisesRegex(headrace.CoreError, "closed"):
            loader._pipeline.set(None, "memory", "3GiB")

    def test_no_program(self):
        """what is missing is named"""
        loader = load(self.data.pipeline())
        with patched("PROGRAM", "/nowhere/headrace-worker"):
            for _ in range(2):
                with self.assertRaisesRegex(headrace.ResourceError, "cannot be started: /nowhere/headrace-worker: No such"):
                    next(loader)
        self.assertEqual(len(list(loader)), 6)  # once it is there

    def test_by_hand(self):
        """the program says what it is for"""
        run = subprocess.run([process.PROGRAM], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("is started by headrace.Loader", run.stderr)


tap.main()
