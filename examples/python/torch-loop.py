#!/usr/bin/env python3
"""A loop of torch on any number of ranks: torchrun --nproc-per-node=2 torch-loop.py train.hr run.pt STEPS"""
import os
import sys

import torch
import torch.distributed as dist
from bigram import Bigram

import headrace

pipeline, path, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(Bigram())
optimizer = torch.optim.AdamW(model.parameters())
loader = headrace.Loader(pipeline)  # rank and world are those of torch.distributed
done = 0
if os.path.exists(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loader.load_state_dict(state["loader"])
    done = state["steps"]
for step in range(done + 1, steps + 1):
    batch = next(loader)  # goes on through all epochs; `for batch in loader` is one
    loss = model(batch["input_ids"], batch["labels"])["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"rank {dist.get_rank()} step {step} loss {loss.item().hex()} samples {[s['id'] for s in batch.batch.samples]}", flush=True)
if dist.get_rank() == 0:  # any rank's place serves all of them, and other numbers of ranks
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "steps": steps}, path)
loader.close()
dist.destroy_process_group()
