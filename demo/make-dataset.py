#!/usr/bin/env python3
"""A small data set like those that vision-language models are tuned on, from real photographs.

usage: make-dataset.py PHOTOS OUT [--images 400] [--seed 7] [--shards 8]

PHOTOS is what demo/photos has unpacked. OUT gets train-0000.jsonl …, images/NN/NNNN.jpg (a few PNG
and WebP), manifest.json and SOURCES.txt with author and licence of every photograph used. Records
come in both common forms: the first half of the shards has `messages`, the second half
`conversations` with <image> marks. Same arguments, same Pillow: same bytes.
"""
import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re

from PIL import Image

# no drawings, nothing whose subject is a small dark shape
LEFT_OUT = ("Fossa", "Painting", "umang")
SHAPES = [(4, 3, 30), (3, 2, 22), (16, 9, 12), (1, 1, 10), (3, 4, 14), (2, 3, 7), (9, 16, 3), (2, 1, 2)]
QUESTIONS = [
    "What is shown in this image?", "Which colours dominate the picture?", "Describe the scene in detail.",
    "Is the photograph taken indoors or outdoors?", "What time of day is it most likely?",
    "What is in the foreground, and what is behind it?", "Is there water to be seen?",
    "How would you sort this picture into an album?", "What season could it be?", "What drew the photographer here?"]
SENTENCES = [
    "The light comes from the left and leaves soft shadows.", "The horizon is high and the foreground is sharp.",
    "Warm tones are set against a cool background.", "Nothing in the frame moves, and nothing seems staged.",
    "The picture is about texture more than about its subject.", "There are no people to be seen.",
    "Most of the frame is out of focus.", "It was probably taken outdoors, in the second half of the day.",
    "The colours are saturated, but not beyond what the eye would see.", "The main subject is a little off centre.",
    "A diagonal leads from the lower corner into the distance.", "I cannot tell where it was taken."]


def sources(folder):
    found = []
    for path in sorted(folder.glob("*/usr/share/backgrounds/*.jpg")):
        if path.is_symlink() or path.name.startswith(LEFT_OUT):
            continue
        with Image.open(path) as image:
            width, height = image.size
        found.append({"path": path, "package": path.relative_to(folder).parts[0], "width": width, "height": height})
    if not found:
        raise SystemExit(f"make-dataset: no photographs in {folder}")
    return found


def licences(folder):
    """file name -> (author, licence), from the packages' machine-readable copyright files."""
    known = {}
    for path in folder.glob("*/usr/share/doc/*/copyright"):
        for paragraph in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"^(Files|Copyright|License):\s*(.+)$", paragraph, flags=re.M))
            if "Files" in fields and "License" in fields:
                known[os.path.basename(fields["Files"])] = (fields.get("Copyright", "?"), fields["License"])
    return known


def plan(count, seed, photos):
    """What to make, from the seed alone: sizes, crops and formats."""
    rng = random.Random(seed)
    for number in range(count):
        long_side = round(math.exp(rng.uniform(math.log(400), math.log(1500))))
        a, b, _ = rng.choices(SHAPES, weights=[weight for *_, weight in SHAPES])[0]
        ratio = a / b * math.exp(rng.gauss(0, 0.04))
        width, height = (long_side, max(64, round(long_side / ratio))) if ratio >= 1 \
            else (max(64, round(long_side * ratio)), long_side)
        fitting = [i for i, p in enumerate(photos) if p["width"] >= width and p["height"] >= height] or [0]
        source = rng.choice(fitting)
        photo = photos[source]
        # between the whole photograph and a detail of it
        scale = min(photo["width"] / width, photo["height"] / height) ** rng.uniform(0.3, 1.0)
        crop_width, crop_height = min(photo["width"], round(width * scale)), min(photo["height"], round(height * scale))
        x, y = rng.randint(0, photo["width"] - crop_width), rng.randint(0, photo["height"] - crop_height)
        kind = rng.choices(["jpg", "png", "webp"], weights=[96, 2, 2])[0]
        if kind == "png" and width * height > 400_000:
            kind = "jpg"
        yield {
            "number": number, "source": source, "size": [width, height],
            "box": [x, y, x + crop_width, y + crop_height], "quality": rng.randint(78, 92),
            "subsampling": rng.choices([2, 0, 1], weights=[87, 10, 3])[0], "progressive": rng.random() < 0.08,
            "gray": rng.random() < 0.02, "orientation": rng.choice([3, 6, 8]) if rng.random() < 0.03 else 1,
            "name": f"images/{number % 20:02d}/{number:04d}.{kind}"}


