#!/usr/bin/env python3
"""usage: check-records.py BUILD ROOT [RECORDS [SEED]]: random conversations in every form that records have,
beside transformers' processor with the models' chat template. TAP; a failure tells the smallest record.

The generator knows what each record means. The reader of hr-verify parity must read the same from it, and then
hr-verify compares tokens, labels, positions, types, grids and pixels of all records."""
import base64
import json
import os
import sys
import tempfile

from PIL import Image

from verify import Tap, Verify, say, seeded

BUILD, ROOT = sys.argv[1:3]
sys.path.insert(0, os.path.join(ROOT, "tools", "verify", "parity"))
from records import read_record  # noqa: E402

SPACES = [" ", "\n", "\t", "\r\n", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\x0b", " \n ", "\n\n"]
WORDS = ["assistant", "user\n", "Hello", " world", "e\u0301", "\u0301", "\u00e9\u0323", "\u4e2d\u6587", "12345", "it's",
         "<|im_end|>", "<|im_start|>", "<think>", "</think>", "<|endoftext|>", "!", "?!", "<", "|>", "\U0001f600", "\ud55c",
         "\u1112\u1161\u11ab", "x" * 50, "def f(x):\n    return x", "\u0e01\u0e33", "\u0627\u0644", "<IMAGE>", "<image",
         "Picture 1: ", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u200d", "\ufeff", "\x01", "\u00df", "'\u017f"]
GROUPS = [  # settings of jsonlparse, of tokenize, of the rest, and the backend
    ("", "", "resize ! patchify normalize=pillow", "pillow"),
    ("strip=none", "add-vision-id=true label-newline=true position-rows=4", "resize ! patchify dtype=bfloat16", "pillow"),
    ("", "max-length=120 overlong=truncate-right ids=int32", "resize ! patchify", "pillow"),
    ("", "max-length=150 overlong=shrink", "resize reference=torchvision ! patchify dtype=float16", "torchvision"),
    ("", "max-length=90 boundary=split specials-in-text=plain", "resize", "pillow"),
]


def random_text(rng, least=0):
    pools = [WORDS, WORDS, SPACES, [chr(rng.choice([rng.randint(32, 0x2FF), rng.randint(0x300, 0xD7FF), rng.randint(0xE000, 0x10FFFF)]))]]
    return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(least, 8)))


class Pictures:
    """small images of many sizes, and the ways to link to them"""

    def __init__(self, rng, folder):
        self.rng, self.folder, self.files = rng, folder, []
        os.makedirs(os.path.join(folder, "images", "deep"), exist_ok=True)
        for number in range(40):
            size = rng.randint(1, 300), rng.randint(2, 300)
            image = Image.frombytes("RGB", size, rng.randbytes(size[0] * size[1] * 3))
            name = rng.choice(["images/", "images/deep/", ""]) + f"{number}.png"
            image.save(os.path.join(folder, name), compress_level=1)
            with open(os.path.join(folder, name), "rb") as file:
                self.files.append((name, file.read()))

    def link(self, objects=True):
        name, data = self.rng.choice(self.files)
        text = base64.b64encode(data).decode()
        forms = [name, name, f"./{name}", f"images/../{name}"]
        if objects:
            forms += [{"path": name}, {"url": name}, {"bytes": None, "path": name}]
        if len(text) < 20000:
            forms += [f"data:image/png;base64,{text}"] + [{"bytes": text, "path": "b.png"}] * objects
        return self.rng.choice(forms)


def strip(parts, how):
    """of a user's turn that is one text"""
    if how == "qwen":
        parts = [(kind, value.strip() if kind == "text" else value) for kind, value in parts]
    return parts


def merge(parts):
    """parts as they mean the same: no empty text"""
    return [part for part in parts if part[1] != ""]


