"""The library's scheduler: replayed traces keep their invariants, and a simulator written another way agrees."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.answers.admission.scheduler import TokenByToken
from autograde.course import lesson
from autograde.judge import trace
from autograde.values import same
from kvlab import paging, scheduling
from kvlab.figures.picture import when_written
from kvlab.scheduling import Scheduler, admit, latency_report
from tests.notebooks import learner_of, read


@pytest.fixture(scope="module")
def learner():
    """The functions of the solution, as a learner would have written them."""
    return learner_of(lesson("10_admission"), blocks_needed=paging.blocks_needed, BlockPool=paging.BlockPool)


@st.composite
def traffic(draw):
    """Sizes of a scheduler, and calls: submissions, cancellations and steps."""
    budget, blocks, block_size = draw(st.integers(1, 12)), draw(st.integers(1, 8)), draw(st.integers(1, 5))
    calls, ids = [], 0
    for kind in draw(st.lists(st.sampled_from(["submit", "submit", "step", "step", "step", "cancel"]), max_size=30)):
        if kind == "submit":
            deadline = draw(st.none() | st.integers(1, 20))
            calls.append(("submit", f"r{ids}", draw(st.integers(1, 20)), draw(st.integers(1, 9)), deadline))
            ids += 1
        elif kind == "step" or not ids:
            calls.append(("step",))
        else:
            calls.append(("cancel", f"r{draw(st.integers(0, ids - 1))}"))
    return (budget, blocks, block_size), calls


def attempt(thing, name, *arguments):
    try:
        return getattr(thing, name)(*arguments)
    except (ValueError, KeyError) as error:
        return type(error).__name__


def shape(events):
    """Events without block ids, which are the pool's business."""
    if type(events) is not list:
        return events
    return [(*event[:3], *(len(table) for table in event[3:])) for event in events]


@settings(max_examples=300, deadline=None)
@given(traffic())
def test_a_simulator_without_a_pool_or_a_queue_says_the_same_and_so_does_the_solution(learner, given_traffic):
    sizes, calls = given_traffic
    ours, other, theirs = Scheduler(*sizes), TokenByToken(*sizes), learner["Scheduler"](*sizes)
    for call in [*calls, *[("step",)] * 40]:
        wanted = shape(attempt(other, *call))
        assert shape(attempt(ours, *call)) == wanted
        assert shape(attempt(theirs, *call)) == wanted


@settings(max_examples=200, deadline=None)
@given(traffic())
def test_no_block_has_two_owners_none_is_lost_and_nobody_starves(given_traffic):
    (budget, blocks, block_size), calls = given_traffic
    server = Scheduler(budget, blocks, block_size)
    tables, order, left = {}, [], Counter()
    for call in [*calls, *[("step",)] * 400]:
        done = attempt(server, *call)
        if call[0] == "submit" and done is None:
            left[call[1]] = call[3]
            order.append(call[1])
        if call[0] == "cancel" and done is None:
            tables.pop(call[1], None)
            order.remove(call[1])
        if call[0] != "step":
            continue
        spent = 0
        for kind, id, *more in done:
            if kind == "preempt":
                # Never the oldest of those that run.
                assert [name for name in order if name in tables].index(id) > 0
            if kind == "write":
                n, tables[id] = more
                spent += n
                assert n >= 1
            if kind == "token":
                left[id] -= 1
            if kind == "finish":
                assert left[id] == 0
            if kind in ("preempt", "finish", "expire"):
                tables.pop(id, None)
            if kind in ("finish", "expire"):
                order.remove(id)
            held = Counter(number for table in tables.values() for number in table)
            assert all(count == 1 for count in held.values())
        assert spent <= budget
        assert server.pool.free_blocks == blocks - sum(map(len, tables.values()))
        assert [each.id for each in server.running] + [each.id for each in server.waiting] == order
    assert not order and server.pool.free_blocks == blocks


def test_the_oldest_gets_on_in_every_step():
    server = Scheduler(3, 5, 4)
    for number in range(6):
        server.submit(number, 9, 8)
    while server.waiting or server.running:
        oldest = (server.running or server.waiting)[0].id
        assert any(event[:2] == ("write", oldest) for event in server.step())


