"""Lesson 10: what is right, by sharing out piece by piece, and the mistakes that people make when they let others in.

The oracle of the scheduler keeps no queue, no list of the running and no pool: it asks all requests, in the order in
which they came, and writes one token after the other into the lowest slot that nobody holds.
"""

from bisect import bisect_right
from collections import deque
from fractions import Fraction
from itertools import pairwise, takewhile
from math import ceil, floor, inf
from statistics import median

from autograde.exercise import Answer, Case, Misconception
from autograde.exercises.admission import EXERCISES, _run_scheduler
from autograde.values import Raised, show
from kvlab.paging import BlockPool

ATOL = 1e-9
REFUSED = Raised("ValueError")

# ---------------------------------------------------------------------------
# What the events of a scheduler are worth. Which free block it takes is its own business, so nothing looks at block
# numbers: a storage is kept, and each token is written through the table that its event shows.

IN_TWO = ("expire", "preempt", "admit", "token", "finish")  # events of a kind and an id


class Storage:
    """Owns the slots. A token is written where the table of its event says; then all of the request is read back."""

    def __init__(self, num_blocks: int, block: int):
        self.num_blocks, self.block = num_blocks, block
        self.slots: list[tuple | None] = [None] * (num_blocks * block)  # whose token, at which position
        self.written: dict[str, list[tuple]] = {}  # the tokens of each request since it was admitted

    def follow(self, event: object) -> object:
        """A plain event as it is graded: in words, its table replaced by what is read back through it.

        What is no event that can be followed stays as it came, in a list, where it equals no words.
        """
        if type(event) is not list or len(event) not in (2, 4):
            return [event]
        kind, id = event[:2]
        if type(kind) is not str or type(id) is not str:
            return [event]
        if len(event) == 2 and kind in IN_TWO:
            if kind in ("preempt", "expire", "finish"):
                self.written.pop(id, None)
            return f"{kind} {id}"
        if len(event) == 4 and kind == "write" and self._is_written(*event[2:]):
            return self._write(id, *event[2:])
        return [event]

    def _is_written(self, n: object, table: object) -> bool:
        return (
            type(n) is int
            and 0 <= n <= len(self.slots)
            and type(table) is list
            and all(type(each) is int and 0 <= each < self.num_blocks for each in table)
        )

    def _write(self, id: str, n: int, table: list[int]) -> str | list[str]:
        tokens = self.written.setdefault(id, [])
        start = len(tokens)
        tokens += [(id, position) for position in range(start, start + n)]
        places = [block * self.block + offset for block in table for offset in range(self.block)][: len(tokens)]
        for place, token in zip(places[start:], tokens[start:], strict=False):
            self.slots[place] = token
        read = [self.slots[place] for place in places]
        blocks = f"{len(table)} block{'' if len(table) == 1 else 's'}"
        if read == tokens:
            return f"write {id} {n}: {id}0-{len(tokens) - 1}, {blocks}"
        return [f"write {id} {n}", *_runs(read, len(tokens)), blocks]


def _runs(read: list[tuple | None], wanted: int) -> list[str]:
    """Tokens that are not those of one request in order: whose they are, run by run; then what has no slot."""
    runs: list[list] = []  # owner, first and last position; or None, 1 and how many slots are empty
    for owner, position in (token or (None, 0) for token in read):
        if runs and runs[-1][0] == owner and (owner is None or runs[-1][2] == position - 1):
            runs[-1][2] += 1
        else:
            runs.append([owner, *([1, 1] if owner is None else [position, position])])
    said = [f"{last} empty" if owner is None else f"{owner}{first}-{last}" for owner, first, last in runs]
    return said + [f"{wanted - len(read)} without a slot"] * (wanted > len(read))


def _followed(case: Case, values: object) -> object:
    """The value of each step of a script; the events of a step as a storage tells them."""
    steps = case.inputs["steps"]
    if type(values) is not list or len(values) != len(steps):
        return values
    storage = Storage(*case.inputs["new"][1:])
    return [
        [storage.follow(event) for event in value] if name == "step" and type(value) is list else value
        for (name, *_), value in zip(steps, values, strict=True)
    ]


# ---------------------------------------------------------------------------
# Oracles


def _room(case: Case) -> int | Raised:
    """Pay one after the other."""
    left, weights, reserves = case.inputs.values()
    for size in [weights, *reserves.values()]:
        left -= size
        if left < 0:
            return REFUSED
    return left


def _fitting(case: Case) -> int:
    room, size = case.inputs.values()
    return floor(Fraction(room, size))


