#!/usr/bin/env python3
"""The documents say what the program does: each element's page has the properties of its table and no
others, there is a page for each element and for nothing else, each kind of error stands where it belongs, the commands in
grammar.md and README.md print what stands below them, and the pipelines of all pages parse.

usage: test-docs.py BUILD SOURCE_ROOT
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import traceback

import markdown

BUILD, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGES = ROOT / "docs" / "elements"
HINT = "run `make docs`"
KINDS = [name.lower().replace("_", "-") for name in
         re.findall(r"^  HR_DATA_ERROR_(\w+)", (ROOT / "core" / "hr-error.h").read_text(encoding="utf-8"), re.M)]


def load(path):
    loader = importlib.machinery.SourceFileLoader("make_docs", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_docs", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


FILES, ELEMENTS = load(ROOT / "tools" / "make-docs").pages(BUILD)


def rows(text):
    """{property: its row}"""
    return dict((m[1], m[0]) for m in re.finditer(r"^\| `([a-z0-9-]+)` \|.*$", text, re.M))


def test_programs():
    """the pages show each file of examples/python, as it is, and no whole program that is none of them"""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    shown = [block for text in texts for block in re.findall(
        r"^\[examples/python/([\w-]+\.py)\]\([^)]*\):\n\n```python\n(.*?)^```$", text, flags=re.M | re.S)]
    files = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "python").glob("*.py")}
    assert sorted(name for name, _ in shown) == sorted(files), f"shown: {sorted(name for name, _ in shown)}; there are {sorted(files)}"
    other = [name for name, block in shown if block != files[name]]
    assert not other, f"not word for word: {other}"
    programs = sum(len(re.findall(r'^```python\n(?:#!|""")', text, flags=re.M)) for text in texts)
    assert programs == len(shown), f"{programs} whole programs, of which {len(shown)} say which file they are"


def test_pages():
    """a page for each element, and none for what is gone"""
    have = {p.name for p in PAGES.glob("*.md")}
    assert have == set(FILES), f"{HINT}: missing {sorted(set(FILES) - have)}, left over {sorted(have - set(FILES))}"
    assert len(ELEMENTS) > 10


def test_properties():
    """each page has the properties of the table and no others, with type, default, range and doc"""
    wrong = []
    for element in ELEMENTS:
        text = (PAGES / f"{element['name']}.md").read_text(encoding="utf-8")
        shown, table = rows(text), {p["name"]: p for p in element["properties"]}
        wrong += [f"{element['name']}: {name} is not on the page" for name in table if name not in shown]
        wrong += [f"{element['name']}: {name} is on the page only" for name in shown if name not in table]
        for name in set(shown) & set(table):
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", shown[name])[1:-1]]
            prop = table[name]
            expected = [prop["type"], prop["doc"].replace("|", "\\|").replace("<", "&lt;")]
            default = (prop["default"] or "").replace("|", "\\|")
            if [cells[1].split()[0], cells[5]] != expected or default not in cells[2]:
                wrong.append(f"{element['name']}: {name} is another on the page")
    assert not wrong, "; ".join(wrong + [HINT])


def test_words():
    """each page has what the table says in words, what the element needs, and its examples"""
    wrong = []
    for element in ELEMENTS:
        name, text = element["name"], (PAGES / f"{element['name']}.md").read_text(encoding="utf-8")
        first = (element["description"] or "").split("\n")[0].replace("<", "&lt;").split("docs/")[0]
        wanted = {"summary": f"{element['summary']}.", "description": first, "kind": f"- kind: {element['kind']}"}
        wanted |= {key: f"- {key}: `{element[key]}`" for key in ("needs", "gives", "takes") if element[key]}
        wanted |= {example: example for example in element["examples"]}
        wrong += [f"{name}: {what}" for what, words in wanted.items() if not words or words not in text]
        if not element["examples"]:
            wrong.append(f"{name}: no example")
        if element["summary"].endswith("."):
            wrong.append(f"{name}: a summary is half a sentence")
    assert not wrong, "; ".join(wrong + [HINT])


