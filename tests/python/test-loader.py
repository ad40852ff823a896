#!/usr/bin/env python3
"""headrace.Loader and the extension behind it, with numpy: what is delivered, whose memory it is, and how it ends."""
import copy
import gc
import json
import logging
import os
import pathlib
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from unittest import mock

import numpy

import headrace
import tap
from dataset import DataSet, WithData, digests, ids, load, run_python, tool


class Values(WithData):
    def test_equal_to_files(self):
        """arrays equal what npysink writes, bit for bit"""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([tool("hr-launch"), "-q", self.data.pipeline(sink=f"npysink location={folder}")], check=True)
            names, n = set(), 0
            for step, batch in enumerate(load(self.data.pipeline(), epochs=1)):
                for name, value in batch.items():
                    if not isinstance(value, numpy.ndarray):
                        continue
                    wanted = numpy.load(f"{folder}/{step:06d}.{name}.npy")
                    self.assertEqual((value.dtype, value.shape), (wanted.dtype, wanted.shape))
                    self.assertEqual(value.tobytes(), wanted.tobytes())
                    names.add(name)
                    n += 1
            self.assertIn("pixel_values", names)
            self.assertIn("image_grid_thw", names)
            self.assertGreaterEqual(n, 12)

    def test_fields(self):
        """a step is a dict of arrays and lists; its samples tell where they come from"""
        batch = next(load(self.data.pipeline()))
        self.assertIsInstance(batch, dict)
        self.assertEqual(batch["pixel_values"].dtype, numpy.float32)
        self.assertEqual(batch["pixel_values"].shape[1], 1536)
        self.assertEqual(batch["image_grid_thw"].shape, (4, 3))
        self.assertEqual((batch.batch.step, batch.batch.epoch, batch.batch.place), (0, 0, 0))
        self.assertEqual(len(batch.batch), len(batch.batch.keys()))
        self.assertEqual(list(batch.batch), batch.batch.keys())
        with self.assertRaises(KeyError):
            batch.batch["nonsense"]
        for sample in batch.batch.samples:
            self.assertTrue(sample["uri"].endswith(".jsonl"))
            self.assertGreater(sample["line"], 0)
            self.assertFalse(sample["skipped"])
            self.assertIsNone(sample["error"])

    def test_dtypes(self):
        """every dtype that numpy has arrives as that; bfloat16 says what to do"""
        for dtype in ("uint8", "float16", "float32"):
            batch = next(load(self.data.pipeline(tail=f"patchify dtype={dtype}")))
            self.assertEqual(batch["pixel_values"].dtype, numpy.dtype(dtype))
        with self.assertRaisesRegex(TypeError, "bfloat16.*dtype=float32"):
            next(load(self.data.pipeline(tail="patchify dtype=bfloat16")))

    def test_workers(self):
        """properties change how fast, not what"""
        plain = digests(load(self.data.pipeline(head="serial=true")))
        pipeline = self.data.pipeline().replace("imagedecode", "imagedecode name=decode")
        self.assertEqual(plain, digests(load(pipeline, properties={"decode.workers": 4, "memory": "1GiB"})))
        self.assertEqual(len(set(plain)), 6)


