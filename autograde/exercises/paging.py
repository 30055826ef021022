"""Lesson 07: which tables, lengths and pools to try, and how a pool is driven by an owner of storage.

Which free block a pool hands out is its own business. So nothing here looks at block ids: a storage is kept, each
token is written through the pool's tables, and what is graded is what is read back through them later.
"""

from collections import Counter
from copy import deepcopy
from itertools import count, pairwise
from random import Random

import numpy as np

from autograde.exercise import Case, Exercise, attempt, call_with
from autograde.values import Changed, plain

EMPTIED = "# the list that it.table(…) gave is emptied:"
DISAGREE = ["pool and storage disagree"]
NOT_REFUSED = "no exception"
WITH_AN_ID = {"append": [1], "fork": [], "truncate": [0], "free": [], "table": []}  # and the other arguments
KINDS = ("allocate", "append", "append", "append", "fork", "truncate", "free", "misuse")
EACH_FREE = "one call for each of free_blocks"
BLANK = -1  # in a slot that nobody wrote to


# --- blocks_needed, slot_of, waste -----------------------------------------------------------------------------


def _blocks_needed(rng: Random) -> list[Case]:
    def case(label: str, tokens: int, block_size: int) -> Case:
        return Case(label, {"tokens": tokens, "block_size": block_size})

    block_size, full = rng.randrange(5, 10), rng.randrange(2, 6)
    return [
        case("a last block that is filled in part", full * block_size + rng.randrange(2, block_size - 1), block_size),
        case("full blocks", full * block_size, block_size),
        case("one token more than fills the blocks", full * block_size + 1, block_size),
        case("one token fewer", full * block_size - 1, block_size),
        case("no token", 0, block_size),
        case("blocks of one token", rng.randrange(5, 30), 1),
        case("more tokens than a float can count", 16 * rng.randrange(2**60, 2**61) + 1, 16),
    ]


def _slot_of(rng: Random) -> list[Case]:
    def case(label: str, row: int, offset: int) -> Case:
        block_size = rng.randrange(5, 9)
        table = [5, 2, 9, *rng.sample(range(10, 20), 2)]
        rng.shuffle(table)
        if table == sorted(table):
            table.reverse()
        position = row * block_size + min(offset, block_size - 1)
        return Case(label, {"table": table, "position": position, "block_size": block_size})

    return [
        case("the first token", 0, 0),
        case("the last slot of the first block", 0, 8),
        case("the first slot of the second block", 1, 0),
        case("inside the third block", 2, rng.randrange(1, 4)),
        case("inside the second block", 1, rng.randrange(1, 4)),
        case("the last slot of all", 4, 8),
    ]


def _waste(rng: Random) -> list[Case]:
    def case(label: str, lengths: list[int], block_size: int) -> Case:
        return Case(label, {"lengths": lengths, "block_size": block_size})

    block_size = rng.randrange(5, 9)
    ragged = [rng.randrange(1, 4) * block_size + tail for tail in rng.sample(range(1, block_size), 3)]
    return [
        case("one sequence", [2 * block_size + rng.randrange(1, block_size - 1)], block_size),
        case("sequences of different lengths", ragged, block_size),
        case("two tails that would share a block", [block_size + 1, 2 * block_size + 2], block_size),
        case("full blocks", [block_size, 3 * block_size], block_size),
        case("a sequence without a token", [0, block_size + rng.randrange(1, block_size)], block_size),
        case("blocks of one token", [rng.randrange(3, 9), rng.randrange(10, 20)], 1),
    ]


# --- gather, paged_attention -----------------------------------------------------------------------------------


def _storage(rng: Random, num_blocks: int, block_size: int, width: int) -> list:
    """No slot is empty: what is no token of the sequence is some other's, and as large."""
    rows = [[round(rng.uniform(-2, 2), 2) for _ in range(width)] for _ in range(num_blocks * block_size)]
    return [rows[first : first + block_size] for first in range(0, len(rows), block_size)]


def _table(rng: Random, num_blocks: int, rows: int) -> list[int]:
    """Blocks in an order that is neither theirs nor the reverse, never beginning with 0, and with a gap."""
    while True:
        table = rng.sample(range(1, num_blocks), rows)
        steps = {after - before for before, after in pairwise(table)}
        if rows == 1 or (1 not in steps and table != sorted(table) and table[-1] != max(table)):
            return table


