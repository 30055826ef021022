"""What in a student's code is worth a look by a person. It costs no point: marks rest on values alone."""

import ast

from autograde.grading.rebuild import Step
from autograde.grading.result import Flag

# Modules with which code reaches beyond its own values. None is needed by an exercise.
REACHING = {
    "autograde", "builtins", "ctypes", "faulthandler", "gc", "importlib", "inspect", "multiprocessing", "nbformat",
    "nbgrader", "pickle", "pty", "resource", "runpy", "signal", "socket", "sqlite3", "subprocess", "threading",
    "traceback", "urllib", "webbrowser", "_thread",
}  # fmt: skip
# With these, code looks behind the functions that it was given, or at who calls it.
PEEKING = {
    "_getframe", "settrace", "setprofile", "_exit", "__self__", "__func__", "__closure__", "__globals__", "__code__",
    "f_back", "f_globals", "f_locals", "gi_frame", "tb_frame",
}  # fmt: skip
COMPARING = {"__eq__", "__ne__", "__array_ufunc__", "__array_function__", "__class__", "__instancecheck__"}
USES = {"__builtins__", "__import__", "compile", "eval", "exec", "get_ipython", "globals"}
PLACES = ("/proc", "/sys", "solutions", "gradebook", "answers/")


def notice(steps: list[Step]) -> list[Flag]:
    """One flag per cell of the student's that holds something of the kind, naming all of it."""
    flags = []
    for step in steps:
        if (step.answers or step.own) and (found := _found(step.source)):
            flags.append(Flag("look", f"Worth a look in {step.place}: {', '.join(found)}.", step.answers))
    return flags


def _found(source: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {"np", "torch"}
    return sorted({said for node in ast.walk(tree) for said in _seen(node, modules)})


def _seen(node: ast.AST, modules: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [f"imports {alias.name}" for alias in node.names if alias.name.partition(".")[0] in REACHING]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        named = {alias.name for alias in node.names}
        fine = module == "autograde.check" and named <= {"check", "hint"}
        return [f"imports {module}"] if module.partition(".")[0] in REACHING and not fine else []
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
        return [f"assigns {node.value.id}.{node.attr}"] if node.value.id in modules else []
    if isinstance(node, ast.FunctionDef) and node.name in COMPARING:
        return [f"defines {node.name}"]
    if isinstance(node, ast.Name) and node.id in USES:
        return [f"uses {node.id}"]
    if isinstance(node, ast.Attribute) and node.attr in PEEKING:
        return [f"uses {node.attr}"]
    if isinstance(node, ast.Attribute) and node.attr == "modules":
        return ["uses sys.modules"]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [f"mentions {place}" for place in PLACES if place in node.value]
    return []
