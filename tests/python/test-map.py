#!/usr/bin/env python3
"""Work in Python: samples that are pushed, and functions that work on each sample between two elements."""
import gc
import json
import logging
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy

import headrace
import tap
from dataset import ROOT, DataSet, WithData, digests, ids, load, run_python, tool
from headrace.loader import _make_step
from headrace.mapping import Mapper

sys.path.insert(0, str(ROOT / "tests/order"))
import tokenizer  # pylint: disable=wrong-import-position

PLAIN = "appsrc name=in ! appsink"


def start(text):
    pipeline = headrace.Pipeline(text)
    pipeline.start()
    return pipeline


def there_and_back(fields, **options):
    pipeline = start(PLAIN)
    assert pipeline.push("in", fields, **options)
    batch = pipeline.pull()
    pipeline.end("in")
    assert pipeline.pull() is None
    return batch


class Borrowed:
    """An array that has DLPack and nothing else, as torch's tensors are."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class Push(WithData):
    def test_kinds(self):
        """every kind of field comes out as it went in"""
        fields = {"array": numpy.arange(6, dtype=numpy.int64).reshape(2, 3), "bytes": b"abc", "empty": b"",
                  "text": "Füße", "images": [numpy.zeros((2, 2, 3), numpy.uint8), numpy.ones((1, 4, 3), numpy.uint8)],
                  "names": ["a", "b"], "record": {"a": [1, {"b": None}], "c": True}, "number": 7, "none": None,
                  "mixed": [1, "x"], "scalar": numpy.float32(2.5), "nothing": []}
        batch = there_and_back(fields)
        self.assertEqual(batch.keys(), list(fields))
        self.assertEqual(numpy.asarray(batch["array"]).tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual((batch["bytes"].dtype, bytes(memoryview(batch["bytes"]))), ("uint8", b"abc"))
        self.assertEqual(batch["empty"].shape, (0,))
        self.assertEqual([image.shape for image in batch["images"]], [(2, 2, 3), (1, 4, 3)])
        self.assertEqual((batch["scalar"].shape, batch["scalar"].dtype), ((), "float32"))
        for name in ("text", "names", "record", "number", "none", "mixed", "nothing"):
            self.assertEqual(batch[name], fields[name], name)

    def test_dtypes(self):
        """every dtype, through the buffer protocol and through DLPack"""
        for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                      "float32", "float64"):
            array = numpy.array([[0, 1], [1, 0]], dtype)
            batch = there_and_back({"a": array, "b": Borrowed(array)})
            for name in "ab":
                self.assertEqual((batch[name].dtype, batch[name].shape), (dtype, (2, 2)))
                self.assertEqual(numpy.asarray(batch[name]).tobytes(), array.tobytes())

    def test_no_copy(self):
        """an array is not copied, and lives as long as what was made of it; one with gaps is copied"""
        array = numpy.arange(100, dtype=numpy.float32)
        address = array.__array_interface__["data"][0]
        tensors = [there_and_back({"a": given})["a"] for given in (array, Borrowed(array))]
        self.assertEqual([numpy.asarray(tensor).__array_interface__["data"][0] for tensor in tensors], [address] * 2)
        del array
        gc.collect()
        self.assertEqual(numpy.asarray(tensors[1])[99], 99)
        square = numpy.arange(16, dtype=numpy.int32).reshape(4, 4)
        for gap in (square.T, square[:, 1:3], square[::2], square[::-1], numpy.broadcast_to(square[:1], (3, 4))):
            for given in (gap, Borrowed(gap)):
                if gap.flags.writeable or not isinstance(given, Borrowed):  # numpy lends no read-only one
                    self.assertEqual(numpy.asarray(there_and_back({"a": given})["a"]).tolist(), gap.tolist())

    def test_let_go(self):
        """what a thread of the pipeline lets go of is let go by Python"""
        class Watched(numpy.ndarray):
            gone = 0

            def __del__(self):
                Watched.gone += 1

        pipeline = start("appsrc name=in ! batch size=4 ! fakesink")
        for _ in range(64):
            pipeline.push("in", {"a": numpy.zeros(8).view(Watched)})
        pipeline.end("in")
        pipeline.wait()
        headrace._core.live()
        gc.collect()
        self.assertEqual(Watched.gone, 64)

    def test_refused(self):
        """what is no field says which, and what is expected"""
        pipeline = start(PLAIN)
        for fields, kind, words in (({"x": object()}, TypeError, 'field "x": expected an array'),
                                    ({"x": {1, 2}}, TypeError, 'field "x"'),
                                    ({"x": numpy.array(["a"])}, TypeError, 'field "x".*format'),
                                    ({"x": numpy.array([1], ">i4")}, TypeError, 'field "x".*byte order'),
                                    ({"x": numpy.array([1j])}, TypeError, 'field "x"'),
                                    ({"x": "a\0b"}, ValueError, 'field "x".*U.0000'),
                                    ({"x": ["ab", "a\0b"]}, ValueError, 'field "x".*U.0000'),
                                    ({"x": {"a": "\0"}}, ValueError, 'field "x".*U.0000'),
                                    ({"x": {"a": 10 ** 18}}, ValueError, 'field "x".*18 digits'),
                                    ({"x": {"a": float("nan")}}, ValueError, "JSON"),
                                    ({"x": "\ud800"}, UnicodeEncodeError, "surrogates"),
                                    ([1], TypeError, "a dict"), (7, TypeError, "a dict")):
            with self.assertRaisesRegex(kind, words):
                pipeline.push("in", fields)
        for good in ({"a": 10 ** 18 - 1}, {"a": -(10 ** 17), "b": 0.0001234567890123456}, {"a": "\\u0000 \\"}, {"\"a\\": "1234567890123456789"}, 1e300):
            pipeline.push("in", {"x": good})
            self.assertEqual(pipeline.pull()["x"], good)
        with self.assertRaisesRegex(headrace.CoreError, "no element"):
            pipeline.push("out", {})
        with self.assertRaisesRegex(ValueError, "has fields"):
            pipeline.push("in", {}, error="x")
        with self.assertRaisesRegex(headrace.CoreError, "not been started"):
            headrace.Pipeline(PLAIN).push("in", {})
        with self.assertRaisesRegex(TypeError, "Batch"):
            pipeline.push("in", {}, like=7)
        with self.assertRaisesRegex(TypeError, "origin"):
            pipeline.push("in", {}, origin=7)
        pipeline.stop()

    def test_changing_list(self):
        """a list whose members empty it when they are asked for their bytes: it is what it was before"""
        class Emptying(Borrowed):
            def __dlpack__(self, **options):
                items.clear()
                return super().__dlpack__(**options)
        items = []
        items.extend([Emptying(numpy.zeros(3)), numpy.ones(2), numpy.ones(1)])
        self.assertEqual([tensor.shape for tensor in there_and_back({"x": items})["x"]], [(3,), (2,), (1,)])
        self.assertEqual(items, [])

    def test_refused_let_go(self):
        """of what was refused nothing is kept: not the array, not the dict, not the exception"""
        pipeline = start(PLAIN)
        array, record = numpy.array(["a"]), {"deep": {1, 2}}
        good = numpy.zeros(4)
        for fields in ({"good": good, "x": array}, {"x": record}, {"x": [good, record]}, {"x": [good, array]}):
            value = list(fields.values())[-1]
            before = [sys.getrefcount(item) for item in (array, record, good, fields, value)]
            for _ in range(3):
                with self.assertRaises(TypeError):
                    pipeline.push("in", fields)
            headrace._core.live()
            gc.collect()
            self.assertEqual([sys.getrefcount(item) for item in (array, record, good, fields, value)], before)
        for _ in range(3):
            with self.assertRaises(headrace.CoreError):
                pipeline.push("out", {})
        gc.collect()
        self.assertEqual([item for item in gc.get_objects() if isinstance(item, headrace.Error)], [])
        pipeline.stop()

    def test_origin(self):
        """a sample's origin, epoch and place travel with it: those that are said, or another's"""
        batch = there_and_back({"x": 1}, origin={"uri": "s3://c/a", "line": 7, "id": "r7"}, epoch=3)
        self.assertEqual(batch.epoch, 3)
        self.assertEqual({name: batch.samples[0][name] for name in ("uri", "line", "byte", "id")},
                         {"uri": "s3://c/a", "line": 7, "byte": None, "id": "r7"})
        again = there_and_back({"x": 1}, like=batch)
        self.assertEqual((again.epoch, again.samples), (3, batch.samples))

    def test_holes(self):
        """a bad sample and one that is left out keep their place; the bad one is told"""
        pipeline = start("on-error=skip appsrc name=in ! batch size=2 ! prefetchqueue ! appsink")
        origin = {"uri": "a.txt", "line": 5}
        self.assertTrue(pipeline.push("in", {"x": 1}))
        self.assertTrue(pipeline.push("in", None, error=ValueError("too short"), origin=origin))
        self.assertTrue(pipeline.push("in", None))
        self.assertTrue(pipeline.push("in", {"x": 4}))
        pipeline.end("in")
        first, second = pipeline.pull(), pipeline.pull()
        self.assertEqual(([sample["skipped"] for sample in first.samples], first["x"]), ([False, True], [1]))
        self.assertEqual(([sample["skipped"] for sample in second.samples], second["x"]), ([True, False], [4]))
        self.assertEqual(first.samples[1]["error"], 'appsrc "in": a.txt:5: ValueError: too short')
        self.assertIsNone(second.samples[0]["error"])
        self.assertIsNone(pipeline.pull())
        self.assertEqual(json.loads(pipeline.stats())["skipped"], {"other": 1})

    def test_bad_ends(self):
        """without on-error=skip a bad sample ends the run"""
        pipeline = start(PLAIN)
        self.assertFalse(pipeline.push("in", None, error="no such thing"))
        with self.assertRaisesRegex(headrace.DataError, '^appsrc "in": no such thing$'):
            pipeline.pull()
        self.assertFalse(pipeline.push("in", {"x": 1}))

    def test_waits(self):
        """who pushes more than is pulled waits, other threads run, and stop() ends it"""
        pipeline = start("appsrc name=in queue-items=4 ! identity queue-items=4 ! appsink")
        pushed, ended = [], []

        def push():
            while pipeline.push("in", {"x": len(pushed)}):
                pushed.append(None)
            ended.append(True)

        thread = threading.Thread(target=push)
        thread.start()
        got = [pipeline.pull()["x"] for _ in range(1000)]
        self.assertEqual(got, list(range(1000)))
        self.assertLess(len(pushed), 1400)
        pipeline.stop()
        thread.join()
        self.assertEqual(ended, [True])

    def test_interrupt(self):
        """Ctrl-C gets through a push that waits"""
        child = run_python("import headrace\np = headrace.Pipeline('appsrc name=in queue-items=1 ! appsink')\np.start()\n"
                           "try:\n    p.push('in', {'x': 1})\n    print('waiting', flush=True)\n    while True:\n"
                           "        p.push('in', {'x': 1})\nexcept KeyboardInterrupt:\n    print('interrupted')\n")
        self.assertEqual(child.stdout.readline(), "waiting\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("interrupted\n", 0), err)


def keep(sample):
    return sample


class Map(WithData):
    def pipeline(self, place="! resize", **options):
        return self.data.pipeline(**options).replace(place, "! appmap " + place, 1)

    def test_nothing_changes(self):
        """a function that gives back what it got: the same bytes, also copied, with any framework"""
        wanted = digests(load(self.data.pipeline(), epochs=2))
        def copy(sample):
            return {name: [item.copy() for item in value] if name == "images" else value for name, value in sample.items()}
        for function in (keep, dict, copy):
            for text in (self.pipeline(), self.pipeline(head="serial=true")):
                self.assertEqual(digests(load(text, epochs=2, map=function)), wanted)
        raw = headrace.Loader(self.pipeline(), epochs=2, framework="raw", map=keep)
        self.assertEqual(digests(raw), wanted[:6])
        raw.close()

    def test_work(self):
        """pixels and fields are the function's; the order, the steps and the origin stay"""
        def invert(sample):
            order.append(sample.origin["id"])
            return {**sample, "images": [255 - image for image in sample["images"]], "note": sample.origin["id"] + "!"}
        order = []
        text = self.pipeline("! batch", tail="prefetchqueue")
        plain = list(load(self.data.pipeline(tail="prefetchqueue"), epochs=1))
        turned = list(load(text, epochs=1, map=invert))
        self.assertEqual(ids(turned), ids(plain))
        self.assertEqual(order, ids(plain))
        self.assertEqual([note for batch in turned for note in batch["note"]], [name + "!" for name in ids(plain)])
        images = [(255 - a, b) for x, y in zip(plain, turned) for a, b in zip(x["images"], y["images"])]
        self.assertEqual(len(images), 23)
        self.assertTrue(all(numpy.array_equal(a, b) for a, b in images))

    def test_left_out(self):
        """None leaves a sample out: its place stays, and no other moves up"""
        out = {"r3", "r11", "r12"}
        batches = list(load(self.pipeline(), epochs=1, map=lambda sample: None if sample.origin["id"] in out else sample))
        plain = list(load(self.data.pipeline(), epochs=1))
        self.assertEqual([ids([batch]) for batch in batches], [[i for i in ids([batch]) if i not in out] for batch in plain])
        holes = [s for batch in batches for s in batch.batch.samples if s["skipped"] and s["uri"]]
        self.assertEqual([hole["error"] for hole in holes], [None] * 3)

    def fail_on(self, name, error=ValueError):
        def check_size(sample):
            if sample.origin["id"] == name:
                raise error("too wide")
            return sample
        return check_size

    def test_failed(self):
        """what it raises ends the run, with the line of the source and of the function, and itself as the cause"""
        loader = load(self.pipeline(), map=self.fail_on("r3"))
        with self.assertRaises(headrace.DataError) as caught:
            list(loader)
        self.assertRegex(str(caught.exception), r'^appmap "appmap0": .*a\.jsonl:4: .*check_size: ValueError: too wide'
                                                r' \(test-map\.py:\d+\)$')
        self.assertIsInstance(caught.exception.__cause__, ValueError)
        caught.exception.__cause__ = caught.exception.__traceback__ = None
        loader.close()

    def test_skipped(self):
        """with on-error=skip it is the sample that is skipped, counted and told"""
        with self.assertLogs("headrace", logging.WARNING) as logged:
            loader = load(self.pipeline(head="on-error=skip"), epochs=1, map=self.fail_on("r9"))
            batches = list(loader)
        self.assertEqual(sum("too wide" in line and "b.jsonl:3" in line for line in logged.output), 1)
        self.assertEqual(len(batches), 6)
        self.assertNotIn("r9", ids(batches))
        self.assertEqual(len(ids(batches)), 22)
        self.assertEqual(loader.stats()["skipped"], {"other": 1})
        loader.close()

    def test_wrong_results(self):
        """what is no sample is an error of the sample, too; what ends programs ends the run whatever on-error says"""
        for result, words in ((7, "TypeError: expected a dict"), ({"images": object()}, 'TypeError: field "images"')):
            loader = load(self.pipeline(), map=lambda sample, result=result: result)
            with self.assertRaisesRegex(headrace.DataError, words):
                list(loader)
            loader.close()
        loader = load(self.pipeline(head="on-error=skip"), map=self.fail_on("r3", SystemExit))
        with self.assertRaisesRegex(headrace.CoreError, "SystemExit: too wide"):
            list(loader)
        loader.close()

    def test_going_on(self):
        """cut behind every batch, with samples left out: the same bytes"""
        def make():
            return load(self.pipeline(), epochs=2, map=lambda sample: None if sample.origin["id"] == "r7" else sample)
        loader = make()
        whole, states = [], [loader.state_dict()]
        while (batch := next(loader, None)) is not None:
            whole += digests([batch])
            states.append(loader.state_dict())
        self.assertEqual(len(whole), 12)
        for cut, state in enumerate(states):
            again, rest = make(), []
            again.load_state_dict(state)
            while (batch := next(again, None)) is not None:
                rest += digests([batch])
            self.assertEqual(rest, whole[cut:], f"cut {cut}")
            again.close()
        loader.close()
        other = load(self.data.pipeline(), epochs=2)
        other.load_state_dict(states[3])
        with self.assertRaisesRegex(headrace.Error, "appmap"):
            next(other)

    def test_version(self):
        """a checkpoint of another version of the function is refused, unless forced"""
        loader = load(self.pipeline("! resize").replace("appmap", "appmap version=1"), map=keep)
        next(loader)
        state = loader.state_dict()
        loader.close()
        for force in (False, True):
            other = load(self.pipeline().replace("appmap", "appmap version=2"), map=keep)
            other.load_state_dict(state, force=force)
            if force:
                next(other)
            else:
                with self.assertRaisesRegex(headrace.Error, "version"):
                    next(other)
            other.close()

    def test_ranks(self):
        """ranks share an epoch in equal steps"""
        both = [list(load(self.pipeline(), rank=rank, world=2, map=keep)) for rank in range(2)]
        self.assertEqual(len(both[0]), len(both[1]))
        self.assertEqual(sorted(ids(both[0]) + ids(both[1])), sorted(f"r{i}" for i in range(23)))

    def test_several(self):
        """several functions by the names of their elements"""
        text = self.pipeline().replace("appmap", "appmap name=a ! appmap name=b")
        add = lambda word: lambda sample: {**sample, "note": sample.get("note", "") + word}  # noqa: E731
        batch = next(load(text, map={"b": add("b"), "a": add("a")}))
        self.assertEqual(batch["note"], ["ab"] * 4)

    def test_places(self):
        """what does not fit is said before anything runs"""
        text = self.pipeline()
        for wrong, function, words in ((text, None, "has no function"), (self.data.pipeline(), keep, "no appmap"),
                                       (text, {"x": keep}, 'no appmap "x"'),
                                       (text.replace("appmap", "appmap ! appmap"), keep, "several")):
            with self.assertRaisesRegex(ValueError, words):
                load(wrong, map=function)
        with self.assertRaisesRegex(headrace.ParseError, "before \"batch0\""):
            load(self.pipeline("! prefetchqueue"), map=keep)
        for place, words in (("! jsonlparse", "behind jsonlparse"),):
            loader = load(self.pipeline(place), map=keep)
            with self.assertRaisesRegex(headrace.CoreError, words):
                next(loader)
            loader.close()

    def test_process(self):
        """in another process there is no function to call: said when the loader is made"""
        with self.assertRaisesRegex(ValueError, "map= works in this process, and with process=True"):
            load(self.pipeline(), process=True, map=keep)
        with self.assertRaisesRegex(ValueError, "has no function"):
            load(self.pipeline(), process=True)

    def test_tools(self):
        """programs that have no function say so, and run nothing"""
        for name, args in (("hr-launch", ["-q"]), ("hr-verify", ["resume"])):
            run = subprocess.run([tool(name), *args, "fakesrc num-buffers=4 ! appmap ! fakesink"], capture_output=True,
                                 text=True, timeout=60, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertRegex(run.stderr, '^hr-[a-z]+.*: appmap "appmap0" gives its samples to a program; leave it out\n$')

    def packed(self, places, ids="int64"):
        """rows of tokens, with appmap before and behind tokenize, where `places` says so"""
        tokenizer.write(self.data.folder / "tokenizer.json")
        before, behind = ("! appmap name=text" if "text" in places else "", "! appmap name=tokens" if "tokens" in places else "")
        return (f"filesrc location={self.data.folder}/ shuffle=full seed=3 ! jsonlparse {before} ! imagefetch ! tokenize"
                f" tokenizer={self.data.folder}/tokenizer.json max-pixels=65536 min-pixels=4096 ids={ids} {behind}"
                " ! imagedecode workers=2 ! resize ! batch mode=packed max-tokens=300 ! prefetchqueue ! patchify ! appsink")

    def test_packed(self):
        """packed rows are made of what functions give back: the same bytes, and without those that they leave out"""
        wanted = digests(load(self.packed([]), epochs=2))
        self.assertGreater(len(wanted), 4)
        self.assertEqual(digests(load(self.packed(["text", "tokens"]), epochs=2, map={"text": keep, "tokens": dict})), wanted)

        def double(sample):
            lengths[sample.origin["id"]] = 2 * len(sample["input_ids"])
            if sample.origin["id"] in out:
                return None
            for name in ("input_ids", "labels", "attention_mask", "mm_token_type_ids"):
                sample[name] = numpy.concatenate([sample[name], sample[name]])
            sample["position_ids"] = numpy.concatenate([sample["position_ids"]] * 2, axis=1)
            sample["image_grid_thw"] = numpy.concatenate([sample["image_grid_thw"]] * 2)
            sample["images"] = list(sample["images"]) * 2
            for name in ("image_sizes", "image_targets"):
                if name in sample:
                    sample[name] = numpy.concatenate([sample[name]] * 2)
            return sample
        lengths, out = {}, {"r4", "r5"}
        rows = list(load(self.packed(["tokens"]), epochs=1, map=double))
        self.assertEqual(sorted(ids(rows)), sorted(f"r{i}" for i in range(23) if f"r{i}" not in out))
        for row in rows:
            here = [sample["id"] for sample in row.batch.samples if not sample["skipped"]]
            self.assertEqual(numpy.diff(row["cu_seqlens"]).tolist(), [lengths[name] for name in here])
            self.assertEqual(row["image_grid_thw"].prod(axis=1).sum(), len(row["pixel_values"]))
            for start_at, end_at in zip(row["cu_seqlens"], row["cu_seqlens"][1:]):
                half = (end_at - start_at) // 2
                tokens = row["input_ids"][0, start_at:end_at]
                self.assertTrue(numpy.array_equal(tokens[:half], tokens[half:]))

    def test_ids(self):
        """tokens, labels, mask and positions are int64, and int32 with ids=int32, as functions see them and in batches"""
        seen = {}

        def look(sample):
            seen.update((name, str(array.dtype)) for name, array in sample.items() if hasattr(array, "dtype"))
            return sample
        values = {}
        for kind in ("int64", "int32"):
            by_name = {"properties": {"tokenize0.ids": kind}} if kind == "int32" else {}
            row = next(load(self.packed(["tokens"]), map=look, **by_name))
            for name in ("input_ids", "labels", "position_ids"):
                self.assertEqual((str(row[name].dtype), seen[name]), (kind, kind), name)
            self.assertEqual((seen["attention_mask"], str(row["mm_token_type_ids"].dtype)), (kind, "int32"))
            values[kind] = [row[name].tolist() for name in ("input_ids", "labels", "position_ids")]
        self.assertEqual(values["int64"], values["int32"])

    def test_idle(self):
        """a function's thread that waits for the next sample holds nothing of the last one"""
        pipeline = start("appsrc name=in ! appmap ! appsink")
        before = headrace._core.live()[:2]
        worker = Mapper(pipeline, {"appmap0": keep}, _make_step, lambda tensor: tensor)
        for value in ({"x": b"abc"}, {"x": 7}):
            pipeline.push("in", value)
            self.assertEqual(list(pipeline.pull()), ["x"])
            end = time.monotonic() + 60
            while headrace._core.live()[:2] != before and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(headrace._core.live()[:2], before)
        pipeline.end("in")
        self.assertIsNone(pipeline.pull())
        worker.close()

    def test_by_hand(self):
        """take() and answer(): several in hand, answered in any order, each once"""
        pipeline = start("fakesrc num-buffers=5 size=1 ! appmap name=f ! appsink")
        taken = [pipeline.take("f") for _ in range(5)]
        for i in (4, 2, 0, 1, 3):
            self.assertTrue(pipeline.answer("f", taken[i], {"n": i}))
        with self.assertRaisesRegex(headrace.CoreError, "once"):
            pipeline.answer("f", taken[0], {"n": 0})
        self.assertEqual([pipeline.pull()["n"] for _ in range(5)], list(range(5)))
        self.assertIsNone(pipeline.pull())
        self.assertIsNone(pipeline.take("f"))
        self.assertFalse(pipeline.answer("f", taken[0], {}))
        with self.assertRaisesRegex(headrace.CoreError, "not an appmap"):
            start(PLAIN).take("in")

    def test_dropped(self):
        """a loader that is forgotten in the middle ends its thread; an interrupted function does not keep it"""
        for n in range(3):
            loader = load(self.pipeline(), map=keep)
            for _ in range(n):
                next(loader)
            del loader
            gc.collect()
        self.assertEqual([thread.name for thread in threading.enumerate() if "headrace" in thread.name], [])

    def test_pickled(self):
        """a loader with a function of a module can be copied"""
        loader = load(self.pipeline(), map=keep)
        first = next(loader)
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual(digests([next(again)]), digests([next(loader)]))
        loader.close()
        again.close()

    def test_exit(self):
        """the interpreter ends in the middle: while the function works, and while it has nothing to do"""
        for work in ("pass", "time.sleep(0.01)"):
            child = run_python("import headrace, sys, time\ndef f(sample):\n"
                               f"    {work}\n    return sample\n"
                               "loader = headrace.Loader(sys.argv[1], framework='numpy', map=f)\n"
                               "held = next(loader)['pixel_values']\nprint(len(held.shape))\n", self.pipeline())
            out, err = child.communicate(timeout=60)
            self.assertEqual((out, err, child.returncode), ("2\n", "", 0))

    def test_interrupt(self):
        """Ctrl-C ends a run whose function works for ever"""
        child = run_python("import headrace, sys, time\ndef f(sample):\n    if not over:\n        print('working', flush=True)\n"
                           "    while not over:\n        time.sleep(0.01)\n"
                           "over = False\nloader = headrace.Loader(sys.argv[1], framework='numpy', map=f)\n"
                           "try:\n    next(loader)\nexcept KeyboardInterrupt:\n    over = True\n    print('interrupted')\n",
                           self.pipeline())
        self.assertEqual(child.stdout.readline(), "working\n")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("interrupted\n", 0), err)


tap.main()
