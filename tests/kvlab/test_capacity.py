"""From bytes to requests: the scenarios of the lesson, what is refused, and the library beside the solution."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograde.answers import answer_of
from autograde.course import lesson
from autograde.judge import trace
from autograde.values import same
from kvlab import capacity, paging
from kvlab.models import preset
from kvlab.sizes import GIB, MIB, weight_bytes
from tests.notebooks import learner_of

LLAMA = preset("Llama-3-8B").attention_config
LLAMA_PARAMS = 8_030_261_248  # E-02-22
REPORTED = 81_559 * MIB


@pytest.fixture(scope="module")
def learner():
    """The functions of the solution, as a learner would have written them."""
    return learner_of(lesson("10_admission"), blocks_needed=paging.blocks_needed, BlockPool=paging.BlockPool)


def test_seven_billion_parameters_in_24_gib_leave_room_for_four():
    room = capacity.kv_room(24 * GIB, weight_bytes(7 * 10**9, 16), {"activations": GIB, "margin": GIB})
    assert round(room / GIB, 4) == 8.9615
    assert capacity.max_requests(room, 2 * GIB) == 4


def test_405_billion_parameters_on_eight_ranks():
    config = preset("Llama-3.1-405B (current)").attention_config
    fits = [capacity.per_rank_fit(config, 405 * 10**9, 8, 80 * GIB, GIB, 8192, bits, bits) for bits in (16, 8)]
    assert [round(fit["weight_bytes"] / GIB, 2) for fit in fits] == [94.30, 47.15]
    assert [fit["kv_bytes_per_token"] / 1024 for fit in fits] == [63, 31.5]
    assert fits[0]["requests"] == 0 < fits[1]["requests"]


def test_beyond_one_head_per_rank_heads_are_stored_twice_and_a_latent_on_every_rank():
    sixteen = capacity.per_rank_fit(LLAMA, LLAMA_PARAMS, 16, 80 * GIB, GIB, 8192)
    assert sixteen["kv_heads"] == 1 and 16 * sixteen["kv_bytes_per_token"] == 256 * 1024
    latent = preset("DeepSeek-V3").config
    per_token = {capacity.per_rank_fit(latent, 10**9, tp, GIB, 0, 1)["kv_bytes_per_token"] for tp in (1, 8, 64)}
    assert per_token == {70272}


@pytest.mark.parametrize(
    ("usable", "reserve", "heads", "requests"),
    [(REPORTED, 0, 8, 64), (REPORTED, REPORTED // 10, 8, 56), (REPORTED, 0, 32, 16), (80 * GIB, 0, 8, 65)],
)
def test_how_many_sequences_of_one_gib_an_h100_takes(usable, reserve, heads, requests):
    config = LLAMA | {"num_key_value_heads": heads}
    found = capacity.check_claim(65, config, LLAMA_PARAMS, usable, reserve, 8192)
    assert found["requests"] == requests and (found["missing_bytes"] == 0) == (requests == 65)


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.dictionaries(st.text(max_size=3), st.integers(0, 10**11)))
def test_a_room_and_what_is_taken_make_the_device(room, weights, reserves):
    usable = room + weights + sum(reserves.values())
    assert capacity.kv_room(usable, weights, reserves) == room
    with pytest.raises(ValueError, match="usable_bytes: wanted at least"):
        capacity.kv_room(usable - room, weights + 1, reserves)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 48))
def test_a_rank_holds_every_kv_head_that_its_query_heads_read_and_no_other(kv_heads, group, tp):
    heads = kv_heads * group
    config = {"num_hidden_layers": 3, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": 5}
    try:
        held = capacity.per_rank_fit(config, 1000, tp, GIB, 0, 7)["kv_heads"]
    except ValueError:
        assert heads % tp or (kv_heads % tp and tp % kv_heads)
        return
    for rank in range(tp):
        queries = range(rank * heads // tp, (rank + 1) * heads // tp)
        assert len({query // group for query in queries}) == held


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda: capacity.kv_room(5, 3, {"margin": 3}),
            ValueError,
            "wanted at least 6 for weights and reserves, got 5",
        ),
        (lambda: capacity.kv_room(5, 3, {"margin": -1}), ValueError, r"reserves\['margin'\]: wanted"),
        (lambda: capacity.kv_room(5.0, 3, {}), TypeError, "usable_bytes: wanted"),
        (lambda: capacity.max_requests(5, 0), ValueError, "bytes_per_request: wanted"),
        (lambda: capacity.max_requests(-1, 4), ValueError, "room: wanted"),
        (lambda: capacity.per_rank_fit(LLAMA, 5, 3, 1, 0, 1), ValueError, "a divisor of the 32 query heads, got 3"),
        (
            lambda: capacity.per_rank_fit(LLAMA | {"num_key_value_heads": 6, "num_attention_heads": 24}, 5, 4, 1, 0, 1),
            ValueError,
            "a divisor or a multiple of the 6 KV heads, got 4",
        ),
        (lambda: capacity.check_claim(-1, LLAMA, 5, 1, 0, 1), ValueError, "claimed: wanted"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_sentence(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize("name", ["kv_room", "max_requests", "per_rank_fit", "check_claim"])
def test_the_library_and_the_solution_give_the_same_on_the_checks_cases(learner, name):
    answer = answer_of(name)
    for seed in range(30):
        cases = answer.exercise.cases(Random(seed))
        expected = [answer.expected(case) for case in cases]
        for candidate in (learner[name], getattr(capacity, name)):
            assert same(trace(answer, candidate, cases), expected)
