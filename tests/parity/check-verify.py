#!/usr/bin/env python3
"""usage: check-verify.py BUILD ROOT: hr-verify parity beside the real libraries: the golden conversations with
many settings, the demo's photographs, and breaks that it must find. TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from verify import Verify, run_cases

BUILD, ROOT = sys.argv[1:3]
DEMO = os.path.join(ROOT, "build/demo")
VERIFY = Verify(BUILD, ROOT)
GOLDEN = os.path.join(ROOT, "tests/data/golden/images")
SIZES = "min-pixels=4096 max-pixels=262144"
QWEN2 = ("template=qwen2-vl patch-size=14 min-pixels=3136 max-pixels=1003520",
         "image-mean=0.48145466,0.4578275,0.40821073 image-std=0.26862954,0.26130258,0.27577711")
FIELDS = ("input_ids", "labels", "attention_mask", "mm_token_type_ids", "position_ids", "image_grid_thw", "pixel_values")


def golden(form="qwen", extra=""):
    return (f"filesrc location={ROOT}/tests/data/records/conversations_{form}.jsonl ! jsonlparse media-base={GOLDEN} {extra}")


def check(result, samples, pixels=True):
    """all as promised, and everything was compared"""
    assert result["ok"] and result["samples"] == samples, result
    for name in FIELDS[:5]:
        assert result["fields"][name]["samples"] == samples and result["fields"][name]["values"] > samples, result["fields"]
    assert (result["fields"]["pixel_values"]["values"] > 0) == pixels, result["fields"]
    return result["fields"]["pixel_values"]


def test_pillow():
    """17 conversations, 14 images: not one bit differs"""
    for form in ("qwen", "messages"):
        field = check(VERIFY.result(golden(form), SIZES, "resize ! patchify normalize=pillow"), 17)
        assert field["differing"] == 0 and field["values"] == 6137856, field
        assert field["bound"] == {"levels": 0, "share": 0, "value": 0}


def test_spelling():
    """the default normalisation is torchvision's: 6e-8 from Pillow's, nothing once it is bfloat16"""
    field = check(VERIFY.result(golden(), SIZES, "resize ! patchify"), 17)
    assert 0 < field["greatest"] <= field["bound"]["value"] <= 6e-8 and field["greatest-levels"] == 0, field
    for dtype in ("bfloat16", "float16", "uint8"):
        assert check(VERIFY.result(golden(), SIZES, f"resize ! patchify dtype={dtype}"), 17)["differing"] == 0, dtype


def test_torchvision():
    field = check(VERIFY.result(golden(), SIZES, "resize ! patchify", "--backend", "torchvision"), 17)
    assert 0 < field["differing"] and field["greatest-levels"] <= 2 and field["share"] <= 0.005, field
    field = check(VERIFY.result(golden(), SIZES, "resize reference=torchvision ! patchify", "--backend", "torchvision"), 17)
    assert field["differing"] == 0, field


def test_settings():
    """whatever changes tokens, labels or sizes"""
    for settings, samples in (("position-rows=4 add-vision-id=true label-newline=true ids=int32", 17), ("boundary=split", 17),
                              ("specials-in-text=plain", 17), ("max-length=150 overlong=truncate-right", 15),
                              ("max-length=100 overlong=shrink", 16), ("max-length=100", 9), ("smart-resize=qwen-vl-utils", 17)):
        check(VERIFY.result(golden(), f"{SIZES} {settings}", "resize ! patchify normalize=pillow"), samples)
    check(VERIFY.result(golden(extra="strip=none"), SIZES, "resize ! patchify normalize=pillow"), 17)
    check(VERIFY.result(golden(), SIZES, "identity"), 17, pixels=False)


def test_plain_media():
    """ids behind the media tokens stay what they are where those are text"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            print('{"query": "a <tool_call> b <think> c", "response": "<|fim_pad|> y"}', file=file)
        check(VERIFY.result(f"filesrc location={path} ! jsonlparse", "media-tokens-in-text=plain", "identity"), 1, pixels=False)


def test_qwen2():
    """another model is a set of properties away"""
    template = ("--template", os.path.join(VERIFY.vocab, "qwen2_5_vl.jinja"))
    tokenize, patchify = QWEN2
    for backend in ("pillow", "torchvision"):
        field = check(VERIFY.result(golden(), tokenize, f"resize reference={backend} ! patchify normalize={backend} {patchify}",
                                    "--backend", backend, *template), 17)
        assert field["differing"] == 0, field