def _gather(rng: Random) -> list[Case]:
    def case(label: str, rows: int, tail: int, spare: int = 0) -> Case:
        block_size, width = rng.sample((3, 4, 5), 2)
        length = (rows - 1) * block_size + (tail or block_size)
        storage = _storage(rng, 9, block_size, width)
        return Case(label, {"storage": storage, "table": _table(rng, 9, rows + spare), "length": length})

    return [
        case("a part of one block", 1, 2),
        case("full blocks in no order", 3, 0),
        case("a last block that is filled in part", 3, 2),
        case("a block that is held in advance", 2, 1, spare=1),
    ]


def _paged_attention(rng: Random) -> list[Case]:
    def case(label: str, queries: int, rows: int, tail: int) -> Case:
        block_size, width = rng.sample((3, 4, 5), 2)
        length = (rows - 1) * block_size + (tail or block_size)
        return Case(
            label,
            {
                "q": _storage(rng, 1, queries or length, width)[0],
                "storage_k": _storage(rng, 8, block_size, width),
                "storage_v": _storage(rng, 8, block_size, width),
                "table": _table(rng, 8, rows),
                "length": length,
            },
        )

    return [
        case("one query, a part of one block", 1, 1, 2),
        case("one query, full blocks", 1, 3, 0),
        case("one query, a last block that is filled in part", 1, 3, 1),
        case("a chunk of two", 2, 3, 2),
        case("a whole prompt", 0, 3, 2),
    ]


def _call_with_arrays(candidate: object, case: Case) -> object:
    """Nested lists become arrays; a table, which is a flat list of ints, stays a list."""
    given = deepcopy(case.inputs)
    return call_with(
        candidate,
        {name: np.array(v) if type(v) is list and type(v[0]) is list else v for name, v in given.items()},
    )


# --- BlockPool -------------------------------------------------------------------------------------------------