class Headspace(WithData):
    def run_it(self, **options):
        loader = load(self.data.pipeline(), headspace=4, **options)
        with loader:
            batches, epochs, places = [], [], []
            with self.assertLogs("headrace", logging.INFO) as log:
                for batch in loader:
                    batches.append(batch.batch.digest())
                    epochs.append(batch.batch.epoch)
                    places.append(batch["pixel_values"].__array_interface__["data"][0])
                    with self.assertRaisesRegex(headrace.Error, "headspace="):
                        loader.state_dict(batch)
                    del batch
            return loader, batches, epochs, places, log.output

    def test_replay(self):
        """the first steps come as ever, then the same memory again; both paces are told"""
        plain = digests(load(self.data.pipeline()))
        for process in (False, True):
            loader, batches, epochs, places, log = self.run_it(process=process)
            self.assertEqual(batches, plain[:4] * 2)
            self.assertEqual(places[:4], places[4:])
            self.assertEqual(epochs, [0] * 8)
            stats = loader.stats()
            headspace = stats["headspace"]
            self.assertEqual((stats["steps"], headspace["steps"], headspace["own"]["steps"]), (4, 4, 3))
            # in messages to another process small fields are values, not places
            self.assertLess(headspace["bytes_copied"], 4096 if process else 1)
            self.assertGreater(headspace["cached_bytes"], 4096)
            self.assertIn("INFO:headrace:headspace: " + headspace["text"], log)

    def test_epochs(self):
        """the replay belongs to the epoch that the last step was of, and len() knows of it"""
        loader = load(self.data.pipeline(), headspace=8, epochs=3, properties={"scan": "lines"})
        epochs = [[batch.batch.epoch for batch in loader] for _ in range(2)]
        self.assertEqual(epochs, [[0] * 6, [1] * 10])
        self.assertEqual(list(loader), [])
        self.assertEqual(len(loader), 16)

    def test_refused(self):
        """too large for the memory: says what to do"""
        with self.assertRaisesRegex(headrace.Error, "set memory=[0-9]+MiB"):
            list(load(self.data.pipeline(), headspace=4, properties={"memory": "1MiB"}))
        with self.assertRaisesRegex(headrace.ParseError, "2 steps or more"):
            list(load(self.data.pipeline(), headspace=1))


