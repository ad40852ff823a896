#!/usr/bin/env python3
"""Whose memory it is and for how long: threads, forks, signals, cycles, the interpreter's end, and leaks."""
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy

import headrace
import tap
from dataset import WithData, digests, load, run_python, tool

FAKE = "fakesrc num-buffers=64 size=64KiB ! batch size=4 ! prefetchqueue ! appsink"


def run(code, *args, **options):
    """Ends a child with what it printed; anything on stderr, a signal and a hang are failures."""
    child = run_python(code, *args, **options)
    try:
        out, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        return "hangs", *child.communicate(), child.returncode
    return out, err, child.returncode


def raw(text, **options):
    return headrace.Loader(text, framework="raw", **options)


class Held(WithData):
    def test_exports(self):
        """every kind of export keeps the memory alone: batch, loader and the other exports may go"""
        exports = {"memoryview": memoryview, "numpy": numpy.asarray, "dlpack": numpy.from_dlpack,
                   "slice": lambda tensor: memoryview(tensor)[1:], "capsule": lambda tensor: tensor.__dlpack__()}
        for name, export in exports.items():
            with self.subTest(name):
                batch = next(raw(FAKE))
                tensor = batch["bytes"][0]
                wanted = bytes(memoryview(tensor))
                held = export(tensor)
                del batch, tensor
                gc.collect()
                buffers, tensors, _ = headrace._core.live()
                self.assertEqual((buffers, tensors), (self.live[0], self.live[1] + 1))
                if name != "capsule":
                    start = 1 if name == "slice" else 0
                    self.assertEqual(bytes(memoryview(held)), wanted[start:])
                del held

    def test_buffer_protocol(self):
        """shape, strides and format for whoever asks, and simple bytes for who does not"""
        tensor = next(raw(self.data.pipeline()))["image_grid_thw"]
        view = memoryview(tensor)
        self.assertEqual((view.shape, view.strides, view.format, view.itemsize, view.readonly), ((4, 3), (24, 8), "q", 8, False))
        self.assertTrue(view.c_contiguous)
        self.assertEqual(view.cast("B").nbytes, 96)
        self.assertEqual(len(bytes(view)), 96)
        import hashlib
        hashlib.sha256(tensor)  # asks for PyBUF_SIMPLE

    def test_other_thread(self):
        """tensors of many batches, freed in threads of their own while the run goes on"""
        threads = []
        for batch in raw(FAKE):
            threads.append(threading.Thread(target=lambda held: held.clear(), args=(batch["bytes"],)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        del batch
        self.assertEqual(len(threads), 16)

    def test_pipeline_gone(self):
        """a batch outlives its pipeline, and so do its fields that are asked for then"""
        pipeline = headrace.Pipeline(FAKE)
        pipeline.start()
        batch = pipeline.pull()
        wanted = batch.digest()
        del pipeline
        gc.collect()
        self.assertEqual(batch.digest(), wanted)
        self.assertEqual(batch["bytes"][3].shape, (65536,))
        self.assertEqual(len(batch.samples), 4)

    def test_cycles(self):
        """cycles through a batch, a step and a loader are found"""
        loader = load(FAKE)
        step = next(loader)
        step.update(me=step, loader=loader)
        loader.me = [step, loader]
        step.batch = [step.batch, step]
        del step, loader
        self.assertGreater(gc.collect(), 0)

    def test_shared(self):
        """what is written into one batch's memory never reaches another, nor the same sample later"""
        def overwrite():
            for batch in loader:
                for value in batch.values():
                    for array in value if isinstance(value, list) else [value]:
                        if isinstance(array, numpy.ndarray):
                            array.fill(0)
        wanted = digests(load(self.data.pipeline(), epochs=2)) + digests(load(self.data.pipeline(head="epochs=2"), epochs=2))
        loader = load(self.data.pipeline(), epochs=2)
        overwrite()
        second = digests(loader)
        self.assertEqual(second, digests(self.second_epoch()))
        self.assertEqual(len(wanted), 12)

    def second_epoch(self):
        loader = load(self.data.pipeline(), epochs=2)
        list(loader)
        return loader

    def test_same_place(self):
        """one tensor of two arrays is the same memory: a write shows in both, as with torch and numpy"""
        tensor = next(raw(FAKE))["bytes"][0]
        first, second = numpy.asarray(tensor), numpy.from_dlpack(tensor)
        first[0] ^= 255
        self.assertEqual(first[0], second[0])

    def test_no_leak(self):
        """thousands of batches, some held for a while, and of pipelines: the process does not grow"""
        def work(n):
            held = []
            for batch in raw(f"fakesrc num-buffers={n * 8} size=4KiB ! batch size=8 ! prefetchqueue ! appsink", epochs=1):
                held = held[-3:] + [numpy.asarray(batch["bytes"][0]), memoryview(batch["bytes"][1]), batch.batch.samples,
                                    batch["bytes"][2].__dlpack__(), batch.batch.digest()]

        def grow(function, times):
            function()  # pools and caches fill
            before = rss()
            for _ in range(times):
                function()
            gc.collect()
            return rss() - before

        def make():
            pipeline = headrace.Pipeline(FAKE)
            pipeline.start()
            pipeline.pull()
            str(pipeline), pipeline.stats(), pipeline.to_dot(), pipeline.elements, pipeline.get("batch0", "size")
            while pipeline.pop_message() is not None:
                pass

        def fail():
            for text in ("nonsense", "fakesrc ! nonsense", "filesrc location=/none ! appsink"):
                try:
                    next(raw(text))
                except headrace.Error as error:
                    assert error.kind and str(error)

        def push():
            pipeline = headrace.Pipeline("appsrc name=in ! appmap name=f ! appsink")
            pipeline.start()
            for i in range(50):
                pipeline.push("in", {"a": numpy.zeros(1000), "b": [b"x" * 5000], "c": {"d": ["e"] * 50}, "f": "g" * 500},
                              origin={"uri": "u" * 100, "id": "i" * 100})
                sample = pipeline.take("f")
                pipeline.answer("f", sample, {name: sample[name] for name in sample})
                pipeline.pull()
                try:
                    pipeline.push("in", {"a": numpy.zeros(1000), "b": object()})
                except TypeError:
                    pass

        self.assertLess(grow(lambda: work(1000), 4), 8 << 20)
        self.assertLess(grow(make, 60), 8 << 20)
        self.assertLess(grow(fail, 100), 8 << 20)
        self.assertLess(grow(push, 40), 8 << 20)


def rss():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Ends(WithData):
    START = "import sys, os, threading, atexit, gc, signal, time, headrace, numpy\ntext = sys.argv[1]\n"

    def check(self, code, expected, text=FAKE, status=0):
        self.assertEqual(run(self.START + code, text), (expected, "", status))

    def test_exit(self):
        """the interpreter ends in mid run: arrays in globals, in a frame, in a cycle, none"""
        for code in ("l = headrace.Loader(text, framework='numpy')\nheld = next(l)\n",
                     "def f():\n    l = headrace.Loader(text, framework='numpy')\n    yield next(l)\ng = f()\nnext(g)\n",
                     "l = headrace.Loader(text, framework='numpy')\nl.me = [l, next(l)]\nl.me.append(l.me)\ndel l\n",
                     "i = iter(headrace.Loader(text, framework='numpy'))\nnext(i)\n",
                     "sys.held = memoryview(next(headrace.Loader(text, framework='raw'))['bytes'][0])\n",
                     "sys.modules['x'] = next(headrace.Loader(text, framework='raw'))['bytes'][0].__dlpack__()\n"):
            self.check(code + "print('ok')", "ok\n")

    def test_exit_in_daemon(self):
        """a daemon thread is in the middle of pull() when the interpreter ends"""
        self.check("p = headrace.Pipeline(text)\np.start()\nbegun = threading.Event()\n"
                   "def work():\n    while True:\n        p.pull()\n        begun.set()\n"
                   "threading.Thread(target=work, daemon=True).start()\nbegun.wait()\nprint('ok')",
                   "ok\n", "appsrc name=in ! appsink".replace("appsrc name=in", "fakesrc interval=5ms"))
        self.check("p = headrace.Pipeline(text)\np.start()\n"
                   "threading.Thread(target=p.pull, daemon=True).start()\ntime.sleep(0.1)\nprint('ok')",
                   "ok\n", "appsrc name=in ! appsink")

    def test_exit_handlers(self):
        """a loader works in atexit handlers, those that were made before it and behind"""
        self.check("atexit.register(lambda: print(sum(1 for _ in headrace.Loader(text, framework='numpy', epochs=1))))\n"
                   "l = headrace.Loader(text, framework='numpy', epochs=1)\nnext(l)\n"
                   "atexit.register(lambda: print(sum(1 for _ in l)))\n", "15\n16\n")

    def test_exit_status(self):
        """sys.exit(), an exception and os._exit() give what they give without us"""
        self.check("l = headrace.Loader(text, framework='numpy')\nnext(l)\nsys.exit(7)", "", status=7)
        self.check("l = headrace.Loader(text, framework='numpy')\nnext(l)\nos._exit(8)", "", status=8)

    def test_subinterpreter(self):
        """a second interpreter of the process is refused in words"""
        code = ("import sys, _xxsubinterpreters as subs, headrace\nsub = subs.create()\ntry:\n"
                "    subs.run_string(sub, 'import sys; sys.path[:] = ' + repr(sys.path) + '\\nimport headrace')\n"
                "    print('imported')\nexcept subs.RunFailedError as error:\n    print(error)\nsubs.destroy(sub)\n"
                "print(sum(1 for _ in headrace.Loader(sys.argv[1], framework='numpy', epochs=1)))\n")
        if sys.version_info >= (3, 13):
            self.skipTest("interpreters have another module there")
        out, err, status = run(code, FAKE)
        self.assertRegex(out, r"ImportError.*headrace.*one interpreter")
        self.assertTrue(out.endswith("\n16\n"))
        self.assertEqual((err, status), ("", 0))


class Forks(WithData):
    def child(self, work):
        """the exit status of a child of fork()"""
        pid = os.fork()
        if pid == 0:
            status = 99
            try:
                status = work()
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_every_call(self):
        """in a child of fork() every call of a started pipeline is refused or does nothing, and none hangs"""
        pipeline = headrace.Pipeline("fakesrc ! appmap name=f ! batch name=b size=1 ! prefetchqueue ! appsink")
        pipeline.start()

        def work():
            refused = 0
            for call in (pipeline.pull, pipeline.wait, pipeline.checkpoint, lambda: pipeline.take("f"),
                         lambda: pipeline.push("f", {"a": 1}), lambda: pipeline.request(0, 0), pipeline.start):
                try:
                    call()
                except headrace.CoreError as error:
                    refused += error.kind == "forked"
            pipeline.stop(), pipeline.end("f"), pipeline.end_requests(), pipeline.to_dot(), str(pipeline), pipeline.elements
            return refused

        self.assertEqual(self.child(work), 7)
        sample = pipeline.take("f")
        pipeline.answer("f", sample, {"n": 1})
        self.assertEqual(pipeline.pull()["n"], [1])

    def test_forgotten(self):
        """a child that lets go of its parent's loader, tensors and all, disturbs nobody"""
        loader = load(FAKE)
        held = [next(loader) for _ in range(2)]
        wanted = [step["bytes"][0].copy() for step in held]

        def work():
            nonlocal loader, held
            same = all((step["bytes"][0] == array).all() for step, array in zip(held, wanted))
            del loader, held
            gc.collect()
            return 0 if same else 1

        self.assertEqual(self.child(work), 0)
        self.assertEqual(len(list(loader)), 14)

    def test_mapped(self):
        """a loader with a function, in a child of fork(): refused, and forgotten without a hang"""
        loader = load(FAKE.replace("! batch", "! appmap ! batch"), map=lambda sample: sample)
        next(loader)

        def work():
            nonlocal loader
            try:
                next(loader)
                return 1
            except headrace.CoreError as error:
                if error.kind != "forked":
                    return 2
            loader.close()
            del loader
            gc.collect()
            return 0

        self.assertEqual(self.child(work), 0)
        self.assertEqual(len(list(loader)), 15)
        loader.close()

    def test_fork_in_threads(self):
        """forks while another thread pulls"""
        loader = load("fakesrc num-buffers=4000 size=1KiB ! batch size=4 ! prefetchqueue ! appsink", epochs=1)
        n = []
        thread = threading.Thread(target=lambda: n.append(sum(1 for _ in loader)))
        thread.start()
        statuses = [self.child(lambda: 0) for _ in range(10)]
        thread.join()
        self.assertEqual((statuses, n), ([0] * 10, [1000]))


class Signals(WithData):
    def interrupt(self, code, text):
        child = run_python(Ends.START + code, text)
        self.assertEqual(child.stdout.readline(), "waiting\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, err, child.returncode), ("interrupted\nok\n", "", 0))

    def test_pull(self):
        """Ctrl-C in mid pull: the pull is over, and the next one goes on"""
        self.interrupt("p = headrace.Pipeline(text)\np.start()\ntry:\n    print('waiting', flush=True)\n    p.pull()\n"
                       "except KeyboardInterrupt:\n    print('interrupted')\n"
                       "p.push('in', {'a': 1})\nassert p.pull()['a'] == 1\nprint('ok')", "appsrc name=in ! appsink")

    def test_loader(self):
        """Ctrl-C in a loop over a loader: it goes on; the batch that was being handed over may be gone"""
        self.interrupt("l = headrace.Loader(text, framework='numpy')\nn = 0\ntry:\n    print('waiting', flush=True)\n"
                       "    for b in l:\n        n += 1\n        assert b.batch.step == n - 1\nexcept KeyboardInterrupt:\n"
                       "    print('interrupted')\nassert next(l).batch.step in (n, n + 1)\nprint('ok')",
                       "fakesrc interval=20ms ! batch size=1 ! appsink")

    def test_handler(self):
        """a handler that raises nothing runs while pull() waits, and the wait goes on"""
        child = run_python(Ends.START + "signal.signal(signal.SIGUSR1, lambda *a: p.push('in', {'a': 1}))\n"
                           "p = headrace.Pipeline(text)\np.start()\nprint('waiting', flush=True)\nprint(p.pull()['a'])\n",
                           "appsrc name=in ! appsink")
        self.assertEqual(child.stdout.readline(), "waiting\n")
        child.send_signal(signal.SIGUSR1)
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, err, child.returncode), ("1\n", "", 0))


class Threads(WithData):
    def test_pulls(self):
        """one thread pulls; others are refused, and what comes is whole"""
        pipeline = headrace.Pipeline("fakesrc num-buffers=400 size=1KiB ! appsink")
        pipeline.start()
        steps, refused = [], []

        def work():
            while True:
                try:
                    batch = pipeline.pull()
                except RuntimeError as error:
                    self.assertNotIsInstance(error, headrace.Error)
                    refused.append(str(error))
                    time.sleep(0)
                    continue
                if batch is None:
                    return
                steps.append(batch.step)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(steps), list(range(400)))
        self.assertEqual(set(refused) - {"another thread is pulling from this pipeline"}, set())

    def test_everything_else(self):
        """what is not pulling may be called by anybody at any time"""
        loader = load("fakesrc num-buffers=800 size=1KiB ! identity name=i ! batch size=4 ! prefetchqueue ! appsink", epochs=1)
        over = threading.Event()

        def work(call):
            while not over.is_set():
                call()
                time.sleep(0.001)  # Python's lock is the puller's, too

        pipeline = loader._pipeline
        next(loader)
        calls = (pipeline.stats, pipeline.to_dot, pipeline.pop_message, lambda: str(pipeline), lambda: pipeline.elements,
                 lambda: pipeline.n_steps, lambda: pipeline.set("i", "queue-items", 64), lambda: pipeline.get("i", "workers"))
        threads = [threading.Thread(target=work, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        n = sum(1 for _ in loader)
        over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(n, 199)

    def test_stop(self):
        """stop() from another thread ends a pull that waits"""
        pipeline = headrace.Pipeline("appsrc name=in ! appsink")
        pipeline.start()
        got = []
        thread = threading.Thread(target=lambda: got.append(pipeline.pull()))
        thread.start()
        pipeline.stop()
        thread.join()
        self.assertEqual(got, [None])


class Errors(WithData):
    def test_same_words(self):
        """what is raised is what hr-launch says, in one line or with the same caret, and has a class and a kind"""
        folder = str(self.data.folder)
        cases = ((headrace.ParseError, "unknown-element", "fakesrc ! nonsense ! appsink"),
                 (headrace.ParseError, "out-of-range", "fakesrc ! batch size=0 ! appsink"),
                 (headrace.ParseError, "type", "fakesrc ! imagedecode ! appsink"),
                 (headrace.ResourceError, "not-found", f"filesrc location={folder}/none.jsonl ! jsonlparse ! appsink"),
                 (headrace.DataError, "other", "fakesrc ! identity error-after=3 ! appsink"))
        for kind, name, text in cases:
            said = subprocess.run([tool("hr-launch"), "-q", text], capture_output=True, text=True, check=False).stderr
            with self.assertRaises(kind) as caught:
                for _ in load(text, epochs=None if "fakesrc" in text else 1):
                    pass
            self.assertEqual(caught.exception.kind, name, text)
            self.assertIn(str(caught.exception).splitlines()[0], said)
            self.assertIsInstance(caught.exception, headrace.Error)

    def test_raised_again(self):
        """an error that ended a run is told again, to whoever asks; a lost one is nobody's leak"""
        pipeline = headrace.Pipeline("fakesrc ! identity error-after=1 ! appsink")
        pipeline.start()
        with self.assertRaises(headrace.DataError) as first:
            while pipeline.pull() is not None:
                pass
        for call in (pipeline.pull, pipeline.wait):
            with self.assertRaises(headrace.DataError) as again:
                call()
            self.assertEqual(str(again.exception), str(first.exception))
        with self.assertRaisesRegex(headrace.CoreError, "runs once"):
            pipeline.start()


if __name__ == "__main__":
    tap.main()
