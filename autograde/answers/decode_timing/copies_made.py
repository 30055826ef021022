"""`copies_made`: what is right, which mistakes are known, and what to say about them."""

from itertools import groupby, pairwise

import numpy as np

from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _copied(case: Case) -> list[int]:
    """The entries fall into stays at one address; each stay but the last ends in a copy of what it held at its end."""
    stays = [list(stay) for _, stay in groupby(case.inputs["trace"], key=lambda entry: entry[0])]
    return [max(0, len(stays) - 1), sum(stay[-1][1] for stay in stays[:-1])]


def _copies_by_loop(trace):
    copies = copied = 0
    for i in range(1, len(trace)):
        if trace[i][0] != trace[i - 1][0]:
            copies += 1
            copied += trace[i - 1][1]
    return copies, copied


def _copies_from_the_end(trace):
    if len(trace) < 2:
        return 0, 0
    *before, (address, stored), (last, _) = trace
    copies, copied = _copies_from_the_end([*before, (address, stored)])
    return (copies + 1, copied + stored) if last != address else (copies, copied)


def _copies_by_numpy(trace):
    table = np.array(trace, dtype=np.int64).reshape(-1, 2)
    moved = np.flatnonzero(np.diff(table[:, 0]))
    return len(moved), int(table[moved, 1].sum())


def _copies_where(copy, size=lambda before, now: before[1]):
    """Pairs of neighbours that count as a copy, and the bytes of one."""

    def copies_made(trace):
        sizes = [size(before, now) for before, now in pairwise(trace) if copy(trace, before, now)]
        return len(sizes), sum(sizes)

    return copies_made


def _moved(trace, before, now):
    return now[0] != before[0]


_right_copies = _copies_where(_moved)


def _new_addresses(trace):
    seen, copies, copied = {address for address, _ in trace[:1]}, 0, 0
    for before, now in pairwise(trace):
        if now[0] not in seen:
            seen.add(now[0])
            copies, copied = copies + 1, copied + before[1]
    return copies, copied


def _first_counted(trace):
    copies, copied = _right_copies(trace)
    return copies + bool(trace), copied


def _first_copied(trace):
    copies, copied = _right_copies(trace)
    return copies + bool(trace), copied + sum(stored for _, stored in trace[:1])


def _high_water(trace):
    copies = copied = most = 0
    for before, now in pairwise(trace):
        most = max(most, before[1])
        if now[0] != before[0]:
            copies, copied = copies + 1, copied + most
    return copies, copied


def _empty_fails(trace):
    if not trace:
        raise IndexError
    return _right_copies(trace)


ANSWER = Answer(
    exercise=exercise("copies_made"),
    expected=_copied,
    misconceptions=(
        Misconception(
            "distinct_addresses",
            _new_addresses,
            Advice(
                "Did you count different addresses, although an address can be handed out again?",
                (
                    "How many copies are A, B, A, B?",
                    "What was given back may be given out again; the bytes go there by another copy.",
                    "Compare each address with the one just before.",
                ),
            ),
        ),
        Misconception(
            "first_counted",
            _first_counted,
            Advice(
                "Did you count the first entry as a copy?",
                (
                    "Where would the first bytes have been copied from?",
                    "Before the first entry nothing was stored.",
                    "Begin with the second entry, and compare it with the first.",
                ),
            ),
        ),
        Misconception(
            "first_copied",
            _first_copied,
            Advice(
                "Did you count the first entry as a copy of its own bytes?",
                (
                    "Where would the first bytes have been copied from?",
                    "Before the first entry nothing was stored.",
                    "Begin with the second entry, and compare it with the first.",
                ),
            ),
        ),
        Misconception(
            "new_bytes",
            _copies_where(_moved, lambda before, now: now[1]),
            Advice(
                "Did you count the bytes that are stored after the move, instead of those before it?",
                (
                    "Which bytes exist at both places?",
                    "The appended row is written at the new place, and was never at the old one.",
                    "Add the stored bytes of the entry before.",
                ),
            ),
        ),
        Misconception(
            "compared_with_first",
            _copies_where(lambda trace, before, now: now[0] != trace[0][0]),
            Advice(
                "Did you compare each address with the first, instead of the one just before?",
                (
                    "What does your function give for A, B, B, B?",
                    "A storage that has moved and stays where it is, is not copied again.",
                    "Compare with the previous entry.",
                ),
            ),
        ),
        Misconception(
            "every_step",
            _copies_where(lambda trace, before, now: True),
            Advice(
                "Did you count a copy at every step, whether the storage moved or not?",
                (
                    "Which part of an entry does your answer never use?",
                    "Storage with room to spare takes a row without being copied.",
                    "Count a copy only where the address differs from the one before.",
                ),
            ),
        ),
        Misconception(
            "growth",
            _copies_where(lambda trace, before, now: now[1] > before[1]),
            Advice(
                "Did you take growth of the stored bytes for a copy?",
                (
                    "What does your function give for A, A, A with ever more bytes?",
                    "A row written behind the others in place is no copy of them.",
                    "Compare addresses, not bytes.",
                ),
            ),
        ),
        Misconception(
            "difference_copied",
            _copies_where(_moved, lambda before, now: now[1] - before[1]),
            Advice(
                "Did you count only the bytes that were added?",
                (
                    "Which bytes exist at both places after a move?",
                    "All that was stored has to follow.",
                    "Add the stored bytes of the entry before.",
                ),
            ),
        ),
        Misconception(
            "high_water",
            _high_water,
            Advice(
                "Did you copy bytes that truncation had cut off?",
                (
                    "How many bytes are in use when the storage moves?",
                    "What was stored once and is cut off now stays behind.",
                    "Add the stored bytes of the entry just before, not the most there ever were.",
                ),
            ),
        ),
        Misconception(
            "empty_fails",
            _empty_fails,
            Advice(
                "Does your function fail where nothing was ever stored?",
                (
                    "What does it do with []?",
                    "No entry, no copy: the answer is (0, 0).",
                    "Loop over pairs of neighbours; an empty trace has none.",
                ),
            ),
        ),
    ),
    alternatives=(_copies_by_loop, _copies_from_the_end, _copies_by_numpy),
    hints=(
        "Write down the addresses of a trace as letters. Where was something copied?",
        "A copy shows between two neighbours. What was copied is what the earlier one held.",
        "For each pair of neighbours whose addresses differ: one copy, and the stored bytes of the first.",
    ),
)
