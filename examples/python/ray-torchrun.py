#!/usr/bin/env python3
"""Ranks of torchrun on a Ray cluster: torchrun --nproc-per-node=2 ray-torchrun.py ADDRESS pictures.hr run.pt STEPS"""
import os
import sys

import ray
import torch
import torch.distributed as dist

from headrace.ray import SpreadLoader

GLOBAL_BATCH = 12
address, pipeline, path, steps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
dist.init_process_group("gloo")
ray.init(address=address, log_to_driver=False)  # each rank is a driver of its own
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1536, 8))
optimizer = torch.optim.AdamW(model.parameters())
# rank and world are those of torch.distributed; with `batch size=${SIZE}` a step is the same samples for any number of ranks
with SpreadLoader(pipeline, then="patchify ! appsink", framework="torch",
                  variables={"SIZE": GLOBAL_BATCH // dist.get_world_size()}) as loader:
    done = 0
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        done = state["steps"]
    for step in range(done + 1, steps + 1):
        batch = next(loader)
        loss = (model(batch["pixel_values"]) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"rank {dist.get_rank()} step {step} loss {loss.item().hex()} samples {[s['id'] for s in batch.batch.samples]}", flush=True)
    if dist.get_rank() == 0:  # any rank's place serves all of them, and other numbers of ranks
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "steps": steps}, path)
dist.destroy_process_group()
