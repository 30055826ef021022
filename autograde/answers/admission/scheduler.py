"""`Scheduler`: what is right, which mistakes are known, and what to say about them."""

from collections import deque
from math import inf

from autograde.answers.admission.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.exercises.admission import run_scheduler
from autograde.values import show
from kvlab.paging import BlockPool

# Which free block a scheduler takes is its own business, so nothing looks at block ids: a storage is kept, and each
# token is written through the table that its event shows.
IN_TWO = ("expire", "preempt", "admit", "token", "finish")  # events of a kind and an id


class Storage:
    """Owns the slots. A token is written where the table of its event says; then all of the request is read back."""

    def __init__(self, num_blocks: int, block_size: int):
        self.num_blocks, self.block_size = num_blocks, block_size
        self.slots: list[tuple | None] = [None] * (num_blocks * block_size)  # whose token, at which position
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
        places = [block_id * self.block_size + offset for block_id in table for offset in range(self.block_size)][
            : len(tokens)
        ]
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


class TokenByToken:
    """All requests in the order in which they came, each a dict; its state is read off its fields."""

    def __init__(self, token_budget, num_blocks, block_size):
        self.budget, self.blocks, self.block_size, self.now = token_budget, range(num_blocks), block_size, 0
        self.requests = []

    def alive(self, *states):
        return [each for each in self.requests if each["state"] in states]

    def unheld(self):
        held = {block_id for each in self.requests for block_id in each["table"]}
        return [block_id for block_id in self.blocks if block_id not in held]

    def submit(self, id, prompt_tokens, max_new_tokens, deadline=None):
        opened = [position for position in range(prompt_tokens + max_new_tokens - 1) if position % self.block_size == 0]
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
            if (first["todo"] + first["tokens"] - 1) // self.block_size >= len(self.unheld()):
                break
            first["state"] = "running"
            self.events.append(["admit", first["id"]])
            self.serve(first)
        return self.events

    def serve(self, request):
        n = 0
        while self.left > n and request["written"] < request["todo"] + request["tokens"]:
            if request["written"] == len(request["table"]) * self.block_size:
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
    return _followed(case, run_scheduler(TokenByToken, case))


class _Job:
    def __init__(self, id, prompt, answer, last):
        self.id, self.prompt, self.answer, self.last = id, prompt, answer, last
        self.known, self.made, self.cached, self.table = prompt, 0, 0, []
        self.lost = 0  # tokens that a wrong scheduler takes for cached