class Memory(WithData):
    def test_no_copy(self):
        """two arrays of a tensor are the same memory, and so is what DLPack hands out"""
        tensor = next(headrace.Loader(self.data.pipeline(), framework="raw"))["pixel_values"]
        first, second = numpy.asarray(tensor), numpy.asarray(tensor)
        self.assertTrue(numpy.shares_memory(first, second))
        third = numpy.from_dlpack(tensor)
        self.assertEqual(third.__array_interface__["data"][0], first.__array_interface__["data"][0])
        self.assertEqual(tensor.shape, first.shape)
        self.assertEqual(tensor.nbytes, first.nbytes)
        first[0, 0] = 7  # the trainer's own: it may write
        self.assertEqual(second[0, 0], 7)
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        for wrong in ({"stream": 1}, {"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                tensor.__dlpack__(**wrong)

    def test_capsules(self):
        """capsules that nobody takes, of both kinds, let their memory go"""
        tensor = next(headrace.Loader(self.data.pipeline(), framework="raw"))["pixel_values"]
        for version in (None, (0, 8), (1, 0)):
            self.assertIn("dltensor", repr(tensor.__dlpack__(max_version=version)))
        self.assertIn("dltensor_versioned", repr(tensor.__dlpack__(max_version=(1, 0))))
        with self.assertRaises(TypeError):
            tensor.__dlpack__(max_version=7)

    def test_held(self):
        """all batches of an epoch held at once stay what they were, also behind the pipeline's end"""
        loader = load(self.data.pipeline())
        held = [(batch["pixel_values"], batch["pixel_values"].tobytes()) for batch in loader]
        loader.close()
        del loader
        gc.collect()
        self.assertEqual(len(held), 6)
        for array, data in held:
            self.assertEqual(array.tobytes(), data)

    def test_freed_elsewhere(self):
        """memory is let go in another thread, while the pipeline goes on"""
        loader = load(self.data.pipeline(), epochs=3)
        box = []

        def drop():
            while True:
                if box and box.pop() is None:
                    return

        thread = threading.Thread(target=drop)
        thread.start()
        n = 0
        while (batch := next(loader, None)) is not None:
            box.insert(0, batch["pixel_values"])
            n += 1
        del batch
        box.insert(0, None)
        thread.join()
        self.assertEqual(n, 18)

    def test_closed(self):
        """a loader that is dropped in the middle leaves nothing behind"""
        for n in range(3):
            loader = load(self.data.pipeline())
            for _ in range(n):
                next(loader)
            gone = weakref.ref(loader)
            del loader
            gc.collect()
            self.assertIsNone(gone())


class Order(WithData):
    def test_epochs(self):
        """each for is the next epoch: all samples, in another order; next() goes on through them"""
        loader = load(self.data.pipeline())
        first, second = ids(list(loader)), ids(list(loader))
        self.assertEqual(sorted(first), sorted(f"r{i}" for i in range(23)))
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)
        self.assertEqual(len(loader), 6) if loader.n_steps is not None else self.assertRaises(TypeError, len, loader)
        through = load(self.data.pipeline(), epochs=2)
        stream = []
        while (batch := next(through, None)) is not None:
            stream += ids([batch])
        self.assertEqual(stream, first + second)
        self.assertEqual(list(through), [])

    def test_text_says(self):
        """epochs in the text are obeyed, and seed, limit and steps given here"""
        self.assertEqual(len(list(load(self.data.pipeline(source="epochs=2")))), 6)
        two = load(self.data.pipeline(source="epochs=2"))
        self.assertEqual([len(list(two)) for _ in range(3)], [6, 6, 0])
        self.assertEqual(len(list(load(self.data.pipeline(), steps=4))), 4)
        self.assertEqual(len(ids(load(self.data.pipeline(), limit=10))), 10)
        self.assertNotEqual(ids(load(self.data.pipeline())), ids(load(self.data.pipeline(), seed=4)))

    def test_epochs_in_a_value(self):
        """a path that has "epochs=" in it says nothing of epochs"""
        record = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
        for name in ("epochs=1", "a epochs=1", "it's epochs=1 x", 'a " epochs=1'):
            with tempfile.TemporaryDirectory(prefix=name) as folder:
                pathlib.Path(folder, "a.jsonl").write_text(f"{json.dumps(record)}\n" * 4)
                value = json.dumps(folder + "/")
                loader = load(f"filesrc location={value} ! jsonlparse ! batch size=2 ! appsink")
                self.assertEqual([next(loader).batch.epoch for _ in range(6)], [0, 0, 1, 1, 2, 2])
                loader = load(f"filesrc location={value} epochs=2 ! jsonlparse ! batch size=2 ! appsink")
                self.assertEqual(sum(1 for _ in iter(lambda: next(loader, None), None)), 4)

    def test_ranks(self):
        """ranks share an epoch in equal steps"""
        both = [list(load(self.data.pipeline(), rank=rank, world=2)) for rank in range(2)]
        self.assertEqual(len(both[0]), len(both[1]))
        self.assertEqual(sorted(ids(both[0]) + ids(both[1])), sorted(f"r{i}" for i in range(23)))

    def test_ranks_unknown(self):
        """who is one of several processes of a launcher, and has told nobody, is warned; who has told is not"""
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="4"):
            with self.assertLogs("headrace", logging.WARNING) as logged, load(self.data.pipeline()) as loader:
                next(loader)
            self.assertEqual(len(logged.output), 1)
            self.assertRegex(logged.output[0], r"RANK=1 of WORLD_SIZE=4, .*init_process_group\(\) .* rank= and world=$")
            for options in ({"rank": 1, "world": 4}, {"head": "rank=1 world=4"}):
                head = {"head": options.pop("head")} if "head" in options else {}
                with self.assertNoLogs("headrace", logging.WARNING), load(self.data.pipeline(**head), **options) as loader:
                    next(loader)
        with mock.patch.dict(os.environ, RANK="0", WORLD_SIZE="1"), self.assertNoLogs("headrace", logging.WARNING), \
                load(self.data.pipeline()) as loader:
            next(loader)

    def test_known_steps(self):
        """len() is known with scan=lines, and refused where there is no end"""
        loader = load(self.data.pipeline(head="scan=lines"), epochs=1)
        with self.assertRaisesRegex(TypeError, "not known"):
            len(loader)
        next(loader)
        self.assertEqual(len(loader), 6)
        counted = load(self.data.pipeline(head="scan=lines"), epochs=2)
        self.assertEqual(counted.count_steps(), 12)
        self.assertEqual(digests(counted)[0], load(self.data.pipeline()).__next__().batch.digest())  # it takes no batch away
        endless = load(self.data.pipeline(head="scan=lines"))
        self.assertTrue(endless)
        self.assertIsNone(endless.count_steps())
        self.assertIsNone(endless.n_steps)
        self.assertEqual(next(endless).batch.step, 0)
        loader.close()

    def test_trace_that_cannot_be_written(self):
        """a disk that is full when the last events of a trace are written is a warning, too"""
        text = "fakesrc num-buffers=5 interval=20ms ! batch size=1 ! prefetchqueue ! appsink"
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("headrace", logging.WARNING) as logged:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))  # the first look at what there is fits
            try:
                steps = list(load(text, properties={"trace": f"{folder}/run.json"}))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.assertEqual(len(steps), 5)
        self.assertEqual(len(logged.output), 1)
        # slower than it should be, it has been noticed before
        self.assertRegex(logged.output[0], f"trace: {folder}/run.json: File too large; (its last events are missing|the trace ends here)")

    def test_skipped(self):
        """a bad sample is told, and no other takes its place"""
        data = DataSet(bad=(5, 17))
        with self.assertLogs("headrace", logging.WARNING) as logged:
            batches = list(load(data.pipeline(head="on-error=skip"), epochs=1))
        self.assertEqual(sum("missing.jpg" in line for line in logged.output), 2)
        self.assertEqual(len(ids(batches)), 21)
        self.assertEqual(len(batches), 6)
        holes = [s for batch in batches for s in batch.batch.samples if s["skipped"] and s["error"]]
        self.assertEqual([hole["kind"] for hole in holes], ["media-not-found"] * 2)
        data.remove()


