#!/usr/bin/env python3
"""Every relative link of every page leads somewhere, to a heading that is there; every page is reached from the index,
docs/README.md, and the index from README.md; every picture is shown by some page; every file that is named is there.

usage: test-links.py SOURCE_ROOT
"""
import pathlib
import re
import sys
import traceback

import markdown

ROOT = pathlib.Path(sys.argv[1]).resolve()
DOCS = ROOT / "docs"
FOLDERS = ["bench", "core", "core-test", "demo", "docs", "examples", "pipelines", "plugins", "python", "tests", "tools"]
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *(p for top in ROOT.iterdir() if top.is_dir() for p in top.rglob("*.md"))]
               if not page.relative_to(ROOT).parts[0].startswith((".", "build")) and "node_modules" not in page.parts)


def target(page, link):
    """(file or None for one outside, anchor)"""
    name, _, anchor = link.partition("#")
    if "://" in name or name.startswith("mailto:"):
        return None, ""
    return ((page.parent / name).resolve() if name else page), anchor


def test_targets():
    """every link leads to a file or folder, and to a heading of it"""
    wrong, count = [], 0
    known = {}
    for page in PAGES:
        for line, link, _ in markdown.links(page):
            file, anchor = target(page, link)
            if file is None:
                continue
            count += 1
            where = f"{page.relative_to(ROOT)}:{line}: {link}"
            if not file.exists():
                wrong.append(f"{where}: there is no such file")
            elif ROOT not in file.parents and file != ROOT:
                wrong.append(f"{where}: leads out of the repository")
            elif anchor and file.suffix == ".md":
                if anchor not in known.setdefault(file, markdown.anchors(file)):
                    wrong.append(f"{where}: there is no such heading")
    assert count > 100, count
    assert not wrong, "\n".join(wrong)


def test_paths():
    """files and folders of the repository that pages name in `code` are there"""
    names = [(page, name) for page in PAGES if page.name != "CHANGES.md"
             for name in re.findall(r"`((?:%s)/[\w./-]*)`" % "|".join(FOLDERS), "\n".join(markdown.prose(page)))]
    lost = [f"{page.relative_to(ROOT)}: {name}" for page, name in names if not (ROOT / name).exists()]
    assert len(names) > 20 and not lost, "; ".join(lost)


def reached(start):
    found, left = set(), [start]
    while left:
        page = left.pop()
        if page in found or page.suffix != ".md" or not page.exists():
            continue
        found.add(page)
        for _, link, _ in markdown.links(page):
            file, _ = target(page, link)
            if file is not None:
                left.append(file)
    return found


def test_reached():
    """every page of docs/ is linked by the index itself, or is an element's; the index is linked by README.md"""
    index = DOCS / "README.md"
    direct = {target(index, link)[0] for _, link, _ in markdown.links(index)}
    lost = [p.name for p in sorted(DOCS.glob("*.md")) if p != index and p not in direct]
    assert not lost, f"not linked by docs/README.md: {', '.join(lost)}"
    found = reached(ROOT / "README.md")
    lost = [str(p.relative_to(ROOT)) for p in PAGES if DOCS in p.parents and p not in found]
    assert index in found and not lost, f"not reached from README.md: {', '.join(lost) or 'docs/README.md'}"


def test_pictures():
    """every picture that is shown is there, and every one that is there is shown"""
    shown = {target(page, link)[0] for page in PAGES for _, link, image in markdown.links(page) if image}
    there = {p for p in (DOCS / "images").iterdir()}
    assert there and there <= shown, f"shown nowhere: {', '.join(sorted(p.name for p in there - shown))}"
    assert all(p is None or p.stat().st_size > 0 for p in shown)


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}", flush=True)
    for i, (_, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {i} {test.__doc__}", flush=True)
        except Exception:  # noqa: each failure is told, and the others run
            print("# " + traceback.format_exc().replace("\n", "\n# "))
            print(f"not ok {i} {test.__doc__}", flush=True)


main()
