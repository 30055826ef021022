"""One change at a time to a syntax tree: what a slip of the hand, or of the mind, makes of right code."""

import ast
import copy
from collections.abc import Iterator

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Break, ast.Continue)
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def changes(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[tuple[ast.AST, str, ast.Module]]:
    """For each change of one of `nodes`, which are nodes of `tree`: the node, what stands there now, the changed tree.

    `tree` itself stays as it is.
    """
    for node in nodes:
        for change in _changes_of(node):
            memo: dict[int, object] = {}
            changed = copy.deepcopy(tree, memo)
            twin = memo[id(node)]
            new = change(twin)
            if new is not twin:
                _put(changed, twin, new)
            yield node, ast.unparse(_fixed(new)), _fixed(changed)


def _fixed(node: ast.AST) -> ast.AST:
    return ast.fix_missing_locations(node)


def _put(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                return
            if isinstance(value, list) and any(each is old for each in value):
                value[next(i for i, each in enumerate(value) if each is old)] = new
                return


def _changes_of(node: ast.AST) -> Iterator:
    """Functions that change a node in place, or return what takes its place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in COMPARISONS:
                yield lambda twin, p=place, o=operator: _set(twin.ops, p, COMPARISONS[type(o)]()) or twin
    elif isinstance(node, ast.BinOp):
        if type(node.op) in ARITHMETIC:
            yield lambda twin: _attribute(twin, "op", ARITHMETIC[type(twin.op)]())
        yield lambda twin: twin.left
        yield lambda twin: twin.right
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield lambda twin: _attribute(twin, "op", other())
        for place in range(len(node.values)):
            yield lambda twin, p=place: _without(twin, p)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        yield lambda twin: twin.operand
    elif isinstance(node, ast.Constant):
        if type(node.value) is bool:
            yield lambda twin: ast.Constant(not twin.value)
        elif type(node.value) is int:
            yield lambda twin: ast.Constant(twin.value + 1)
            yield lambda twin: ast.Constant(twin.value - 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield lambda twin: _attribute(twin, "func", ast.Name(CALLS[twin.func.id], ast.Load()))
    elif isinstance(node, ast.Slice):
        for bound in ("lower", "upper"):
            if getattr(node, bound) is not None:
                yield lambda twin, b=bound: _attribute(twin, b, None)
                yield lambda twin, b=bound: _attribute(twin, b, ast.BinOp(getattr(twin, b), ast.Add(), ast.Constant(1)))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield lambda twin: _attribute(twin, "test", ast.UnaryOp(ast.Not(), twin.test))
        if not isinstance(node, ast.While):
            yield lambda twin: _attribute(twin, "test", ast.Constant(False))
            yield lambda twin: _attribute(twin, "test", ast.Constant(True))
    elif isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            yield lambda twin, p=place: _set(twin.ifs, p, ast.Constant(True)) or twin
    elif isinstance(node, STATEMENTS) and not _is_docstring(node):
        yield lambda twin: ast.Pass()


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _attribute(node: ast.AST, name: str, value: object) -> ast.AST:
    setattr(node, name, value)
    return node


def _set(items: list, place: int, value: object) -> None:
    items[place] = value


def _without(node: ast.BoolOp, place: int) -> ast.AST:
    values = node.values[:place] + node.values[place + 1 :]
    return values[0] if len(values) == 1 else ast.BoolOp(node.op, values)
