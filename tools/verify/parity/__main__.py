"""hr-verify parity's other half: reads samples from stdin, compares them with the real libraries.

Run by hr-verify, which writes what tools/verify/stream.h describes.
"""
import argparse
import importlib.metadata
import json
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("numpy", "pillow", "jinja2", "tokenizers", "torch", "torchvision", "transformers")
FIELDS = ("input_ids", "labels", "attention_mask", "mm_token_type_ids", "position_ids", "image_grid_thw", "pixel_values")
MOST_NAMED = 100


def versions():
    found, missing = {"python": sys.version.split()[0]}, []
    for name in NEEDED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        print(f"hr-verify parity: {sys.executable} has no {', '.join(missing)}; make a Python that has all, and name it:\n"
              f"  python3 -m venv VENV && VENV/bin/pip install -r {os.path.join(HERE, 'requirements.txt')}\n"
              "  hr-verify parity --python VENV/bin/python3 …", file=sys.stderr)
        sys.exit(2)
    return found


FOUND = versions()
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", TRANSFORMERS_VERBOSITY="error")

import numpy as np  # noqa: E402
import torch  # noqa: E402

import bounds  # noqa: E402
import pixels  # noqa: E402
import records  # noqa: E402
import reference  # noqa: E402
from fields import Field, to_levels  # noqa: E402
from media import Media  # noqa: E402
from settings import Settings  # noqa: E402

DTYPES = {"bfloat16": np.uint16}


def read_stream(stream):
    """(name, value, arrays) of each line"""
    for line in stream:
        (name, value), = json.loads(line).items()
        arrays = {}
        for tensor in value.get("tensors", []) if name == "sample" else []:
            dtype = np.dtype(DTYPES.get(tensor["dtype"], tensor["dtype"]))
            size = int(np.prod(tensor["shape"], dtype=np.int64)) * dtype.itemsize
            data = stream.read(size)
            if len(data) != size:
                raise EOFError
            arrays[tensor["name"]] = np.frombuffer(data, dtype).reshape(tensor["shape"])
        yield name, value, arrays