class Maker:
    def __init__(self, rng, pictures, how):
        self.rng, self.pictures, self.how = rng, pictures, how

    def user(self, own_parts=False):
        """parts of a turn; images are numbered later"""
        parts = []
        for _ in range(self.rng.randint(1, 4)):
            image = self.rng.random() < 0.3
            if image or own_parts or not parts or parts[-1][0] == "image":
                parts.append(("image", None) if image else ("text", random_text(self.rng)))
        return parts

    def placeholders(self, parts):
        return "".join("<image>" if kind == "image" else value for kind, value in parts)

    def pool(self, record, links):
        rng = self.rng
        if links or rng.random() < 0.1:
            if len(links) == 1 and rng.random() < 0.5:
                record[rng.choice(["image", "images"])] = links[0]
            else:
                record[rng.choice(["image", "images"])] = links
        elif rng.random() < 0.1:
            record["images"] = None

    def system(self, record, turns, named=None):
        """named: how the form itself would write it"""
        if self.rng.random() > 0.3:
            return
        text = random_text(self.rng)
        if named is not None and self.rng.random() < 0.5:
            turns.append(("system", False, [("text", text)]))
            named.append(text)
        else:
            record["system"] = text
            if text:
                turns.append(("system", False, [("text", text)]))

    def loss(self, item):
        learned = True
        if self.rng.random() < 0.2:
            learned = item["loss"] = self.rng.random() < 0.5
        return learned

    # ---- the forms: each gives the record, what it means, and the links of its images

    def messages(self):
        rng, record, turns, links, pool, items = self.rng, {}, [], [], [], []
        named = []
        self.system(record, turns, named)
        if named:
            items.append({"role": rng.choice(["system", "developer"]),
                          "content": rng.choice([named[0], [{"type": "text", "text": named[0]}]])})
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.9:
                in_parts = rng.random() < 0.6
                parts, content = self.user(in_parts), []
                if not in_parts:
                    content = self.placeholders(parts)
                    for kind, _ in parts:
                        if kind == "image":
                            links.append(self.pictures.link())
                            pool.append(links[-1])
                    parts = strip(parts, self.how)
                for kind, value in parts if in_parts else []:
                    content.append(self.image_part(links, pool) if kind == "image" else self.text_part(value))
                turns.append(("user", False, parts))
                items.append({"role": "user", "content": content})
            text = random_text(rng) + rng.choice(["", "", "<image>"])
            item = {"role": "assistant", "content": rng.choice([text, [self.text_part(text)]])}
            turns.append(("assistant", self.loss(item), [("text", text)]))
            items.append(item)
        record["messages"] = items
        self.pool(record, pool)
        return record, turns, links

    def text_part(self, text):
        part = {"type": "text", "text": text}
        if self.rng.random() < 0.2:
            part.update(image=None, image_url=None, video=None)
        return part

    def image_part(self, links, pool):
        rng = self.rng
        link = self.pictures.link(objects=False)
        links.append(link)
        form = rng.randrange(6)
        if form == 0:
            pool.append(link)
            return {"type": "image", "image": None} if rng.random() < 0.5 else {"type": "image"}
        if form == 1 and link.startswith("data:"):
            return {"type": "image", "base64": link.partition(",")[2]}
        if form <= 2:
            return {"type": "image_url", "image_url": rng.choice([link, {"url": link}])}
        return {"type": "image", rng.choice(["image", "url", "path"]): link}

    def conversations(self):
        rng, record, turns, links, items = self.rng, {}, [], [], []
        named = []
        self.system(record, turns, named)
        if named:
            items.append({"from": "system", "value": named[0]})
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.9:
                parts = self.user()
                items.append({"from": rng.choice(["human", "user"]), "value": self.placeholders(parts)})
                links += [self.pictures.link() for kind, _ in parts if kind == "image"]
                turns.append(("user", False, strip(parts, self.how)))
            text = random_text(rng) + rng.choice(["", "", "<image>"])
            item = {"from": rng.choice(["gpt", "assistant", "chatgpt", "bing", "bard"]), "value": text}
            turns.append(("assistant", self.loss(item), [("text", text)]))
            items.append(item)
        record["conversations"] = items
        self.pool(record, links)
        return record, turns, links

    def conversation(self):
        rng, record, turns, links, items = self.rng, {}, [], [], []
        self.system(record, turns)
        for _ in range(rng.randint(1, 3)):
            parts, text = self.user(), random_text(rng)
            item = {"human": self.placeholders(parts), "assistant": text}
            links += [self.pictures.link() for kind, _ in parts if kind == "image"]
            turns += [("user", False, strip(parts, self.how)), ("assistant", self.loss(item), [("text", text)])]
            items.append(item)
        record["conversation"] = items
        self.pool(record, links)
        return record, turns, links

    def history(self, record, turns, links):
        items = []
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            parts, text = self.user(), random_text(self.rng)
            items.append([self.placeholders(parts), text])
            links += [self.pictures.link() for kind, _ in parts if kind == "image"]
            turns += [("user", False, strip(parts, self.how)), ("assistant", True, [("text", text)])]
        if items:
            record["history"] = items

    def query(self):
        record, turns, links = {}, [], []
        self.system(record, turns)
        self.history(record, turns, links)
        if self.rng.random() < 0.9:
            parts = self.user()
            record["query"] = self.placeholders(parts)
            links += [self.pictures.link() for kind, _ in parts if kind == "image"]
            turns.append(("user", False, strip(parts, self.how)))
        record["response"] = random_text(self.rng)
        turns.append(("assistant", True, [("text", record["response"])]))
        self.pool(record, links)
        return record, turns, links

    def alpaca(self):
        record, turns, links = {}, [], []
        self.system(record, turns)
        self.history(record, turns, links)
        parts, more = self.user(), self.rng.choice([None, "", random_text(self.rng, 1)])
        record["instruction"] = self.placeholders(parts)
        if more is not None:
            record["input"] = more
        if more:
            kind, last = parts[-1] if parts[-1][0] == "text" else ("text", None)
            parts = parts[:-1] + [(kind, last + "\n" + more)] if last is not None else parts + [(kind, "\n" + more)]
        links += [self.pictures.link() for kind, _ in parts if kind == "image"]
        turns.append(("user", False, strip(parts, self.how)))
        record["output"] = random_text(self.rng)
        turns.append(("assistant", True, [("text", record["output"])]))
        self.pool(record, links)
        return record, turns, links

    def make(self, number):
        record, turns, links = self.rng.choice([self.messages, self.messages, self.conversations, self.conversations,
                                                self.conversation, self.query, self.alpaca])()
        meaning, image = [], 0
        for role, learned, parts in turns:
            numbered = []
            for kind, value in merge(parts):
                numbered.append((kind, image if kind == "image" else value))
                image += kind == "image"
            meaning.append((role, learned, numbered))
        items = [("id", str(number)), *record.items()]
        self.rng.shuffle(items)
        return dict(items), meaning, links


