"""python -m headrace: a self-check: versions, plugins and their libraries, a pipeline, and who takes its tensors."""
from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from types import ModuleType

import headrace
from headrace import _core

LIBRARIES = ("libheadrace", "libglib", "libjson-glib", "libcurl", "libvips", "libjpeg", "libpcre2", "libcrypto", "libcudart")


def _find(name: str) -> ModuleType | None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: not found ({error})")
        return None
    print(f"{name}: {getattr(module, '__version__', '?')}")
    return module


def _check_plugins() -> bool:
    """Opens every plugin; one that lacks a library says so here, and not in the middle of a night."""
    plugins: dict[str, list[str]] = {}
    for row in _core.elements():
        plugins.setdefault(row["file"] or "", []).append(row["name"] or "")
    good = True
    for folder in sorted({os.path.dirname(file) for file in plugins}):
        print(f"plugins in {folder or 'the program'}")
    for file, names in sorted(plugins.items()):
        try:
            _core.open_element(names[0])
        except headrace.Error as error:
            print(f"  {os.path.basename(file)}: {error}", file=sys.stderr)
            good = False
        else:
            print(f"  {os.path.basename(file)}: {' '.join(names)}")
    if not plugins:
        print("no plugins: HR_PLUGIN_PATH, or an installation that is whole, would bring them", file=sys.stderr)
    return good and bool(plugins)


def _show_libraries() -> None:
    """The files that this process has loaded for us."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = {line.split(maxsplit=5)[5].strip() for line in file if "/" in line}
    for path in sorted(paths):
        name = os.path.basename(path)
        if name.startswith(LIBRARIES) and re.search(r"\.so(\.|$)", name):
            print(f"  {name}  {os.path.dirname(path)}")


def _check_tensors(torch: ModuleType | None, numpy: ModuleType | None) -> bool:
    """Whether torch and numpy take a tensor without a copy."""
    tensor = next(headrace.Loader("fakesrc size=4KiB ! batch size=1 ! appsink", framework="raw"))["bytes"][0]
    arrays = [module.from_dlpack(tensor) for module in (torch, numpy) if module is not None]
    views = [memoryview(tensor)] + arrays
    before = bytes(memoryview(tensor)[:1])
    for number, view in enumerate(views):
        view[0] = (before[0] + number + 1) % 256
        if any(int(other[0]) != int(view[0]) for other in views):
            print("a tensor is copied where it should be shared", file=sys.stderr)
            return False
    print(f"tensors are shared with {' and '.join(['memoryview'] + [array.__class__.__module__ for array in arrays])},"
          " without a copy")
    return True


def _check_pipeline() -> bool:
    good = True
    for process in (False, True):
        with headrace.Loader("fakesrc num-buffers=64 ! batch size=8 ! prefetchqueue ! appsink", framework="raw",
                             process=process) as loader:
            steps = sum(1 for _ in loader)
        print(f"a pipeline made {steps} steps{', in a process of its own' if process else ''}")
        if steps != 8:
            print("expected 8", file=sys.stderr)
            good = False
    return good


def main() -> int:
    """Prints what there is; 1 if something that should be there is not."""
    print(f"headrace {headrace.__version__}, {_core.__file__}")
    print(f"Python {platform.python_version()}, {platform.platform()}")
    torch, numpy = _find("torch"), _find("numpy")
    if torch is not None:
        print(f"torch sees {torch.cuda.device_count()} GPUs")
    good = _check_plugins()
    print("libraries")
    _show_libraries()
    good = _check_pipeline() and good
    good = _check_tensors(torch, numpy) and good
    print("ok" if good else "not ok")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