class Comparison:
    def __init__(self, arguments):
        self.arguments, self.text, self.failure = arguments, None, None
        self.fields, self.left_out, self.wrong, self.samples, self.ended = {}, {}, [], 0, False
        self.taken = {}  # of lines with many records: which have been compared

    def begin(self, elements):
        self.settings = Settings(elements)
        self.media = Media(self.settings)
        self.reference = reference.Reference(self.settings, self.arguments.tokenizer, self.arguments.template,
                                             self.arguments.backend)
        for name in FIELDS:
            bound = bounds.Bound()
            if name == "pixel_values":
                bound = bounds.pixel_bound(self.settings, self.arguments.backend, self.arguments.exact)
            self.fields[name] = Field(name, bound)

    def blame(self, origin, field, what):
        if len(self.wrong) < MOST_NAMED:
            self.wrong.append({"uri": origin["uri"], "line": origin["line"], "id": origin["id"], "field": field, **what})

    def make(self, value, origin):
        """the reference of a record, and its length"""
        jsonlparse = self.settings.find("jsonlparse")
        record = records.read_record(value, *(jsonlparse[name] for name in ("strip", "missing-placeholder", "late-system")))
        images = [pixels.decode(self.media.read_image(ref, origin["uri"]), self.settings, self.reference.note)
                  for ref in record.images]
        return self.reference.make(record, images)

    def find(self, origin, ids):
        """the reference of the sample of that origin. Of the records of one line it is the first whose tokens are
        these; where there is none, the first that is not taken."""
        values = records.read_line(self.media.read_line(origin))
        if len(values) == 1:
            return self.make(values[0], origin)
        taken = self.taken.setdefault((origin["uri"], origin["line"]), set())
        left = [i for i in range(len(values)) if i not in taken]
        made = {}
        for i in left:
            try:
                made[i] = self.make(values[i], origin)
            except Exception:  # one that was refused is not this sample
                continue
            if made[i][0] is not None and np.array_equal(made[i][0]["input_ids"], ids):
                taken.add(i)
                return made[i]
        if not made:
            raise ValueError("more samples than records on this line")
        taken.add(next(iter(made)))
        return next(iter(made.values()))

    def add_sample(self, origin, arrays):
        self.samples += 1
        try:
            made, length = self.find(origin, arrays.get("input_ids"))
        except reference.Refused as error:
            return self.blame(origin, "sample", {"what": f"is delivered, but the processor refuses it: {error}"})
        except SystemExit:
            raise
        except Exception as error:  # a fault of this program's, or of a library's: it must not pass for equal
            if os.environ.get("HR_DEBUG"):
                traceback.print_exc()
            return self.blame(origin, "sample", {"what": f"there is no reference: {type(error).__name__}: {error}"})
        limit = self.reference.options["max-length"]
        if made is None or (limit and len(made["input_ids"]) > limit):
            return self.blame(origin, "sample", {"what": f"is delivered, but too long: {length} tokens"})
        for name in FIELDS:
            self.compare(origin, name, arrays.get(name), made.get(name))

    def compare(self, origin, name, ours, theirs):
        field = self.fields[name]
        if name == "pixel_values" and not self.settings.find("patchify"):
            return
        if name == "labels" and theirs is None:
            # input_ids differ, which is told
            return
        if ours is None or theirs is None:
            if ours is not None or theirs is not None:
                field.broken = True
                self.blame(origin, name, {"what": "missing", "ours": ours is not None, "theirs": theirs is not None})
            return
        before, field.first = field.first, None
        broken, field.broken = field.broken, False
        if name == "pixel_values":
            same = field.compare_pixels(*self.same_type(ours, theirs), self.settings.statistics)
        else:
            same = field.compare(ours, theirs)
        if not same and (field.broken or name == "pixel_values"):
            self.blame(origin, name, {**field.first, "beyond": field.broken})
        field.first = before or field.first
        field.broken |= broken

    def same_type(self, ours, theirs):
        """theirs, float32, in our type; both as numbers"""
        dtype = self.settings.get("patchify", "dtype")
        if dtype == "bfloat16":
            ours = torch.from_numpy(ours.view(np.int16).copy()).view(torch.bfloat16).to(torch.float32).numpy()
            theirs = theirs.to(torch.bfloat16).to(torch.float32)
        elif dtype == "float16":
            ours, theirs = ours.astype(np.float32), theirs.to(torch.float16).to(torch.float32)
        theirs = theirs.numpy()
        if dtype == "uint8":
            theirs = np.clip(to_levels(theirs, self.settings.statistics), 0, 255).astype(np.uint8)
        return ours, theirs

    def add_left_out(self, note):
        """a sample that a rule leaves out must fall under that rule"""
        kind = note["kind"] or "other"
        self.left_out[kind] = self.left_out.get(kind, 0) + 1
        if kind not in ("overlong", "no-label") or note["byte"] < 0 or self.left_out[kind] > MOST_NAMED:
            return
        try:
            values = records.read_line(self.media.read_line(note))
            if len(values) != 1:  # which of them it is, is not told
                return
            made, length = self.make(values[0], note)
        except reference.Refused:
            return
        limit = self.reference.options["max-length"]
        if kind == "overlong" and made is not None and length <= limit:
            self.blame(note, "sample", {"what": f"is left out as overlong, but has {length} tokens"})
        elif kind == "overlong" and made is not None and self.reference.options["overlong"] == "shrink":
            self.blame(note, "sample", {"what": "is left out as overlong, but fits with smaller images"})
        elif kind == "no-label" and made is not None and made["labels"] is not None and (made["labels"] != -100).any():
            self.blame(note, "sample", {"what": "is left out, but has labels"})

    def run(self, stream):
        for name, value, arrays in read_stream(stream):
            if name == "text":
                self.text = value
            elif name == "elements":
                self.begin(value)
            elif name == "sample":
                self.add_sample(value, arrays)
            elif name == "left-out":
                self.add_left_out(value)
            elif name == "end":
                self.failure, self.ended = value, True

    # ---- the result

    @property
    def beyond(self):
        """the first difference that is not promised"""
        bad = {name for name, field in self.fields.items() if not field.good}
        return next((w for w in self.wrong if w["field"] == "sample" or (w["field"] in bad and w.get("beyond", True))),
                    next((w for w in self.wrong if w["field"] in bad), None))

    @property
    def good(self):
        return (self.ended and self.failure is None and self.samples > 0
                and all(field.good for field in self.fields.values()) and not any(w["field"] == "sample" for w in self.wrong))

    def as_json(self):
        return {"ok": self.good, "pipeline": self.text, "backend": self.arguments.backend, "versions": FOUND,
                "samples": self.samples, "left-out": self.left_out, "error": self.failure,
                "fields": {name: {"samples": f.samples, "values": f.values, "differing": f.differing, "share": f.share,
                                  "greatest": f.greatest, "greatest-levels": f.greatest_levels,
                                  "other-shapes": f.other_shapes, "ok": f.good,
                                  "bound": {"levels": f.bound.levels, "share": f.bound.share, "value": f.bound.value}}
                           for name, f in self.fields.items()},
                "notes": list(self.reference.notes.values()), "first": self.beyond, "differences": self.wrong}

    def print_text(self):
        print(f"{self.text}\nbeside " + ", ".join(f"{name} {FOUND[name]}" for name in FOUND)
              + f"; backend {self.arguments.backend}\n")
        rows = [("field", "samples", "values", "greatest difference", "differ", "promised", "")]
        for name, field in self.fields.items():
            greatest = f"{field.greatest:.2g}"
            if field.greatest_levels:
                greatest = f"{field.greatest_levels} levels"
            share = "none" if not field.differing else f"{field.share:.3%}"
            if field.other_shapes:
                greatest, share = "another shape", f"in {field.other_shapes:,}"
            if not field.samples:
                greatest = share = "-"
            rows.append((name, f"{field.samples:,}", f"{field.values:,}", greatest, share, str(field.bound),
                         "" if field.good else "BEYOND"))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(cell.ljust(width) if i in (0, 5, 6) else cell.rjust(width)
                            for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
        print()
        for note in self.reference.notes.values():
            print(f"note: {note}")
        if self.left_out:
            print("left out: " + ", ".join(f"{n} {kind}" for kind, n in sorted(self.left_out.items())))
        if self.beyond:
            print(f"first difference beyond: {tell(self.beyond)}")
        if self.failure:
            print(f"failed: {self.failure}")
        elif not self.ended:
            print("failed: the samples ended early")
        elif not self.samples:
            print("failed: there was no sample to compare")
        print(f"{self.samples} samples: {'as promised' if self.good else 'NOT as promised'}")


def tell(wrong):
    where = f"{wrong['uri']}:{wrong['line']}" + (f" (id {wrong['id']})" if wrong["id"] else "")
    what = wrong["what"]
    if wrong["field"] == "sample":
        return f"{where}: {what}"
    if what == "missing":
        return f"{where}: {wrong['field']} is only {'ours' if wrong['ours'] else 'theirs'}"
    place = f"[{', '.join(str(i) for i in wrong['index'])}]" if isinstance(wrong.get("index"), list) else ""
    if what == "shape":
        place = f" (from {wrong['index']} on)" if "index" in wrong else ""
        return f"{where}: {wrong['field']} has the shape {wrong['ours']}, theirs {wrong['theirs']}{place}"
    return f"{where}: {wrong['field']}{place} is {wrong['ours']}, theirs {wrong['theirs']}" + \
        (" (levels of 256)" if what == "level" else "")


def main():
    parser = argparse.ArgumentParser(prog="hr-verify parity")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--template")
    parser.add_argument("--backend", choices=("pillow", "torchvision"), required=True)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    comparison = Comparison(arguments)
    try:
        comparison.run(sys.stdin.buffer)
    except (EOFError, KeyboardInterrupt):
        pass
    except OSError as error:
        sys.exit(f"hr-verify parity: {error}")
    if not comparison.fields:
        sys.exit("hr-verify parity: nothing came to compare")
    if arguments.json:
        print(json.dumps(comparison.as_json(), ensure_ascii=False))
    else:
        comparison.print_text()
    return 0 if comparison.good else 1


sys.exit(main())
