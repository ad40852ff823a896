"""python -m headrace: a short self-check: which library, which plugins, and whether a pipeline runs."""
from __future__ import annotations

import importlib.util
import sys

import headrace
from headrace import _core


def main() -> int:
    print(f"headrace {headrace.__version__}, {_core.__file__}")
    for name in ("torch", "numpy"):
        print(f"{name}: {'found' if importlib.util.find_spec(name) else 'not found'}")
    loader = headrace.Loader("fakesrc num-buffers=64 ! batch size=8 ! prefetchqueue ! appsink", framework="raw")
    steps = sum(1 for _ in loader)
    print(f"a pipeline of {len(loader._pipeline.elements)} elements made {steps} steps")
    if steps != 8:
        print("expected 8", file=sys.stderr)
        return 1
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