def test_kinds():
    """errors.md lists the kinds of bad samples that there are, and an element of a plugin names each that the plugin raises"""
    listed = re.search(r"^Kinds: (.*?)\. ", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.M | re.S)[1].split()
    assert sorted(listed) == sorted(f"`{kind}`" for kind in KINDS) and len(KINDS) > 15, set(listed) ^ {f"`{kind}`" for kind in KINDS}
    silent = []
    for plugin in sorted({element["plugin"] for element in ELEMENTS}):
        told = " ".join(element["description"] for element in ELEMENTS if element["plugin"] == plugin)
        sources = " ".join(file.read_text(encoding="utf-8") for file in sorted((ROOT / "plugins" / plugin).rglob("*.c")))
        assert sources, plugin
        silent += [f"{plugin}: {kind}" for kind in KINDS
                   if re.search(rf"set_data_error \([^;]*HR_DATA_ERROR_{kind.upper().replace('-', '_')}\b", sources)
                   and not re.search(rf"(?<![\w-]){kind}(?![\w-])", told)]
    assert not silent, f"no description tells of {'; '.join(silent)}"


def test_fresh():
    """the pages are what the tables make of them"""
    stale = [name for name, text in FILES.items() if (PAGES / name).read_text(encoding="utf-8") != text]
    assert not stale, f"{HINT}: out of date: {', '.join(stale)}"


def launch(words):
    environment = {k: v for k, v in os.environ.items() if k not in ("DATA_SET", "HR_PLUGIN_PATH")}
    return subprocess.run([BUILD / "tools" / "hr-launch", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=60, env=environment)


def test_grammar():
    """the commands in grammar.md and README.md print what stands below them"""
    for page, least in (("docs/grammar.md", 8), ("README.md", 1)):
        text = (ROOT / page).read_text(encoding="utf-8")
        # the one of a file runs in the demo
        blocks = [block for block in re.findall(r"^```\n\$ (.*?)\n(.*?)^```$", text, re.M | re.S) if " -f " not in block[0]]
        assert len(blocks) >= least, (page, len(blocks))
        for command, expected in blocks:
            words = shlex.split(command)
            assert words[0] == "hr-launch", command
            done = launch(words[1:])
            assert done.stdout.strip() == expected.strip(), f"{command}\n{done.stdout}\ninstead of\n{expected}"
            assert done.returncode == (0 if "--print" in words else 2), command


def code(page):
    """fenced blocks without an output, and indented ones"""
    yield from (block.text for block in markdown.blocks(page) if not block.text.startswith("$ "))
    bare = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    yield from (found[0] for found in re.finditer(r"(?:^    .*\n)+", bare, re.M))


def test_commands():
    """pipelines that pages show parse, if they are whole; tutorial.md and write-an-element.md have tests of their own"""
    wrong, count = [], 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if page.name in ("tutorial.md", "write-an-element.md"):
            continue
        for text in code(page):
            found = [shlex.split(words) for words in re.findall(r"\bhr-launch ((?:--?[\w-]+(?:[= ][^\s'!]+)? )*(?:-f \S+|'[^']*'))", text)]
            found += [[text]] if re.match(r"\s*(?:\w+=\S+ )*\w+src .*!", text) else []
            for words in found:
                # "…" stands for more
                if "…" not in " ".join(words):
                    count += 1
                    names = re.findall(r"([\w-]+)=\$\{(\w+)\}", " ".join(words))
                    values = [f"{name}={4 if of == 'size' else 's3://x/'}" for of, name in names]
                    done = launch(["--print", *(word for value in values for word in ("-D", value)),
                                   *(str(ROOT / word) if word.endswith(".hr") else word for word in words)])
                    wrong += [f"{page.name}: {words}: {done.stdout}"] if done.returncode else []
    assert count >= 12 and not wrong, f"{count}: " + "\n".join(wrong)


def test_examples():
    """the pipelines that grammar.md shows without their output are right"""
    text = (ROOT / "docs" / "grammar.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    (\w+src .*)$", text, re.M)
    assert len(shown) >= 4, shown
    for pipeline in shown:
        subprocess.run([BUILD / "tools" / "hr-launch", "--print", pipeline], check=True, stdout=subprocess.DEVNULL, timeout=60)


def main():
    tests = [(name, f) for name, f in sorted(globals().items()) if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} {name}")
        except Exception:  # noqa: each failure is told, and the others run
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
