"""A line of JSON becomes a conversation: docs/records.md, read a second time.

Only records that headrace delivers come here, so what is refused there is not told apart here.
"""
import json
import re

ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "chatgpt": "assistant",
         "bing": "assistant", "bard": "assistant", "system": "system", "developer": "system"}


class Record:
    """turns: [(role, learned, [("text", text) | ("image", index)])]; images: what records say of each"""

    def __init__(self):
        self.turns, self.images = [], []


class Reader:
    def __init__(self, value, strip, missing_placeholder, late_system):
        self.value, self.strip, self.late_system, self.record = value, strip, late_system, Record()
        self.pool = self.read_pool()
        self.read_forms()
        images = [part for _, _, parts in self.record.turns for part in parts if part[0] == "image"]
        if missing_placeholder == "prepend" and len(self.pool) == 1 and not images:
            first = next(parts for role, _, parts in self.record.turns if role == "user")
            first.insert(0, ("image", 0))
            self.record.images.append(self.pool.pop(0))

    def read_pool(self):
        pool = self.value.get("image")
        pool = self.value.get("images") if pool is None else pool
        return [] if pool is None else list(pool) if isinstance(pool, list) else [pool]

    def add_image(self, ref):
        self.record.images.append(self.pool.pop(0) if ref is None else ref)
        return ("image", len(self.record.images) - 1)

    def split(self, text, role):
        """the parts of a text with placeholders"""
        if role == "assistant":
            return [("text", text)]
        parts = []
        for piece in re.split("(<image>)", text):
            if piece == "<image>":
                parts.append(self.add_image(None))
                continue
            if role == "user" and self.strip == "qwen":
                piece = piece.strip()
            parts.append(("text", piece))
        return parts

    def part(self, part):
        part = {key: value for key, value in part.items() if value is not None}
        if part.get("type") != "image" and "image" not in part and "image_url" not in part:
            return ("text", part["text"])
        for key in ("image", "image_url", "url", "path"):
            if key in part:
                return self.add_image(part[key])
        return self.add_image({"base64": part["base64"]} if "base64" in part else None)

    def add(self, role, content, loss=True):
        system = self.value.get("system")
        if not self.record.turns and role != "system" and system:
            self.add("system", system)
        # the turn first, as its parts count images
        parts = self.split(content, role) if isinstance(content, str) else [self.part(part) for part in content]
        parts = [part for part in parts if part[1] != ""]
        if role == "system" and self.record.turns and self.late_system == "drop":
            return
        self.record.turns.append((role, role == "assistant" and loss is not False, parts))

    def read_forms(self):
        value = self.value
        if value.get("messages") is not None:
            for turn in value["messages"]:
                self.add(ROLES[turn["role"]], turn["content"], turn.get("loss"))
        elif value.get("conversations") is not None:
            for turn in value["conversations"]:
                self.add(ROLES[turn["from"]], turn["value"], turn.get("loss"))
        elif value.get("conversation") is not None:
            for pair in value["conversation"]:
                for key, role in (("human", "user"), ("assistant", "assistant")):
                    if pair.get(key) is not None:
                        self.add(role, pair[key], pair.get("loss"))
        elif value.get("query") is not None or value.get("instruction") is None:
            self.read_pair(["query"], "response")
        else:
            self.read_pair(["instruction", "input"], "output")

    def read_pair(self, questions, answer):
        for question, reply in self.value.get("history") or []:
            self.add("user", question)
            self.add("assistant", reply)
        texts = [self.value[key] for key in questions if self.value.get(key) is not None]
        if texts:
            self.add("user", "\n".join(text for i, text in enumerate(texts) if i == 0 or text))
        if self.value.get(answer) is not None:
            self.add("assistant", self.value[answer])


def read_record(value, strip="qwen", missing_placeholder="error", late_system="error"):
    """value: the JSON object"""
    return Reader(value, strip, missing_placeholder, late_system).record


def read_line(line):
    """the JSON objects of a line, bytes: one, or a list of them"""
    value = json.loads(line.decode().lstrip("\ufeff"))
    return value if isinstance(value, list) else [value]