class GoingOn(WithData):
    def test_every_cut(self):
        """cut behind every batch, gone on from its state: the same bytes, over the border of epochs too"""
        whole = []
        loader = load(self.data.pipeline(), epochs=2)
        states = [loader.state_dict()]
        while (batch := next(loader, None)) is not None:
            whole += digests([batch])
            states.append(loader.state_dict())
        self.assertEqual(len(whole), 12)
        for cut, state in enumerate(states):
            again = load(self.data.pipeline(), epochs=2)
            again.load_state_dict(state)
            rest = []
            while (batch := next(again, None)) is not None:
                rest += digests([batch])
            self.assertEqual(rest, whole[cut:], f"cut {cut}")

    def test_look_ahead(self):
        """a loop that looks ahead names the batch it is done with"""
        loader = load(self.data.pipeline())
        batches = [next(loader) for _ in range(4)]
        again = load(self.data.pipeline())
        again.load_state_dict(loader.state_dict(batches[1]))
        self.assertEqual(digests([next(again)]), digests([batches[2]]))
        with self.assertRaisesRegex(TypeError, "a Step"):
            loader.state_dict(dict(batches[1]))

    def test_batch_of_another(self):
        """a place is told behind a batch of one's own only"""
        one, other = load(self.data.pipeline()), load(self.data.pipeline(size=5))
        held = next(one)
        state = one.state_dict()
        self.assertEqual(one.state_dict(held), state)
        with self.assertRaisesRegex(ValueError, "the batch is of another loader"):
            one.state_dict(next(other))
        one.load_state_dict(state)
        next(one)
        with self.assertRaisesRegex(ValueError, "or from before load_state_dict"):
            one.state_dict(held)

    def test_other_world(self):
        """one rank's state goes on with two ranks"""
        whole = list(load(self.data.pipeline(size=8)))
        one = load(self.data.pipeline(size=8))
        before = ids([next(one)])
        after = []
        for rank in range(2):
            loader = load(self.data.pipeline(size=4), rank=rank, world=2)
            loader.load_state_dict(one.state_dict())
            after += ids(loader)
        self.assertEqual(sorted(before + after), sorted(ids(whole)))

    def test_same_loader(self):
        """a loader goes back to a state it had"""
        loader = load(self.data.pipeline())
        next(loader)
        state = loader.state_dict()
        rest = digests(loader)
        loader.load_state_dict(state)
        self.assertEqual(digests(loader), rest)
        loader.set_epoch(1)
        with self.assertRaisesRegex(ValueError, "next epoch of this loader is 1"):
            loader.set_epoch(5)

    def test_refused(self):
        """another stream is refused with what differs; no state is one as well"""
        loader = load(self.data.pipeline())
        next(loader)
        other = load(self.data.pipeline(), seed=9)
        other.load_state_dict(loader.state_dict())
        with self.assertRaisesRegex(headrace.Error, "seed.* was 3 and is 9"):
            next(other)
        with self.assertRaisesRegex(ValueError, "checkpoint"):
            other.load_state_dict({})

    def test_pickle(self):
        """a loader is copied with its place"""
        loader = load(self.data.pipeline())
        next(loader)
        twins = [pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader)]
        rest = digests(loader)
        for twin in twins:
            self.assertEqual(digests(twin), rest)


