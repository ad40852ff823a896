#!/usr/bin/env python3
"""Trains a very small vision-language model on the CPU, on photographs with conversations, through headrace.Loader.

usage: train-tiny-vlm.py train DATA FOLDER [--steps 120] [--size 8] [--save-every 10] [--kill-at STEP]
       train-tiny-vlm.py prove DATA FOLDER [the same]

DATA is a folder or an s3:// prefix with *.jsonl and what they link to. FOLDER gets the tokenizer, checkpoint.pt and
log.jsonl: a line a step with its loss and the digest of its batch. `train` goes on from FOLDER/checkpoint.pt if it is
there. `prove` trains once as a whole, and once killed (SIGKILL) in mid epoch and gone on, and compares each batch and
each loss, bit for bit. `make example-train` does that with the demo's data.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import tokenizers
import torch
from torch import nn
from torch.nn import functional

import headrace

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
VOCABULARY = 512
PIPELINE = """
  ${SOURCE} location=${DATA} shuffle=window seed=7 ! jsonlparse ! imagefetch concurrency=16
  ! tokenize tokenizer=${FOLDER}/tokenizer.json min-pixels=4096 max-pixels=16384 max-length=640
  ! imagedecode workers=2 ! resize workers=2 ! batch mode=padded size=${SIZE} pad-id=0 ! prefetchqueue max-batches=4
  ! patchify ! appsink
