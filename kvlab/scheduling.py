"""Who runs, step by step: admission by the worst case, continuous batching with a token budget, and latencies.

This is the library's version of what lesson 10 builds by hand. Blocks are `kvlab.paging`'s. A request of P prompt
tokens that generates M writes P + M - 1 of them to the cache: nothing reads the last one, so it is never written.
As in vLLM's scheduler, running requests come first, prompts in chunks, and who is preempted is computed again; lesson
10 lists what vLLM does otherwise.
"""

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

from kvlab.paging import BlockPool, blocks_needed
from kvlab.sizes import whole


def admit(queue: Iterable[tuple[Hashable, int, int]], free_blocks: int, block_size: int) -> list[Hashable]:
    """The ids of those at the head of `queue` whose worst case fits: each (id, prompt_tokens, max_new_tokens).

    Nobody overtakes: the first that does not fit ends it. TypeError or ValueError on what is no count.
    """
    admitted, left = [], whole("free_blocks", free_blocks, 0)
    for id, prompt_tokens, max_new_tokens in queue:
        left -= _worst_case(prompt_tokens, max_new_tokens, block_size)
        if left < 0:
            break
        admitted.append(id)
    return admitted


def _worst_case(prompt_tokens: int, max_new_tokens: int, block_size: int) -> int:
    """Blocks of all the tokens that a request can ever write."""
    written = whole("prompt_tokens", prompt_tokens) + whole("max_new_tokens", max_new_tokens) - 1
    return blocks_needed(written, block_size)


@dataclass(eq=False, slots=True)
class _Request:
    id: Hashable
    known: int  # tokens of the prompt, and generated so far
    left: int  # tokens still to be generated
    deadline: float
    cached: int = 0  # of the known tokens
    sequence: int = -1  # its id in the pool while it runs


class Scheduler:
    """Plays steps of a server with `token_budget` tokens a step and `num_blocks` blocks of `block_size` slots.

    `step` returns what happened, as tuples in this order: ("expire", id); then for the running, oldest first,
    ("preempt", id) of the youngest while blocks are missing, ("write", id, n, table) for n tokens, ("token", id) where
    all known tokens are cached, ("finish", id) with the last; then, while budget is left and all its known tokens fit,
    the head of the queue after ("admit", id).
    """

    def __init__(self, token_budget: int, num_blocks: int, block_size: int):
        self.token_budget = whole("token_budget", token_budget)
        self.num_blocks = num_blocks
        self.pool = BlockPool(num_blocks, block_size)
        self.now = 0  # number of the last step
        self.waiting: deque[_Request] = deque()
        self.running: list[_Request] = []  # oldest first, as is the queue, of which all are younger

    def submit(self, id: Hashable, prompt_tokens: int, max_new_tokens: int, deadline: int | None = None) -> None:
        """Put a request at the end of the queue; `deadline` is the last step that it may take part in.

        ValueError where it could not be finished although it had the whole pool, or where the id is in use.
        """
        most = _worst_case(prompt_tokens, max_new_tokens, self.pool.block_size)
        if most > self.num_blocks:
            raise ValueError(f"{id} can need {most} blocks, and the pool has {self.num_blocks}")
        if any(each.id == id for each in chain(self.running, self.waiting)):
            raise ValueError(f"id: {id!r} is waiting or running already")
        last = float("inf") if deadline is None else whole("deadline", deadline, 0)
        self.waiting.append(_Request(id, prompt_tokens, max_new_tokens, last))

    def cancel(self, id: Hashable) -> None:
        """Forget a request that waits or runs, at once. KeyError for any other."""
        for request in chain(self.running, self.waiting):
            if request.id == id:
                return self._drop(request)
        raise KeyError(id)

    def step(self) -> list[tuple]:
        """Play one step. Returns its events."""
        self.now += 1
        late = [each for each in chain(self.running, self.waiting) if each.deadline < self.now]
        for request in late:
            self._drop(request)
        events = [("expire", request.id) for request in late]
        budget = self.token_budget
        # Only the youngest leave `running` while it is walked through, and those that have just had their turn.
        for request in list(self.running):
            n = min(request.known - request.cached, budget)
            while request.sequence >= 0 and not self._fits(request, n):
                events.append(self._preempt())
            if n == 0 or request.sequence < 0:
                break
            self._write(request, n, events)
            budget -= n
        while self.waiting and budget:
            request = self.waiting[0]
            if blocks_needed(request.known, self.pool.block_size) > self.pool.free_blocks:
                break
            self.running.append(self.waiting.popleft())
            request.sequence = self.pool.allocate(0)
            events.append(("admit", request.id))
            n = min(request.known, budget)
            self._write(request, n, events)
            budget -= n
        return events

    def _fits(self, request: _Request, n: int) -> bool:
        block_size = self.pool.block_size
        # Not by `blocks_needed`, whose checks would take a third of the time of a step.
        more = -(-(request.cached + n) // block_size) - -(-request.cached // block_size)
        return more <= self.pool.free_blocks

    def _preempt(self) -> tuple:
        """Send the youngest back to the head of the queue. What it generated stays known and is computed again."""
        youngest = self.running[-1]
        self._drop(youngest)
        youngest.cached = 0
        self.waiting.appendleft(youngest)
        return "preempt", youngest.id

    def _write(self, request: _Request, n: int, events: list[tuple]) -> None:
        self.pool.append(request.sequence, n)
        request.cached += n
        events.append(("write", request.id, n, self.pool.table(request.sequence)))
        if request.cached == request.known:
            events.append(("token", request.id))
            request.known += 1
            request.left -= 1
            if request.left == 0:
                self._drop(request)
                events.append(("finish", request.id))

    def _drop(self, request: _Request) -> None:
        if request.sequence < 0:
            self.waiting.remove(request)
            return
        self.running.remove(request)
        self.pool.free(request.sequence)
        request.sequence = -1


def latency_report(arrival: float, stamps: Iterable[float]) -> dict[str, float | None]:
    """ttft, mean_itl, max_itl and end_to_end in seconds, from the time of arrival and of each token.

    Gaps between tokens (ITL) are None where there is one token. ValueError where there is none.
    """
    stamps = list(stamps)
    if not stamps:
        raise ValueError("stamps: wanted the time of at least one token, got none")
    gaps = [after - before for before, after in pairwise(stamps)]
    return {
        "ttft": stamps[0] - arrival,
        "mean_itl": sum(gaps) / len(gaps) if gaps else None,
        "max_itl": max(gaps, default=None),
        "end_to_end": stamps[-1] - arrival,
    }
