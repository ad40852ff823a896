#!/usr/bin/env python3
"""headrace.Loader with torch: dtypes, memory, torch's and torchdata's loaders around it, and ranks of gloo."""
import gc
import os
import sys
import tempfile

import numpy
import torch
import torch.distributed
import torch.multiprocessing
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import headrace
import tap
from dataset import WithData, ids
from headrace.torch_dataset import IterableDataset


def same(left, right):
    return left.keys() == right.keys() and all(
        torch.equal(value, right[name]) if isinstance(value, torch.Tensor) else str(value) == str(right[name])
        for name, value in left.items())


def run_rank(rank, pipeline, folder):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    loader = headrace.Loader(pipeline)
    batches = list(loader)
    steps = torch.tensor([len(batches)])
    torch.distributed.all_reduce(steps)
    with open(f"{folder}/{rank}", "w", encoding="utf-8") as file:
        file.write("\n".join([str(int(steps))] + ids(batches)))
    torch.distributed.destroy_process_group()


class Torch(WithData):
    def test_dtypes(self):
        """every dtype of patches, bfloat16 too; the same numbers as with numpy"""
        for dtype in ("uint8", "float16", "bfloat16", "float32"):
            batch = next(headrace.Loader(self.data.pipeline(tail=f"patchify dtype={dtype}")))
            self.assertEqual(batch["pixel_values"].dtype, getattr(torch, dtype))
            if dtype != "bfloat16":
                array = next(headrace.Loader(self.data.pipeline(tail=f"patchify dtype={dtype}"), framework="numpy"))
                self.assertTrue(numpy.array_equal(batch["pixel_values"].numpy(), array["pixel_values"]))
        whole = next(headrace.Loader(self.data.pipeline(tail="patchify dtype=float32")))["pixel_values"]
        half = next(headrace.Loader(self.data.pipeline(tail="patchify dtype=bfloat16")))["pixel_values"]
        self.assertTrue(torch.equal(whole.to(torch.bfloat16), half))

    def test_memory(self):
        """no copy; a tensor and its views keep the memory, whatever else goes"""
        loader = headrace.Loader(self.data.pipeline())
        batch = next(loader)
        tensor = batch["pixel_values"]
        self.assertEqual(tensor.data_ptr(), torch.from_dlpack(batch.batch["pixel_values"]).data_ptr())
        wanted, part = tensor[3:5].clone(), tensor[3:5]
        del tensor, batch
        loader.close()
        del loader
        gc.collect()
        self.assertTrue(torch.equal(part, wanted))
        part.add_(1)
        self.assertFalse(torch.equal(part, wanted))

    def test_map(self):
        """functions get torch's tensors, and give back the same ones, new ones, views and bfloat16; memory is not copied"""
        text = self.data.pipeline(tail="prefetchqueue").replace("! batch", "! appmap ! batch", 1)
        plain = list(headrace.Loader(self.data.pipeline(tail="prefetchqueue"), epochs=1))
        for batch, other in zip(plain, headrace.Loader(text, epochs=1, map=lambda sample: sample), strict=True):
            self.assertEqual(batch.batch.digest(), other.batch.digest())

        def work(sample):
            image, = sample["images"]
            assert isinstance(image, torch.Tensor) and image.dtype == torch.uint8, image
            half = torch.full((2, 3), 0.5, dtype=torch.bfloat16)
            pushed[sample.origin["id"]] = half.data_ptr()
            return {"images": [image.flip(1)], "top": image[:4], "left": image[:, :4], "half": half,
                    "learned": torch.ones(2, requires_grad=True).detach(), "number": torch.tensor(7)}
        pushed = {}
        n = 0
        for before, after in zip(plain, headrace.Loader(text, epochs=1, map=work), strict=True):
            names = ids([after])
            for i, (old, new) in enumerate(zip(before["images"], after["images"], strict=True)):
                self.assertTrue(torch.equal(new, old.flip(1)))
                self.assertTrue(torch.equal(after["top"][i], old[:4]) and torch.equal(after["left"][i], old[:, :4]))
                self.assertEqual((after["half"][i].dtype, after["half"][i].tolist()), (torch.bfloat16, [[0.5] * 3] * 2))
                self.assertEqual(after["half"][i].data_ptr(), pushed[names[i]])
                self.assertEqual((after["number"][i].shape, int(after["number"][i])), ((), 7))
                n += 1
        self.assertEqual(n, 23)
        for wrong, words in ((torch.ones(2, requires_grad=True), "grad"), (torch.ones(2, dtype=torch.complex64), "complex|DLPack's type"),
                             (torch.ones(2).to_sparse(), "")):
            loader = headrace.Loader(text, epochs=1, map=lambda sample, wrong=wrong: {**sample, "x": wrong})
            with self.assertRaisesRegex(headrace.DataError, words) as caught:
                list(loader)
            self.assertIsNotNone(caught.exception.__cause__)
            caught.exception.__cause__ = caught.exception.__traceback__ = None
            loader.close()

    def test_workers_refused(self):
        """inside a worker of DataLoader it refuses, with what to do"""
        loader = DataLoader(IterableDataset(headrace.Loader(self.data.pipeline())), batch_size=None, num_workers=1,
                            multiprocessing_context="spawn")
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            next(iter(loader))

    def test_data_loader(self):
        """through torch's DataLoader nothing changes"""
        plain = list(headrace.Loader(self.data.pipeline()))
        wrapped = list(DataLoader(IterableDataset(headrace.Loader(self.data.pipeline())), batch_size=None))
        self.assertEqual(len(wrapped), 6)
        self.assertTrue(all(same(left, right) for left, right in zip(plain, wrapped)))

    def test_stateful(self):
        """torchdata's StatefulDataLoader goes on exactly from every step, epochs included"""
        def make():
            return StatefulDataLoader(IterableDataset(headrace.Loader(self.data.pipeline())), batch_size=None)

        loader, whole, states = make(), [], []
        for _ in range(2):
            for batch in loader:
                whole.append(batch)
                states.append(loader.state_dict())
        self.assertEqual(len(whole), 12)
        for cut in (0, 2, 4, 6, 8):
            again = make()
            again.load_state_dict(states[cut])
            rest = list(again)
            epoch_end = 6 if cut < 5 else 12
            self.assertEqual(len(rest), epoch_end - cut - 1)
            self.assertTrue(all(same(left, right) for left, right in zip(rest, whole[cut + 1:])))

    def test_saved(self):
        """the state goes through torch.save"""
        loader = headrace.Loader(self.data.pipeline())
        next(loader)
        with tempfile.NamedTemporaryFile() as file:
            torch.save({"loader": loader.state_dict()}, file.name)
            state = torch.load(file.name, weights_only=True)["loader"]
        again = headrace.Loader(self.data.pipeline())
        again.restore_state_rank(state)
        self.assertTrue(all(same(left, right) for left, right in zip(loader, again)))

    def test_ranks_of_gloo(self):
        """ranks are those of torch.distributed: every sample once, equal steps"""
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(run_rank, (self.data.pipeline(), folder), nprocs=2)
            lines = [open(os.path.join(folder, str(rank)), encoding="utf-8").read().split("\n") for rank in range(2)]
        self.assertEqual(lines[0][0], lines[1][0])
        self.assertEqual(int(lines[0][0]), 6)
        self.assertEqual(sorted(lines[0][1:] + lines[1][1:]), sorted(f"r{i}" for i in range(23)))

    def test_threads(self):
        """a training loop with torch's own threads beside the pipeline's"""
        weight = torch.zeros(1536, 8, requires_grad=True)
        losses = []
        for batch in headrace.Loader(self.data.pipeline(), epochs=2):
            loss = (batch["pixel_values"].float() @ weight - 1).square().mean()
            loss.backward()
            losses.append(float(loss.detach()))
            with torch.no_grad():
                weight -= 1e-5 * weight.grad
                weight.grad.zero_()
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":  # children of spawn import this file
    sys.stdout.reconfigure(line_buffering=True)
    tap.main()
