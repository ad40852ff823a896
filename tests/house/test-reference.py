#!/usr/bin/env python3
"""The reference of the C library: every symbol has a page, and one without a comment is an error.

usage: test-reference.py SOURCE_ROOT GI_DOCGEN CONFIG GIR
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(sys.argv[1])
DOCGEN, CONFIG, GIR = (pathlib.Path(name).resolve() for name in sys.argv[2:5])
sys.path.insert(0, str(ROOT / "tests" / "python"))
import tap  # noqa: E402

NAMES = {"": "http://www.gtk.org/introspection/core/1.0", "c": "http://www.gtk.org/introspection/c/1.0",
         "glib": "http://www.gtk.org/introspection/glib/1.0"}
CORE = f"{{{NAMES['']}}}"
# how gi-docgen names the page of what stands in a namespace, and in a type
PAGES = {"function": "func", "function-macro": "func", "constant": "const", "enumeration": "enum", "bitfield": "flags",
         "record": "struct", "class": "class", "callback": "callback", "alias": "alias"}
MEMBERS = {"method": "method", "constructor": "ctor", "function": "type_func", "property": "property"}
# gi-docgen takes these for the casts of a class; what HR_ELEMENT is stands in elements.md
CASTS = ("ELEMENT", "IS_ELEMENT")


def wanted(gir):
    """{page: the symbol's C name}"""
    found = {}
    for top in ET.parse(gir).getroot().find(CORE + "namespace"):
        kind = PAGES.get(top.tag.removeprefix(CORE))
        if kind is None or top.get("moved-to") or top.get(f"{{{NAMES['glib']}}}is-gtype-struct-for") or top.get("name") in CASTS:
            continue
        if top.get(f"{{{NAMES['glib']}}}error-domain"):
            kind = "error"
        found[f"{kind}.{top.get('name')}.html"] = top.get(f"{{{NAMES['c']}}}identifier", top.get("name"))
        for member in top:
            kind = MEMBERS.get(member.tag.removeprefix(CORE))
            if kind and not member.get("moved-to"):
                found[f"{kind}.{top.get('name')}.{member.get('name')}.html"] = member.get(f"{{{NAMES['c']}}}identifier", member.get("name"))
    return found


def make(gir, out, pages=ROOT / "docs" / "reference"):
    return subprocess.run([ROOT / "tools" / "make-reference", DOCGEN, CONFIG, gir, pages, out], capture_output=True, text=True,
                          timeout=200, check=False)


class Reference(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        for typelib in GIR.parent.glob("*.typelib"):
            (self.scratch / typelib.name).symlink_to(typelib)
        for library in GIR.parent.glob("libheadrace-*.so*"):
            if library.is_file():
                (self.scratch / library.name).symlink_to(library)
        self.out = self.scratch / "reference"

    def spoilt(self, spoil):
        """a GIR beside the library in which something is missing"""
        for prefix, uri in NAMES.items():
            ET.register_namespace(prefix, uri)
        tree = ET.parse(GIR)
        spoil(tree.getroot())
        tree.write(self.scratch / "Headrace-1.0.gir", encoding="utf-8", xml_declaration=True)
        return self.scratch / "Headrace-1.0.gir"

    def test_pages(self):
        """a page for every symbol, without a warning, and those that we wrote"""
        run = make(GIR, self.out)
        self.assertEqual((run.returncode, run.stdout + run.stderr), (0, ""))
        pages = {p.name for p in self.out.glob("*.html")}
        symbols = wanted(GIR)
        self.assertGreater(len(symbols), 300)
        self.assertEqual([f"{name}: no {page}" for page, name in symbols.items() if page not in pages], [])
        self.assertTrue({"index.html", "overview.html", "elements.html", "buffers.html", "running.html"} <= pages, pages)
        self.assertIn("Ranks that share", (self.out / "property.Pipeline.world.html").read_text())
        self.assertIn("HR_ELEMENT", (self.out / "elements.html").read_text())

    def test_undocumented(self):
        """a symbol, a parameter, what is returned, a member of an enum: each is missed by name, and nothing is written"""
        cases = (("hr_list_get_length", ".", "Symbol 'Headrace.List.get_length'"),
                 ("hr_list_get_tensor", "parameters/parameter", "Parameter 'index' of symbol 'Headrace.List.get_tensor'"),
                 ("hr_list_get_string", "return-value", "Return value for symbol 'Headrace.List.get_string'"),
                 ("HR_FIELD_LIST", ".", "Symbol 'Headrace.FieldType.list'"))

        def spoil(root):
            for name, path, _ in cases:
                symbol = next(e for e in root.iter() if e.get(f"{{{NAMES['c']}}}identifier") == name)
                place = symbol.find(path, NAMES)
                place.remove(place.find("doc", NAMES))
        run = make(self.spoilt(spoil), self.out)
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual([words for _, _, words in cases if words not in run.stderr], [], run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), len(cases), run.stderr)
        self.assertFalse(self.out.exists())

    def test_broken_link(self):
        """a page of ours that leads nowhere"""
        pages = self.scratch / "pages"
        pages.mkdir()
        for page in (ROOT / "docs" / "reference").glob("*.md"):
            (pages / page.name).write_text(page.read_text())
        (pages / "running.md").write_text("Title: x\n\n[method@Headrace.Pipeline.no_such_thing]\n")
        run = make(GIR, self.out, pages)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("no_such_thing", run.stderr)


tap.main()
