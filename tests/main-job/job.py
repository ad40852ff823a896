"""What the tests of the main job share: a bucket, and the data set in it."""
import json
import os
import pathlib
import re

import botocore.session

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "data/golden"


class Bucket:
    def __init__(self, name):
        self.name = name
        self.client = botocore.session.get_session().create_client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
        self.client.create_bucket(Bucket=name)

    def put(self, key, data):
        self.client.put_object(Bucket=self.name, Key=key, Body=data)


class Job:
    """The data set: every golden image once, in records of both forms, spread over three files."""

    def __init__(self):
        self.images = json.loads((GOLDEN / "images.json").read_text())
        self.good = [i for i in self.images if "sha256" in (i.get("decode") or {}).get("hr_default", {})]
        self.bucket = Bucket("corpus")
        for image in self.images:
            self.bucket.put("train/images/" + image["file"], (GOLDEN / "images" / image["file"]).read_bytes())
        # aspect201 decodes, but cannot be resized
        fit = [i for i in self.good if "error" not in i["processor"]["cap256"]]
        self.records = [self.record(n, [i["file"]]) for n, i in enumerate(fit)]
        self.records.append(self.record(len(fit), ["cat_420.jpg", "rgba.png", "exif6.jpg"]))
        self.records.append(self.record(len(fit) + 1, []))
        self.files = {}
        for k in range(3):
            lines = self.records[k * len(self.records) // 3:(k + 1) * len(self.records) // 3]
            # one file has blank lines and no last line end
            text = ("\n\n" if k == 1 else "\n").join(json.dumps(r, ensure_ascii=False) for r in lines)
            self.files[f"train/part-{k}.jsonl"] = (text + ("" if k == 1 else "\n")).encode()
        for key, data in self.files.items():
            self.bucket.put(key, data)

    @staticmethod
    def record(number, files):
        links = ["images/" + f for f in files]
        text = f"What is picture {number}? Äh…"
        if number % 2:
            human = "<image>\n" * len(links) + text
            record = {"id": f"r{number}", "conversations": [{"from": "human", "value": human},
                                                              {"from": "gpt", "value": "A picture."}]}
            return {**record, "image": links if len(links) != 1 else links[0]} if links else record
        parts = [{"type": "image", "image": link} for link in links] + [{"type": "text", "text": text}]
        return {"id": f"r{number}", "messages": [{"role": "user", "content": parts},
                                                  {"role": "assistant", "content": "A picture."}]}

    def files_of(self, record):
        links = re.findall(r'"(?:images/)([^"]+)"', json.dumps(record))
        return links

    def reference(self, file):
        return next(i for i in self.images if i["file"] == file)
