"""What the real libraries make of a record: transformers' processor and model, tokenizers.

Where our settings ask for what transformers has no option for, its pieces are put together here, and `notes`
says so. Labels are the one thing that is not transformers': it has only a mask of assistant turns, so they are
derived here from the rule in docs/verify.md, by the offsets that tokenizers gives.
"""
import json
import math
import os
import types

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor, smart_resize
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel
from transformers.models.qwen2_vl.processing_qwen2_vl import Qwen2VLProcessor
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

MEDIA = ("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>")
PROCESSORS = {"pillow": Qwen2VLImageProcessorPil, "torchvision": Qwen2VLImageProcessor}
MODELS = {"qwen3-vl": (Qwen3VLProcessor, Qwen3VLVideoProcessor, Qwen3VLModel),
          "qwen2-vl": (Qwen2VLProcessor, Qwen2VLVideoProcessor, Qwen2VLModel)}


def read_template(folder, given):
    """the chat template as models ship it"""
    if given:
        with open(given, encoding="utf-8") as file:
            return file.read()
    for name, member in (("chat_template.jinja", None), ("chat_template.json", "chat_template"),
                         ("tokenizer_config.json", "chat_template")):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            template = file.read() if member is None else json.load(file).get(member)
        if template:
            return template
    raise SystemExit(f"hr-verify parity: {folder} has no chat_template.jinja, chat_template.json or tokenizer_config.json "
                     "with a template in it: --template FILE names one")


class Refused(Exception):
    """transformers does not take what we deliver"""


