#!/usr/bin/env python3
"""The core through GObject Introspection, as Python's own bindings see it: every part of the API by use, and whose what is."""
import gc
import json
import pathlib
import resource
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import tap

try:
    import gi
    gi.require_version("Headrace", "1.0")
    from gi.repository import GLib, GObject, Headrace
except (ImportError, ValueError) as error:
    print(f"1..0 # SKIP no bindings: {error}; install python3-gi and gir1.2-json-1.0, and build with introspection")
    sys.exit()

GIR = pathlib.Path(sys.argv.pop(1))
NAMES = {"": "http://www.gtk.org/introspection/core/1.0", "c": "http://www.gtk.org/introspection/c/1.0"}


def make(text):
    return Headrace.parse_launch(text)


def rss():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Bindings(unittest.TestCase):
    def setUp(self):
        gc.collect()

    def tearDown(self):
        gc.collect()
        self.assertEqual((Headrace.buffer_live(), Headrace.tensor_live(), Headrace.memory_live()), (0, 0, 0))

    def check(self, function, domain, code, words):
        with self.assertRaises(GLib.Error) as caught:
            function()
        self.assertTrue(caught.exception.matches(domain, code), caught.exception)
        self.assertRegex(caught.exception.message, words)

    def test_errors(self):
        """errors have the domain and the code of their kind"""
        parse, core, resource_, data = (Headrace.parse_error_quark(), Headrace.core_error_quark(),
                                        Headrace.resource_error_quark(), Headrace.data_error_quark())
        self.check(lambda: make("fakesrc ! nonsense"), parse, Headrace.ParseError.UNKNOWN_ELEMENT, "nonsense")
        self.check(lambda: make("fakesrc ! batch size=0 ! fakesink"), parse, Headrace.ParseError.OUT_OF_RANGE, "size")
        self.check(lambda: make("fakesrc num-buffers=${N} ! fakesink"), parse, Headrace.ParseError.VARIABLE, "N")
        self.check(make("fakesrc ! appsink").pull, core, Headrace.CoreError.STATE, "not been started")
        missing = make("filesrc location=/nowhere.jsonl ! jsonlparse ! appsink")

        def read():
            missing.start()
            missing.pull()
        self.check(read, resource_, Headrace.ResourceError.NOT_FOUND, "nowhere")
        pipeline = make("fakesrc ! identity error-after=2 ! appsink")
        pipeline.start()

        def drain():
            while pipeline.pull() is not None:
                pass
        self.check(drain, data, Headrace.DataError.OTHER, "identity0")
        self.assertEqual(Headrace.data_error_kind(Headrace.DataError.BAD_JSON), "bad-json")
        del pipeline, drain, missing, read

    def test_variables(self):
        """a dict of variables, or none"""
        pipeline = Headrace.parse_launch_full("fakesrc name=s num-buffers=${N} ! appsink", {"N": "3"})
        self.assertEqual(pipeline.get_element("s").props.num_buffers, 3)
        self.assertIsNotNone(Headrace.parse_launch_full("fakesrc ! fakesink", None))

    def test_properties(self):
        """properties of elements and of the pipeline, typed and as text"""
        pipeline = make("memory=1GiB fakesrc name=s ! batch name=b ! appsink")
        source = pipeline.get_element("s")
        source.set_property("num-buffers", 5)
        source.set_from_string("size", "2KiB")
        self.assertEqual((source.props.num_buffers, source.get_property("size")), (5, 2048))
        pipeline.set_from_string("memory", "2GiB")
        self.assertEqual(pipeline.props.memory, 2 << 30)
        self.check(lambda: source.set_from_string("size", "many"), Headrace.parse_error_quark(),
                   Headrace.ParseError.BAD_VALUE, "many")
        self.assertIsNone(pipeline.get_element("nobody"))
        self.assertEqual([pipeline.get_nth_element(i).get_name() for i in range(pipeline.get_n_elements())],
                         ["s", "b", "appsink0"])
        self.assertEqual((source.get_factory(), source.get_next(0).get_name()), ("fakesrc", "b"))
        self.assertIsNone(source.get_previous(0))
        self.assertIn("size=2KiB", source.to_string())
        self.assertEqual(make(pipeline.to_string()).to_string(), pipeline.to_string())
        names = {prop.name for prop in source.list_properties()}
        self.assertLessEqual({"num-buffers", "size", "workers", "queue-items", "on-error"}, names)
        self.assertIn("digraph", pipeline.to_dot())

    def test_run(self):
        """a run: states, batches, fields, origins, statistics"""
        pipeline = make("fakesrc num-buffers=5 size=8 ! batch size=2 ! appsink")
        self.assertEqual(pipeline.get_state(), Headrace.State.STOPPED)
        pipeline.start()
        self.assertEqual(pipeline.get_state(), Headrace.State.RUNNING)
        n = []
        while (batch := pipeline.pull()) is not None:
            self.assertEqual(batch.number, len(n))
            self.assertEqual(batch.get_n_fields(), 1)
            name, kind = batch.get_field(0)
            self.assertEqual((name, kind), ("bytes", Headrace.FieldType.LIST))
            images = batch.get_list("bytes")
            self.assertIsNone(batch.get_list("nothing"))
            self.assertIsNone(batch.get_tensor("bytes"))
            self.assertEqual(images.get_item_type(0), Headrace.FieldType.TENSOR)
            tensor = images.get_tensor(0)
            self.assertEqual((tensor.get_dtype_name(), tensor.get_n_dims(), tensor.get_dim(0), tensor.get_n_bytes()),
                             ("uint8", 1, 8, 8))
            self.assertTrue(tensor.is_contiguous())
            self.assertEqual(batch.get_n_members(), images.get_length())
            self.assertEqual(batch.get_member(0).sample, 2 * len(n))
            self.assertIsNone(batch.get_member(0).get_error())
            self.assertEqual(len(batch.get_digest()), 64)
            n.append(batch.get_n_members())
        self.assertEqual(n, [2, 2, 1])
        pipeline.wait()
        self.assertEqual(pipeline.get_state(), Headrace.State.DONE)
        self.assertEqual(json.loads(pipeline.get_stats())["samples"], 5)
        self.assertEqual(pipeline.get_n_steps(), -1)
        del batch, images, tensor

    def test_timed(self):
        """the calls with a time-out say that it is over"""
        pipeline = make("appsrc name=in ! appsink")
        pipeline.start()
        buffer, timed_out = pipeline.pull_timed(1000000)
        self.assertEqual((buffer, timed_out), (None, True))
        pipeline.stop()
        self.assertIsNone(pipeline.pull())

    def test_push(self):
        """buffers of the program's own: given away, every kind of field, and back"""
        pipeline = make("appsrc name=in ! appsink")
        pipeline.start()
        for i in range(100):
            buffer = Headrace.Buffer.new()
            buffer.set_string("text", f"Füße {i}")
            buffer.set_tensor("array", Headrace.Tensor.new_bytes(Headrace.Memory.new_copy(bytes(range(10)))))
            items = Headrace.List.new(2)
            items.append_string("a")
            buffer.set_list("list", items)
            self.assertTrue(pipeline.push("in", buffer))
            out = pipeline.pull()
            self.assertEqual((out.get_string("text"), out.get_list("list").get_string(0)), (f"Füße {i}", "a"))
            self.assertEqual(out.get_tensor("array").get_dim(0), 10)
            self.assertEqual(out.get_tensor("array").get_bytes().get_data(), bytes(range(10)))
        pipeline.end("in")
        self.assertIsNone(pipeline.pull())
        del buffer, items, out

    def test_take(self):
        """work on samples of appmap, in this language"""
        pipeline = make("on-error=skip fakesrc num-buffers=3 size=1 ! appmap name=f ! appsink")
        pipeline.start()
        taken = []
        for i in range(3):
            sample, timed_out = pipeline.take("f", 20 * 10 ** 9)
            self.assertFalse(timed_out)
            taken.append(sample)
        result = Headrace.Buffer.new()
        result.set_string("text", "mine")
        self.assertTrue(pipeline.answer("f", taken[1], result))
        self.assertTrue(pipeline.answer("f", taken[0], None))
        self.assertTrue(pipeline.reject("f", taken[2], GLib.Error.new_literal(
            Headrace.data_error_quark(), "bad", Headrace.DataError.OTHER)))
        self.assertEqual(pipeline.pull().get_string("text"), "mine")
        self.assertIsNone(pipeline.pull())
        del taken, sample, result

    def test_checkpoint(self):
        """where a run is, and going on from there"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.jsonl")
            path.write_text("".join(json.dumps({"id": f"r{i}", "conversations": [
                {"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}) + "\n" for i in range(9)), encoding="utf-8")
            text = f"filesrc location={path} ! jsonlparse ! batch size=2 ! appsink"
            pipeline, digests = make(text), []
            pipeline.start()
            while (batch := pipeline.pull()) is not None:
                digests.append(batch.get_digest())
                if len(digests) == 2:
                    document = pipeline.get_checkpoint(batch)
                    origin = batch.get_member(0).get_origin()
                    self.assertEqual((origin.line, origin.id, origin.uri), (3, "r2", str(path)))
                    self.assertEqual(origin.to_string(), f"{path}:3")
            again = make(text)
            again.resume(document, False)
            again.start()
            self.assertEqual(again.pull().get_digest(), digests[2])
            other = make(text.replace("size=2", "size=4"))
            other.resume(document, False)
            with self.assertRaisesRegex(GLib.Error, "size"):
                other.start()
            del pipeline, batch, again, other, origin

    def test_messages(self):
        """messages: bad samples and the end, with errors and origins"""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.jsonl").write_text("nonsense\n", encoding="utf-8")
            pipeline = make(f"on-error=skip filesrc location={folder}/ ! jsonlparse ! fakesink")
            pipeline.start()
            pipeline.wait()
            messages = []
            while (message := pipeline.pop_message(0)) is not None:
                messages.append(message)
        self.assertEqual([message.type for message in messages][0], Headrace.MessageType.SKIPPED)
        self.assertEqual(messages[-1].type, Headrace.MessageType.DONE)
        self.assertEqual((messages[0].element, messages[0].origin.line), ("jsonlparse0", 1))
        self.assertIn("a.jsonl:1", messages[0].error.message)
        del messages, message

    def test_elements(self):
        """which elements there are, and what they are"""
        names = Headrace.registry_get_names()
        self.assertLessEqual({"fakesrc", "batch", "appmap", "resize"}, set(names))
        self.assertEqual(names, sorted(names))

    def test_types(self):
        """what holds a reference is a boxed type or an object, so that bindings count"""
        for name in ("Buffer", "List", "Memory", "Message", "Origin", "Tensor"):
            self.assertTrue(GObject.type_is_a(getattr(Headrace, name).__gtype__, GObject.TYPE_BOXED), name)
        for name in ("Pipeline", "Element"):
            self.assertTrue(GObject.type_is_a(getattr(Headrace, name).__gtype__, GObject.TYPE_OBJECT), name)

    def test_annotated(self):
        """every parameter and result of the data file says who owns it, and no pointer is without a type"""
        tree = xml.etree.ElementTree.parse(GIR)
        wrong = []
        for call in (node for tag in ("function", "method", "constructor") for node in tree.iterfind(f".//{tag}", NAMES)):
            if call.get("introspectable") == "0":
                continue
            for value in call.iterfind("return-value", NAMES):
                kind = value.find("type", NAMES)
                if value.get("transfer-ownership") is None:
                    wrong.append((call.get(f"{{{NAMES['c']}}}identifier"), "no owner"))
                if kind is not None and kind.get("name") == "gpointer":
                    wrong.append((call.get(f"{{{NAMES['c']}}}identifier"), "gpointer"))
        self.assertEqual(wrong, [])

    def test_flat(self):
        """thousands of batches, pushes, errors and messages later the process is as large as before"""
        def work():
            pipeline = make("fakesrc num-buffers=400 size=4KiB ! batch size=2 ! appsink")
            pipeline.start()
            while (batch := pipeline.pull()) is not None:
                batch.get_digest(), batch.get_list("bytes").get_tensor(1).get_memory(), batch.get_member(0).get_origin()
            pipeline.get_stats(), pipeline.to_dot(), pipeline.to_string()
            while pipeline.pop_message(0) is not None:
                pass
            pipeline = make("appsrc name=in ! appsink")
            pipeline.start()
            for _ in range(100):
                buffer = Headrace.Buffer.new()
                buffer.set_string("text", "x" * 2000)
                buffer.set_tensor("array", Headrace.Tensor.new_bytes(Headrace.Memory.new_copy(b"x" * 2000)))
                pipeline.push("in", buffer)
                pipeline.pull()
            for _ in range(20):
                try:
                    make("fakesrc ! nonsense")
                except GLib.Error:
                    pass

        for _ in range(3):
            work()
        gc.collect()
        before = rss()
        for _ in range(25):
            work()
        gc.collect()
        self.assertLess(rss() - before, 8 << 20)


tap.main()
