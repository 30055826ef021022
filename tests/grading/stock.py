"""Stock nbgrader at work: what is handed in to it, and its commands."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbgrader.apps.nbgraderapp import NbGraderApp

from autograde.course import lesson
from autograde.grading.records.record import Recorder, untouched
from tests.grading.gradebooks import fresh_processes, result, settings
from tests.notebooks import by_grade_id, filled, read, solutions

LESSON = lesson("02_byte_formula")

# Solved in another style than the reference: loops, prints, a warning, helper names of their own.
OWN_STYLE = {
    "kv_elements": """\
import logging
import warnings
from functools import reduce
logging.basicConfig()

def kv_elements(layers, requests, length, heads, width):
    print("counting", layers, "layers")
    warnings.warn("I count slowly")
    logging.warning("still counting")
    per_layer = {"K": 0, "V": 0}
    for tensor in per_layer:
        per_layer[tensor] = reduce(lambda a, b: a * b, (requests, length, heads, width))
    return sum(per_layer.values()) * layers
""",
    "kv_bytes": """\
def kv_bytes(*sizes_and_bits):
    *sizes, bits = sizes_and_bits
    whole, rest = divmod(kv_elements(*sizes) * bits, 8)
    return whole + bool(rest)
""",
    "ragged_kv_bytes": """\
def ragged_kv_bytes(lengths, n, h, d, bits):
    total = 0
    for length in lengths:
        total = total + 2 * n * h * d * length * bits
    return (total + 7) // 8
""",
    "as_units": """\
from fractions import Fraction
def as_units(n):
    return {name: Fraction(n, base**power) for name, base, power in
            [("GB", 1000, 3), ("GiB", 1024, 3), ("MB", 1000, 2), ("MiB", 1024, 2), ("KiB", 1024, 1)]}
""",
    "bytes_per_token": """\
def bytes_per_token(config, bits):
    row = config['num_key_value_heads'] * config['head_dim']
    return -(-sum(2 * row for _ in range(config['num_hidden_layers'])) * bits // 8)
""",
    "capacity_table": """\
def capacity_table(config, contexts, variants=("MHA", "GQA", "MQA"), bits_per_element=16):
    rows = []
    for v in variants:
        new = dict(config)
        if v != "GQA":
            new['num_key_value_heads'] = 1 if v == "MQA" else config['num_attention_heads']
        for t in contexts:
            size = ragged_kv_bytes([t], new['num_hidden_layers'], new['num_key_value_heads'], new['head_dim'],
                                   bits_per_element)
            rows.append(dict(variant=v, tokens=t, bytes=size))
    return rows
""",
    "max_tokens": """\
def max_tokens(budget_bytes, config, bits_per_element):
    elements = kv_elements(config['num_hidden_layers'], 1, 1, config['num_key_value_heads'], config['head_dim'])
    return budget_bytes * 8 // (elements * bits_per_element)
""",
}


def _handed_in() -> Iterator[tuple[str, nbformat.NotebookNode, set[str]]]:
    """Students, their notebooks as they come, and what of each is right."""
    right, every = solutions(LESSON), set(LESSON.exercises)
    yield "blank", read(LESSON.notebook("lessons")), set()
    half = {"kv_elements", "as_units"}
    yield "half", filled(LESSON, {name: right[name] for name in half}), half
    no_two = right["kv_elements"].replace("return 2 * num_layers", "return num_layers")
    # kv_bytes, ragged_kv_bytes, bytes_per_token, capacity_table and max_tokens build on kv_elements.
    yield "no_two", filled(LESSON, right | {"kv_elements": no_two}), {"as_units"}
    yield "own_style", filled(LESSON, OWN_STYLE), every
    deleted = filled(LESSON, right)
    deleted.cells.remove(by_grade_id(deleted)["check_kv_bytes"])
    yield "deleted_check", deleted, every
    altered = filled(LESSON, right)
    by_grade_id(altered)["worked_shape"].source = "print('something else')"
    by_grade_id(altered)["check_as_units"].source = "print('full marks')"
    yield "altered", altered, every
    plots = filled(LESSON, right)
    drawing = "import matplotlib.pyplot as plt\n\nplt.plot([kv_elements(2, 1, t, 2, 4) for t in range(9)])\nplt.show()"
    plots.cells.insert(12, nbformat.v4.new_code_cell(drawing))
    yield "plots", plots, every
    cheat = "import sys\ndef kv_elements(*sizes):\n    sys.displayhook(2)\n    return 0"
    yield "displays_a_score", filled(LESSON, {"kv_elements": cheat}), set()


HANDED_IN = {student: (notebook, right) for student, notebook, right in _handed_in()}


def record_all(url: str) -> None:
    """Record in the gradebook at `url` what is right of each notebook."""
    with Recorder(settings(url), LESSON, LESSON.notebook("lessons")) as book:
        for student, (notebook, right) in HANDED_IN.items():
            book.record(result(LESSON, student, right), untouched=untouched(notebook))


def nbgrader(course: Path, *arguments: str) -> None:
    """`nbgrader ARGUMENTS` in the folder `course`. The process has imported nbgrader, which takes two seconds."""
    log = course / "nbgrader.log"
    process = fresh_processes().Process(target=_command, args=(course, log, arguments))
    process.start()
    process.join(300)
    assert process.exitcode == 0, log.read_text()


def _command(course: Path, log: Path, arguments: tuple[str, ...]) -> None:
    os.chdir(course)
    with log.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.argv = ["nbgrader", *arguments]
    NbGraderApp.launch_instance()
