#!/usr/bin/env python3
"""Hints, documentation and binary interface of the package are those of what is there."""
import ast
import inspect
import os
import pathlib
import re
import subprocess
import unittest

import headrace
from headrace import _core, loader, mapping
import tap

STUB = pathlib.Path(_core.__file__).with_name("_core.pyi")


def parameters(node):
    """of a function of the stub: (name, has a default, only by keyword), without self and cls"""
    args = node.args
    plain = args.posonlyargs + args.args
    n_required = len(plain) - len(args.defaults)
    rows = [(arg.arg, i >= n_required, False) for i, arg in enumerate(plain)]
    rows += [(arg.arg, default is not None, True) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return [row for row in rows if row[0] not in ("self", "cls")]


def told(function):
    """the same of a function of the extension, as its documentation begins"""
    signature = inspect.signature(function)
    return [(p.name, p.default is not p.empty, p.kind is p.KEYWORD_ONLY) for p in signature.parameters.values()
            if p.name not in ("self", "cls")]


class Hints(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse(STUB.read_text(encoding="utf-8"))

    def test_names(self):
        """the stub has the names that the extension has"""
        stub = {node.name for node in self.tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        stub |= {node.target.id for node in self.tree.body if isinstance(node, ast.AnnAssign)}
        real = {name for name in vars(_core) if not name.startswith("__") or name == "__version__"}
        self.assertEqual(stub, real)

    def test_members(self):
        """every class has the methods and properties of its stub, with the same parameters, and no others"""
        for node in self.tree.body:
            if not isinstance(node, ast.ClassDef) or issubclass(getattr(_core, node.name), Exception):
                continue
            kind = getattr(_core, node.name)
            stub = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
            real = {name for name, value in vars(kind).items() if not name.startswith("__")}
            self.assertEqual({name for name in stub if not name.startswith("__")}, real, node.name)
            for name, item in stub.items():
                value = inspect.getattr_static(kind, name, None)
                self.assertIsNotNone(value, f"{node.name}.{name}")
                is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in item.decorator_list)
                self.assertEqual(inspect.isgetsetdescriptor(value), is_property, f"{node.name}.{name}")
                if not is_property and not name.startswith("__"):
                    self.assertEqual(told(value), parameters(item), f"{node.name}.{name}")
            if "__new__" in stub:
                self.assertEqual(told(kind), parameters(stub["__new__"]), node.name)

    def test_functions(self):
        """functions of the extension have the parameters of the stub"""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(told(getattr(_core, node.name)), parameters(node), node.name)

    def test_documented(self):
        """every public name has words of its own, methods and properties too"""
        missing = []
        for name in headrace.__all__:
            value = getattr(headrace, name)
            if isinstance(value, str):
                continue
            if not inspect.getdoc(value) or value.__doc__ is None:
                missing.append(name)
            for key, member in vars(value).items() if inspect.isclass(value) else ():
                if key.startswith("_") or not (callable(member) or inspect.isdatadescriptor(member)):
                    continue
                if not inspect.getdoc(member):
                    missing.append(f"{name}.{key}")
        self.assertEqual(missing, [])

    def test_annotated(self):
        """every public function in Python has the type of each parameter, and of its result"""
        bare = []
        for module in (headrace, loader, mapping):
            for kind in [value for value in vars(module).values() if inspect.isclass(value)
                         and value.__module__ == module.__name__]:
                for name, function in vars(kind).items():
                    if not inspect.isfunction(function):
                        continue
                    signature = inspect.signature(function)
                    if signature.return_annotation is signature.empty or any(
                            p.annotation is p.empty for p in signature.parameters.values() if p.name != "self"):
                        bare.append(f"{kind.__name__}.{name}")
        self.assertEqual(bare, [])

    def test_typed(self):
        """the marker that tells type checkers to look lies beside"""
        self.assertTrue(STUB.with_name("py.typed").exists())

    def test_stable(self):
        """the extension asks for nothing of Python's but what every CPython from 3.11 on keeps"""
        declared = self.declared()
        lines = subprocess.run(["nm", "-D", "--undefined-only", _core.__file__], check=True, capture_output=True,
                               text=True).stdout.split("\n")
        used = {line.split()[-1] for line in lines if re.search(r" _?Py", line)}
        self.assertGreater(len(used), 40)
        self.assertEqual(used - declared, set())
        # what was added to the limited interface later is known by that too
        self.assertIn("PyObject_GetBuffer", used)
        self.assertNotIn("PyList_GET_SIZE", declared)
        self.assertNotIn("_PyObject_GC_New_", declared)

    def declared(self):
        """what Python.h declares for the limited interface of 3.11; the functions behind its inline ones as well"""
        include = pathlib.Path(os.environ.get("HR_PYTHON_INCLUDE", "/usr/include/python3.11"))
        if not (include / "Python.h").exists():
            self.skipTest(f"no Python.h in {include}: install python3-dev")
        text = subprocess.run(["cc", "-E", "-P", f"-I{include}", "-xc", "-"], input="#define Py_LIMITED_API 0x030B0000\n#define PY_SSIZE_T_CLEAN\n"
                              "#include <Python.h>\n", check=True, capture_output=True, text=True).stdout
        return set(re.findall(r"\b(_?Py\w+)\s*(?=[(\[;])", text))


tap.main()
