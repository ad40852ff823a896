"""The table of what can go wrong: a name, what it means for a client, and a function that spoils the
right answer. The functions are in answers.py, bodies.py and lists.py.
"""
import dataclasses
import typing

# what a good client makes of it
KINDS = {
    "legal": "unusual, but right: the same bytes without another try",
    "passing": "passes: the same bytes after another try",
    "final": "one error that tells what it is",
    "silent": "nothing in the answer gives the wrong bytes away: only a hash from elsewhere would",
}
GET, HEAD, LIST = ("get",), ("head",), ("list",)
DATA, ANY = ("get",), ("get", "head", "list")


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    kind: str
    ops: tuple
    needs: str  # body: not of empty objects; range, empty, reused (connection)
    summary: str
    apply: typing.Callable


FAULTS = {}


def fault(name, kind, ops, needs=""):
    """registers a function; its document is the summary"""
    assert kind in KINDS and name not in FAULTS

    def register(function):
        FAULTS[name] = Fault(name, kind, ops, needs, " ".join(function.__doc__.split()), function)
        return function
    return register


def select(text):
    """all, a kind, "survivable" (what a good client survives), names; a "-" in front takes away"""
    chosen = []
    for word in text.split(","):
        away, word = word.startswith("-"), word.lstrip("-")
        if word == "all":
            names = list(FAULTS)
        elif word == "survivable":
            names = [f.name for f in FAULTS.values() if f.kind in ("legal", "passing")]
        elif word in KINDS:
            names = [f.name for f in FAULTS.values() if f.kind == word]
        elif word in FAULTS:
            names = [word]
        else:
            raise ValueError(f"there is no fault \"{word}\"; --help lists them")
        if away and not chosen:
            chosen = list(FAULTS)
        chosen = [n for n in chosen if n not in names] if away else chosen + [n for n in names if n not in chosen]
    return [FAULTS[n] for n in chosen]


def describe():
    """for --help"""
    lines = []
    for kind, meaning in KINDS.items():
        lines.append(f"\n{kind}: {meaning}")
        lines += [f"  {f.name:<22} {'' if f.ops == ANY else '/'.join(f.ops) + ': '}{f.summary}"
                  for f in FAULTS.values() if f.kind == kind]
    return "\n".join(lines)