def _pool(rng: Random) -> list[Case]:
    def case(label: str, num_blocks: int, steps: list) -> Case:
        return Case(label, {"new": [num_blocks, b], "steps": steps})

    b = rng.randrange(3, 5)
    t = rng.randrange(1, b - 1)  # tokens in a last block that still has room for two
    # Wherever a wrong pool gives a block away that it must not, no other block is free: then it does not matter in
    # which order a pool hands out its blocks, and the same mistake reads the same.
    return [
        case("two sequences", 5, [["allocate", "A", b + t], ["allocate", "B", 2 * b]]),
        case(
            "growth, token by token and by many",
            4,
            [["allocate", "A", b - 1], *[["append", "A"]] * 2, ["append", "A", b], ["append", "A", b - 1]],
        ),
        case(
            "two sequences that grow in turn",
            6,
            [["allocate", "A", t], ["allocate", "B", t], *[["append", name, b] for name in "ABAB"], ["free", "A"]],
        ),
        case(
            "a request that does not fit takes nothing",
            3,
            [
                ["allocate", "A", t],
                ["allocate", "B", 2 * b + 1],
                ["allocate", "C", 2 * b],
                ["append", "A", b],
                ["free", "C"],
                ["append", "A", 3 * b],
                *[["append", "A", b]] * 2,
            ],
        ),
        case("freed blocks come back", 2, [["allocate", "A", b + t], ["free", "A"], ["allocate", "B", 2 * b]]),
        case(
            "a sequence can be freed once",
            1,
            [["allocate", "A", b], *[["free", "A"]] * 2, ["allocate", "B", t + 1], ["allocate", "C", 1], ["free", "B"]],
        ),
        case(
            "an id is never given again",
            4,
            [
                *[["allocate", name, t + 1] for name in "AB"],
                ["free", "A"],
                ["allocate", "C", t],
                ["free", "A"],
                ["append", "A", 1],
                ["fork", "A", "D"],
                ["append", "C", b],
            ],
        ),
        case(
            "an id that is not in use is refused by every method",
            4,
            [
                *[["allocate", name, t] for name in "AB"],
                ["free", "B"],
                ["allocate", "C", t],
                ["table", "B"],
                ["append", "B", 1],
                ["fork", "B", "D"],
                ["truncate", "B", 1],
                ["free", "B"],
                # Z was never given.
                ["table", "Z"],
                ["append", "Z", 1],
                ["fork", "Z", "D"],
                ["truncate", "Z", 0],
                ["free", "Z"],
                ["append", "A", b],
            ],
        ),
        case(
            "a fork shares its blocks, and a full one is not copied",
            4,
            [["allocate", "A", 2 * b], ["fork", "A", "B"], ["append", "B", t], ["append", "A", 1], ["free", "A"]],
        ),
        case(
            "a shared last block is copied before it is written",
            4,
            [["allocate", "A", b + t], ["fork", "A", "B"], ["append", "B", 1], ["append", "A", 1], ["append", "B", 1]],
        ),
        case(
            "no token, no copy; many tokens, one copy",
            4,
            [
                ["allocate", "A", t],
                ["fork", "A", "B"],
                ["append", "B", 0],
                ["append", "B", 2 * b],
                ["append", "A"],
                ["append", "A", b],
            ],
        ),
        case(
            "a block is free when nobody holds it",
            2,
            [
                ["allocate", "A", b],
                ["fork", "A", "B"],
                ["fork", "B", "C"],
                ["allocate", "D", t],
                ["free", "A"],
                ["allocate", "E", 1],
                ["free", "B"],
                ["allocate", "F", 1],
                ["free", "C"],
                ["allocate", "G", 1],
            ],
        ),
        case(
            "the last holder writes in place",
            2,
            [["allocate", "A", t], ["fork", "A", "B"], ["free", "A"], ["append", "B", 1]],
        ),
        case(
            "truncation gives back what it empties",
            3,
            [
                ["allocate", "A", 3 * b],
                ["truncate", "A", b + t],
                ["truncate", "A", b + t + 1],
                ["allocate", "B", b],
                ["truncate", "A", b],
                ["append", "B", 1],
                ["truncate", "A", 0],
                ["append", "A", 1],
            ],
        ),
        case(
            "truncation in shared blocks",
            3,
            [
                ["allocate", "A", 2 * b],
                ["allocate", "C", t],
                ["fork", "A", "B"],
                ["truncate", "B", b],
                ["allocate", "D", 1],
                ["truncate", "A", b + t],
                ["fork", "A", "E"],
                ["free", "C"],
                ["append", "E", 1],
                ["truncate", "B", t],
                ["append", "B", 1],
            ],
        ),
        case(
            "a copy needs a free block too",
            2,
            [
                ["allocate", "A", t],
                ["fork", "A", "B"],
                ["append", "B", b],
                ["append", "B", 1],
                ["append", "A", 1],
                ["fork", "A", "C"],
                ["append", "C", 1],
                ["free", "A"],
                ["append", "C", 1],
            ],
        ),
        case(
            "a sequence without a token holds no block",
            2,
            [["allocate", "A", 0], ["append", "A", 0], ["fork", "A", "B"], ["append", "A", t], ["allocate", "C", 0]],
        ),
        case("your own list", 3, [["allocate", "A", b + t], [EMPTIED, "A"], ["append", "A", 1]]),
        *(
            Case(
                f"random calls, every token read back, blocks of {block_size}",
                {"num_blocks": blocks, "block_size": block_size, "calls": 500, "seed": rng.randrange(10**6)},
            )
            for blocks, block_size in ((7, 3), (9, 2))
        ),
    ]