def check_reader(records, how):
    """what the reader of hr-verify reads is what the generator meant"""
    wrong = []
    for record, meaning, links in records:
        read = read_record(json.loads(json.dumps(record)), how)
        if (read.turns, [normal(i) for i in read.images]) != (meaning, [normal(i) for i in links]):
            wrong.append((record, f"means {meaning}, {links}\nread  {read.turns}, {read.images}"))
    return wrong


def normal(link):
    """what a link means: bytes that stand in the record, or a name"""
    if isinstance(link, dict):
        link = next(link[key] for key in ("bytes", "base64", "path", "url") if link.get(key))
    return link.partition(",")[2] if link.startswith("data:") else link


# ---- the smallest record that fails

def smaller(value):
    """one step smaller, in many ways"""
    if isinstance(value, str):
        if not value.startswith("data:"):
            n = len(value)
            yield from {value[:n // 2], value[n // 2:], value[1:], value[:-1]} - {value}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield value[:i] + value[i + 1:]
            yield from (value[:i] + [less] + value[i + 1:] for less in smaller(item))
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("id", "role", "from", "type"):
                yield {k: v for k, v in value.items() if k != key}
                yield from ({**value, key: less} for less in smaller(item))


def shrink(record, fails):
    """fails: which of many records fail"""
    for _ in range(12):
        candidates = sorted(smaller(record), key=lambda r: len(json.dumps(r)))[:2000]
        failing = fails(candidates) if candidates else []
        if not failing:
            break
        record = min((candidates[i] for i in failing), key=lambda r: len(json.dumps(r)))
    return record


def main():
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    verify, tap = Verify(BUILD, ROOT), Tap(len(GROUPS))
    rng = seeded(sys.argv[4] if len(sys.argv) > 4 else None)
    with tempfile.TemporaryDirectory() as folder:
        pictures = Pictures(rng, folder)
        for jsonlparse, tokenize, tail, backend in GROUPS:
            how = "none" if "strip=none" in jsonlparse else "qwen"
            maker = Maker(rng, pictures, how)
            records = [maker.make(number) for number in range(n)]
            misread = check_reader(records, how)

            def run(lines):
                path = os.path.join(folder, "a.jsonl")
                with open(path, "w", encoding="utf-8") as file:
                    for line in lines:
                        file.write(json.dumps(line, ensure_ascii=rng.random() < 0.5) + "\n")
                return verify.result(f"filesrc location={path} ! jsonlparse on-error=skip {jsonlparse}",
                                     f"workers=2 min-pixels=4096 max-pixels=65536 {tokenize}", tail, "--backend", backend)

            lines = [record for record, _, _ in records]
            # some once more, each a list of one
            lines += [[lines[i]] for i in range(0, 30, 3)]
            result = run(lines)
            left_out = {kind: count for kind, count in result["left-out"].items() if kind not in ("no-label", "overlong")}
            everywhere = result["samples"] + sum(result["left-out"].values()) == n + 10
            if misread:
                record, why = min(misread, key=lambda row: len(json.dumps(row[0])))
                say(f"read otherwise than meant, {len(misread)} times: {json.dumps(record)[:3000]}\n{why[:3000]}")
            if left_out:
                say(f"refused: {left_out}")
            if not result["ok"]:
                say(f"{result['error']} {result['first']}"[:2000])
                bad = {w["line"] - 1 for w in result["differences"] if w.get("beyond", True)}
                if bad:
                    least = min((lines[i] for i in bad), key=lambda r: len(json.dumps(r)))
                    least = shrink(least, lambda lines: sorted({w["line"] - 1 for w in run(lines)["differences"]
                                                                if w.get("beyond", True)}))
                    say(f"the smallest record that differs: {json.dumps(least)[:4000]}")
            good = result["ok"] and not misread and not left_out and everywhere and result["samples"] > n // 3
            tap.case(good, f"{jsonlparse or 'defaults'}; {tokenize or 'defaults'}; {tail}: {result['samples']} samples, "
                     f"left out {result['left-out']}")
    return tap.failed


sys.exit(main())