def test_a_larger_budget_admits_nobody_later():
    firsts = []
    for budget in (4, 8, 32, 200):
        server, steps = Scheduler(budget, 20, 4), {}
        for number in range(8):
            server.submit(number, 10, 4)
        for step in range(1, 60):
            for event in server.step():
                if event[0] == "admit":
                    steps.setdefault(event[1], step)
        firsts.append([steps[number] for number in range(8)])
    for small, large in pairwise(firsts):
        assert all(later >= sooner for later, sooner in zip(small, large, strict=True))


def test_what_is_admitted_by_the_worst_case_never_lacks_a_block():
    rng = Random(10)
    for _ in range(200):
        block_size, blocks = rng.randrange(1, 6), rng.randrange(1, 20)
        queue = [(name, rng.randrange(1, 20), rng.randrange(1, 20)) for name in "ABCDEF"]
        admitted, server = admit(queue, blocks, block_size), Scheduler(1000, blocks, block_size)
        for name, prompt, answer in queue[: len(admitted)]:
            server.submit(name, prompt, answer)
        events = [event for _ in range(20) for event in server.step()]
        assert [event[1] for event in events if event[0] == "admit"] == admitted
        assert not any(event[0] == "preempt" for event in events)
        if len(admitted) < len(queue):  # and one more would not have been safe
            more = queue[: len(admitted) + 1]
            assert sum(paging.blocks_needed(prompt + answer - 1, block_size) for _, prompt, answer in more) > blocks


def test_the_figures_of_the_protected_program():
    report = latency_report(0.0, [0.12, 0.16, 0.21, 0.25])
    assert report["ttft"] == 0.12 and report["mean_itl"] == pytest.approx(0.13 / 3)
    assert report["max_itl"] == pytest.approx(0.05) and report["end_to_end"] == 0.25


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: Scheduler(0, 4, 4), ValueError, "token_budget: wanted"),
        (lambda: Scheduler(4, 4, 0), ValueError, "block_size: wanted"),
        (lambda: Scheduler(4, 3, 4).submit("A", 8, 6), ValueError, "A can need 4 blocks, and the pool has 3"),
        (lambda: Scheduler(4, 3, 4).submit("A", 0, 6), ValueError, "prompt_tokens: wanted"),
        (lambda: Scheduler(4, 3, 4).submit("A", 5, 0), ValueError, "max_new_tokens: wanted"),
        (
            lambda: [*map(Scheduler(4, 3, 4).submit, "AA", (5, 5), (1, 1))],
            ValueError,
            "'A' is waiting or running already",
        ),
        (lambda: Scheduler(4, 3, 4).cancel("A"), KeyError, "A"),
        (lambda: admit([("A", 5, 1)], -1, 4), ValueError, "free_blocks: wanted"),
        (lambda: admit([("A", 5, 0)], 1, 4), ValueError, "max_new_tokens: wanted"),
        (lambda: latency_report(0.0, []), ValueError, "wanted the time of at least one token"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("name", ["admit", "Scheduler", "latency_report"])
def test_the_library_and_the_solution_give_the_same_on_the_checks_cases(learner, name):
    answer = answer_of(name)
    for seed in range(20):
        cases = answer.exercise.cases(Random(seed))
        expected = [answer.expected(case) for case in cases]
        for candidate in (learner[name], getattr(scheduling, name)):
            assert same(trace(answer, candidate, cases), expected, 1e-9)


class NeverFrees(Scheduler):
    """Forgets who is done, and keeps their blocks."""

    def _drop(self, request):
        if request.sequence < 0:
            self.waiting.remove(request)
        else:
            self.running.remove(request)


class Unwritten(Scheduler):
    def step(self):
        raise NotImplementedError


def unwritten_report(arrival, stamps):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("scheduler", "report", "said"),
    [
        (Scheduler, latency_report, "budget  16: "),
        (
            NeverFrees,
            latency_report,
            "This output could not be made from your `Scheduler` yet: RuntimeError: 400 steps",
        ),
        (Unwritten, latency_report, "This output appears once `Scheduler` is written."),
        (Scheduler, unwritten_report, "This output appears once `latency_report` is written."),
    ],
)
def test_three_numbers_of_one_server_end_whatever_the_learner_wrote(scheduler, report, said, capsys):
    (cell,) = (c for c in read(lesson("10_admission").notebook("solutions")).cells if "(16, 64, 512)" in c.source)
    exec(cell.source, {"when_written": when_written, "Scheduler": scheduler, "latency_report": report})
    assert capsys.readouterr().out.startswith(said)
