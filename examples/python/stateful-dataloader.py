#!/usr/bin/env python3
"""torchdata's StatefulDataLoader: stateful-dataloader.py train.hr run.pt STEPS"""
import os
import sys

import torch
from bigram import Bigram
from torchdata.stateful_dataloader import StatefulDataLoader

import headrace
from headrace.torch_dataset import IterableDataset

pipeline, path, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = Bigram()
optimizer = torch.optim.AdamW(model.parameters())
# batches are ready, so batch_size=None; no workers: the pipeline has threads of its own
loader = StatefulDataLoader(IterableDataset(headrace.Loader(pipeline)), batch_size=None, num_workers=0)
done = 0
if os.path.exists(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loader.load_state_dict(state["loader"])
    done = state["steps"]
while done < steps:
    for batch in loader:  # an epoch, or what is left of it
        loss = model(batch["input_ids"], batch["labels"])["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
        print(f"step {done} loss {loss.item().hex()} tokens {batch['input_ids'].sum()}", flush=True)
        if done == steps:
            break
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "steps": done}, path)
loader.dataset.loader.close()