def broken(result, field, line=None):
    assert not result["ok"] and result["first"]["field"] == field, (result["first"], result["fields"])
    assert line is None or result["first"]["line"] == line, result["first"]
    return result


def test_break_pixels():
    """another resampling, where none is promised"""
    result = broken(VERIFY.result(golden(), SIZES, "resize reference=torchvision ! patchify", "--exact"), "pixel_values", 3)
    assert len(result["first"]["index"]) == 2 and result["fields"]["input_ids"]["ok"], result["first"]
    done = VERIFY.start(golden(), SIZES, "resize reference=torchvision ! patchify", "--exact")
    assert done.returncode == 1 and "NOT as promised" in done.stdout, done
    assert "conversations_qwen.jsonl:3 (id vqa_first): pixel_values[" in done.stdout, done.stdout


def test_break_fields():
    """one bit of one number, in each field"""
    spoil = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spoil-python")
    for field in FIELDS:
        os.environ.update(SPOIL_PYTHON=sys.executable, SPOIL_FIELD=field, SPOIL_LINE="7")
        result = broken(VERIFY.result(golden(), SIZES, "resize ! patchify normalize=pillow", "--python", spoil), field, 7)
        wrong = {name for name, about in result["fields"].items() if not about["ok"]}
        assert wrong == {field}, wrong
        assert result["fields"][field]["differing"] == 1, result["fields"][field]


def vocabulary(folder, change):
    """a copy of the tokenizer's folder, changed"""
    for name in ("tokenizer.json", "chat_template.jinja"):
        shutil.copy(os.path.join(VERIFY.vocab, name), folder)
    change(folder)
    return folder


def edit_template(folder):
    path = os.path.join(folder, "chat_template.jinja")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("<|vision_end|>", "<|vision_end|>."))


def edit_tokenizer(folder):
    path = os.path.join(folder, "tokenizer.json")
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    value["model"]["merges"] = [merge for merge in value["model"]["merges"] if "".join(merge) != "\u0120France"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def test_break_template():
    """a template with a full stop more"""
    with tempfile.TemporaryDirectory() as folder:
        vocabulary(folder, edit_template)
        broken(VERIFY.result(golden(), SIZES, "resize ! patchify", "--tokenizer", folder), "input_ids", 3)


def test_break_tokenizer():
    """a tokenizer without one of its merges: the first text with that word is named"""
    with tempfile.TemporaryDirectory() as folder:
        vocabulary(folder, edit_tokenizer)
        broken(VERIFY.result(golden(), SIZES, "resize ! patchify", "--tokenizer", folder), "input_ids", 1)


def test_text():
    """what people read"""
    done = VERIFY.start(golden(), f"{SIZES} max-length=100", "resize ! patchify")
    assert done.returncode == 0, done
    for words in ("transformers 5.24.0", "torchvision 0.29.2", "pillow 11.3.0", "backend pillow", "left out: 8 overlong",
                  "9 samples: as promised"):
        assert words in done.stdout, (words, done.stdout)
    assert len([line for line in done.stdout.splitlines() if line.startswith(FIELDS)]) == 7, done.stdout


def demo_set():
    """the demo's data set, made as the demo makes it"""
    folder = f"{DEMO}/s3/demo/train"
    if not os.path.exists(f"{folder}/manifest.json"):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([f"{ROOT}/demo/photos", f"{DEMO}/photos"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, f"{ROOT}/demo/make-dataset.py", f"{DEMO}/photos", folder], check=True,
                       stdout=subprocess.DEVNULL)
    return folder


def test_demo():
    """photographs, in records of both forms: at the sizes of a fine-tuning, not one bit differs"""
    folder = demo_set()
    for shard in ("train-0000", "train-0007"):
        result = VERIFY.result(f"filesrc location={folder}/{shard}.jsonl ! jsonlparse", "workers=2 max-pixels=262144",
                               "resize ! patchify normalize=pillow")
        field = check(result, result["samples"])
        assert result["samples"] > 20 and field["differing"] == 0, field


sys.exit(run_cases(globals()))