class _Books:
    """Right: a stack of free blocks, a queue, and the running in the order in which they came."""

    def __init__(self, token_budget, num_blocks, block_size):
        self.budget, self.size, self.block_size, self.now = token_budget, num_blocks, block_size, 0
        self.unused = list(range(num_blocks))
        self.queue, self.running = [], []

    def most(self, prompt, answer):
        return ceil_div(prompt + answer - 1, self.block_size)

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
        return ceil_div(job.cached + n, self.block_size) - len(job.table)

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
        return ceil_div(job.known, self.block_size) <= len(self.unused)

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

    def __init__(self, token_budget, num_blocks, block_size):
        self.budget, self.pool, self.total, self.block_size = (
            token_budget,
            BlockPool(num_blocks, block_size),
            num_blocks,
            block_size,
        )
        self.step_number, self.requests = 0, {}  # in the order of arrival

    def submit(self, id, prompt_tokens, max_new_tokens, deadline=None):
        if prompt_tokens + max_new_tokens - 1 > self.total * self.block_size:
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
            if not budget or -(-request["known"] // self.block_size) > self.pool.free_blocks:
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
        while len(job.table) * self.block_size < job.cached - job.lost + n:
            job.table.append(self.unused.pop())


class _CachedKeptByAPool(_CachedKept):
    """The same, where it is the new sequence that says how many blocks are missing."""

    def missing(self, job, n):
        return ceil_div(job.cached - job.lost + n, self.block_size) - len(job.table)


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
        return ceil_div(job.prompt, self.block_size) <= len(self.unused)


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
        return ceil_div(self.chunk(job), self.block_size) <= len(self.unused)


class _WorstCase(_Books):
    """Blocks for everything that may come must be free, although they are not kept."""

    def fits(self, job):
        return self.most(job.prompt, job.answer) <= len(self.unused)


class _Floor(_Books):
    def fits(self, job):
        return job.known // self.block_size <= len(self.unused)


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
        return ceil_div(prompt + answer, self.block_size)


class _RefusesByPrompt(_Books):
    def most(self, prompt, answer):
        return ceil_div(prompt, self.block_size)


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


ANSWER = Answer(
    exercise=exercise("Scheduler"),
    expected=_played,
    read=_followed,
    explain=_told,
    misconceptions=(
        Misconception(
            "budget_of_requests",
            _BudgetPerRequest,
            Advice(
                "Does your budget count requests, instead of tokens?",
                (
                    "How much work is a prompt of a thousand tokens?",
                    "A step processes at most token_budget tokens, of all requests together.",
                    "n = min(known - cached, budget); then budget -= n.",
                ),
            ),
        ),
        Misconception(
            "whole_prompt_or_nothing",
            _WholePromptOrNothing,
            Advice(
                "Does a prompt that is longer than what is left of the budget wait?",
                (
                    "When would a prompt longer than the whole budget come in?",
                    "A prompt is written in chunks.",
                    "n = min(known - cached, budget), and no condition on known.",
                ),
            ),
        ),
        Misconception(
            "admission_before_the_running",
            _AdmissionFirst,
            Advice(
                "Are newcomers let in before the running have had their turn?",
                (
                    "Who waits for a token: a newcomer, or somebody in the middle of a sentence?",
                    "The running come first; newcomers take what is left.",
                    "First the loop over the running, then the one over the queue.",
                ),
            ),
        ),
        Misconception(
            "youngest_first",
            _YoungestFirst,
            Advice(
                "Does the youngest of the running have its turn first?",
                (
                    "Who is served when the budget does not suffice for all?",
                    "Whoever came first has waited longest.",
                    "for request in list(self.running), to which newcomers are appended.",
                ),
            ),
        ),
        Misconception(
            "list_changed_while_walked",
            _WalksThroughTheList,
            Advice(
                "Do requests leave self.running while your loop walks through it?",
                (
                    "The first of three leaves the list during its turn. Which one comes next?",
                    "The list moves up under the loop, and one request is passed over in this step.",
                    "for request in list(self.running): a copy stays as it is.",
                ),
            ),
        ),
        Misconception(
            "turn_of_the_preempted",
            _TurnForThePreempted,
            Advice(
                "Does a request that was preempted in this very step still get its turn?",
                (
                    "The loop walks through a copy of the running. Who may have left since it was made?",
                    "Who was preempted has no sequence any more, and its table is asked for.",
                    "if request not in self.running: continue.",
                ),
            ),
        ),
        Misconception(
            "nobody_after_a_preemption",
            _NobodyAfterAPreemption,
            Advice(
                "Is nobody admitted in a step that preempted somebody?",
                (
                    "Budget is left, and the head of the queue fits. What forbids it here?",
                    "Rule 9 asks for budget and blocks, and for nothing else. vLLM does as you do.",
                    "No condition on preemptions in the loop over the queue.",
                ),
                source="vllm-project/vllm@v0.11.2: its scheduler admits nobody in a step that preempted somebody.",
            ),
        ),
        Misconception(
            "nobody_joins",
            _Static,
            Advice(
                "Does the next batch wait until everybody of the last one is done?",
                (
                    "What does the budget do while one long answer is left?",
                    "Continuous batching: requests join and leave at every step.",
                    "Look at the queue in every step in which budget is left.",
                ),
            ),
        ),
        Misconception(
            "oldest_preempted",
            _OldestPreempted,
            Advice(
                "Is the oldest request preempted?",
                (
                    "Who would ever finish, if those that have waited longest are sent away?",
                    "The youngest has the least to lose, and the oldest must get through.",
                    "victim = self.running[-1].",
                ),
            ),
        ),
        Misconception(
            "anybody_but_itself",
            _LastBeforeMe,
            Advice(
                "Does the youngest send an older one away, instead of going itself?",
                (
                    "The request that lacks a block is the youngest. Who goes?",
                    "The youngest running one goes, even if it is the one that asks.",
                    "victim = self.running[-1], without an exception.",
                ),
            ),
        ),
        Misconception(
            "youngest_stalls",
            _YoungestStalls,
            Advice(
                "Does the youngest keep its blocks and stand still when it lacks one?",
                (
                    "Two requests wait for each other's blocks. Who moves?",
                    "Who cannot go on gives its blocks back.",
                    "Preempt until the blocks suffice, or until it was the request itself.",
                ),
            ),
        ),
        Misconception(
            "preempted_to_the_tail",
            _ToTheTail,
            Advice(
                "Does a preempted request go to the end of the queue?",
                (
                    "It came before all that wait. Where does it belong?",
                    "At the end it could be overtaken again and again.",
                    "Put it at the head: queue.insert(0, request).",
                ),
            ),
        ),
        Misconception(
            "preempted_in_the_wrong_order",
            _BackInTheWrongOrder,
            Advice(
                "Do two that are preempted in one step come back in the wrong order?",
                (
                    "The youngest is preempted first. Who must stand before whom?",
                    "Each one goes to the head when it is preempted, so that the older ends up in front.",
                    "queue.insert(0, request), one after the other.",
                ),
            ),
        ),
        Misconception(
            "generated_tokens_forgotten",
            _GeneratedForgotten,
            Advice(
                "Does a preempted request start again from its prompt, as if nothing had been generated?",
                (
                    "The user has seen three tokens already. What comes next?",
                    "The fourth. Prompt and generated tokens are computed again.",
                    "Set cached to 0, and leave known and the count of generated tokens.",
                ),
            ),
        ),
        Misconception(
            "prompt_alone_computed_again",
            _OnlyPromptAgain,
            Advice(
                "Is only the prompt computed again, and not the tokens that were generated?",
                (
                    "What does the fourth token attend to?",
                    "To the prompt and the three tokens before it.",
                    "Known tokens are prompt plus generated, and all of them are written again.",
                ),
            ),
        ),
        Misconception(
            "generated_tokens_one_step_late",
            _PromptOnReturn,
            Advice(
                "Does a preempted request write only its prompt in the step in which it returns?",
                (
                    "Budget is left. What keeps it from writing all that it knows?",
                    "Its turn is the same as any other: known - cached, as far as the budget goes.",
                    "n = min(known - cached, budget), where known counts the generated tokens too.",
                ),
            ),
        ),
        Misconception(
            "resumed_without_recomputation",
            _Resumed,
            Advice(
                "Does a preempted request go on as if its keys and values were still there?",
                (
                    "Who has its blocks now?",
                    "They were given away, and its K and V with them.",
                    "cached = 0 when it is preempted.",
                ),
            ),
        ),
        Misconception(
            "cached_kept",
            _CachedKept,
            Advice(
                "Does a request still count tokens as cached after it was preempted?",
                (
                    "A new sequence was allocated. How many tokens lie in it?",
                    "Its blocks went to others, and its table begins anew with nothing.",
                    "cached = 0 when it is preempted.",
                ),
            ),
        ),
        Misconception(
            "cached_kept_beside_a_new_table",
            _CachedKeptByAPool,
            Advice(
                "Does a request still count tokens as cached after it was preempted?",
                (
                    "A new sequence was allocated. How many tokens lie in it?",
                    "pool.append counts from the new, empty sequence, and you count from the old one.",
                    "cached = 0 when it is preempted.",
                ),
            ),
        ),
        Misconception(
            "blocks_kept_at_preemption",
            _PreemptKeepsBlocks,
            Advice(
                "Do the blocks of a preempted request never come back to the pool?",
                (
                    "Why was it preempted?",
                    "Its blocks are for others now.",
                    "pool.free(…) when it is preempted.",
                ),
            ),
        ),
        Misconception(
            "overtaking",
            _Overtaking,
            Advice(
                "Does a short request pass one that waits for blocks?",
                (
                    "When does a long request get in if short ones always may pass?",
                    "The head of the queue or nobody.",
                    "Look at waiting[0] alone; break if it does not fit.",
                ),
            ),
        ),
        Misconception(
            "first_chunk_only",
            _FirstChunkOnly,
            Advice(
                "Do you ask for the blocks of the first chunk alone?",
                (
                    "What happens when the second chunk finds no block?",
                    "It is preempted at once, and the work was for nothing.",
                    "Ask whether all known tokens fit: blocks_needed(known, block_size) <= free_blocks.",
                ),
            ),
        ),
        Misconception(
            "prompt_alone_asked_for",
            _AsksForThePrompt,
            Advice(
                "Do you ask for the blocks of the prompt alone when a preempted request returns?",
                (
                    "It had generated five tokens before it was preempted. What does it know?",
                    "All known tokens are written again, prompt and generated.",
                    "blocks_needed(known, block_size) <= free_blocks, where known counts the generated tokens too.",
                ),
            ),
        ),
        Misconception(
            "worst_case_asked_for",
            _WorstCase,
            Advice(
                "Does your scheduler wait until the worst case fits?",
                (
                    "Which rule says what must be free when a request is admitted?",
                    "The known tokens; growth is what preemption is for.",
                    "blocks_needed(known, block_size) <= free_blocks.",
                ),
            ),
        ),
        Misconception(
            "floor_instead_of_ceiling",
            _Floor,
            Advice(
                "Did you round the blocks of the known tokens down?",
                (
                    "Where does the first token behind a full block go?",
                    "A block that is used in part is used.",
                    "blocks_needed(known, block_size).",
                ),
            ),
        ),
        Misconception(
            "nobody_asks_for_blocks",
            _NobodyAsks,
            Advice(
                "Is a request admitted although its blocks are not there?",
                (
                    "How many blocks are free?",
                    "Budget alone lets nobody in.",
                    "Compare blocks_needed(known, block_size) with pool.free_blocks first.",
                ),
            ),
        ),
        Misconception(
            "blocks_kept_at_cancel",
            _CancelKeepsBlocks,
            Advice(
                "Do the blocks of a cancelled request never come back?",
                (
                    "Somebody closes the browser. Who frees the blocks?",
                    "cancel does, at once.",
                    "pool.free(…) if it was running.",
                ),
            ),
        ),
        Misconception(
            "unknown_cancelled",
            _CancelUnknown,
            Advice(
                "Does cancel pass over an id that neither waits nor runs?",
                (
                    "Whoever cancels a finished request has lost track. Who tells them?",
                    "The text asks for a KeyError.",
                    "raise KeyError(id).",
                ),
            ),
        ),
        Misconception(
            "blocks_freed_twice",
            _FreedTwice,
            Advice(
                "Are the blocks of a preempted request given back once more when it is cancelled or expires?",
                (
                    "What does a request hold that waits?",
                    "Nothing: its blocks went back when it was preempted, and may be somebody else's.",
                    "Forget its sequence when you free it.",
                ),
            ),
        ),
        Misconception(
            "blocks_kept_at_expiry",
            _ExpireKeepsBlocks,
            Advice(
                "Do the blocks of an expired request never come back?",
                (
                    "Whose are the blocks of a request that nobody waits for any more?",
                    "Expiry ends a request like cancellation.",
                    "pool.free(…) if it was running.",
                ),
            ),
        ),
        Misconception(
            "deadline_one_early",
            _DeadlineEarly,
            Advice(
                "Does a request expire in the very step that its deadline names?",
                (
                    "The deadline is step 3. May it take part in step 3?",
                    "Yes: the deadline is the last step that counts.",
                    "Expire when now > deadline.",
                ),
            ),
        ),
        Misconception(
            "running_never_expire",
            _WaitingExpireOnly,
            Advice(
                "Do only those that wait expire?",
                (
                    "Who still wants the answer of a request that is late?",
                    "A running one that is late costs blocks and budget.",
                    "Look at the running too.",
                ),
            ),
        ),
        Misconception(
            "waiting_never_expire",
            _RunningExpireOnly,
            Advice(
                "Do only those that run expire?",
                (
                    "Who still wants the answer of a request that is late?",
                    "A waiting one that is late would be computed for nobody.",
                    "Look at the queue too.",
                ),
            ),
        ),
        Misconception(
            "waiting_expire_first",
            _WaitingExpireFirst,
            Advice(
                "Do the waiting expire before the running?",
                (
                    "One that runs and one that waits are late in the same step. Whose event comes first?",
                    "The running, then the waiting.",
                    "for request in self.running + self.waiting.",
                ),
            ),
        ),
        Misconception(
            "expired_at_the_end",
            _ExpireLast,
            Advice(
                "Do you look at the deadlines only at the end of a step?",
                (
                    "What could be done with the blocks of a request that is late?",
                    "They serve others in the same step if the late go first.",
                    "Expire before anything else.",
                ),
            ),
        ),
        Misconception(
            "finished_one_step_late",
            _FinishLate,
            Advice(
                "Is a finished request noticed one step later?",
                (
                    "The last token is there. What is there to wait for?",
                    "It finishes in the step of its last token, and its blocks return in that step.",
                    "Ask right after the token.",
                ),
            ),
        ),
        Misconception(
            "blocks_kept_at_the_end",
            _FinishKeepsBlocks,
            Advice(
                "Do the blocks of a finished request never come back?",
                (
                    "How many requests can such a server answer?",
                    "What is finished is freed.",
                    "pool.free(…) together with the event.",
                ),
            ),
        ),
        Misconception(
            "last_token_written",
            _WritesTheLast,
            Advice(
                "Is the last token written before the request ends?",
                (
                    "Who would read its K and V?",
                    "No token comes after it.",
                    "Finish as soon as max_new_tokens are generated.",
                ),
            ),
        ),
        Misconception(
            "one_token_too_many",
            _OneTooMany,
            Advice(
                "Does a request generate one token more than it may?",
                (
                    "It may generate two. After which of its tokens does it end?",
                    "With the last one it ends, in the same step.",
                    "left -= 1 with each token, and the end as soon as left is 0.",
                ),
            ),
        ),
        Misconception(
            "no_token_from_the_prompt",
            _NoTokenFromPrefill,
            Advice(
                "Does the step that completes a prompt give no token?",
                (
                    "What comes out of the last row of a prompt?",
                    "The logits of the first token: that moment is the TTFT.",
                    "Whenever all known tokens are cached, there is a token.",
                ),
            ),
        ),
        Misconception(
            "refused_for_the_last_token",
            _RefusesTheLastToken,
            Advice(
                "Do you refuse a request that fits, because of its last token, which is never written?",
                (
                    "How many tokens does it write at most?",
                    "prompt + max_new - 1.",
                    "blocks_needed(prompt_tokens + max_new_tokens - 1, block_size) > num_blocks.",
                ),
            ),
        ),
        Misconception(
            "prompt_alone_asked_at_submit",
            _RefusesByPrompt,
            Advice(
                "Does submit look at the prompt alone?",
                (
                    "The request runs alone and grows. Does the pool hold its end?",
                    "One that can never finish alone would be preempted by itself for ever.",
                    "blocks_needed(prompt_tokens + max_new_tokens - 1, block_size) > num_blocks.",
                ),
            ),
        ),
        Misconception(
            "refused_and_queued",
            _RefusedStays,
            Advice(
                "Does a request that you refuse stand in the queue all the same?",
                (
                    "What does the queue look like after your ValueError?",
                    "Whoever is refused must not be let in later, nor stand in the way.",
                    "Compare first, raise, and only then append.",
                ),
            ),
        ),
        Misconception(
            "nobody_refused",
            _RefusesNobody,
            Advice(
                "Does submit take a request that cannot fit even alone?",
                (
                    "When would it come to the end?",
                    "It would block the head of the queue for ever.",
                    "Raise ValueError in submit.",
                ),
            ),
        ),
    ),
    alternatives=(_WithPool, _LowestFirst),
    hints=(
        "Per request: known and cached tokens, those still to come, a deadline, and its sequence while it runs.",
        "Three private helpers carry the load: forget a request, preempt the youngest, write n tokens.",
        "write: pool.append, cached += n, event; if cached == known: token, known += 1; after the last one finish.",
    ),
)
