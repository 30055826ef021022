"""What a reader of the library may rely on: public names say what they take, what they give, and what for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kvlab

ROOT = Path(kvlab.__file__).parent
MODULES = {path.relative_to(ROOT).with_suffix("").as_posix(): path for path in sorted(ROOT.rglob("*.py"))}


def public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes, and the methods of classes, whose names do not begin with "_"; and constructors."""
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_") and node.name != "__init__":
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body, f"{prefix}{node.name}.")


def faults(source: str) -> list[str]:
    """What public names of a module leave unsaid."""
    found = []
    for name, node in public(ast.parse(source).body):
        constructor = node.name == "__init__"  # its class has the docstring, and it returns nothing
        if not constructor and not ast.get_docstring(node):
            found.append(f"{name}: no docstring")
        if isinstance(node, ast.ClassDef):
            continue
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        bare = [each.arg for each in arguments if each and not each.annotation and each.arg not in ("self", "cls")]
        if bare:
            found.append(f"{name}: no annotation of {', '.join(bare)}")
        if node.returns is None and not constructor:
            found.append(f"{name}: no annotation of what it returns")
    return found


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_annotated_in_full_and_have_docstrings(name):
    assert faults(MODULES[name].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source, fault",
    [
        ("def f(x: int) -> int:\n    return x", "f: no docstring"),
        ('def f(x) -> int:\n    "Doc."', "f: no annotation of x"),
        ('def f(*x, y: int, **z) -> int:\n    "Doc."', "f: no annotation of x, z"),
        ('def f(x: int):\n    "Doc."', "f: no annotation of what it returns"),
        ("class C:\n    pass", "C: no docstring"),
        ('class C:\n    "Doc."\n    def __init__(self, x): ...', "C.__init__: no annotation of x"),
        ('class C:\n    "Doc."\n    @property\n    def p(self) -> int: ...', "C.p: no docstring"),
        ('class C:\n    "Doc."\n    def _m(self, x): ...\ndef _f(x): ...', None),
    ],
)
def test_each_fault_is_seen_and_private_names_are_free(source, fault):
    assert faults(source) == ([fault] if fault else [])