TURNED = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}


def make_images(path, items, out):
    """All images from one photograph; returns [(number, bytes, sha256)]."""
    made = []
    with Image.open(path) as photo:
        photo = photo.convert("RGB")
    for item in items:
        image = photo.resize(item["size"], Image.Resampling.LANCZOS, box=item["box"], reducing_gap=3.0)
        target = out / item["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        if item["gray"]:
            image = image.convert("L")
        if target.suffix == ".png":
            image.save(target, "PNG")
        elif target.suffix == ".webp":
            image.save(target, "WEBP", quality=item["quality"], method=2)
        else:
            extra = {}
            if item["orientation"] != 1:
                # stored turned, as cameras do, and turned back by the reader
                image = image.transpose(TURNED[item["orientation"]])
                exif = Image.Exif()
                exif[0x0112] = item["orientation"]
                extra["exif"] = exif.tobytes()
            if not item["gray"]:
                extra["subsampling"] = item["subsampling"]
            image.save(target, "JPEG", quality=item["quality"], progressive=item["progressive"], **extra)
        data = target.read_bytes()
        made.append((item["number"], len(data), hashlib.sha256(data).hexdigest()))
    return made


def samples(names, seed):
    """Conversations: most about one image, some about none, or two to three over several turns."""
    rng = random.Random(seed + 1)
    left = list(names)
    rng.shuffle(left)
    while left:
        images = [left.pop() for _ in range(min(len(left), rng.choices([0, 1, 2, 3], weights=[6, 70, 16, 8])[0]))]
        turns = []
        for number in range(max(1, rng.choices([1, 2, 4], weights=[70, 20, 10])[0])):
            shown = images if number == 0 else []
            answer = " ".join(rng.choice(SENTENCES) for _ in range(rng.randint(1, 6)))
            turns.append((shown, rng.choice(QUESTIONS), answer))
        yield turns


def as_messages(number, turns):
    messages = [{"role": "system", "content": "You are a helpful assistant."}] if number % 4 == 0 else []
    for images, question, answer in turns:
        parts = [{"type": "image", "image": name} for name in images] + [{"type": "text", "text": question}]
        messages.append({"role": "user", "content": parts})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return {"id": f"s{number:05d}", "messages": messages}


def as_conversations(number, turns):
    record = {"id": f"s{number:05d}"}
    images = [name for shown, _, _ in turns for name in shown]
    if images:
        record["image"] = images if len(images) > 1 else images[0]
    record["conversations"] = []
    for shown, question, answer in turns:
        record["conversations"].append({"from": "human", "value": "<image>\n" * len(shown) + question})
        record["conversations"].append({"from": "gpt", "value": answer})
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--shards", type=int, default=8)
    options = parser.parse_args()
    out = options.out

    photos, known = sources(options.photos), licences(options.photos)
    plans = list(plan(options.images, options.seed, photos))
    by_source = {}
    for item in plans:
        by_source.setdefault(item["source"], []).append(item)
    made = []
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for result in [pool.submit(make_images, photos[s]["path"], items, out) for s, items in sorted(by_source.items())]:
            made += result.result()
    made.sort()

    records = list(samples([item["name"] for item in plans], options.seed))
    for shard in range(options.shards):
        first, last = (len(records) * k // options.shards for k in (shard, shard + 1))
        form = as_messages if shard < options.shards // 2 else as_conversations
        with open(out / f"train-{shard:04d}.jsonl", "w", encoding="utf-8", newline="\n") as lines:
            for number in range(first, last):
                lines.write(json.dumps(form(number, records[number]), ensure_ascii=False) + "\n")

    used = sorted({(photos[s]["path"].name, photos[s]["package"]) for s in by_source})
    with open(out / "SOURCES.txt", "w", encoding="utf-8") as text:
        text.write("The images are cuts of these photographs, scaled and compressed anew, under the same licences.\n\n")
        for name, package in used:
            author, licence = known.get(name, ("see the package's copyright file",) * 2)
            text.write(f"{name}  {licence}  {author}  (Debian package {package})\n")
    total = sum(size for _, size, _ in made)
    pixels = sum(item["size"][0] * item["size"][1] for item in plans)
    summary = {"images": len(made), "samples": len(records), "shards": options.shards, "bytes": total,
               "megapixels_mean": round(pixels / len(made) / 1e6, 3), "seed": options.seed,
               "sha256": hashlib.sha256("".join(digest for *_, digest in made).encode()).hexdigest()}
    # written last: its presence says that all is there
    (out / "manifest.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
