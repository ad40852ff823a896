#!/usr/bin/env python3
"""usage: check-conversations.py HR-LAUNCH VOCAB [RECORDS [SEED]]: random conversations with images
through a pipeline, beside a second calculation in Python from Hugging Face's tokenizers: ids and
labels by the offsets of the tokens in the whole text, sizes, grids, positions. TAP."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from tokenizers import Tokenizer

TEXTS = ["assistant", "assistant\n", "\n", "\n\n", " ", "Hello", " world", "user\n", "e\u0301", "\u0301", "\u00e9\u0323",
         "\u4e2d\u6587", "12345", "it's", "<|im_end|>", "<|im_start|>", "<think>", "</think>", "<|endoftext|>", "\t",
         "\u2028", "\u3000", "!", "?!", "<", "|>", "\U0001f600", "\ud55c", "\u1112\u1161\u11ab", "\r\n", "x" * 50,
         "def f(x):\n    return x", "\u0e01\u0e33", "\u0627\u0644", "  \n  ", "a" * 300]
GROUPS = [  # settings of tokenize, and what they mean to the calculation below
    ("", {}),
    ("label-newline=true add-vision-id=true position-rows=4", {"newline": True, "vision_id": True, "rows": 4}),
    ("max-length=200 overlong=truncate-right", {"cut": 200}),
    ("max-length=150 overlong=drop", {"drop": 150}),
    ("patch-size=14 min-pixels=3136 max-pixels=100352 ids=int32", {"patch": 14, "min": 3136, "max": 100352}),
]


def png(height, width):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = b"\0" + b"\x80" * width
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(row * height, 1)) + chunk(b"IEND", b""))


def smart_resize(height, width, factor, least, most):
    h, w = round(height / factor) * factor, round(width / factor) * factor
    if h * w > most:
        beta = math.sqrt(height * width / most)
        h, w = (max(factor, math.floor(side / beta / factor) * factor) for side in (height, width))
    elif h * w < least:
        beta = math.sqrt(least / (height * width))
        h, w = (math.ceil(side * beta / factor) * factor for side in (height, width))
    return h, w


def make_record(rng, number, folder):
    """content parts, so that nothing is stripped"""
    messages, sizes = [], []
    def text(): return "".join(rng.choices(TEXTS, k=rng.randint(0, 6)))
    if rng.random() < 0.3:
        messages.append({"role": "system", "content": [{"type": "text", "text": text()}]})
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.9:
            parts = []
            for _ in range(rng.randint(1, 4)):
                if rng.random() < 0.35:
                    height, width = rng.randint(1, 500), rng.randint(3, 500)
                    name = f"{height}x{width}.png"
                    if not os.path.exists(f"{folder}/{name}"):
                        with open(f"{folder}/{name}", "wb") as file:
                            file.write(png(height, width))
                    if max(height, width) / min(height, width) <= 200:
                        sizes.append((height, width))
                        parts.append({"type": "image", "image": name})
                else:
                    parts.append({"type": "text", "text": text()})
            messages.append({"role": "user", "content": parts})
        turn = {"role": "assistant", "content": [{"type": "text", "text": text()}]}
        if rng.random() < 0.2:
            turn["loss"] = False
        messages.append(turn)
    return {"id": str(number), "messages": messages}, sizes


def expect(record, sizes, tokenizer, s):
    """None: nothing is to learn, or it is too long"""
    factor = s.get("patch", 16) * 2
    grids = []
    for height, width in sizes:
        h, w = smart_resize(height, width, factor, s.get("min", 4096), s.get("max", 262144))
        grids.append((1, h // (factor // 2), w // (factor // 2)))
    whole, learned, image = "", [], 0
    for message in record["messages"]:
        whole += f"<|im_start|>{message['role']}\n"
        begin = len(whole)
        for part in message["content"]:
            if part["type"] == "text":
                whole += part["text"]
                continue
            if s.get("vision_id"):
                whole += f"Picture {image + 1}: "
            whole += "<|vision_start|>" + "<|image_pad|>" * (grids[image][1] * grids[image][2] // 4) + "<|vision_end|>"
            image += 1
        whole += "<|im_end|>"
        if message["role"] == "assistant" and message.get("loss", True):
            learned.append((begin, len(whole) + (1 if s.get("newline") else 0)))
        whole += "\n"
    encoding = tokenizer.encode(whole, add_special_tokens=False)
    ids = encoding.ids
    labels = [i if any(b >= f and e <= t for f, t in learned) else -100 for i, (b, e) in zip(ids, encoding.offsets)]
    if s.get("drop") and len(ids) > s["drop"]:
        return None
    spans, at = [], 0
    while 151652 in ids[at:]:
        begin = ids.index(151652, at)
        at = ids.index(151653, begin) + 1
        spans.append((begin, at))
    if s.get("cut"):
        cut = min(s["cut"], len(ids))
        for begin, end in spans:
            if begin < cut < end:
                cut = begin
        ids, labels = ids[:cut], labels[:cut]
        grids = grids[:sum(end <= cut for _, end in spans)]
    if all(label == -100 for label in labels):
        return None
    rows, position, at = [[], [], []], 0, 0
    for _, gh, gw in grids:
        first = ids.index(151655, at)
        for row in rows:
            row.extend(range(position, position + first - at))
        position += first - at
        h, w = gh // 2, gw // 2
        for y in range(h):
            for x in range(w):
                for row, value in zip(rows, (position, position + y, position + x)):
                    row.append(value)
        position += max(h, w)
        at = first + h * w
    for row in rows:
        row.extend(range(position, position + len(ids) - at))
    if s.get("rows") == 4:
        rows = [list(range(len(ids)))] + rows
    types = [1 if i == 151655 else 0 for i in ids]
    return {"input_ids": ids, "labels": labels, "position_ids": rows, "mm_token_type_ids": types,
            **({"image_grid_thw": [list(g) for g in grids]} if grids else {})}


def main():
    launch, vocab = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 32)
    rng = random.Random(seed)
    tokenizer = Tokenizer.from_file(vocab)
    print(f"1..{len(GROUPS)}\n# seed {seed}")
    failed = False
    for number, (settings, meaning) in enumerate(GROUPS, 1):
        with tempfile.TemporaryDirectory() as folder:
            records = [make_record(rng, i, folder) for i in range(n)]
            with open(f"{folder}/a.jsonl", "w") as file:
                for record, _ in records:
                    file.write(json.dumps(record) + "\n")
            bounds = "" if "patch" in meaning else "min-pixels=4096 max-pixels=262144"
            subprocess.run([launch, f"filesrc location={folder}/a.jsonl ! jsonlparse ! imagefetch ! tokenize workers=2 "
                            f"tokenizer={vocab} {bounds} {settings} ! npysink location={folder}/out"],
                           check=True, capture_output=True)
            got = {}
            for name in sorted(os.listdir(f"{folder}/out")):
                if name.endswith(".json"):
                    with open(f"{folder}/out/{name}") as file:
                        got[json.load(file)["id"]] = f"{folder}/out/{name[:-5]}"
            wrong, delivered = [], 0
            for record, sizes in records:
                want = expect(record, sizes, tokenizer, meaning)
                delivered += want is not None
                if (record["id"] in got) != (want is not None):
                    wrong.append((record, "delivered" if want is None else "missing"))
                    continue
                for field, value in (want or {}).items():
                    array = np.load(f"{got[record['id']]}.{field}.npy")
                    if array.tolist() != value:
                        wrong.append((record, f"{field}: {array.tolist()} instead of {value}"))
                if want is not None and "image_grid_thw" not in want:
                    if os.path.exists(f"{got[record['id']]}.image_grid_thw.npy"):
                        wrong.append((record, "grids without images"))
            for record, why in wrong[:2]:
                print(f"# {ascii(record)}\n#   {why}"[:4000])
            good = not wrong and delivered > n // 20
            print(f"{'ok' if good else 'not ok'} {number} - {settings or 'defaults'}: {n - len(wrong)} of {n} records, "
                  f"{delivered} delivered")
            failed |= not good
    return failed


sys.exit(main())