def _heads_read(heads: int, kv_heads: int, tp: int) -> list[set[int]]:
    """For each rank the KV heads that its query heads read."""
    per_rank = heads // tp
    return [{q * kv_heads // heads for q in range(r * per_rank, (r + 1) * per_rank)} for r in range(tp)]


def _shares(case: Case) -> dict | Raised:
    """From the query heads of each rank to the KV heads that they read."""
    card, params, tp, device, reserve, context, *bits = case.inputs.values()
    weight_bits, kv_bits = bits or (16, 16)
    if card["num_attention_heads"] % tp:
        return REFUSED
    if "kv_lora_rank" in card:
        heads, widths = None, [card["kv_lora_rank"], card["qk_rope_head_dim"]]
    else:
        read = _heads_read(card["num_attention_heads"], card["num_key_value_heads"], tp)
        whole = sum(map(len, read)) == card["num_key_value_heads"]
        if not whole and any(len(each) > 1 for each in read):
            return REFUSED
        heads = len(read[0])
        widths = [card["head_dim"]] * heads * 2
    per_token = sum(sum(widths) * kv_bits for _ in range(card["num_hidden_layers"])) // 8
    weights = ceil(Fraction(params * weight_bits, 8 * tp))
    room = Fraction(device - reserve - weights, context * per_token)
    requests = max(0, floor(room))
    return {"weight_bytes": weights, "kv_heads": heads, "kv_bytes_per_token": per_token, "requests": requests}


def _claim(case: Case) -> dict:
    """Add requests one by one."""
    claimed, card, params, usable, reserve, context = case.inputs.values()
    layers, heads, width = (card[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    size = sum(2 * heads * width * 2 for _ in range(layers)) * context
    taken, requests = params * 2 + reserve, 0
    while taken + (requests + 1) * size <= usable:
        requests += 1
    return {"requests": requests, "missing_bytes": max(0, taken + claimed * size - usable)}


def _admitted(case: Case) -> list[str]:
    """Write every token of the worst case, and count the blocks that are opened."""
    queue, free, block = case.inputs.values()
    names = []
    for name, prompt, answer in queue:
        written = range(prompt + answer)[:-1]
        free -= sum(position % block == 0 for position in written)
        if free < 0:
            return names
        names.append(name)
    return names


class _TokenByToken:
    """All requests in the order in which they came, each a dict; its state is read off its fields."""

    def __init__(self, token_budget, num_blocks, block):
        self.budget, self.blocks, self.block, self.now = token_budget, range(num_blocks), block, 0
        self.requests = []

    def alive(self, *states):
        return [each for each in self.requests if each["state"] in states]

    def unheld(self):
        held = {block for each in self.requests for block in each["table"]}
        return [block for block in self.blocks if block not in held]

    def submit(self, id, prompt_tokens, max_new_tokens, deadline=None):
        opened = [position for position in range(prompt_tokens + max_new_tokens - 1) if position % self.block == 0]
        if len(opened) > len(self.blocks):
            raise ValueError
        request = {"id": id, "todo": prompt_tokens, "answer": max_new_tokens, "last": deadline, "written": 0}
        self.requests.append(request | {"state": "waiting", "table": [], "tokens": 0})

    def leave(self, request, state):
        request.update(state=state, table=[], written=0)

    def cancel(self, id):
        self.leave({each["id"]: each for each in self.alive("waiting", "running")}[id], "gone")

    def step(self):
        self.now += 1
        self.left, self.events = self.budget, []
        for state in ("running", "waiting"):
            for each in self.alive(state):
                if each["last"] is not None and each["last"] < self.now:
                    self.leave(each, "gone")
                    self.events.append(["expire", each["id"]])
        for each in self.alive("running"):
            if each["state"] == "running":  # nobody sent it away meanwhile
                self.serve(each)
        while self.left and self.alive("waiting"):
            first = self.alive("waiting")[0]
            if (first["todo"] + first["tokens"] - 1) // self.block >= len(self.unheld()):
                break
            first["state"] = "running"
            self.events.append(["admit", first["id"]])
            self.serve(first)
        return self.events

    def serve(self, request):
        n = 0
        while self.left > n and request["written"] < request["todo"] + request["tokens"]:
            if request["written"] == len(request["table"]) * self.block:
                while not self.unheld():
                    youngest = self.alive("running")[-1]
                    self.leave(youngest, "waiting")
                    self.events.append(["preempt", youngest["id"]])
                if request["state"] == "waiting":
                    return
                request["table"].append(self.unheld()[0])
            request["written"] += 1
            n += 1
        if n == 0:
            return
        self.left -= n
        self.events.append(["write", request["id"], n, request["table"][:]])
        if request["written"] == request["todo"] + request["tokens"]:
            self.events.append(["token", request["id"]])
            request["tokens"] += 1
            if request["tokens"] == request["answer"]:
                self.leave(request, "gone")
                self.events.append(["finish", request["id"]])


def _played(case: Case) -> object:
    return _followed(case, _run_scheduler(_TokenByToken, case))


def _report(case: Case) -> dict | Raised:
    """In whole microseconds."""
    arrival, stamps = case.inputs["arrival"], case.inputs["stamps"]
    if not stamps:
        return REFUSED
    times = [round(each * 10**6) for each in (arrival, *stamps)]
    waits = [after - before for before, after in pairwise(times)]
    first, gaps = waits[0], waits[1:]
    return {
        "ttft": first / 10**6,
        "mean_itl": sum(gaps) / len(gaps) / 10**6 if gaps else None,
        "max_itl": sorted(gaps)[-1] / 10**6 if gaps else None,
        "end_to_end": sum(waits) / 10**6,
    }


# ---------------------------------------------------------------------------
# Bytes, right and wrong


def _room_of(taken, refuse=lambda left: left < 0, shown=lambda left: left):
    """A room from what is thought to be taken."""

    def kv_room(usable, weights, reserves):
        left = usable - taken(usable, weights, list(reserves.values()))
        if refuse(left):
            raise ValueError("nothing is left for the cache")
        return shown(left)

    return kv_room


def _everything(usable, weights, reserves):
    return weights + sum(reserves)


def _room_by_paying(usable, weights, reserves):
    purse = usable
    for price in (weights, *reserves.values()):
        if price > purse:
            raise ValueError
        purse -= price
    return purse


def _room_of_a_list(usable, weights, reserves):
    room = usable - sum([weights] + [reserves[name] for name in reserves])
    if room >= 0:
        return room
    raise ValueError(f"{-room} bytes are missing")


def _fit_by_divmod(room, size):
    count, _ = divmod(room, size)
    return count


def _fit_by_doubling(room, size):
    """Right: find the bits of the count from the highest down."""
    count = 0
    for bit in reversed(range(70)):
        if (count + (1 << bit)) * size <= room:
            count += 1 << bit
    return count


def _indivisible(stored, tp):
    if stored % tp and tp % stored:
        raise ValueError(f"{stored} KV heads cannot be shared out to {tp} ranks")


def _per_rank(
    query=True,
    heads=lambda stored, tp: max(1, stored // tp),
    indivisible=_indivisible,
    stored="num_key_value_heads",
    latent="whole",
    weights=lambda bits, tp: -(-bits // (8 * tp)),
    bits=lambda weight_bits, kv_bits: (weight_bits, kv_bits),
    width=lambda card: card["head_dim"],
    room=lambda device, reserve, weights, tp: max(0, device - reserve - weights),
    requests=lambda room, size: room // size,
    factor=2,
    bits_of=8,
):
    """The fit of a rank, right as it stands; each argument is a mistake."""

    def per_rank_fit(card, params, tp, device, reserve, context, weight_bits=16, kv_bits=16):
        if query and card["num_attention_heads"] % tp:
            raise ValueError("query heads cannot be shared out")
        weight_bits, kv_bits = bits(weight_bits, kv_bits)
        if "kv_lora_rank" in card and latent != "as heads":
            count, elements = None, card["kv_lora_rank"] + card["qk_rope_head_dim"]
            elements = {"twice": 2 * elements, "divided": elements // tp, "no key": card["kv_lora_rank"]}.get(
                latent, elements
            )
        else:
            indivisible(card[stored], tp)
            count = heads(card[stored], tp)
            elements = int(factor * count * width(card))
        per_token = card["num_hidden_layers"] * elements * kv_bits // bits_of
        mine = weights(params * weight_bits, tp)
        fit = requests(room(device, reserve, mine, tp), context * per_token)
        return {"weight_bytes": mine, "kv_heads": count, "kv_bytes_per_token": per_token, "requests": fit}

    return per_rank_fit


def _anything_goes(stored, tp):
    pass


def _no_replication(stored, tp):
    if stored % tp:
        raise ValueError


def _fit_by_fractions(card, params, tp, device, reserve, context, weight_bits=16, kv_bits=16):
    """Right: ranks per head, or heads per rank, as one fraction."""
    if Fraction(card["num_attention_heads"], tp).denominator > 1:
        raise ValueError
    if card.get("kv_lora_rank"):
        heads, elements = None, card["kv_lora_rank"] + card["qk_rope_head_dim"]
    else:
        share = Fraction(card["num_key_value_heads"], tp)
        if 1 not in (share.numerator, share.denominator):
            raise ValueError
        heads = share.numerator
        elements = heads * card["head_dim"] * 2
    token = elements * card["num_hidden_layers"] * kv_bits // 8
    weights = (params * weight_bits + 8 * tp - 1) // (8 * tp)
    fit = 0 if device < reserve + weights else (device - reserve - weights) // (token * context)
    return {"requests": fit, "kv_bytes_per_token": token, "kv_heads": heads, "weight_bytes": weights}


def _claim_of(
    heads="num_key_value_heads",
    width=lambda card: card["head_dim"],
    weights=lambda params: params * 2,
    reserved=lambda reserve: reserve,
    fit=lambda room, size: max(0, room) // size,
    missing=lambda claimed, fit, size, room: max(0, claimed * size - room),
    size=lambda layers, heads, width, context: 4 * layers * heads * width * context,
):
    """A claim checked, right as it stands; each argument is a mistake."""

    def check_claim(claimed, card, params, usable, reserve, context):
        each = size(card["num_hidden_layers"], card[heads], width(card), context)
        room = usable - weights(params) - reserved(reserve)
        count = fit(room, each)
        return {"requests": count, "missing_bytes": missing(claimed, count, each, room)}

    return check_claim


def _claim_by_total(claimed, card, params, usable, reserve, context):
    """Right: totals for each number of requests."""
    per_layer = 2 * card["num_key_value_heads"] * card["head_dim"] * context
    size = 2 * card["num_hidden_layers"] * per_layer
    totals = [2 * params + reserve + n * size for n in range(1, 200)]
    lacking = 2 * params + reserve + claimed * size - usable
    return {"requests": bisect_right(totals, usable), "missing_bytes": lacking if lacking > 0 else 0}


def _refusing_claim(claimed, card, params, usable, reserve, context):
    if usable < 2 * params + reserve:
        raise ValueError("nothing is left for the cache")
    return _claim_of()(claimed, card, params, usable, reserve, context)


# ---------------------------------------------------------------------------
# Admission, right and wrong


def _up(tokens, block):
    return -(-tokens // block)


def _admitting(cost, go_on=False, enough=lambda cost, free: cost <= free, late=False):
    """Admission in the order of the queue, where a request is thought to need `cost` blocks."""

    def admit(queue, free, block):
        names = []
        for name, prompt, answer in queue:
            needed = cost(prompt, answer, block)
            if enough(needed, free):
                names.append(name)
                free -= needed
            elif go_on:
                continue
            else:
                return [*names, name] if late else names
        return names

    return admit


def _worst(prompt, answer, block):
    return _up(prompt + answer - 1, block)


def _admit_on_average(queue, free, block):
    mean = Fraction(sum(prompt + answer - 1 for _, prompt, answer in queue), len(queue) or 1)
    return [name for place, (name, _, _) in enumerate(queue, 1) if place * ceil(mean / block) <= free]


def _admit_pooled(queue, free, block):
    names, tokens = [], 0
    for name, prompt, answer in queue:
        tokens += prompt + answer - 1
        if tokens > free * block:
            break
        names.append(name)
    return names


def _admit_all_that_fit_alone(queue, free, block):
    return [name for name, _ in takewhile(lambda each: each[1] <= free, _costs(queue, block))]


def _costs(queue, block):
    return [(name, _worst(prompt, answer, block)) for name, prompt, answer in queue]


def _admit_from_the_queue_itself(queue, free, block):
    """Takes the requests out of the list that somebody else keeps."""
    names = []
    while queue and _worst(*queue[0][1:], block) <= free:
        name, prompt, answer = queue.pop(0)
        free -= _worst(prompt, answer, block)
        names.append(name)
    return names


def _admit_by_pool(queue, free, block):
    """Right: a pool is asked for the blocks."""
    pool, names = BlockPool(free, block), []
    for name, prompt, answer in queue:
        try:
            pool.allocate(prompt + answer - 1)
        except MemoryError:
            break
        names.append(name)
    return names


def _admit_by_prefix(queue, free, block):
    """Right: the longest head of the queue whose blocks add up to no more than are free."""
    costs = [_worst(prompt, answer, block) for _, prompt, answer in queue]
    return [name for place, (name, _, _) in enumerate(queue, 1) if sum(costs[:place]) <= free]


# ---------------------------------------------------------------------------
# Schedulers: the base that wrong ones change in one place, and a right one that is unlike it


class _Job:
    def __init__(self, id, prompt, answer, last):
        self.id, self.prompt, self.answer, self.last = id, prompt, answer, last
        self.known, self.made, self.cached, self.table = prompt, 0, 0, []
        self.lost = 0  # tokens that a wrong scheduler takes for cached


class _Books:
    """Right: a stack of free blocks, a queue, and the running in the order in which they came."""

    def __init__(self, token_budget, num_blocks, block):
        self.budget, self.size, self.block, self.now = token_budget, num_blocks, block, 0
        self.unused = list(range(num_blocks))
        self.queue, self.running = [], []

    def most(self, prompt, answer):
        return _up(prompt + answer - 1, self.block)

    def submit(self, id, prompt, answer, deadline=None):
        if self.most(prompt, answer) > self.size:
            raise ValueError
        self.queue.append(_Job(id, prompt, answer, inf if deadline is None else deadline))

    def give_back(self, job):
        self.unused += job.table
        job.table = []

    def remove(self, job):
        if job in self.queue:
            self.queue.remove(job)
        else:
            self.running.remove(job)
            self.give_back(job)

    def cancel(self, id):
        for job in self.running + self.queue:
            if job.id == id:
                self.cancelled(job)
                return
        self.unknown(id)

    def cancelled(self, job):
        self.remove(job)

    def unknown(self, id):
        raise KeyError(id)

    def late(self, job):
        return self.now > job.last

    def expire(self):
        for job in self.running + self.queue:
            if self.late(job):
                self.expired(job)
                self.events.append(["expire", job.id])

    def expired(self, job):
        self.remove(job)

    def step(self):
        self.now += 1
        self.left, self.events = self.budget, []
        self.phases()
        return self.events

    def phases(self):
        self.expire()
        self.serve()
        self.admit()

    def order(self):
        return list(self.running)

    def serve(self):
        for job in self.order():
            if self.left > 0 and job in self.running:
                self.turn(job)

    def turn(self, job):
        n = self.chunk(job)
        while job in self.running and self.missing(job, n) > len(self.unused):
            self.preempt(job)
        if job in self.running:
            self.write(job, n)

    def chunk(self, job):
        return min(job.known - job.cached, self.left)

    def missing(self, job, n):
        return _up(job.cached + n, self.block) - len(job.table)

    def preempt(self, job):
        victim = self.victim(job)
        self.running.remove(victim)
        self.give_back(victim)
        self.forget(victim)
        self.send_back(victim)
        self.events.append(["preempt", victim.id])

    def victim(self, job):
        return self.running[-1]

    def forget(self, job):
        job.cached = 0

    def send_back(self, job):
        self.queue.insert(0, job)

    def fits(self, job):
        return _up(job.known, self.block) <= len(self.unused)

    def may_admit(self):
        return self.queue and self.left > 0

    def candidate(self):
        return self.queue[0] if self.fits(self.queue[0]) else None

    def admit(self):
        while self.may_admit():
            job = self.candidate()
            if job is None:
                break
            self.queue.remove(job)
            self.running.append(job)
            self.events.append(["admit", job.id])
            self.first(job)

    def first(self, job):
        self.write(job, self.chunk(job))

    def take(self, job, n):
        if self.missing(job, n) > len(self.unused):
            raise MemoryError("blocks are missing")
        for _ in range(self.missing(job, n)):
            job.table.append(self.unused.pop())

    def spend(self, n):
        self.left -= n

    def write(self, job, n):
        self.take(job, n)
        job.cached += n
        self.spend(n)
        self.events.append(["write", job.id, n, list(job.table)])
        self.after(job)

    def after(self, job):
        if job.cached == job.known:
            self.events.append(["token", job.id])
            job.known += 1
            job.made += 1
            if job.made == job.answer:
                self.finish(job)

    def finish(self, job):
        self.remove(job)
        self.events.append(["finish", job.id])


class _WithPool:
    """Right: sequences of a block pool, an exception where blocks are missing, and one table of all requests."""

    def __init__(self, token_budget, num_blocks, block):
        self.budget, self.pool, self.total, self.block = token_budget, BlockPool(num_blocks, block), num_blocks, block
        self.step_number, self.requests = 0, {}  # in the order of arrival

    def submit(self, id, prompt_tokens, max_new_tokens, deadline=None):
        if prompt_tokens + max_new_tokens - 1 > self.total * self.block:
            raise ValueError(id)
        self.requests[id] = {"known": prompt_tokens, "left": max_new_tokens, "deadline": deadline, "sequence": None}

    def cancel(self, id):
        request = self.requests.pop(id)
        if request["sequence"] is not None:
            self.pool.free(request["sequence"])

    def of(self, running):
        return [id for id, each in self.requests.items() if (each["sequence"] is not None) == running]

    def step(self):
        self.step_number += 1
        out, budget = [], self.budget
        for id in self.of(True) + self.of(False):
            deadline = self.requests[id]["deadline"]
            if deadline is not None and deadline < self.step_number:
                self.cancel(id)
                out.append(("expire", id))
        turns = deque(self.of(True))
        while budget and turns:
            id = turns[0]
            request = self.requests[id]
            n = min(budget, request["known"] - request["cached"])
            try:
                self.pool.append(request["sequence"], n)
            except MemoryError:
                victim = self.of(True)[-1]
                turns.remove(victim)
                self.pool.free(self.requests[victim]["sequence"])
                self.requests[victim]["sequence"] = None
                out.append(("preempt", victim))
                continue
            turns.popleft()
            budget -= n
            out += self.wrote(id, n)
        for id in self.of(False):
            request = self.requests[id]
            if not budget or -(-request["known"] // self.block) > self.pool.free_blocks:
                break
            n = min(budget, request["known"])
            request["sequence"], request["cached"] = self.pool.allocate(n), 0
            budget -= n
            out += [("admit", id), *self.wrote(id, n)]
        return out

    def wrote(self, id, n):
        request = self.requests[id]
        request["cached"] += n
        yield "write", id, n, self.pool.table(request["sequence"])
        if request["cached"] == request["known"]:
            yield "token", id
            request["known"] += 1
            request["left"] -= 1
            if not request["left"]:
                self.cancel(id)
                yield "finish", id


class _LowestFirst(_Books):
    """Right: blocks are handed out from the other end, and given back in the order of their numbers."""

    def give_back(self, job):
        super().give_back(job)
        self.unused.sort(reverse=True)


class _BudgetPerRequest(_Books):
    def chunk(self, job):
        return job.known - job.cached

    def spend(self, n):
        self.left -= 1


class _AdmissionFirst(_Books):
    def phases(self):
        self.expire()
        old = list(self.running)
        self.admit()
        self.order = lambda: [job for job in self.running if job in old]
        self.serve()


class _YoungestFirst(_Books):
    def order(self):
        return self.running[::-1]


class _WalksThroughTheList(_Books):
    """Walks through the list of the running itself, so that the one behind a request that leaves is passed over."""

    def order(self):
        return self.running


class _TurnForThePreempted(_Books):
    """Who was sent away in this step is asked for its table, which it no longer has."""

    def serve(self):
        for job in self.order():
            if self.left > 0 and job not in self.running:
                raise KeyError(None)
            if self.left > 0:
                self.turn(job)


class _NobodyAfterAPreemption(_Books):
    def admit(self):
        if not any(kind == "preempt" for kind, *_ in self.events):
            super().admit()


class _Static(_Books):
    """Nobody joins while others run."""

    def phases(self):
        self.expire()
        idle = not self.running
        self.serve()
        if idle:
            self.admit()


class _WholePromptOrNothing(_Books):
    def fits(self, job):
        return job.known <= self.left and super().fits(job)


class _OldestPreempted(_Books):
    def victim(self, job):
        return self.running[0]


class _LastBeforeMe(_Books):
    """The youngest among the others, as long as there are any."""

    def victim(self, job):
        others = [each for each in self.running if each is not job]
        return others[-1] if others else job


class _ToTheTail(_Books):
    def send_back(self, job):
        self.queue.append(job)


class _BackInTheWrongOrder(_Books):
    """Those preempted in one step go to the head together, in the order in which they were preempted."""

    def phases(self):
        self.back = []
        self.expire()
        self.serve()
        self.queue = self.back + self.queue
        self.admit()

    def send_back(self, job):
        self.back.append(job)


class _GeneratedForgotten(_Books):
    def forget(self, job):
        job.cached, job.known, job.made = 0, job.prompt, 0


class _OnlyPromptAgain(_Books):
    """The prompt is computed again, and what was generated is counted, but not written again."""

    def forget(self, job):
        job.cached, job.known = 0, job.prompt


class _Resumed(_Books):
    """Goes on where it was, as if its blocks still held its tokens."""

    def forget(self, job):
        pass


class _CachedKept(_Books):
    """Begins a new sequence in the pool, and still counts the tokens of the old one as cached."""

    def forget(self, job):
        job.lost = job.cached

    def take(self, job, n):
        while len(job.table) * self.block < job.cached - job.lost + n:
            job.table.append(self.unused.pop())


class _CachedKeptByAPool(_CachedKept):
    """The same, where it is the new sequence that says how many blocks are missing."""

    def missing(self, job, n):
        return _up(job.cached - job.lost + n, self.block) - len(job.table)


class _PreemptKeepsBlocks(_Books):
    """The blocks of a preempted request are never free again."""

    def preempt(self, job):
        self.victim(job).table = []
        super().preempt(job)


class _YoungestStalls(_Books):
    """Who lacks a block itself waits for one, and keeps its own."""

    def turn(self, job):
        n = self.chunk(job)
        while self.missing(job, n) > len(self.unused):
            if self.running[-1] is job:
                return
            self.preempt(job)
        self.write(job, n)


class _Overtaking(_Books):
    def candidate(self):
        return next((job for job in self.queue if self.fits(job)), None)


class _AsksForThePrompt(_Books):
    def fits(self, job):
        return _up(job.prompt, self.block) <= len(self.unused)


class _PromptOnReturn(_Books):
    """A request that comes back writes its prompt first, and what it generated one step later."""

    def first(self, job):
        self.write(job, min(job.prompt, self.left))


class _OneTooMany(_Books):
    def after(self, job):
        if job.cached == job.known:
            self.events.append(["token", job.id])
            job.known += 1
            job.made += 1
            if job.made > job.answer:
                self.finish(job)


class _FirstChunkOnly(_Books):
    def fits(self, job):
        return _up(self.chunk(job), self.block) <= len(self.unused)


class _WorstCase(_Books):
    """Blocks for everything that may come must be free, although they are not kept."""

    def fits(self, job):
        return self.most(job.prompt, job.answer) <= len(self.unused)


class _Floor(_Books):
    def fits(self, job):
        return job.known // self.block <= len(self.unused)


class _NobodyAsks(_Books):
    def fits(self, job):
        return True


class _CancelKeepsBlocks(_Books):
    def cancelled(self, job):
        if job in self.running:
            self.running.remove(job)
        else:
            self.queue.remove(job)


class _CancelUnknown(_Books):
    def unknown(self, id):
        pass


class _FreedTwice(_Books):
    """A preempted request that is forgotten gives its old blocks back once more."""

    def give_back(self, job):
        self.unused += job.table  # and the table stays

    def take(self, job, n):
        if job.cached == 0:
            job.table = []
        super().take(job, n)

    def remove(self, job):
        waiting = job in self.queue
        super().remove(job)
        if waiting:
            self.give_back(job)


class _ExpireKeepsBlocks(_Books):
    def expired(self, job):
        if job in self.running:
            self.running.remove(job)
        else:
            self.queue.remove(job)


class _DeadlineEarly(_Books):
    def late(self, job):
        return self.now >= job.last


class _WaitingExpireOnly(_Books):
    def late(self, job):
        return job in self.queue and super().late(job)


class _RunningExpireOnly(_Books):
    def late(self, job):
        return job in self.running and super().late(job)


class _WaitingExpireFirst(_Books):
    def expire(self):
        for job in self.queue + self.running:
            if self.late(job):
                self.expired(job)
                self.events.append(["expire", job.id])


class _ExpireLast(_Books):
    def phases(self):
        self.serve()
        self.admit()
        self.expire()


class _FinishLate(_Books):
    """Who has all tokens is noticed at the beginning of the next step."""

    def finish(self, job):
        pass

    def phases(self):
        self.expire()
        for job in [job for job in self.running if job.made == job.answer]:
            super().finish(job)
        self.serve()
        self.admit()


class _FinishKeepsBlocks(_Books):
    def finish(self, job):
        self.running.remove(job)
        self.events.append(["finish", job.id])


class _WritesTheLast(_Books):
    """The last token is written too before the request ends."""

    def after(self, job):
        if job.cached == job.known and job.made == job.answer:
            self.finish(job)
        elif job.cached == job.known:
            self.events.append(["token", job.id])
            job.known += 1
            job.made += 1


class _NoTokenFromPrefill(_Books):
    """Only a decode step gives a token, so that each token is written when it is generated."""

    def after(self, job):
        if job.cached == job.known == job.prompt:
            job.known += 1
        else:
            super().after(job)


class _RefusesTheLastToken(_Books):
    def most(self, prompt, answer):
        return _up(prompt + answer, self.block)


class _RefusesByPrompt(_Books):
    def most(self, prompt, answer):
        return _up(prompt, self.block)


class _RefusedStays(_Books):
    def submit(self, id, prompt, answer, deadline=None):
        try:
            super().submit(id, prompt, answer, deadline)
        except ValueError:
            self.queue.append(_Job(id, prompt, answer, inf if deadline is None else deadline))
            raise


class _RefusesNobody(_Books):
    def most(self, prompt, answer):
        return 0


def _told(_case: Case, value: object) -> str:
    """What the first event of a step that could not be followed, or read back, lacks; "" where there is none."""
    strange = next((item for item in value if type(item) is list), None) if type(value) is list else None
    if strange is None:
        return ""
    if len(strange) == 1:
        wanted = '(kind, id), or ("write", id, n, table) with n an int and table a list of block numbers'
        return f"{show(strange[0])} is no event that can be followed. Wanted: {wanted}."
    event, *read, blocks = strange
    said = f"Read back after {event!r}, through its table of {blocks}: {', '.join(read)}."
    if "without a slot" in read[-1]:
        return f"{said} Was the table taken before pool.append?"
    return f"{said} Is it the table of this request, in its order?"


# ---------------------------------------------------------------------------
# Latencies, right and wrong


def _gaps(stamps):
    return [stamps[i] - stamps[i - 1] for i in range(1, len(stamps))]


def _latency(
    ttft=lambda arrival, stamps: stamps[0] - arrival,
    gaps=lambda arrival, stamps: _gaps(stamps),
    mean=lambda gaps, stamps: sum(gaps) / len(gaps) if gaps else None,
    top=lambda gaps: max(gaps) if gaps else None,
    end=lambda arrival, stamps: stamps[-1] - arrival,
    empty=None,
):
    """The report, right as it stands; each argument is a mistake."""

    def latency_report(arrival, stamps):
        if not stamps:
            if empty is None:
                raise ValueError("no token came")
            return empty
        found = gaps(arrival, stamps)
        return {
            "ttft": ttft(arrival, stamps),
            "mean_itl": mean(found, stamps),
            "max_itl": top(found),
            "end_to_end": end(arrival, stamps),
        }

    return latency_report


def _latency_by_ends(arrival, stamps):
    """Right: the mean gap from the first and the last stamp alone, as the protected program has it."""
    first, *rest = stamps if stamps else _raise(ValueError)
    report = {"ttft": first - arrival, "mean_itl": None, "max_itl": None, "end_to_end": stamps[-1] - arrival}
    if rest:
        report["mean_itl"] = (rest[-1] - first) / len(rest)
        report["max_itl"] = max(b - a for a, b in zip(stamps, rest, strict=False))
    return report


def _raise(error):
    raise error


NOTHING = {"ttft": None, "mean_itl": None, "max_itl": None, "end_to_end": None}

# ---------------------------------------------------------------------------

_kv_room, _max_requests, _per_rank_fit, _check_claim, _admit, _scheduler, _latency_report = EXERCISES

ANSWERS = (
    Answer(
        exercise=_kv_room,
        expected=_room,
        misconceptions=(
            Misconception(
                "weights_forgotten",
                _room_of(lambda usable, weights, reserves: sum(reserves)),
                "Did you leave the weights out?",
                (
                    "What lies on the device before the first request comes?",
                    "The weights take their bytes whether or not anybody asks.",
                    "room = usable_bytes - weight_bytes - sum(reserves.values()).",
                ),
            ),
            Misconception(
                "reserves_forgotten",
                _room_of(lambda usable, weights, reserves: weights),
                "Did you give the reserves to the cache as well?",
                (
                    "Where do activations live during a step?",
                    "Every entry of reserves is somebody's memory.",
                    "Subtract sum(reserves.values()) too.",
                ),
            ),
            Misconception(
                "largest_reserve_only",
                _room_of(lambda usable, weights, reserves: weights + max(reserves, default=0)),
                "Did you subtract one of the reserves, instead of all?",
                (
                    "Can a graph's buffers lie in the runtime's memory?",
                    "The reserves exist at the same time.",
                    "Add them up.",
                ),
            ),
            Misconception(
                "two_gib_for_everything",
                _room_of(lambda usable, weights, reserves: weights + 2 * 2**30),
                "Did you subtract a fixed 2 GiB, instead of the reserves that were given?",
                (
                    "Where would that number come from?",
                    "There is no universal reserve: it is measured, and it differs.",
                    "Use sum(reserves.values()).",
                ),
            ),
            Misconception(
                "negative_room",
                _room_of(_everything, refuse=lambda left: False),
                "Did you return a negative number?",
                (
                    "What can somebody do with a room of minus one byte?",
                    "Too small a device is to be refused, clearly.",
                    "if room < 0: raise ValueError(…).",
                ),
            ),
            Misconception(
                "no_room_as_zero",
                _room_of(_everything, refuse=lambda left: False, shown=lambda left: max(0, left)),
                "Did you turn a negative room into 0?",
                (
                    "Does a server with no room for a request start at all?",
                    "Here not even the weights and reserves fit, and 0 hides that.",
                    "if room < 0: raise ValueError(…).",
                ),
            ),
            Misconception(
                "nothing_left_refused",
                _room_of(_everything, refuse=lambda left: left <= 0),
                "Did you refuse a room of exactly 0?",
                (
                    "Is anything missing when nothing is left?",
                    "Weights and reserves fit; there is only no room for a request.",
                    "Compare with < 0.",
                ),
            ),
        ),
        alternatives=(_room_by_paying, _room_of_a_list),
        hints=(
            "Everything that is not the cache comes off.",
            "reserves is a dict; its values are bytes.",
            "room = usable_bytes - weight_bytes - sum(reserves.values()); refuse it below 0.",
        ),
    ),
    Answer(
        exercise=_max_requests,
        expected=_fitting,
        misconceptions=(
            Misconception(
                "rounded_up",
                lambda room, size: -(-room // size),
                "Did you round up, and promise a request that does not fit?",
                (
                    "There is room for three and a half. How many can come?",
                    "Half a cache serves nobody.",
                    "room // bytes_per_request.",
                ),
            ),
            Misconception(
                "rounded_to_nearest",
                lambda room, size: round(room / size),
                "Did you round to the nearest number?",
                (
                    "There is room for three and three quarters. How many can come?",
                    "Almost a cache serves nobody.",
                    "room // bytes_per_request.",
                ),
            ),
            Misconception(
                "through_a_float",
                lambda room, size: int(room / size),
                "Did a division with / make a float of your count?",
                (
                    "How many digits does a float keep?",
                    "Above 2^53 a float skips whole numbers.",
                    "Use //, which stays with whole numbers.",
                ),
            ),
            Misconception(
                "one_kept_back",
                lambda room, size: max(0, (room - 1) // size),
                "Do you refuse the last request although it fits exactly?",
                (
                    "Ten bytes of room, five for each. How many?",
                    "A full room is allowed.",
                    "room // bytes_per_request.",
                ),
            ),
        ),
        alternatives=(_fit_by_divmod, _fit_by_doubling),
        hints=("A part of a request does not count.", "Stay with whole numbers.", "room // bytes_per_request."),
    ),
    Answer(
        exercise=_per_rank_fit,
        expected=_shares,
        misconceptions=(
            Misconception(
                "weights_on_every_rank",
                _per_rank(weights=lambda bits, tp: -(-bits // 8)),
                "Did you put all weights on every rank?",
                (
                    "Why does anybody use several devices for one model?",
                    "Tensor parallelism splits the weights.",
                    "Divide the bits by 8 * tp, and round up.",
                ),
            ),
            Misconception(
                "weights_rounded_down",
                _per_rank(weights=lambda bits, tp: bits // (8 * tp)),
                "Did you round the weights of a rank down?",
                (
                    "Seven bytes on two ranks: how many must a rank have room for?",
                    "Somebody holds the rest.",
                    "-(-num_params * weight_bits // (8 * tp)).",
                ),
            ),
            Misconception(
                "kv_heads_on_every_rank",
                _per_rank(heads=lambda stored, tp: stored),
                "Did you keep all KV heads on every rank?",
                (
                    "Which KV heads do the query heads of one rank read?",
                    "A rank needs the KV heads of its own query heads.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
            Misconception(
                "fraction_of_a_head",
                _per_rank(heads=lambda stored, tp: Fraction(stored, tp)),
                "Did you give a rank a part of a KV head?",
                (
                    "Twelve ranks, six KV heads: what does one rank store?",
                    "A query head reads whole keys, so that the head is replicated.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
            Misconception(
                "no_head_at_all",
                _per_rank(heads=lambda stored, tp: stored // tp),
                "Did whole-number division leave a rank without a KV head, so that a token has 0 bytes?",
                (
                    "6 // 12 is 0. What do the query heads of that rank read?",
                    "Beyond one head per rank the heads are replicated.",
                    "max(1, num_key_value_heads // tp).",
                ),
            ),
            Misconception(
                "indivisible_kv_heads",
                _per_rank(indivisible=_anything_goes),
                "Did you share out KV heads that cannot be shared out evenly?",
                (
                    "Six KV heads on four ranks. What does each one hold?",
                    "Either tp divides the KV heads, or the KV heads divide tp.",
                    "if kv_heads % tp and tp % kv_heads: raise ValueError(…).",
                ),
            ),
            Misconception(
                "replication_refused",
                _per_rank(indivisible=_no_replication),
                "Do you refuse more ranks than there are KV heads?",
                (
                    "What can two ranks do that need the same KV head?",
                    "Both can store it: that costs memory, and it works.",
                    "Refuse only if kv_heads % tp and tp % kv_heads.",
                ),
            ),
            Misconception(
                "indivisible_query_heads",
                _per_rank(query=False),
                "Do you accept query heads that cannot be shared out?",
                (
                    "Twelve query heads on eight ranks. What does each one compute?",
                    "tp must divide the query heads, whatever the KV heads say.",
                    "if num_attention_heads % tp: raise ValueError(…).",
                ),
            ),
            Misconception(
                "query_heads_stored",
                _per_rank(stored="num_attention_heads"),
                "Did you store K and V of every query head?",
                (
                    "Which heads have keys and values?",
                    "A group of query heads shares one KV head.",
                    "Use num_key_value_heads.",
                ),
                "https://github.com/hahnyuan/LLM-Viewer/issues/12",
            ),
            Misconception(
                "width_divided",
                _per_rank(width=lambda card: card["hidden_size"] // card["num_attention_heads"]),
                "Did you compute the head width as hidden size through heads?",
                (
                    "Does the card state a head width?",
                    "In many models it is not hidden_size / num_attention_heads.",
                    'Use card["head_dim"].',
                ),
                "https://github.com/LMCache/LMCache/issues/688",
            ),
            Misconception(
                "latent_divided",
                _per_rank(latent="divided"),
                "Did you split the latent over the ranks?",
                (
                    "Which query heads read the latent?",
                    "All do, so that every rank needs it whole.",
                    "(kv_lora_rank + qk_rope_head_dim) elements per layer and token, whatever tp is.",
                ),
            ),
            Misconception(
                "latent_as_heads",
                _per_rank(latent="as heads"),
                "Did you count KV heads in a model that stores a latent?",
                (
                    "What does kv_lora_rank on a card say?",
                    "Keys and values are made from the latent when they are needed.",
                    'if "kv_lora_rank" in card: no heads, one latent and one rotary key.',
                ),
            ),
            Misconception(
                "latent_twice",
                _per_rank(latent="twice"),
                "Did you count the latent twice, for K and for V?",
                (
                    "How many latents does a token have in a layer?",
                    "Keys and values come from the same latent.",
                    "No factor 2.",
                ),
            ),
            Misconception(
                "rotary_key_forgotten",
                _per_rank(latent="no key"),
                "Did you leave out the rotary key beside the latent?",
                (
                    "Which part of a key knows its position?",
                    "It does not go through the latent, so that it is stored beside it.",
                    "kv_lora_rank + qk_rope_head_dim.",
                ),
            ),
            Misconception(
                "reserve_forgotten",
                _per_rank(room=lambda device, reserve, weights, tp: max(0, device - weights)),
                "Did you leave the reserve out?",
                (
                    "What besides weights and cache lies on a rank?",
                    "reserve_bytes is kept on each rank.",
                    "device_bytes - reserve_bytes - weights.",
                ),
            ),
            Misconception(
                "reserve_divided",
                _per_rank(room=lambda device, reserve, weights, tp: max(0, device - reserve // tp - weights)),
                "Did you split the reserve over the ranks?",
                (
                    "Does every device run a runtime of its own?",
                    "reserve_bytes is a number for one rank already.",
                    "device_bytes - reserve_bytes - weights.",
                ),
            ),
            Misconception(
                "negative_requests",
                _per_rank(room=lambda device, reserve, weights, tp: device - reserve - weights),
                "Did you return a negative number of requests?",
                (
                    "What if the weights do not fit?",
                    "Then no request does.",
                    "max(0, room) // (context * per_token).",
                ),
            ),
            Misconception(
                "one_width_of_bits",
                _per_rank(bits=lambda weight_bits, kv_bits: (weight_bits, weight_bits)),
                "Did you use the bits of the weights for the cache as well?",
                (
                    "Which of the two widths belongs to K and V?",
                    "Weights and cache can be stored in different types.",
                    "kv_bits for the cache, weight_bits for the weights.",
                ),
            ),
            Misconception(
                "kv_bits_ignored",
                _per_rank(bits=lambda weight_bits, kv_bits: (weight_bits, 16)),
                "Does your cache have 16 bits whatever kv_bits says?",
                (
                    "What changes when the cache is stored in FP8?",
                    "An element of the cache has kv_bits bits.",
                    "elements * kv_bits // 8.",
                ),
            ),
            Misconception(
                "bits_as_bytes",
                _per_rank(weights=lambda bits, tp: -(-bits // tp), bits_of=1),
                "Did you take bits for bytes?",
                (
                    "How many bits has a byte?",
                    "weight_bits and kv_bits count bits, and all that you return counts bytes.",
                    "Divide by 8 wherever bits become bytes.",
                ),
            ),
            Misconception(
                "cache_bits_as_bytes",
                _per_rank(bits_of=1),
                "Did you take the bits of the cache for bytes?",
                (
                    "How many bits has a byte?",
                    "kv_bits counts bits, and kv_bytes_per_token counts bytes.",
                    "elements * kv_bits // 8.",
                ),
            ),
            Misconception(
                "keys_without_values",
                _per_rank(factor=1),
                "Did you store one element where K and V are two?",
                (
                    "What is cached for each KV head and token?",
                    "A key and a value, each of head_dim elements.",
                    "2 * heads * head_dim elements per layer.",
                ),
            ),
            Misconception(
                "requests_rounded_up",
                _per_rank(requests=lambda room, size: -(-room // size)),
                "Did you round the requests up?",
                ("Is a part of a request served?", "Only whole requests fit.", "room // (context * per_token)."),
            ),
        ),
        alternatives=(_fit_by_fractions, _per_rank(heads=lambda stored, tp: -(-stored // tp))),
        hints=(
            "Two refusals first, then three numbers, then a floor.",
            "KV heads of a rank: num_key_value_heads // tp, but at least one; a latent is not split.",
            "Per token 2 * layers * heads * head_dim * kv_bits // 8; weights -(-num_params * weight_bits // (8 * tp)).",
        ),
    ),
    Answer(
        exercise=_check_claim,
        expected=_claim,
        misconceptions=(
            Misconception(
                "weights_forgotten",
                _claim_of(weights=lambda params: 0),
                "Did you give all of the device to the cache?",
                (
                    "What lies on the device before the first request comes?",
                    "Weights of two bytes a parameter.",
                    "Subtract 2 * num_params.",
                ),
            ),
            Misconception(
                "one_byte_weights",
                _claim_of(weights=lambda params: params),
                "Did you count one byte for a parameter?",
                ("How many bits has a weight here?", "16 bits are two bytes.", "2 * num_params."),
            ),
            Misconception(
                "reserve_forgotten",
                _claim_of(reserved=lambda reserve: 0),
                "Did you leave the reserve out?",
                (
                    "Which claims hold with no reserve at all?",
                    "reserve_bytes is not the cache's.",
                    "Subtract reserve_bytes as well.",
                ),
            ),
            Misconception(
                "query_heads_stored",
                _claim_of(heads="num_attention_heads"),
                "Did you store K and V of every query head?",
                (
                    "Which heads have keys and values?",
                    "That would be the multi-head variant of the model.",
                    "Use num_key_value_heads.",
                ),
                "https://github.com/hahnyuan/LLM-Viewer/issues/12",
            ),
            Misconception(
                "width_divided",
                _claim_of(width=lambda card: card["hidden_size"] // card["num_attention_heads"]),
                "Did you compute the head width as hidden size through heads?",
                (
                    "Does the card state a head width?",
                    "In many models it is not hidden_size / num_attention_heads.",
                    'Use card["head_dim"].',
                ),
                "https://github.com/LMCache/LMCache/issues/688",
            ),
            Misconception(
                "rounded_up",
                _claim_of(fit=lambda room, size: max(0, -(-room // size))),
                "Did you round the requests up?",
                ("Is a part of a request served?", "Only whole requests fit.", "Use //."),
            ),
            Misconception(
                "refused_instead_of_none",
                _refusing_claim,
                "Does your kv_room refuse a device on which the weights do not fit, and nobody catches it?",
                (
                    "A claim about too small a device is wrong by how much?",
                    "Here the answer is 0 requests, and the bytes that are missing.",
                    "Compute the room yourself, and use max(0, room) for the requests.",
                ),
            ),
            Misconception(
                "negative_requests",
                _claim_of(fit=lambda room, size: room // size),
                "Did you return a negative number of requests?",
                ("What if the weights do not fit?", "Then no request does.", "max(0, room) // size."),
            ),
            Misconception(
                "spare_bytes_as_missing",
                _claim_of(missing=lambda claimed, fit, size, room: claimed * size - room),
                "Did you return a negative number of missing bytes where the claim holds?",
                (
                    "How many bytes are missing when none is?",
                    "A claim that holds misses 0.",
                    "max(0, claimed * size - room).",
                ),
            ),
            Misconception(
                "missing_from_no_room",
                _claim_of(missing=lambda claimed, fit, size, room: max(0, claimed * size - max(0, room))),
                "Did you forget what the weights lack already when you counted the missing bytes?",
                (
                    "The weights alone are too large. Are only the requests missing?",
                    "A room cut off at 0 forgets by how much the weights exceed the device.",
                    "max(0, …) for the requests only; missing_bytes takes the room as it is, below 0 too.",
                ),
            ),
            Misconception(
                "missing_in_whole_requests",
                _claim_of(missing=lambda claimed, fit, size, room: max(0, claimed - fit) * size),
                "Did you count whole requests as missing, although the rest of the room is there?",
                (
                    "Room for 3.7 requests, 4 are claimed. How much is missing?",
                    "The rest of the room helps.",
                    "max(0, claimed * size - room).",
                ),
            ),
        ),
        alternatives=(_claim_by_total, _claim_of(weights=lambda params: (params * 16 + 7) // 8)),
        hints=(
            "What does one request take, and what is left for all of them?",
            "room = usable_bytes - 2 * num_params - reserve_bytes; it may be negative here.",
            "requests: max(0, room) // size. missing_bytes: max(0, claimed * size - room).",
        ),
    ),
    Answer(
        exercise=_admit,
        expected=_admitted,
        misconceptions=(
            Misconception(
                "average_length",
                _admit_on_average,
                "Did you count the average request, instead of each one's own worst case?",
                (
                    "One request is ten times as long as the others. What happens when it comes to its end?",
                    "An average says nothing about those that are admitted.",
                    "Add up the blocks of each request's own prompt and limit.",
                ),
            ),
            Misconception(
                "prompt_only",
                _admitting(lambda prompt, answer, block: _up(prompt, block)),
                "Did you count the prompt alone?",
                (
                    "What happens to the cache with each token that is generated?",
                    "That the present fits promises nothing about the growth.",
                    "prompt + max_new - 1 tokens.",
                ),
            ),
            Misconception(
                "answer_only",
                _admitting(lambda prompt, answer, block: _up(answer, block)),
                "Did you count the generated tokens alone?",
                (
                    "What does the first generated token attend to?",
                    "The prompt's K and V stay.",
                    "prompt + max_new - 1 tokens.",
                ),
            ),
            Misconception(
                "floor_instead_of_ceiling",
                _admitting(lambda prompt, answer, block: (prompt + answer - 1) // block),
                "Did you round the blocks down?",
                (
                    "Where does the first token behind a full block go?",
                    "A block that is used in part is used.",
                    "-(-tokens // block).",
                ),
            ),
            Misconception(
                "last_token_reserved",
                _admitting(lambda prompt, answer, block: _up(prompt + answer, block)),
                "Did you reserve a slot for the last token, which nothing will ever read?",
                (
                    "Which step writes the K and V of a generated token?",
                    "The step that computes the next one. After the last there is none.",
                    "prompt + max_new - 1 tokens are written.",
                ),
            ),
            Misconception(
                "tails_shared",
                _admit_pooled,
                "Did you add up tokens of different requests before you rounded?",
                (
                    "May two requests write into one block?",
                    "Each has a last block of its own.",
                    "Round up for each request, then add.",
                ),
            ),
            Misconception(
                "prompt_and_answer_apart",
                _admitting(lambda prompt, answer, block: _up(prompt, block) + _up(answer - 1, block)),
                "Did you round prompt and answer up separately?",
                (
                    "Where does the first generated token go when the prompt's last block has room?",
                    "It is one sequence, with one last block.",
                    "Add first, then round up once for each request.",
                ),
            ),
            Misconception(
                "overtaking",
                _admitting(_worst, go_on=True),
                "Did a request behind one that does not fit get in?",
                (
                    "When does a long request get in if short ones always may pass?",
                    "The first that does not fit ends the admission.",
                    "break, not continue.",
                ),
            ),
            Misconception(
                "strictly_fewer",
                _admitting(_worst, enough=lambda cost, free: cost < free),
                "Did you refuse a request that takes exactly the blocks that are left?",
                ("Three blocks are needed, three are free.", "The last block may be used too.", "Compare with <=."),
            ),
            Misconception(
                "blocks_never_fewer",
                _admit_all_that_fit_alone,
                "Do you compare each request with all free blocks, as if nobody had been admitted before it?",
                (
                    "Six blocks are free, two requests of four blocks come. Who gets which?",
                    "Whoever is admitted takes blocks from those that follow.",
                    "free_blocks -= needed.",
                ),
            ),
            Misconception(
                "queue_taken_apart",
                _admit_from_the_queue_itself,
                "Do you take requests out of the queue that you were given?",
                (
                    "Whose list is it?",
                    "You were asked for names. Who called you may still need the queue.",
                    "for id, prompt_tokens, max_new_tokens in queue: …, and no pop.",
                ),
            ),
            Misconception(
                "noticed_too_late",
                _admitting(_worst, late=True),
                "Did you admit the request that shows that the blocks do not suffice?",
                (
                    "When do you compare, before or after you add the name?",
                    "Ask first, admit then.",
                    "if needed > free: break, before append.",
                ),
            ),
        ),
        alternatives=(_admit_by_pool, _admit_by_prefix),
        hints=(
            "How many tokens can one request write at most?",
            "Round up to blocks for each request; walk through the queue while they last.",
            "needed = -(-(prompt + max_new - 1) // block); if needed > free: break.",
        ),
    ),
    Answer(
        exercise=_scheduler,
        read=_followed,
        expected=_played,
        misconceptions=(
            Misconception(
                "budget_of_requests",
                _BudgetPerRequest,
                "Does your budget count requests, instead of tokens?",
                (
                    "How much work is a prompt of a thousand tokens?",
                    "A step processes at most token_budget tokens, of all requests together.",
                    "n = min(known - cached, budget); then budget -= n.",
                ),
            ),
            Misconception(
                "whole_prompt_or_nothing",
                _WholePromptOrNothing,
                "Does a prompt that is longer than what is left of the budget wait?",
                (
                    "When would a prompt longer than the whole budget come in?",
                    "A prompt is written in chunks.",
                    "n = min(known - cached, budget), and no condition on known.",
                ),
            ),
            Misconception(
                "admission_before_the_running",
                _AdmissionFirst,
                "Are newcomers let in before the running have had their turn?",
                (
                    "Who waits for a token: a newcomer, or somebody in the middle of a sentence?",
                    "The running come first; newcomers take what is left.",
                    "First the loop over the running, then the one over the queue.",
                ),
            ),
            Misconception(
                "youngest_first",
                _YoungestFirst,
                "Does the youngest of the running have its turn first?",
                (
                    "Who is served when the budget does not suffice for all?",
                    "Whoever came first has waited longest.",
                    "for request in list(self.running), to which newcomers are appended.",
                ),
            ),
            Misconception(
                "list_changed_while_walked",
                _WalksThroughTheList,
                "Do requests leave self.running while your loop walks through it?",
                (
                    "The first of three leaves the list during its turn. Which one comes next?",
                    "The list moves up under the loop, and one request is passed over in this step.",
                    "for request in list(self.running): a copy stays as it is.",
                ),
            ),
            Misconception(
                "turn_of_the_preempted",
                _TurnForThePreempted,
                "Does a request that was preempted in this very step still get its turn?",
                (
                    "The loop walks through a copy of the running. Who may have left since it was made?",
                    "Who was preempted has no sequence any more, and its table is asked for.",
                    "if request not in self.running: continue.",
                ),
            ),
            Misconception(
                "nobody_after_a_preemption",
                _NobodyAfterAPreemption,
                "Is nobody admitted in a step that preempted somebody?",
                (
                    "Budget is left, and the head of the queue fits. What forbids it here?",
                    "Rule 9 asks for budget and blocks, and for nothing else. vLLM does as you do.",
                    "No condition on preemptions in the loop over the queue.",
                ),
                "https://github.com/vllm-project/vllm/blob/v0.11.2/vllm/v1/core/sched/scheduler.py",
            ),
            Misconception(
                "nobody_joins",
                _Static,
                "Does the next batch wait until everybody of the last one is done?",
                (
                    "What does the budget do while one long answer is left?",
                    "Continuous batching: requests join and leave at every step.",
                    "Look at the queue in every step in which budget is left.",
                ),
            ),
            Misconception(
                "oldest_preempted",
                _OldestPreempted,
                "Is the oldest request preempted?",
                (
                    "Who would ever finish, if those that have waited longest are sent away?",
                    "The youngest has the least to lose, and the oldest must get through.",
                    "victim = self.running[-1].",
                ),
            ),
            Misconception(
                "anybody_but_itself",
                _LastBeforeMe,
                "Does the youngest send an older one away, instead of going itself?",
                (
                    "The request that lacks a block is the youngest. Who goes?",
                    "The youngest running one goes, even if it is the one that asks.",
                    "victim = self.running[-1], without an exception.",
                ),
            ),
            Misconception(
                "youngest_stalls",
                _YoungestStalls,
                "Does the youngest keep its blocks and stand still when it lacks one?",
                (
                    "Two requests wait for each other's blocks. Who moves?",
                    "Who cannot go on gives its blocks back.",
                    "Preempt until the blocks suffice, or until it was the request itself.",
                ),
            ),
            Misconception(
                "preempted_to_the_tail",
                _ToTheTail,
                "Does a preempted request go to the end of the queue?",
                (
                    "It came before all that wait. Where does it belong?",
                    "At the end it could be overtaken again and again.",
                    "Put it at the head: queue.insert(0, request).",
                ),
            ),
            Misconception(
                "preempted_in_the_wrong_order",
                _BackInTheWrongOrder,
                "Do two that are preempted in one step come back in the wrong order?",
                (
                    "The youngest is preempted first. Who must stand before whom?",
                    "Each one goes to the head when it is preempted, so that the older ends up in front.",
                    "queue.insert(0, request), one after the other.",
                ),
            ),
            Misconception(
                "generated_tokens_forgotten",
                _GeneratedForgotten,
                "Does a preempted request start again from its prompt, as if nothing had been generated?",
                (
                    "The user has seen three tokens already. What comes next?",
                    "The fourth. Prompt and generated tokens are computed again.",
                    "Set cached to 0, and leave known and the count of generated tokens.",
                ),
            ),
            Misconception(
                "prompt_alone_computed_again",
                _OnlyPromptAgain,
                "Is only the prompt computed again, and not the tokens that were generated?",
                (
                    "What does the fourth token attend to?",
                    "To the prompt and the three tokens before it.",
                    "Known tokens are prompt plus generated, and all of them are written again.",
                ),
            ),
            Misconception(
                "generated_tokens_one_step_late",
                _PromptOnReturn,
                "Does a preempted request write only its prompt in the step in which it returns?",
                (
                    "Budget is left. What keeps it from writing all that it knows?",
                    "Its turn is the same as any other: known - cached, as far as the budget goes.",
                    "n = min(known - cached, budget), where known counts the generated tokens too.",
                ),
            ),
            Misconception(
                "resumed_without_recomputation",
                _Resumed,
                "Does a preempted request go on as if its keys and values were still there?",
                (
                    "Who has its blocks now?",
                    "They were given away, and its K and V with them.",
                    "cached = 0 when it is preempted.",
                ),
            ),
            Misconception(
                "cached_kept",
                _CachedKept,
                "Does a request still count tokens as cached after it was preempted?",
                (
                    "A new sequence was allocated. How many tokens lie in it?",
                    "Its blocks went to others, and its table begins anew with nothing.",
                    "cached = 0 when it is preempted.",
                ),
            ),
            Misconception(
                "cached_kept_beside_a_new_table",
                _CachedKeptByAPool,
                "Does a request still count tokens as cached after it was preempted?",
                (
                    "A new sequence was allocated. How many tokens lie in it?",
                    "pool.append counts from the new, empty sequence, and you count from the old one.",
                    "cached = 0 when it is preempted.",
                ),
            ),
            Misconception(
                "blocks_kept_at_preemption",
                _PreemptKeepsBlocks,
                "Do the blocks of a preempted request never come back to the pool?",
                (
                    "Why was it preempted?",
                    "Its blocks are for others now.",
                    "pool.free(…) when it is preempted.",
                ),
            ),
            Misconception(
                "overtaking",
                _Overtaking,
                "Does a short request pass one that waits for blocks?",
                (
                    "When does a long request get in if short ones always may pass?",
                    "The head of the queue or nobody.",
                    "Look at waiting[0] alone; break if it does not fit.",
                ),
            ),
            Misconception(
                "first_chunk_only",
                _FirstChunkOnly,
                "Do you ask for the blocks of the first chunk alone?",
                (
                    "What happens when the second chunk finds no block?",
                    "It is preempted at once, and the work was for nothing.",
                    "Ask whether all known tokens fit: blocks_needed(known, block) <= free_blocks.",
                ),
            ),
            Misconception(
                "prompt_alone_asked_for",
                _AsksForThePrompt,
                "Do you ask for the blocks of the prompt alone when a preempted request returns?",
                (
                    "It had generated five tokens before it was preempted. What does it know?",
                    "All known tokens are written again, prompt and generated.",
                    "blocks_needed(known, block) <= free_blocks, where known counts the generated tokens too.",
                ),
            ),
            Misconception(
                "worst_case_asked_for",
                _WorstCase,
                "Does your scheduler wait until the worst case fits?",
                (
                    "Which rule says what must be free when a request is admitted?",
                    "The known tokens; growth is what preemption is for.",
                    "blocks_needed(known, block) <= free_blocks.",
                ),
            ),
            Misconception(
                "floor_instead_of_ceiling",
                _Floor,
                "Did you round the blocks of the known tokens down?",
                (
                    "Where does the first token behind a full block go?",
                    "A block that is used in part is used.",
                    "blocks_needed(known, block).",
                ),
            ),
            Misconception(
                "nobody_asks_for_blocks",
                _NobodyAsks,
                "Is a request admitted although its blocks are not there?",
                (
                    "How many blocks are free?",
                    "Budget alone lets nobody in.",
                    "Compare blocks_needed(known, block) with pool.free_blocks first.",
                ),
            ),
            Misconception(
                "blocks_kept_at_cancel",
                _CancelKeepsBlocks,
                "Do the blocks of a cancelled request never come back?",
                (
                    "Somebody closes the browser. Who frees the blocks?",
                    "cancel does, at once.",
                    "pool.free(…) if it was running.",
                ),
            ),
            Misconception(
                "unknown_cancelled",
                _CancelUnknown,
                "Does cancel pass over an id that neither waits nor runs?",
                (
                    "Whoever cancels a finished request has lost track. Who tells them?",
                    "The text asks for a KeyError.",
                    "raise KeyError(id).",
                ),
            ),
            Misconception(
                "blocks_freed_twice",
                _FreedTwice,
                "Are the blocks of a preempted request given back once more when it is cancelled or expires?",
                (
                    "What does a request hold that waits?",
                    "Nothing: its blocks went back when it was preempted, and may be somebody else's.",
                    "Forget its sequence when you free it.",
                ),
            ),
            Misconception(
                "blocks_kept_at_expiry",
                _ExpireKeepsBlocks,
                "Do the blocks of an expired request never come back?",
                (
                    "Whose are the blocks of a request that nobody waits for any more?",
                    "Expiry ends a request like cancellation.",
                    "pool.free(…) if it was running.",
                ),
            ),
            Misconception(
                "deadline_one_early",
                _DeadlineEarly,
                "Does a request expire in the very step that its deadline names?",
                (
                    "The deadline is step 3. May it take part in step 3?",
                    "Yes: the deadline is the last step that counts.",
                    "Expire when now > deadline.",
                ),
            ),
            Misconception(
                "running_never_expire",
                _WaitingExpireOnly,
                "Do only those that wait expire?",
                (
                    "Who still wants the answer of a request that is late?",
                    "A running one that is late costs blocks and budget.",
                    "Look at the running too.",
                ),
            ),
            Misconception(
                "waiting_never_expire",
                _RunningExpireOnly,
                "Do only those that run expire?",
                (
                    "Who still wants the answer of a request that is late?",
                    "A waiting one that is late would be computed for nobody.",
                    "Look at the queue too.",
                ),
            ),
            Misconception(
                "waiting_expire_first",
                _WaitingExpireFirst,
                "Do the waiting expire before the running?",
                (
                    "One that runs and one that waits are late in the same step. Whose event comes first?",
                    "The running, then the waiting.",
                    "for request in self.running + self.waiting.",
                ),
            ),
            Misconception(
                "expired_at_the_end",
                _ExpireLast,
                "Do you look at the deadlines only at the end of a step?",
                (
                    "What could be done with the blocks of a request that is late?",
                    "They serve others in the same step if the late go first.",
                    "Expire before anything else.",
                ),
            ),
            Misconception(
                "finished_one_step_late",
                _FinishLate,
                "Is a finished request noticed one step later?",
                (
                    "The last token is there. What is there to wait for?",
                    "It finishes in the step of its last token, and its blocks return in that step.",
                    "Ask right after the token.",
                ),
            ),
            Misconception(
                "blocks_kept_at_the_end",
                _FinishKeepsBlocks,
                "Do the blocks of a finished request never come back?",
                (
                    "How many requests can such a server answer?",
                    "What is finished is freed.",
                    "pool.free(…) together with the event.",
                ),
            ),
            Misconception(
                "last_token_written",
                _WritesTheLast,
                "Is the last token written before the request ends?",
                (
                    "Who would read its K and V?",
                    "No token comes after it.",
                    "Finish as soon as max_new_tokens are generated.",
                ),
            ),
            Misconception(
                "one_token_too_many",
                _OneTooMany,
                "Does a request generate one token more than it may?",
                (
                    "It may generate two. After which of its tokens does it end?",
                    "With the last one it ends, in the same step.",
                    "left -= 1 with each token, and the end as soon as left is 0.",
                ),
            ),
            Misconception(
                "no_token_from_the_prompt",
                _NoTokenFromPrefill,
                "Does the step that completes a prompt give no token?",
                (
                    "What comes out of the last row of a prompt?",
                    "The logits of the first token: that moment is the TTFT.",
                    "Whenever all known tokens are cached, there is a token.",
                ),
            ),
            Misconception(
                "refused_for_the_last_token",
                _RefusesTheLastToken,
                "Do you refuse a request that fits, because of its last token, which is never written?",
                (
                    "How many tokens does it write at most?",
                    "prompt + max_new - 1.",
                    "blocks_needed(prompt_tokens + max_new_tokens - 1, block) > num_blocks.",
                ),
            ),
            Misconception(
                "prompt_alone_asked_at_submit",
                _RefusesByPrompt,
                "Does submit look at the prompt alone?",
                (
                    "The request runs alone and grows. Does the pool hold its end?",
                    "One that can never finish alone would be preempted by itself for ever.",
                    "blocks_needed(prompt_tokens + max_new_tokens - 1, block) > num_blocks.",
                ),
            ),
            Misconception(
                "refused_and_queued",
                _RefusedStays,
                "Does a request that you refuse stand in the queue all the same?",
                (
                    "What does the queue look like after your ValueError?",
                    "Whoever is refused must not be let in later, nor stand in the way.",
                    "Compare first, raise, and only then append.",
                ),
            ),
            Misconception(
                "nobody_refused",
                _RefusesNobody,
                "Does submit take a request that cannot fit even alone?",
                (
                    "When would it come to the end?",
                    "It would block the head of the queue for ever.",
                    "Raise ValueError in submit.",
                ),
            ),
        ),
        explain=_told,
        alternatives=(_WithPool, _LowestFirst),
        hints=(
            "Per request: known and cached tokens, those still to come, a deadline, and its sequence while it runs.",
            "Three private helpers carry the load: forget a request, preempt the youngest, write n tokens.",
            "write: pool.append, cached += n, event; if cached == known: token, known += 1; after the last one finish.",
        ),
    ),
    Answer(
        exercise=_latency_report,
        expected=_report,
        misconceptions=(
            Misconception(
                "arrival_ignored",
                _latency(ttft=lambda arrival, stamps: stamps[0]),
                "Is your TTFT a time of day, instead of a wait?",
                ("When did the request arrive?", "A wait is a difference.", "stamps[0] - arrival."),
            ),
            Misconception(
                "ttft_from_the_first_gap",
                _latency(ttft=lambda arrival, stamps: stamps[1] - stamps[0] if stamps[1:] else stamps[0] - arrival),
                "Did you take the first gap between tokens for the TTFT?",
                (
                    "What does the user wait for first?",
                    "For the first token, from the arrival on.",
                    "stamps[0] - arrival.",
                ),
            ),
            Misconception(
                "mean_over_all_tokens",
                _latency(mean=lambda gaps, stamps: sum(gaps) / len(stamps) if gaps else None),
                "Did you divide the gaps by the number of tokens?",
                (
                    "Four tokens: how many gaps lie between them?",
                    "One fewer than tokens.",
                    "Divide by len(stamps) - 1.",
                ),
            ),
            Misconception(
                "ttft_among_the_gaps",
                _latency(gaps=lambda arrival, stamps: _gaps([arrival, *stamps])),
                "Did you count the wait for the first token among the gaps?",
                (
                    "Between which two tokens does the TTFT lie?",
                    "Gaps begin at the first token. The TTFT is a number of its own.",
                    "stamps[1] - stamps[0], stamps[2] - stamps[1], …",
                ),
            ),
            Misconception(
                "no_gap_as_zero",
                _latency(
                    mean=lambda gaps, stamps: sum(gaps) / max(1, len(gaps)) if gaps else 0.0,
                    top=lambda g: max(g, default=0.0),
                ),
                "Did you call the gap of a single token 0?",
                (
                    "Between which tokens would that gap lie?",
                    "There is none, and 0 would say that it was perfect.",
                    "None for both where there is one token.",
                ),
            ),
            Misconception(
                "median_gap",
                _latency(mean=lambda gaps, stamps: median(gaps) if gaps else None),
                "Did you take the median of the gaps?",
                (
                    "One token stalls. Does your number move?",
                    "The mean was asked for; the largest gap is another entry.",
                    "sum(gaps) / len(gaps).",
                ),
            ),
            Misconception(
                "end_to_end_from_the_first_token",
                _latency(end=lambda arrival, stamps: stamps[-1] - stamps[0]),
                "Does your end-to-end time begin at the first token?",
                (
                    "When did the user begin to wait?",
                    "At the arrival.",
                    "stamps[-1] - arrival.",
                ),
            ),
            Misconception(
                "nothing_for_no_token",
                _latency(empty=NOTHING),
                "Did you report on a request without a token?",
                (
                    "When did its first token come?",
                    "There is nothing to report, and silence would be counted as success.",
                    "raise ValueError where stamps is empty.",
                ),
            ),
            Misconception(
                "zeros_for_no_token",
                _latency(empty=dict.fromkeys(NOTHING, 0.0)),
                "Did you report zeros for a request without a token?",
                (
                    "Is that the fastest request of all?",
                    "There is nothing to report.",
                    "raise ValueError where stamps is empty.",
                ),
            ),
        ),
        alternatives=(_latency_by_ends, _latency()),
        hints=(
            "Two differences from the arrival, and the gaps between neighbours.",
            "One token has no gap: None. No token: ValueError.",
            "gaps = [b - a for a, b in zip(stamps, stamps[1:])].",
        ),
        tolerance=ATOL,
    ),
)