"""


def source(data):
    return "s3src" if data.startswith("s3://") else "filesrc"


def make_tokenizer(data, path):
    """A byte-level BPE of the conversations, once."""
    def texts():
        text = "${SOURCE} location=${DATA} epochs=1 ! jsonlparse ! batch size=64 ! appsink"
        for batch in headrace.Loader(text, variables={"SOURCE": source(data), "DATA": data}, framework="raw"):
            for conversation in batch["conversation"]:
                yield from (part["text"] for turn in conversation["turns"] for part in turn["parts"] if "text" in part)

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.save(str(path))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        # padding is behind the tokens, so what is causal never sees it
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, width))
        return x + self.mlp(self.norm2(x))


class TinyVLM(nn.Module):
    """Patches are projected, four neighbours become one token, and stand in for the image tokens of the text."""

    def __init__(self, image_id, width=64, blocks=3, heads=4, merged=4, patch=1536, frequencies=16):
        super().__init__()
        self.image_id, self.merged = image_id, merged
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.patches = nn.Sequential(nn.Linear(patch, width), nn.GELU())
        self.merge = nn.Linear(merged * width, width)
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(frequencies) / frequencies))
        self.positions = nn.Linear(3 * 2 * frequencies, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)

    def forward(self, input_ids, labels, position_ids, pixel_values=None, image_grid_thw=None):
        x = self.tokens(input_ids)
        if pixel_values is not None:
            # patches come in groups of those that merge: image_grid_thw says how many there are of each image
            images = self.merge(self.patches(pixel_values).view(-1, self.merged * x.size(-1)))
            where = input_ids == self.image_id
            if not int(where.sum()) == len(images) == int(image_grid_thw.prod(1).sum()) // self.merged:
                raise ValueError(f"{int(where.sum())} image tokens for {len(images)} merged patches")
            x = x.masked_scatter(where.unsqueeze(-1), images)
        angles = position_ids.permute(1, 2, 0).unsqueeze(-1) * self.frequencies
        x = x + self.positions(torch.cat([angles.sin(), angles.cos()], -1).flatten(2))
        scores = functional.linear(self.norm(self.blocks(x)), self.tokens.weight) * x.size(-1) ** -0.5
        # labels are not shifted: what follows token i is label i + 1; -100 is not learned
        return functional.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def save(path, state):
    """As a whole or not at all: a run that is killed meanwhile leaves the old one."""
    torch.save(state, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)


def train(options):
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tokenizer.json").exists():
        make_tokenizer(options.data, folder / "tokenizer.json")
    torch.set_num_threads(1)  # the same sums in the same order, and a processor left for the pipeline
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    image_id = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).token_to_id("<|image_pad|>")
    model = TinyVLM(image_id)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = headrace.Loader(PIPELINE, variables={"SOURCE": source(options.data), "DATA": options.data,
                                                  "FOLDER": folder, "SIZE": options.size})
    done = 0
    if (folder / "checkpoint.pt").exists():
        state = torch.load(folder / "checkpoint.pt", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        done = state["steps"]
    print(f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters; "
          + (f"going on behind step {done}" if done else "from the beginning"), flush=True)

    losses, log = [], open(folder / "log.jsonl", "a", encoding="utf-8")
    for step in range(done + 1, options.steps + 1):
        batch = next(loader)
        digest = batch.batch.digest()  # of all its bytes; only here, where batches are to be compared
        loss = model(**{name: batch[name] for name in ("input_ids", "labels", "position_ids", "pixel_values", "image_grid_thw")
                        if name in batch})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        log.write(json.dumps({"step": step, "epoch": batch.batch.epoch, "loss": losses[-1].hex(), "batch": digest}) + "\n")
        log.flush()
        if step % 10 == 0 or step in (done + 1, options.steps):
            print(f"step {step:4} epoch {batch.batch.epoch} loss {losses[-1]:.4f} batch {digest[:12]}"
                  f" {batch['input_ids'].size(0)} x {batch['input_ids'].size(1)} tokens", flush=True)
        if step == options.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if step % options.save_every == 0:
            save(folder / "checkpoint.pt", {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                            "loader": loader.state_dict(), "steps": step})
    stats = loader.stats()
    print(f"loss {sum(losses[:5]) / len(losses[:5]):.4f} -> {sum(losses[-5:]) / len(losses[-5:]):.4f} (means of five steps); "
          f"waited {100 * stats['wait_ratio']:.1f} % of the time for {stats['samples']} samples, {stats['images']} images")
    loader.close()


def read_log(folder):
    """step -> (loss, batch), and how many steps came twice, as the same"""
    steps, n_lines = {}, 0
    with open(pathlib.Path(folder, "log.jsonl"), encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            got = line["loss"], line["batch"]
            if steps.setdefault(line["step"], got) != got:
                raise SystemExit(f"step {line['step']} came again, but not as before: {got} {steps[line['step']]}")
            n_lines += 1
    return steps, n_lines - len(steps)


def prove(options):
    def run(name, *more):
        print(f"---- {name}", flush=True)
        command = [sys.executable, __file__, "train", options.data, f"{options.folder}/{name}", f"--steps={options.steps}",
                   f"--size={options.size}", f"--save-every={options.save_every}", *more]
        return subprocess.run(command, check=False).returncode

    start = time.monotonic()
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(f"{options.folder}/killed")
    if run("whole") != 0:
        return 1
    shutil.copy(f"{options.folder}/whole/tokenizer.json", f"{options.folder}/killed")
    if run("killed", f"--kill-at={options.kill_at}") != -signal.SIGKILL or run("killed") != 0:
        return 1
    (whole, _), (killed, twice) = read_log(f"{options.folder}/whole"), read_log(f"{options.folder}/killed")
    bad = [step for step in whole if whole[step] != killed.get(step)]
    if bad or len(whole) != options.steps or len(killed) != options.steps or twice == 0:
        print(f"differ at steps {bad}; {len(whole)} and {len(killed)} steps, {twice} twice")
        return 1
    print(f"---- killed behind step {options.kill_at}, gone on behind step {options.kill_at // options.save_every * options.save_every}:"
          f" all {options.steps} batches and losses are bit for bit those of the whole run, {twice} of them came twice;"
          f" {time.monotonic() - start:.0f} s")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "prove"])
    parser.add_argument("data")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--size", type=int, default=8, help="rows of a batch")
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--kill-at", type=int)
    options = parser.parse_args()
    if options.what == "train":
        return train(options)
    if options.kill_at is None:
        options.kill_at = options.steps // 2 // options.save_every * options.save_every + options.save_every // 2
    return prove(options)


if __name__ == "__main__":
    sys.exit(main())
