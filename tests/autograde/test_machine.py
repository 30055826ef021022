"""Right answers that a machine changes: what changes, what is accepted, and what is listed."""

import ast

import pytest

from autograde import machine
from autograde.mutations import changes


def texts(source: str) -> set[str]:
    tree = ast.parse(source)
    return {ast.unparse(changed) for _, _, changed in changes(tree, list(ast.walk(tree)))}


@pytest.mark.parametrize(
    ("source", "some"),
    [
        ("a < b", {"a <= b"}),
        ("a - b", {"a + b", "a", "b"}),
        ("a and b and c", {"a or b or c", "b and c", "a and c", "a and b"}),
        ("x[2:]", {"x[:]", "x[3:]", "x[1:]", "x[2 + 1:]"}),
        ("max(a, b)", {"min(a, b)"}),
        ("not a", {"a"}),
        ("if a:\n    b", {"if not a:\n    b", "if False:\n    b", "if True:\n    b", "if a:\n    pass"}),
        ("[a for a in b if c]", {"[a for a in b if True]"}),
    ],
)
def test_each_kind_of_change_is_made_one_at_a_time(source, some):
    assert some <= texts(source)
    assert ast.unparse(ast.parse(source)) not in texts(source)


def test_the_tree_itself_stays_as_it_is():
    tree = ast.parse("value = a + 1 if a < 2 else b")
    before = ast.dump(tree)
    assert len(list(changes(tree, list(ast.walk(tree))))) > 5
    assert ast.dump(tree) == before


def test_no_change_of_a_plain_count_is_accepted():
    outcome = machine.outcome_of("kv_elements")
    assert outcome.tried > 20 and outcome.survivors == () and outcome.stale == ()


def test_without_cases_every_change_is_accepted_and_a_listed_one_is_no_survivor(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "mutants_of", first_statements)
    monkeypatch.setattr(machine, "SEEDS", ())
    accepted = machine.outcome_of("kv_elements").survivors
    assert accepted
    first = accepted[0]
    fields = {"origin": first.origin, "line": first.line, "was": first.was, "now": first.now, "reason": "a test"}
    lines = "\n".join(f"{key} = '''{value}'''" for key, value in fields.items())
    listed = tmp_path / "listed.toml"
    listed.write_text(f"[[kv_elements]]\n{lines}\n[[kv_elements]]\n{lines}\nnumber = 99\n", encoding="utf-8")
    monkeypatch.setattr(machine, "EQUIVALENTS", listed)
    outcome = machine.outcome_of("kv_elements")
    assert first not in outcome.survivors and set(outcome.survivors) == set(accepted) - {first}
    assert [each.number for each in outcome.stale] == [99]


def first_statements(subject, answer, trials):
    """Changes of what no case has reached: with no case, nothing is."""
    for number, (node, now, tree) in enumerate(changes(subject.tree, list(ast.walk(subject.tree))), start=1):
        yield machine.Mutant(subject.origin, "line", ast.unparse(node), now, number), tree
        if number > 4:
            return
