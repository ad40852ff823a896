#!/usr/bin/env python3
"""The parts of headrace.ray that decide something, without a cluster."""
import json
import math
import pathlib
import pickle
import tempfile
import threading
import time
import unittest

import dataset
import headrace
import numpy as np
import tap
from headrace.ray import SpreadDataError, SpreadLoader, errors
from headrace.ray.lateness import Lateness
from headrace.ray.producer import join_document, split_document
from headrace.ray.requests import Requests
from headrace.ray.spec import Spec
from headrace.ray.suspects import Suspects
from headrace.ray.tries import Tries
from headrace.ray.unit import Unit
from headrace.ray.verdict import judge

TEXT = "filesrc location=nowhere/ ! jsonlparse ! batch size=2 ! appsink"
UNIT = Unit(epoch=1, slice=7, world=2)


def stats(**changed):
    link = {"units": 10, "bytes": 10_000_000, "made_s": 1.0, "pulled_s": 0.1}
    elements = [{"name": name, "inputs": inputs, "workers": workers, "working_s": working} for name, inputs, workers, working
                in (("filesrc0", [], 1, 2.0), ("imagefetch0", ["filesrc0"], 1, 9.0), ("resize0", ["imagefetch0"], 4, 12.0))]
    pipeline = {"elements": elements, "bottleneck": {"element": "imagefetch0", "kind": "network-latency"}, "advice": {"text": "set concurrency=64"}}
    return {"wait_ratio": 0.5, "steps": 20, "prepare_s": 10.0, "train_s": 5.0, "cold_start_s": 0.0, "node": "a", "placement": "spread",
            "links": {"a": dict(link, pulled_s=0.0), "b": dict(link), "c": dict(link)},
            "producers": [{"ip": "a", "units": 10, "made_s": 1.0, "pipeline": None},
                          {"ip": "b", "units": 10, "made_s": 9.0, "pipeline": pipeline}], **changed}


class LateToTell:
    """A pipeline of which nobody hears that it has failed, until told to."""

    def __init__(self, pipeline):
        self._pipeline, self.failed, self.tell = pipeline, threading.Event(), threading.Event()

    def __getattr__(self, name):
        return getattr(self._pipeline, name)

    def pull(self):
        try:
            return self._pipeline.pull()
        except headrace.Error:
            self.failed.set()
            self.tell.wait()
            raise


