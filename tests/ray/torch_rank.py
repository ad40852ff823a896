"""A rank with torch: steps of a tiny model over a SpreadLoader, written down one by one. It dies once, in the middle, and
goes on from its checkpoint when it is started again."""
import json
import os
import pathlib
import signal
import sys
import tempfile

import torch
import torch.distributed as dist
import trainer

from headrace.loader import Step
from headrace.ray import SpreadLoader

STATE = "state.pt"


def describe(step):
    """As of a rank with numpy; patches and all else are tensors of torch."""
    plain = Step((name, as_arrays(value)) for name, value in step.items())
    plain.batch = step.batch
    return trainer.describe(plain)


def as_arrays(value):
    if isinstance(value, list):
        return [as_arrays(item) for item in value]
    return value.numpy() if isinstance(value, torch.Tensor) else value


def train(loader, config, *, state, save):
    """`steps` in all; the file of this life of this rank gets a line for each.

    :param save: is given what a checkpoint is made of, on all ranks, behind `every` so many steps.
    """
    rank, world, first = dist.get_rank(), dist.get_world_size(), state is None
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1536, 8))
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    done = 0
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        done = state["steps"]
    with open(f"{config['folder']}/{world}-{rank}-{done}.log", "w", encoding="utf-8") as file:
        for number in range(done + 1, config["steps"] + 1):
            step = next(loader)
            loss = (model(step["pixel_values"].float()) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            file.write(json.dumps({**describe(step), "number": number, "loss": loss.item().hex(), "pid": os.getpid()}) + "\n")
            file.flush()
            if number % config["every"] == 0:
                save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(),
                      "steps": number})
            if first and number == config.get("die_at") and rank == world - 1:
                os.kill(os.getpid(), signal.SIGKILL)


def train_in_ray(config):
    """What Ray Train's workers run."""
    import ray.train  # pylint: disable=import-outside-toplevel # only here: torchrun's ranks know nothing of it

    def save(state):
        with tempfile.TemporaryDirectory() as folder:
            if dist.get_rank() == 0:
                torch.save(state, f"{folder}/{STATE}")
            ray.train.report({"step": state["steps"]},
                             checkpoint=ray.train.Checkpoint.from_directory(folder) if dist.get_rank() == 0 else None)

    state = None
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            state = torch.load(f"{folder}/{STATE}")
    with SpreadLoader(config["text"], framework="torch", **config["options"]) as loader:
        train(loader, config, state=state, save=save)


def main():
    """A rank of torchrun. usage: torch_rank.py CONFIG (JSON: address, text, options, folder, steps, every, die_at)"""
    config = json.loads(sys.argv[1])
    path = pathlib.Path(config["folder"], STATE)
    dist.init_process_group("gloo")

    def save(state):
        if dist.get_rank() == 0:
            torch.save(state, f"{path}.part")
            os.replace(f"{path}.part", path)
        dist.barrier()

    with SpreadLoader(config["text"], framework="torch", address=config["address"], **config["options"]) as loader:
        train(loader, config, state=torch.load(path) if path.exists() else None, save=save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
