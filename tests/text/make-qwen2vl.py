#!/usr/bin/env python3
"""usage: make-qwen2vl.py TOKENIZER FOLDER: what transformers makes of our test records for Qwen2-VL and
Qwen2.5-VL, into FOLDER/samples.json, sizes.json and tables.json (tests/data/qwen2vl). Needs transformers==5.24.0, torch,
torchvision, Pillow==11.3.0. Run it again only for other records.

samples.json: per record ids, types, positions, grids and the sha256 of pixel_values (float32, PIL backend), with
max_pixels=100352; with the model's own bounds the grids and the sha256. sizes.json: smart_resize. tables.json: what each byte of
each channel becomes, as the bits of a float32, for both backends.
"""
import hashlib
import json
import os
import random
import sys

import numpy as np
import PIL
import torch
import transformers
from PIL import Image
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLConfig
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor, smart_resize
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
BOUNDS = {"small": (3136, 100352), "own": (56 * 56, 28 * 28 * 1280)}
# transparency is composed on white there, which a path given to transformers would not be
LEFT_OUT = {"images_in_turns"}


def model_of(config_class, model_class):
    config = config_class()
    for part in (config.text_config, config.vision_config):
        part.num_hidden_layers = part.depth = 1
    config.image_token_id, config.video_token_id, config.vision_start_token_id = 151655, 151656, 151652
    with torch.device("meta"):
        return model_class(config)


def render(messages):
    """the rule of Qwen2-VL's chat template, for conversations without tools"""
    text, images = "", []
    if messages[0]["role"] != "system":
        text = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n"
        parts = message["content"]
        for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
            if "image_url" in part:
                text += "<|vision_start|><|image_pad|><|vision_end|>"
                images.append(part["image_url"]["url"])
            else:
                text += part["text"]
        text += "<|im_end|>\n"
    return text, images


def open_image(name):
    image = Image.open(os.path.join(DATA, "golden", "images", name))
    assert "A" not in image.mode and "transparency" not in image.info, name
    return image.convert("RGB")


def make_samples(tokenizer):
    models = [model_of(Qwen2VLConfig, Qwen2VLModel), model_of(Qwen2_5_VLConfig, Qwen2_5_VLModel)]
    processors = {}
    for name, (least, most) in BOUNDS.items():
        images = Qwen2VLImageProcessorPil(size={"shortest_edge": least, "longest_edge": most})
        processors[name] = Qwen2_5_VLProcessor(image_processor=images, tokenizer=tokenizer,
                                               video_processor=Qwen2VLVideoProcessor())
    rows = []
    with open(os.path.join(DATA, "records", "conversations_messages.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    for record in records:
        if record["id"] in LEFT_OUT:
            continue
        text, names = render(record["messages"])
        images = [open_image(name) for name in names]
        row = {"id": record["id"]}
        for name, processor in processors.items():
            made = processor(text=[text], images=images or None, return_tensors="pt", return_mm_token_type_ids=True)
            grid = made.get("image_grid_thw")
            positions = []
            for model in models:
                position, _ = model.get_rope_index(made["input_ids"], mm_token_type_ids=made["mm_token_type_ids"],
                                                   image_grid_thw=grid, attention_mask=made["attention_mask"])
                positions.append(position[:, 0])
            assert torch.equal(*positions), record["id"]  # a still image is the same to both
            found = {"tokens": made["input_ids"].shape[1]}
            if grid is not None:
                values = made["pixel_values"].numpy()
                assert values.dtype == np.float32
                found.update(image_grid_thw=grid.tolist(), pixel_values_shape=list(values.shape),
                             pixel_values_sha256=hashlib.sha256(values.tobytes()).hexdigest())
            if name == "small":
                found.update(input_ids=made["input_ids"][0].tolist(), position_ids=positions[0].tolist(),
                             mm_token_type_ids=made["mm_token_type_ids"][0].tolist())
            row[name] = found
        rows.append(row)
    return {"versions": {"transformers": transformers.__version__, "torch": torch.__version__, "Pillow": PIL.__version__},
            "samples": rows}


def make_sizes():
    rng = random.Random(3)
    sizes = [(1, 1), (1, 200), (1, 201), (200, 1), (14, 14), (27, 29), (28, 28), (42, 42), (56, 56), (70, 98), (10, 10),
             (240, 320), (480, 640), (1080, 1920), (3000, 4000), (8192, 8192), (996, 1007), (28, 5600), (28, 5601)]
    sizes += [(rng.randint(1, 600), rng.randint(1, 600)) for _ in range(150)]
    sizes += [(rng.randint(300, 4000), rng.randint(300, 4000)) for _ in range(100)]
    sizes += [(14 * rng.randint(1, 120), 14 * rng.randint(1, 60)) for _ in range(60)]  # halves: to even
    rows = []
    for height, width in sizes:
        try:
            made = list(smart_resize(height, width, factor=28, min_pixels=56 * 56, max_pixels=28 * 28 * 1280))
        except ValueError:
            made = None
        rows.append([height, width, made])
    return rows


def make_tables():
    """a picture that has every byte in every channel, not resized"""
    ramp = np.arange(28 * 28, dtype=np.int64) % 256
    picture = np.stack([ramp, (ramp + 85) % 256, (ramp + 170) % 256], axis=-1).astype(np.uint8).reshape(28, 28, 3)
    tables = {}
    for name, backend in (("pillow", Qwen2VLImageProcessorPil), ("torchvision", Qwen2VLImageProcessor)):
        made = backend(do_resize=False)(images=[Image.fromarray(picture)], return_tensors="np")
        values = np.asarray(made["pixel_values"], dtype=np.float32).reshape(2, 2, 3, 2, 14, 14)
        table = np.zeros((3, 256), dtype=np.float32)
        for y in range(28):
            for x in range(28):
                for channel in range(3):
                    table[channel, picture[y, x, channel]] = values[y // 14, x // 14, channel, 0, y % 14, x % 14]
        tables[name] = table.view(np.uint32).tolist()
    return tables


def dump(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, separators=(",", ":"))
        file.write("\n")


def main():
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=sys.argv[1], eos_token="<|im_end|>", pad_token="<|endoftext|>",
                                        clean_up_tokenization_spaces=False)
    tokenizer.image_token, tokenizer.video_token = "<|image_pad|>", "<|video_pad|>"
    dump(os.path.join(sys.argv[2], "samples.json"), make_samples(tokenizer))
    dump(os.path.join(sys.argv[2], "sizes.json"), make_sizes())
    dump(os.path.join(sys.argv[2], "tables.json"), make_tables())


main()