class Reference:
    def __init__(self, settings, tokenizer, template, backend):
        path = os.path.join(tokenizer, "tokenizer.json") if os.path.isdir(tokenizer) else tokenizer
        self.settings, self.backend, self.notes = settings, backend, {}
        self.options = settings.find("tokenize")
        self.template = read_template(os.path.dirname(os.path.abspath(path)), template)
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=path, eos_token="<|im_end|>", pad_token="<|endoftext|>",
                                                 clean_up_tokenization_spaces=False)
        self.merge = settings.sizing("merge-size", 2)
        self.patch = settings.sizing("patch-size", 16)
        self.bounds = settings.sizing("min-pixels", 65536), settings.sizing("max-pixels", 16777216)
        self.processor_class, video, model = MODELS[self.options["template"]]
        self.video_processor = video()
        self.model = types.SimpleNamespace(config=types.SimpleNamespace(vision_config=types.SimpleNamespace(
            spatial_merge_size=self.merge, tokens_per_second=1)))
        for name in ("get_rope_index", "get_vision_position_ids"):
            if hasattr(model, name):
                setattr(self.model, name, types.MethodType(getattr(model, name), self.model))
        self.text_tokenizer = self.make_text_tokenizer(path)
        self.processors = {}

    def note(self, key, text):
        self.notes.setdefault(key, text)

    # ---- tokens of texts

    def make_text_tokenizer(self, path):
        """for texts of records: without the added tokens that are text there"""
        rules = {"specials-in-text": self.options["specials-in-text"],
                 "media-tokens-in-text": self.options["media-tokens-in-text"]}
        if "plain" not in rules.values():
            return self.tokenizer._tokenizer
        self.note("plain", "input_ids: transformers encodes control tokens in texts; for those that are plain here, "
                  "the reference is tokenizers on each text by itself")
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        # not taken out: tokenizers would number those behind anew. No text holds NUL
        for i, token in enumerate(value["added_tokens"]):
            if rules["media-tokens-in-text" if token["content"] in MEDIA else "specials-in-text"] == "plain":
                token["content"] = f"\0{i}"
        return Tokenizer.from_str(json.dumps(value))

    def runs(self, record, tokens):
        """[(text, control token?, from where it is learned)] in order; tokens: of each image"""
        if self.options["template"] == "qwen2-vl" and record.turns[0][0] != "system":
            yield from self.turn_runs("system", False, [("text", "You are a helpful assistant.")], tokens)
        for role, learned, parts in record.turns:
            yield from self.turn_runs(role, learned, parts, tokens)

    def turn_runs(self, role, learned, parts, tokens):
        never = math.inf
        split = self.options["boundary"] == "split" and role == "assistant"
        yield "<|im_start|>", True, never
        run, start = role + "\n", len(role) + 1
        if split:
            yield run, False, never
            run, start = "", 0
        for kind, value in parts:
            if kind == "text":
                run += value
                continue
            if self.options["add-vision-id"]:
                run += f"Picture {value + 1}: "
            yield run, False, never
            yield "<|vision_start|>", True, never
            for _ in range(tokens[value]):
                yield "<|image_pad|>", True, never
            yield "<|vision_end|>", True, never
            run = ""
        yield run, False, start if learned else never
        yield "<|im_end|>", True, 0 if learned else never
        yield "\n", False, 0 if learned and self.options["label-newline"] else never

    def by_runs(self, record, tokens):
        """ids and labels, run by run"""
        ids, labels = [], []
        for text, control, learned_from in self.runs(record, tokens):
            if control:
                new, offsets = [self.tokenizer.convert_tokens_to_ids(text)], [(0, 1)]
            else:
                encoding = self.text_tokenizer.encode(text, add_special_tokens=False)
                new, offsets = encoding.ids, encoding.offsets
            ids += new
            labels += [i if begin >= learned_from else -100 for i, (begin, _) in zip(new, offsets)]
        return np.array(ids, np.int64), np.array(labels, np.int64)

    # ---- images

    def image_processor(self, least, most):
        if (least, most) not in self.processors:
            mean, std, factor = self.settings.statistics
            self.processors[least, most] = PROCESSORS[self.backend](
                size={"shortest_edge": least, "longest_edge": most}, patch_size=self.patch, merge_size=self.merge,
                temporal_patch_size=self.settings.get("patchify", "temporal-patch-size", 2), image_mean=mean, image_std=std,
                rescale_factor=factor, resample=3)
        return self.processors[least, most]

    def target(self, height, width, most):
        least, factor = self.bounds[0], self.patch * self.merge
        if self.settings.sizing("smart-resize", "hf") == "hf":
            return smart_resize(height, width, factor=factor, min_pixels=least, max_pixels=most)
        h, w = (max(factor, round(side / factor) * factor) for side in (height, width))
        if h * w > most:
            beta = math.sqrt(height * width / most)
            return tuple(math.floor(side / beta / factor) * factor for side in (height, width))
        if h * w < least:
            beta = math.sqrt(least / (height * width))
            return tuple(math.ceil(side * beta / factor) * factor for side in (height, width))
        return h, w

    def count_tokens(self, sizes, most):
        factor = self.patch * self.merge
        targets = [self.target(height, width, most) for height, width in sizes]
        return [(h // factor) * (w // factor) for h, w in targets]

    def largest_pixels(self, sizes, room):
        """overlong=shrink: the largest max-pixels with which the images take so many tokens; None: none does.
        Sizes change only where a side passes a multiple of the factor, or the area itself is allowed."""
        least, most, factor = *self.bounds, self.patch * self.merge
        edges = {least, most}
        for height, width in sizes:
            whole = [round(side / factor) * factor for side in (height, width)]
            steps = [whole[0] * whole[1]]
            for one, other in ((height, width), (width, height)):
                steps += [(k * factor) ** 2 * other / one for k in range(1, math.ceil(one / factor) + 2)]
            edges |= {math.floor(step) + i for step in steps for i in (-1, 0, 1, 2)}
        for edge in sorted((e for e in edges if least <= e <= most), reverse=True):
            if sum(self.count_tokens(sizes, edge)) <= room:
                return edge
        return None

    # ---- samples

    def messages(self, record):
        return [{"role": role, "content": [{"type": "text", "text": value} if kind == "text" else {"type": "image"}
                                           for kind, value in parts]} for role, _, parts in record.turns]

    def process(self, record, images, most):
        """what the processor gives"""
        least = self.bounds[0]
        if self.settings.sizing("smart-resize", "hf") != "hf":
            self.note("smart-resize", "sizes: qwen-vl-utils resizes before the processor does, with Pillow; so is it done here")
            images = [image.resize(self.target(image.height, image.width, most)[::-1], Image.Resampling.BICUBIC)
                      for image in images]
            least, most = 1, 1 << 40
        processor = self.processor_class(image_processor=self.image_processor(least, most), tokenizer=self.tokenizer,
                                         video_processor=self.video_processor, chat_template=self.template)
        text = processor.apply_chat_template(self.messages(record), tokenize=False,
                                             add_vision_id=self.options["add-vision-id"])
        try:
            return processor(text=[text], images=images or None, return_tensors="pt")
        except ValueError as error:
            raise Refused(str(error)) from None

    def make(self, record, images):
        """{field: array}, and how long the sample was before anything was cut or shrunk; None: it does not fit"""
        most = self.bounds[1]
        sizes = [(image.height, image.width) for image in images]
        tokens = self.count_tokens(sizes, most)
        ids, _ = self.by_runs(record, tokens)
        limit, length = self.options["max-length"], len(ids)
        if limit and length > limit and self.options["overlong"] == "shrink":
            room = limit - (length - sum(tokens))
            most = self.largest_pixels(sizes, room) if images and room > 0 else None
            if most is None:
                return None, length
            tokens = self.count_tokens(sizes, most)
            self.note("shrink", "overlong=shrink: the processor is given the largest max-pixels with which a sample fits")
        ids, labels = self.by_runs(record, tokens)
        out = self.process(record, images, most)
        theirs = out["input_ids"][0].numpy()
        apart = self.options["boundary"] == "split" or "plain" in (self.options["specials-in-text"],
                                                                  self.options["media-tokens-in-text"])
        if apart:
            if self.options["boundary"] == "split":
                self.note("split", "input_ids: transformers tokenises header and answer as one text; for boundary=split "
                          "the reference is tokenizers on both by themselves")
            theirs = ids
        made = {"input_ids": theirs, "attention_mask": np.ones_like(theirs),
                # without them there is no saying which token is whose
                "labels": labels if np.array_equal(ids, theirs) else None,
                "mm_token_type_ids": out["mm_token_type_ids"][0].numpy() if not apart else
                (ids == self.tokenizer.convert_tokens_to_ids("<|image_pad|>")).astype(np.int64)}
        if not apart:
            made["attention_mask"] = out["attention_mask"][0].numpy()
        grids = out["image_grid_thw"].numpy() if images else np.zeros((0, 3), np.int64)
        pixels = out["pixel_values"].to(torch.float32) if images else torch.zeros(0, 1)
        self.finish(made, grids, pixels, limit if self.options["overlong"] == "truncate-right" else 0)
        return made, length

    def finish(self, made, grids, pixels, limit):
        """cuts, and adds what follows from the tokens"""
        if limit and len(made["input_ids"]) > limit:
            self.note("cut", "overlong=truncate-right: transformers does not cut inside images; the cut is made here, after it")
            cut = self.cut(made["input_ids"], limit)
            for name, array in made.items():
                made[name] = array if array is None else array[:cut]
            kept = int((made["input_ids"] == self.tokenizer.convert_tokens_to_ids("<|vision_end|>")).sum())
            pixels = pixels[:int(grids[:kept].prod(1).sum())]
            grids = grids[:kept]
        positions, _ = self.model.get_rope_index(
            torch.from_numpy(made["input_ids"])[None], torch.from_numpy(made["mm_token_type_ids"])[None],
            image_grid_thw=torch.from_numpy(grids) if len(grids) else None)
        made["position_ids"] = positions[:, 0].numpy()
        if self.options["position-rows"] == 4:
            made["position_ids"] = np.concatenate([np.arange(len(made["input_ids"]))[None], made["position_ids"]])
        if len(grids):
            made["image_grid_thw"], made["pixel_values"] = grids, pixels

    def cut(self, ids, limit):
        start, end = (self.tokenizer.convert_tokens_to_ids(token) for token in ("<|vision_start|>", "<|vision_end|>"))
        begin = None
        for i, token in enumerate(ids[:limit].tolist()):
            if token == start:
                begin = i
            elif token == end:
                begin = None
        return limit if begin is None else begin