class Ends(WithData):
    def test_errors(self):
        """errors have a class and a kind, and one line that says where"""
        with self.assertRaises(headrace.ParseError) as caught:
            load("filesrc location=x ! nonsense ! appsink")
        self.assertEqual(caught.exception.kind, "unknown-element")
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(headrace.ResourceError) as caught:
            next(load("filesrc location=/no/such/folder/ ! jsonlparse ! appsink"))
        self.assertEqual(caught.exception.kind, "not-found")
        self.assertIn("/no/such/folder", str(caught.exception))
        data = DataSet(bad=(2,))
        with self.assertRaises(headrace.DataError) as caught:
            list(load(data.pipeline()))
        self.assertEqual(caught.exception.kind, "media-not-found")
        self.assertRegex(str(caught.exception), "a.jsonl:3.*missing.jpg")
        data.remove()
        for wrong in ({"rank": 1}, {"world": 2}):
            with self.assertRaisesRegex(ValueError, "belong together"):
                load(self.data.pipeline(), **wrong)
        for rank in (2, 3, -1):
            with self.assertRaisesRegex(ValueError, f"rank={rank} of world=2"):
                load(self.data.pipeline(), rank=rank, world=2)
        with self.assertRaisesRegex(TypeError, "^rank='0': expected a whole number"):  # as it comes out of the environment
            load(self.data.pipeline(), rank="0", world=2)
        with self.assertRaisesRegex(headrace.Error, "rank=3 of world=2"):
            next(load("rank=3 world=2 " + self.data.pipeline()))
        with self.assertRaisesRegex(ValueError, "framework"):
            headrace.Loader(self.data.pipeline(), framework="jax")
        with self.assertRaises(KeyError):
            load(self.data.pipeline(), properties={"nobody.workers": 2})
        with self.assertRaises(headrace.Error):
            next(load("fakesrc ! fakesink"))

    def test_arguments(self):
        """arguments of another kind are told what was expected"""
        text = self.data.pipeline()
        for wrong in (None, 5, b"fakesrc ! appsink"):
            with self.assertRaisesRegex(TypeError, "a pipeline's text, or the path of a file"):
                headrace.Loader(wrong)
        with self.assertRaisesRegex(TypeError, "map=: a function, or a dict .* was expected, not int"):
            headrace.Loader(text, map=3)
        for wrong in (None, {}, {"checkpoint": 5}, []):
            with self.assertRaisesRegex(ValueError, "not the state of a headrace.Loader"):
                load(text).load_state_dict(wrong)

    def test_start_again(self):
        """a run that cannot start says the same each time that a batch is asked for"""
        for process in (False, True):
            loader = load("rank=2 world=2 " + self.data.pipeline(), process=process)
            for _ in range(2):
                with self.assertRaisesRegex(headrace.ParseError, "rank=2 of world=2: ranks are counted from 0"):
                    next(loader)

    def test_one_puller(self):
        """two threads may not pull at once: said, not crashed"""
        pipeline = headrace.Pipeline("appsrc name=in ! appsink")
        pipeline.start()
        failed = []

        def pull():
            try:
                failed.append(pipeline.pull())
            except RuntimeError as error:
                failed.append(error)

        threads = [threading.Thread(target=pull) for _ in range(2)]
        for thread in threads:
            thread.start()
        while not failed:
            pass
        self.assertRegex(str(failed[0]), "another thread")
        pipeline.stop()
        for thread in threads:
            thread.join()
        self.assertIsNone(failed[1])

    def test_interrupt(self):
        """Ctrl-C gets through a pull that waits"""
        child = run_python("import headrace, sys\np = headrace.Pipeline('appsrc name=in ! appsink')\np.start()\n"
                           "try:\n    print('waiting', flush=True)\n    p.pull()\nexcept KeyboardInterrupt:\n"
                           "    print('interrupted')\n")
        self.assertEqual(child.stdout.readline(), "waiting\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("interrupted\n", 0), err)

    def test_exit(self):
        """the interpreter ends in the middle of a run, with arrays held"""
        code = ("import sys, headrace\nloader = headrace.Loader(sys.argv[1], framework='numpy')\n"
                "held = [next(loader)['pixel_values'] for _ in range(2)]\nprint(len(held))\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, err, child.returncode), ("2\n", "", 0))

    def test_fork(self):
        """a child of fork() that uses its parent's loader is told not to; the parent goes on"""
        loader = load(self.data.pipeline())
        wanted = digests(load(self.data.pipeline()))
        got = digests([next(loader)])
        child = os.fork()
        if child == 0:
            status = 1
            try:
                next(loader)
            except headrace.CoreError as error:
                status = error.kind != "forked"
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(got + digests(loader), wanted)

    def test_made_before_fork(self):
        """a loader that was made, and not started, works on both sides of a fork"""
        code = ("import sys, os, headrace\nloader = headrace.Loader(sys.argv[1], framework='numpy')\n"
                "child = os.fork()\nprint(sum(1 for _ in loader), flush=True)\n"
                "if child:\n    sys.exit(os.waitpid(child, 0)[1])\n")
        child = run_python(code, self.data.pipeline())
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, err, child.returncode), ("6\n6\n", "", 0))

    def test_properties(self):
        """properties are read and set as in a pipeline's text"""
        pipeline = headrace.Pipeline("fakesrc num-buffers=${N} ! batch name=b size=8 ! appsink", variables={"N": 16})
        self.assertEqual(pipeline.get("b", "size"), 8)
        pipeline.set("b", "size", 4)
        pipeline.set(None, "serial", True)
        self.assertIs(pipeline.get(None, "serial"), True)
        self.assertIn("num-buffers=16", str(pipeline))
        self.assertIn("b", pipeline.elements)
        self.assertIn("digraph", pipeline.to_dot())
        with self.assertRaises(headrace.ParseError):
            pipeline.set("b", "size", "many")
        with self.assertRaises(KeyError):
            pipeline.get("b", "colour")
        pipeline.start()
        n = 0
        while pipeline.pull() is not None:
            n += 1
        pipeline.wait()
        self.assertEqual(n, 4)

    def test_requests(self):
        """a part of the order that is asked for is the same as in a run"""
        wanted = digests(load(self.data.pipeline(), epochs=1))
        pipeline = headrace.Pipeline(self.data.pipeline(head="requests=true"))
        for slice_ in (4, 1):
            pipeline.request(0, slice_)
        pipeline.end_requests()
        pipeline.start()
        self.assertEqual([pipeline.pull().digest() for _ in range(2)], [wanted[4], wanted[1]])
        self.assertIsNone(pipeline.pull())

    def test_requests_of_ranks(self):
        """the checkpoint behind what is asked for is that of the rank whose slice it is"""
        pipeline = headrace.Pipeline(self.data.pipeline(size=3, head="requests=true scan=lines"))
        pipeline.set(None, "world", 2)
        for slice_ in (3, 6):
            pipeline.request(0, slice_)
        pipeline.end_requests()
        pipeline.start()
        for step, rank in ((1, 1), (3, 0)):
            loader = load(self.data.pipeline(size=3, head="scan=lines"), rank=rank, world=2, epochs=1)
            for _ in range(step + 1):
                next(loader)
            mine, other = (json.loads(text) for text in (pipeline.checkpoint(pipeline.pull()),
                                                         loader.state_dict()["checkpoint"]))
            self.assertEqual({**mine, "steps": 0}, {**other, "steps": 0})

    def test_self_check(self):
        """python -m headrace"""
        out = subprocess.run([sys.executable, "-m", "headrace"], check=True, capture_output=True, text=True).stdout
        self.assertTrue(out.endswith("ok\n"), out)

    def test_stats(self):
        """numbers of a run"""
        loader = load(self.data.pipeline())
        list(loader)
        stats = loader.stats()
        self.assertGreaterEqual(stats["samples"], 23)
        self.assertIn("wait_ratio", stats)


tap.main()
