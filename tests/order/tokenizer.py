"""A tokenizer.json of one token a byte, and those of the chat template."""
import json

MARKS = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]


def letters():
    """How byte-level BPE writes the bytes: those that are no letters as others behind 255."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = iter(range(256, 512))
    return [chr(b if b in plain else next(unseen)) for b in range(256)]


def write(path):
    path.write_text(json.dumps({
        "model": {"type": "BPE", "vocab": {c: b for b, c in enumerate(letters())}, "merges": []},
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "added_tokens": [{"id": 256 + i, "content": c} for i, c in enumerate(MARKS)]}))
