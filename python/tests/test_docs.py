# SPDX-License-Identifier: BSD-2-Clause
"""The texts of the package: its README's example, docstrings and stubs, the page of plots.

The examples of the pages are run by t/man_examples.sh.
"""

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdbcache
from lmdbcache import _core

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
PACKAGE = Path(_core.__file__).resolve().parent.parent


def plain(text: str) -> str:
    """A docstring without its line breaks."""
    return " ".join(text.split())


class Example(unittest.TestCase):
    def test_readme(self) -> None:
        """The example of the docstring runs, and is that of python/README."""
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("NumPy is not installed")
        code = "    " + (lmdbcache.__doc__ or "").split("\n    ", 1)[1].split("\n\nA ")[0]
        readme = HERE.parent / "README"
        if readme.exists():
            self.assertIn(textwrap.indent(textwrap.dedent(code), "\t"), readme.read_text())
        with tempfile.TemporaryDirectory() as root:
            ran = subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code)],
                cwd=root, capture_output=True, text=True, check=True,
                env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            )  # fmt: skip
        self.assertEqual(ran.stdout, "(2, 512) [1]\n")
        self.assertIn(f"# {ran.stdout}", code + "\n")


def stubs() -> Iterator[tuple[str, str]]:
    """(name, docstring) of what _core.pyi documents: "Cache.get"."""
    tree = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield node.name, text
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                text = ast.get_docstring(part) if isinstance(part, ast.FunctionDef) else None
                if text and isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", text


class Docstrings(unittest.TestCase):
    def test_everything_has_one(self) -> None:
        modules = [lmdbcache]
        for name in ("torch", "compat.torchcachex"):
            try:
                modules.append(importlib.import_module(f"lmdbcache.{name}"))
            except ImportError:
                pass
        without = []
        for module in modules:
            for name in module.__all__:
                thing = getattr(module, name)
                if not inspect.getdoc(thing):
                    without.append(f"{module.__name__}.{name}")
                if not inspect.isclass(thing):
                    continue
                for part, member in vars(thing).items():
                    described = callable(member) or inspect.isdatadescriptor(member)
                    if described and not part.startswith("_") and not inspect.getdoc(member):
                        without.append(f"{module.__name__}.{name}.{part}")
        self.assertEqual(without, [])

    def test_stubs_say_the_same(self) -> None:
        for name, text in stubs():
            thing: Any = _core
            for part in name.split("."):
                thing = getattr(thing, part)
            with self.subTest(name):
                self.assertEqual(plain(inspect.getdoc(thing) or ""), plain(text))


class Plots(unittest.TestCase):
    def test_page(self) -> None:
        script = TOP / "bench" / "plots.py"
        if not script.exists():
            self.skipTest("not a checkout")
        rows = [
            {"bench": "python", "case": "loader: x & y", "contender": name,
             "metric": "examples", "unit": "1/s", "median": value}
            for name, value in (("Loader block", 2e6), ("TensorDataset", 1e6))
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as root:
            Path(root, "results").write_text(json.dumps(rows))
            subprocess.run(
                [sys.executable, str(script), f"{root}/results", f"{root}/page"],
                check=True,
                env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            )
            page = Path(root, "page").read_text()
        self.assertIn("600 examples came once, 0 twice, 0 never.", page)
        pictures = re.findall(r"(?s)<svg.*?</svg>", page)
        self.assertEqual(len(pictures), 2)
        stream, bars = map(ElementTree.fromstring, pictures)
        self.assertEqual(len(stream.findall("circle")), 600)
        self.assertEqual([e.text for e in stream.findall("text")][-4:],
                         ["4 ranks", "2 ranks", "3 ranks", "1 rank"])  # fmt: skip
        widths = [float(rect.attrib["width"]) for rect in bars.findall("rect")]
        self.assertEqual(widths, [500.0, 250.0])
        self.assertEqual([e.text for e in bars.findall("text")],
                         ["Loader block", "2M", "TensorDataset", "1M"])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
