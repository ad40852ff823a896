"""Who is measured by bench/ray: each gives a rank its batches, as (what the samples are called, their pixels as tensors).

Both read the same lines from the same store, make uint8 pixels of the same sizes of the images, and give torch tensors.
"""
import io

import image_rules as rules


class Headrace:
    """headrace.ray: each rank asks producers on all nodes for its own batches."""

    def __init__(self, job, ranks):
        from importlib.metadata import version
        self.job, self.ranks = job, ranks
        # the same producers for all passes, as long as somebody needs them
        self.text = (f"s3src location={job['location']} ! jsonlparse ! imagefetch concurrency=64 ! imagedecode workers={job['cpus']} ! "
                     f"resize max-pixels={job['max_pixels']} workers={job['cpus']} ! batch size={job['batch']} ! appsink")
        self.options = {"world": ranks, "placement": "spread", "producers": job["producers"], "num_cpus": job["cpus"],
                        "depth": job["depth"], "framework": "torch", "epochs": 1}
        self.version = "ray " + version("ray")
        self.settings = f"SpreadLoader({self.text!r}, " + ", ".join(f"{name}={value!r}" for name, value in self.options.items()) + ")"

    def source(self, rank, warm):
        """what a rank is given to make batches of; @warm: of the first steps alone"""
        return self.text, self.options | {"rank": rank} | ({"steps": self.job["warm_steps"]} if warm else {})

    @staticmethod
    def batches(source, keep):
        from headrace.ray import SpreadLoader
        text, options = source
        loader = SpreadLoader(text, **options)
        keep.append(loader)  # the last one that leaves ends the producers
        for batch in loader:
            yield [sample["id"] for sample in batch.batch.samples], batch["images"]

    @staticmethod
    def links(loader):
        return {address: link["units"] for address, link in loader.stats()["links"].items()}


class RayData:
    """Ray Data as its documents have it: read_json, download, map_batches, streaming_split, iter_torch_batches."""

    def __init__(self, job, ranks):
        import os
        from importlib.metadata import version
        import pyarrow.fs
        import ray
        self.job, self.ranks = job, ranks
        # said in full: what fetches (obstore) does not find it otherwise
        self.store = pyarrow.fs.S3FileSystem(
            endpoint_override=os.environ["AWS_ENDPOINT_URL"], scheme="http", region=os.environ["AWS_REGION"],
            access_key=os.environ["AWS_ACCESS_KEY_ID"], secret_key=os.environ["AWS_SECRET_ACCESS_KEY"])
        nodes = {node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes() if node["Alive"]}
        self.hints = [nodes[address] for address in job["rank_addresses"]]
        self.splits = {warm: self.make(warm) for warm in (True, False)}
        self.version = " ".join(f"{name} {version(name)}" for name in ("ray", "pyarrow", "torch", "pillow"))
        self.settings = (f'read_json(…).map(link).with_column("bytes", download("uri", filesystem=…)).map_batches(decode, batch_size={job["batch"]}, '
                         f'num_cpus=1).streaming_split({ranks}, equal=True, locality_hints=…), iter_torch_batches(batch_size={job["batch"]}, '
                         "collate_fn=…); its own defaults for all else (prefetch_batches=1, preserve_order=False)")

    def make(self, warm):
        import ray
        from ray.data.expressions import download
        job, n = self.job, self.job["warm_files"]
        ray.data.DataContext.get_current().enable_progress_bars = False
        files = [f"{job['location'].removeprefix('s3://')}{name}" for name in (job["files"][:n] if warm else job["files"])]
        data = ray.data.read_json(files, filesystem=self.store)
        data = data.map(Link(job["location"])).with_column("bytes", download("uri", filesystem=self.store))
        data = data.map_batches(Decode(job["max_pixels"]), batch_size=job["batch"], num_cpus=1)
        return data.streaming_split(self.ranks, equal=True, locality_hints=self.hints)

    def source(self, rank, warm):
        return self.splits[warm][rank], self.job["batch"]

    @staticmethod
    def batches(source, _keep):
        iterator, size = source
        yield from iterator.iter_torch_batches(batch_size=size, collate_fn=collate)


class Link:
    """A record's image, as an address."""

    def __init__(self, location):
        self.location = location

    def __call__(self, record):
        return {"id": record["id"], "uri": self.location + record["messages"][0]["content"][0]["image"]}


class Decode:
    """A batch of files to pixels."""

    def __init__(self, most):
        self.most = most

    def __call__(self, batch):
        return {"id": batch["id"], "image": [decode(data, self.most) for data in batch["bytes"]]}


def decode(data, most):
    import numpy
    from PIL import Image
    with Image.open(io.BytesIO(data)) as image:
        height, width = rules.smart_resize(image.height, image.width, most)
        return numpy.asarray(image.convert("RGB").resize((width, height), Image.Resampling.BICUBIC))


def collate(batch):
    import torch
    return list(batch["id"]), [torch.as_tensor(image) for image in batch["image"]]


WHO = {"headrace": Headrace, "Ray Data": RayData}
