#!/usr/bin/env python3
"""Ray Train: ray-train.py pictures.hr FOLDER STEPS, with processors for two workers and two producers"""
import os
import pathlib
import sys
import tempfile

import ray.train
import torch
from ray.train.torch import TorchTrainer

from headrace.ray import SpreadLoader


def train(config):
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1536, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    rank, done = ray.train.get_context().get_world_rank(), 0
    # rank and world are those of torch.distributed, which Ray Train has initialised; `with`: producers end with the loop
    with SpreadLoader(config["pipeline"], then="patchify ! appsink", framework="torch") as loader:
        if checkpoint := ray.train.get_checkpoint():  # after a failure
            with checkpoint.as_directory() as folder:
                state = torch.load(os.path.join(folder, "state.pt"))
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            loader.load_state_dict(state["loader"])
            done = state["steps"]
        for step in range(done + 1, config["steps"] + 1):
            batch = next(loader)
            loss = (model(batch["pixel_values"]) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"rank {rank} step {step} loss {loss.item().hex()} samples {[s['id'] for s in batch.batch.samples]}", flush=True)
            if step % 4 == 0:
                with tempfile.TemporaryDirectory() as folder:
                    if rank == 0:  # any rank's place serves all of them, and other numbers of ranks
                        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                    "loader": loader.state_dict(), "steps": step}, os.path.join(folder, "state.pt"))
                    ray.train.report({"step": step, "loss": loss.item()},
                                     checkpoint=ray.train.Checkpoint.from_directory(folder) if rank == 0 else None)


if __name__ == "__main__":
    pipeline, folder, steps = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    TorchTrainer(train, train_loop_config={"pipeline": pipeline, "steps": steps},
                 scaling_config=ray.train.ScalingConfig(num_workers=2),
                 run_config=ray.train.RunConfig(storage_path=folder, failure_config=ray.train.FailureConfig(max_failures=1))).fit()