class Owner:
    """Owns the storage of a pool: writes a token of its own into each slot, and reads all tokens back."""

    def __init__(self, pool: object, num_blocks: int, block_size: int):
        self.pool, self.block_size = pool, block_size
        self.storage = [[BLANK] * block_size for _ in range(num_blocks)]
        self.ids: dict[str, object] = {}  # of all sequences there ever were, by name
        self.written: dict[str, list[int]] = {}  # the tokens of each sequence that is not freed
        self.token = 100

    def allocate(self, name: str, tokens: int) -> None:
        self.ids[name] = self.pool.allocate(tokens)
        self.written[name] = []
        self._write(name, tokens)

    def append(self, name: str, *n: int) -> int | None:
        """The number of blocks copied; None where what came is no list of copies."""
        copies = plain(self.pool.append(self.ids[name], *n))
        pairs = type(copies) is list and all(
            type(pair) is list and len(pair) == 2 and all(map(self._is_block, pair)) for pair in copies
        )
        if pairs:
            for target, slots in [(target, list(self.storage[source])) for source, target in copies]:
                self.storage[target] = slots
        self._write(name, *n)
        return len(copies) if pairs else None

    def fork(self, name: str, new: str) -> None:
        self.ids[new] = self.pool.fork(self.ids[name])
        self.written[new] = list(self.written[name])

    def truncate(self, name: str, n: int) -> None:
        self.pool.truncate(self.ids[name], n)
        del self.written[name][n:]

    def free(self, name: str) -> None:
        self.pool.free(self.ids[name])
        self.written.pop(name, None)

    def table(self, name: str) -> list[int]:
        """A list of our own: the pool's table, if it names blocks that there are."""
        table = self.pool.table(self.ids[name])
        table = list(table) if type(table) is list and set(map(type, table)) <= {int} else plain(table)
        return table if type(table) is list and all(map(self._is_block, table)) else []

    def read(self, name: str, table: list[int]) -> list[int | None]:
        """The tokens of a sequence, None for one that has no slot."""
        length = len(self.written[name])
        slots = [token for block_id in table for token in self.storage[block_id]][:length]
        return slots + [None] * (length - len(slots))

    def row(self, name: str) -> dict[str, list]:
        """What is read back of a sequence, and how many hold each of its blocks."""
        table = self.table(name)
        return {name: self.read(name, table), "ref_counts": [self.pool.ref(block_id) for block_id in table]}

    def free_blocks(self) -> int:
        return sum(self.pool.ref(block_id) == 0 for block_id in range(len(self.storage)))

    def empty_table(self, name: str) -> None:
        """Empty the list that `table` gave, which is the caller's."""
        table = self.pool.table(self.ids[name])
        if type(table) is list:
            table.clear()

    def misuse(self, method: str, name: str, *arguments: object) -> str:
        """A call with an id that is not in use, freed or never given: only an exception of its own can refuse it."""
        id = self.ids[name] if name in self.ids else next(n for n in count(-1, -1) if n not in self.ids.values())
        getattr(self.pool, method)(id, *arguments)
        return NOT_REFUSED

    def refuses(self, method: str, name: str) -> bool:
        try:
            self.misuse(method, name, *WITH_AN_ID[method])
        except KeyError:
            return True
        except NotImplementedError:
            raise
        except Exception:
            pass
        return False

    def copies_due(self, name: str, n: int) -> int:
        """How many blocks must be copied before n tokens are written: 1 where somebody else holds the last block."""
        tail = self.table(name)[-1:] if n and len(self.written[name]) % self.block_size else []
        return int(any(tail[0] in self.table(other) for other in self.written if other != name)) if tail else 0

    def room(self) -> int:
        """Blocks that no table names."""
        return len(self.storage) - len({block_id for name in self.written for block_id in self.table(name)})

    def agrees(self) -> bool:
        """Whether all tokens are read back, through tables of the right length, and every holder is counted."""
        holders = Counter()
        for name, tokens in self.written.items():
            table = self.table(name)
            if len(table) != -(-len(tokens) // self.block_size) or self.read(name, table) != tokens:
                return False
            holders.update(table)
        return all(self.pool.ref(block_id) == holders[block_id] for block_id in range(len(self.storage)))

    def _write(self, name: str, n: int = 1) -> None:
        table, start = self.table(name), len(self.written[name])
        for position in range(start, start + n):
            row, offset = divmod(position, self.block_size)
            if row < len(table):
                self.storage[table[row]][offset] = self.token
            self.written[name].append(self.token)
            self.token += 1

    def _is_block(self, value: object) -> bool:
        return type(value) is int and 0 <= value < len(self.storage)


def run_pool(candidate: object, case: Case) -> object:
    if "steps" not in case.inputs:
        return _random_calls(candidate, *case.inputs.values())
    owner = Owner(candidate(*case.inputs["new"]), *case.inputs["new"])

    def take(name: str, *arguments: object) -> list[dict] | str:
        if name in WITH_AN_ID and arguments[0] not in owner.written:
            return owner.misuse(name, arguments[0], *([] if name == "fork" else arguments[1:]))
        copied = getattr(owner, {EMPTIED: "empty_table"}.get(name, name))(*arguments)
        rows = [owner.row(each) for each in owner.written]
        rows.append({"free blocks": owner.free_blocks()})
        return [*rows, {"blocks copied": copied}] if name == "append" else rows

    return [attempt(take, *step) for step in case.inputs["steps"]]


def _random_calls(candidate: object, num_blocks: int, block_size: int, calls: int, seed: int) -> object:
    """Make the calls, and look at everything every few of them. As soon as pool and owner disagree that is all there
    is to say: on what, and when, depends on the order in which the pool hands out its blocks."""
    rng, owner = Random(seed), Owner(candidate(num_blocks, block_size), num_blocks, block_size)
    seen, refused, freed = [], 0, []
    for number in range(calls):
        alive = list(owner.written)
        kind = rng.choice(KINDS)
        if kind == "misuse":
            if alive:
                owner.empty_table(rng.choice(alive))
            if freed and not owner.refuses(rng.choice(list(WITH_AN_ID)), rng.choice(freed)):
                return DISAGREE
            continue
        if not alive or (kind == "fork" and len(alive) > 4):
            kind = "free" if alive else "allocate"
        name = rng.choice(alive) if kind != "allocate" else f"{number}"
        tokens = rng.randrange(len(owner.written[name]) + 1 if kind == "truncate" else 2 * block_size + 2)
        more = {"fork": [f"{number}"], "free": []}.get(kind, [tokens])
        due = owner.copies_due(name, tokens) if kind == "append" else 0
        try:
            copied = getattr(owner, kind)(name, *more)
        except MemoryError:
            held = len(owner.written[name]) if kind == "append" else 0
            new = -(-(held + tokens) // block_size) - -(-held // block_size) + due
            if kind not in ("allocate", "append") or new <= owner.room():
                return DISAGREE
            refused += 1
        except NotImplementedError:
            raise
        except Exception:
            return DISAGREE
        else:
            if kind == "append" and copied != due:
                return DISAGREE
            if kind == "free":
                freed.append(name)
        if number % 4 == 3 and not owner.agrees():
            return DISAGREE
        if number % 50 == 49:
            seen.append([refused, *map(owner.row, owner.written), owner.free_blocks()])
    return seen


# --- can_promise -----------------------------------------------------------------------------------------------


def _can_promise(rng: Random) -> list[Case]:
    def case(label: str, lengths: list[int], max_new: int, block_size: int) -> Case:
        most = len(lengths) + sum(lengths + [max_new] * len(lengths)) // block_size + 2
        free = list(range(most + 1))
        return Case(label, {"lengths": lengths, "max_new": max_new, EACH_FREE: free, "block_size": block_size})

    b = rng.randrange(5, 9)
    tails = rng.sample(range(1, b - 1), 3)
    return [
        case("one sequence", [b + 2], rng.randrange(1, 3) * b, b),
        case("several sequences", [tail + b * rng.randrange(3) for tail in tails], 2 * b + 1, b),
        case("growth that the tails can hold", [b - 2, 2 * b - 3, 1], 2, b),
        case("each crosses into a new block", [b, 2 * b, b - 1], 1, b),
        case("a sequence without a token, and a long one", [0, rng.randrange(5, 9) * b], b - 1, b),
        case("nothing is promised", [tails[0], b + tails[1]], 0, b),
    ]


def _run_can_promise(candidate: object, case: Case) -> list[object]:
    """The answer for each number of free blocks."""
    promises = [call_with(candidate, deepcopy(case.inputs) | {EACH_FREE: each}) for each in case.inputs[EACH_FREE]]
    return next((each for each in promises if isinstance(each, Changed)), promises)


EXERCISES = (
    Exercise("blocks_needed", _blocks_needed),
    Exercise("slot_of", _slot_of),
    Exercise("waste", _waste),
    Exercise("gather", _gather, run=_call_with_arrays),
    Exercise("paged_attention", _paged_attention, run=_call_with_arrays),
    Exercise("BlockPool", _pool, run=run_pool),
    Exercise("can_promise", _can_promise, run=_run_can_promise),
)