class Parts(unittest.TestCase):
    def test_requests(self):
        """who asks a pipeline that has just failed for another's sake gets what was asked for"""
        data = dataset.DataSet(bad={5})
        self.addCleanup(data.remove)
        text = str(headrace.Pipeline("requests=true " + data.pipeline()))
        with headrace.Loader(data.pipeline(head="on-error=skip"), framework="numpy") as loader:
            bad = next(at for at, step in enumerate(loader) if any(sample["skipped"] for sample in step.batch.samples))
        made = []

        def make():
            made.append(LateToTell(headrace.Pipeline(text)))
            if len(made) > 1:
                made[-1].tell.set()
            return made[-1]

        requests, errors_told = Requests(make), []

        def take_bad():
            try:
                requests.take(0, bad)
            except headrace.Error as error:
                errors_told.append(error)

        thread = threading.Thread(target=take_bad)
        thread.start()
        while not made:
            time.sleep(0.01)
        self.assertTrue(made[0].failed.wait(300))
        batch, _ = requests.take(0, bad + 1)
        self.assertEqual(len(batch.samples), 4)
        made[0].tell.set()
        thread.join()
        self.assertIsInstance(errors_told[0], headrace.DataError)
        self.assertIn("a.jsonl:6", str(errors_told[0]))
        self.assertEqual(len(requests.take(0, 0)[0].samples), 4)

    def test_lateness(self):
        """nobody is late before 1 s, nor before 3 times what 99 of 100 took, nor while nothing is known"""
        late = Lateness()
        self.assertGreater(late.limit, 30)
        # of few the short ones are known first, and a long one may have met a start
        for age, limit in ((0.2, 2.5), (2.0, 6.0), (0.3, 2.5), (9.0, 6.0), (0.4, 2.5)):
            late.add(age)
            self.assertEqual(late.limit, limit)
        for _ in range(11):
            late.add(0.5)
        self.assertEqual(late.limit, 6.0)
        late = Lateness()
        for _ in range(100):
            late.add(0.1)
        self.assertEqual(late.limit, 1.0)
        # one that was held up is not what is known of all others
        late.add(7.0)
        self.assertEqual(late.limit, 1.0)
        for _ in range(10):
            late.add(2.0)
        self.assertEqual(late.limit, 6.0)
        for _ in range(256):
            late.add(0.5)
        self.assertEqual(late.limit, 1.5)
        # 99 of 100, not 95 of them: the third longest of 256
        for n_long, limit in ((2, 1.5), (3, 12.0)):
            late = Lateness()
            for age in (256 - n_long) * [0.5] + n_long * [4.0]:
                late.add(age)
            self.assertEqual(late.limit, limit)

    def test_tries(self):
        """a unit that is lost waits twice as long each time, up to 2 s, and not for ever; a late one gets twice as long"""
        tries = Tries()
        self.assertEqual([tries.lose() for _ in range(7)], [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0])
        self.assertFalse(tries.is_hopeless)
        rests = [tries.lose() for _ in range(93)]
        self.assertEqual((set(rests), tries.is_hopeless), ({2.0}, False))
        tries.lose()
        self.assertTrue(tries.is_hopeless)
        limits = []
        for tries.n_late in range(4):
            limits.append((tries.patience(1.5, suspected=False), tries.patience(1.5, suspected=True)))
        self.assertEqual(limits, [(1.5, 0.0), (3.0, 3.0), (6.0, 6.0), (12.0, 12.0)])

    def test_suspects(self):
        """a node is suspected for some time, longer each time; the last one never"""
        suspects = Suspects()
        self.assertTrue(suspects.add("a", ["a", "b"], now=0))
        self.assertFalse(suspects.add("a", ["a", "b"], now=1))
        self.assertFalse(suspects.add("b", ["a", "b"], now=1))
        self.assertEqual(suspects.at(5), {"a"})
        self.assertEqual(suspects.at(11), set())
        self.assertTrue(suspects.add("a", ["a", "b"], now=20))
        self.assertEqual(suspects.at(39), {"a"})
        self.assertFalse(Suspects().add("a", ["a"], now=0))

    def test_units(self):
        """a unit knows its step and its rank"""
        self.assertEqual((UNIT.step, UNIT.rank, str(UNIT)), (3, 1, "epoch 1, step 3, rank 1"))

    def test_beside(self):
        """aligned: each rank has producers of its own, and shares them where they are fewer than ranks"""
        for world, n, wanted in ((2, 2, [[0], [1]]), (2, 5, [[0, 2, 4], [1, 3]]), (4, 2, [[0], [1], [0], [1]]), (3, 1, [[0], [0], [0]])):
            spec = Spec("", world, False, "aligned", n, 1, 2, 60, "")
            self.assertEqual([[index for index in range(n) if spec.is_beside(index, rank)] for rank in range(world)], wanted)

    def test_errors(self):
        """an error of a pipeline over there is one of its class here, and says node, unit and element"""
        with self.assertRaises(headrace.ParseError) as caught:
            headrace.Pipeline("nothing ! like ! this")
        there = errors.make(pickle.loads(pickle.dumps(errors.describe(caught.exception))), "10.0.0.3", UNIT)
        self.assertIsInstance(there, headrace.ParseError)
        self.assertEqual((there.kind, there.node, there.unit), ("unknown-element", "10.0.0.3", UNIT))
        told = {"class": "SpreadDataError", "kind": "bad-json", "text": 'jsonlparse "parse": a.jsonl:3: expected a comma'}
        error = errors.make(told, "10.0.0.3", UNIT)
        self.assertIsInstance(error, SpreadDataError)
        self.assertIsInstance(error, headrace.DataError)
        self.assertEqual(error.element, "parse")
        self.assertEqual(str(error), f"epoch 1, step 3, rank 1, on node 10.0.0.3: {told['text']}")
        self.assertEqual(errors.describe(ZeroDivisionError("x"))["text"], "ZeroDivisionError: x")
        # as out of an actor that is a rank
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), vars(again)), (SpreadDataError, str(error), vars(error)))
        self.assertEqual(again.unit, UNIT)

    def test_shorten(self):
        """of Ray's errors, which are pages, a line"""
        for text, short in (("", "RuntimeError"), ("gone", "gone"), ("gone.\n", "gone"), ("\x1b[36mgone\x1b[39m, \x1b[1;31mtoo", "gone, too"),
                            ("The actor died:\n\n  File ...\n    x\nModuleNotFoundError: No module named 'headrace'\n",
                             "The actor died: ModuleNotFoundError: No module named 'headrace'")):
            self.assertEqual(errors.shorten(RuntimeError(text)), short)

    def test_documents(self):
        """a checkpoint that was taken apart is whole again"""
        text = ('{"checkpoint": 1, "epoch": 2, "step": 3, "steps": 9, "rank": null, "row": 0, "skipped": [], "elements": [],'
                ' "data": [{"identity": "x", "lines": 7, "unit": 1, "byte": 2, "first": 3}]}')
        fixed, position = split_document(text)
        self.assertNotIn("step", fixed)
        self.assertEqual(fixed["data"], [{"identity": "x", "lines": 7}])
        self.assertEqual(position["data"], [{"unit": 1, "byte": 2, "first": 3}])
        whole, again = split_document(join_document(fixed, position))
        self.assertEqual((whole, again), (fixed, position))

    def test_verdict(self):
        """whom the trainer waits for: nobody, a link, or a node and its element"""
        def find(told):
            return tuple(judge(told)["bottleneck"][name] for name in ("kind", "node", "element"))

        self.assertEqual(judge(stats(wait_ratio=None)), {"bottleneck": None, "advice": None})
        self.assertEqual(judge(stats(steps=1)), {"bottleneck": None, "advice": None})
        self.assertEqual(find(stats(wait_ratio=0.04)), ("trainer", None, None))
        self.assertEqual(find(stats()), ("producers", "b", "imagefetch0"))
        self.assertEqual(judge(stats())["advice"]["element"], "imagefetch0")
        self.assertIn("set concurrency=64", judge(stats())["advice"]["text"])
        other = stats()
        other["producers"][1]["pipeline"]["elements"][2]["working_s"] = 40.0
        self.assertEqual(find(other), ("producers", "b", "resize0"))
        other["producers"][1]["pipeline"]["elements"][0]["working_s"] = 41.0
        self.assertEqual(find(other), ("producers", "b", "filesrc0"))
        self.assertNotIn("concurrency", judge(other)["advice"]["text"])
        slow = stats()
        slow["links"]["c"]["pulled_s"] = 8.0
        self.assertEqual(find(slow), ("link", "c", None))
        self.assertIn("1.2 MB/s", judge(slow)["advice"]["text"])
        # all alike: what they have in common
        slow["links"]["b"]["pulled_s"] = 5.0
        self.assertEqual(find(slow), ("link", "a", None))
        slow["links"]["b"]["pulled_s"] = 0.1
        # what stays on the node is no link
        slow = stats()
        slow["links"]["a"]["pulled_s"] = 8.0
        self.assertEqual(find(slow)[0], "producers")

    def test_waiting_source(self):
        """a source that waits to be asked does not work"""
        with tempfile.TemporaryDirectory(prefix="hr-ray-") as folder:
            (pathlib.Path(folder) / "a.jsonl").write_text(8 * '{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}\n')
            pipeline = headrace.Pipeline(TEXT.replace("nowhere/", f"{folder}/").replace("filesrc", "requests=true filesrc"))
            pipeline.start()
            for _ in range(60):  # it may be late
                time.sleep(0.5)
                pipeline.request(0, 0)
                self.assertEqual(len(pipeline.pull().samples), 2)
                source = json.loads(pipeline.stats())["elements"][0]
                if source["blocked_in_s"] > max(0.4, source["working_s"]):
                    break
            pipeline.stop()
        self.assertGreater(source["blocked_in_s"], 0.4)
        self.assertLess(source["working_s"], source["blocked_in_s"])

    def test_refused(self):
        """what a spread loader cannot do is said before anything runs"""
        for options, words in (({"depth": 3}, "depth=3: expected at least 4"), ({"placement": "near"}, "aligned, spread, pack"),
                               ({"depth": 0}, "depth=0"), ({"producers": -1}, "producers=-1"), ({"producers": 0}, "producers=0: expected at least 1"),
                               ({"at_once": 0}, "at_once=0"), ({"num_cpus": -1}, "num_cpus=-1"), ({"num_cpus": math.nan}, "num_cpus=nan"),
                               ({"num_cpus": 1.5}, "num_cpus=1.5: expected a whole number"), ({"num_cpus": math.inf}, "num_cpus=inf"),
                               ({"linger": 4}, "linger=4: expected at least 5"), ({"linger": math.nan}, "linger=nan"),
                               ({"rank": 0}, "rank and world belong together"), ({"rank": 2, "world": 2}, "rank=2 of world=2")):
            with self.assertRaisesRegex(ValueError, words):
                SpreadLoader(TEXT, **options)
        for name in ("depth", "producers", "at_once"):
            for value in ("8", 8.5, [8]):
                with self.assertRaisesRegex(TypeError, rf"^{name}=.*: expected a whole number"):
                    SpreadLoader(TEXT, **{name: value})
        for options, words in (({"rank": "0", "world": 1}, "rank='0'"), ({"rank": 0, "world": 1.0}, "world=1.0")):
            with self.assertRaisesRegex(TypeError, f"^{words}: expected a whole number"):
                SpreadLoader(TEXT, **options)
        for name, value, words in (("num_cpus", "1", "a number"), ("linger", None, "a number"), ("job", 7, "a text"), ("address", 6379, "a text")):
            with self.assertRaisesRegex(TypeError, rf"^{name}=.*: expected {words}"):
                SpreadLoader(TEXT, **{name: value})
        for name in ("then", "pipeline"):
            with self.assertRaisesRegex(TypeError, "a pipeline's text, or the path"):
                SpreadLoader(**{"pipeline": TEXT, name: 7})
        with self.assertRaisesRegex(ValueError, "limit="):
            SpreadLoader("limit=5 " + TEXT)
        with self.assertRaisesRegex(ValueError, "packed"):
            SpreadLoader(TEXT.replace("batch size=2", "tokenize tokenizer=t.json ! batch mode=packed"))
        with self.assertRaisesRegex(ValueError, "appmap"):
            SpreadLoader(TEXT.replace("! batch", "! appmap ! batch"))
        with self.assertRaises(headrace.ParseError):
            SpreadLoader(TEXT, then="patch ! appsink")
        with self.assertRaises(headrace.ParseError):
            SpreadLoader("files ! appsink")
        for source in ("fakesrc", "appsrc"):
            with self.assertRaisesRegex(ValueError, "^s: .* begins with filesrc or s3src"):
                SpreadLoader(f"{source} name=s ! batch size=2 ! appsink")
        for end in ("fakesink", "cudasink"):
            with self.assertRaisesRegex(ValueError, "ends in appsink"):
                SpreadLoader(TEXT.replace("appsink", end))
        with self.assertRaisesRegex(ValueError, "then=: expected appsink or cudasink"):
            SpreadLoader(TEXT, then="patchify ! fakesink")
        for then, name in (("patchify ! batch size=2 ! appsink", "batch0"), ("patchify name=p on-error=skip ! appsink", "p")):
            with self.assertRaisesRegex(ValueError, f"then=: {name}: batches are whole"):  # else it would be waited for without end
                SpreadLoader(TEXT, then=then)

    def test_epochs(self):
        """as often as the text says, the mix before its members, else without end"""
        mix = "mix name=m{} ! jsonlparse ! batch ! appsink filesrc location=a/ ! m. filesrc location=b/ ! m."
        for text, options, epochs in ((TEXT, {}, 0), (TEXT, {"epochs": 3}, 3), ("epochs=2 " + TEXT, {}, 2),
                                      (TEXT.replace("where/", "where/ epochs=4"), {}, 4),
                                      (TEXT.replace("where/", "where/ epochs=4"), {"epochs": 3}, 3),
                                      (mix.format(" epochs=5"), {}, 5), (mix.format(""), {}, 0)):
            self.assertEqual(SpreadLoader(text, **options)._pipeline._epochs, epochs, text)

    def test_pickle(self):
        """a loader that was not started can be given to another process"""
        loader = SpreadLoader(TEXT, rank=1, world=2, depth=5, placement="spread", then="patchify ! appsink")
        state = {"headrace": headrace.__version__, "checkpoint": None}
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual(again._spread, loader._spread)
        self.assertEqual((again._pipeline._spec, again._pipeline._rank), (loader._pipeline._spec, 1))
        with tempfile.TemporaryDirectory(prefix="hr-ray-") as folder:  # which the other one does not see
            path = pathlib.Path(folder, "then.hr")
            path.write_text("patchify ! appsink", encoding="utf-8")
            data = pickle.dumps(SpreadLoader(TEXT, then=path))
        self.assertIn("patchify", pickle.loads(data)._pipeline._then.to_shown_string())
        # numbers of numpy, and 1 for 1.0, are the same run
        names = {SpreadLoader(TEXT, rank=0, world=1, **options)._pipeline._spec.name for options in (
            {}, {"producers": 1}, {"producers": np.int64(1), "num_cpus": 1.0}, {"num_cpus": np.float32(1), "linger": 60.0})}
        self.assertEqual(len(names), 1)
        self.assertEqual(again.state_dict(), state)


tap.main()
