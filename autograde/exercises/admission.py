"""Lesson 10: which devices, configs, queues, calls of a scheduler and time stamps to try."""

from random import Random

from autograde.exercise import Case, Exercise, attempt

GIB = 2**30


# --- kv_room, max_requests -------------------------------------------------------------------------------------


def _kv_room(rng: Random) -> list[Case]:
    names = ["activations", "graphs", "runtime", "margin"]

    def case(label: str, reserves: dict[str, int], room: int) -> Case:
        weights = rng.randrange(5 * GIB, 14 * GIB)
        return Case(
            label,
            {"usable_bytes": weights + sum(reserves.values()) + room, "weight_bytes": weights, "reserves": reserves},
        )

    def some(how_many: int) -> dict[str, int]:
        return dict(zip(rng.sample(names, how_many), rng.sample(range(GIB // 4, 5 * GIB), how_many), strict=True))

    return [
        case("one reserve", some(1), rng.randrange(6 * GIB, 20 * GIB)),
        case("four reserves", some(4), rng.randrange(6 * GIB, 20 * GIB)),
        case("no reserve", {}, rng.randrange(3 * GIB, 9 * GIB)),
        case("a small room", some(2), rng.randrange(1, 1000)),
        case("nothing is left, and nothing is missing", some(3), 0),
        case("one byte is missing", some(3), -1),
        Case("the weights alone do not fit", {"usable_bytes": 9 * GIB, "weight_bytes": 14 * GIB, "reserves": some(2)}),
    ]


def _max_requests(rng: Random) -> list[Case]:
    def case(label: str, room: int, bytes_per_request: int) -> Case:
        return Case(label, {"room": room, "bytes_per_request": bytes_per_request})

    size, fits = rng.randrange(10**8, 10**9), rng.randrange(4, 40)
    return [
        case("some fit, and a rest is left", fits * size + rng.randrange(1, size // 3), size),
        case("a rest that is almost one more", fits * size + size - rng.randrange(1, size // 3), size),
        case("no rest", fits * size, size),
        case("one byte is missing for the last", fits * size - 1, size),
        case("not even one", size - 1, size),
        case("no room", 0, size),
        # A float of this size counts in steps of 256, so that it never meets this number by chance.
        case("more than a float can count", 3 * (256 * rng.randrange(2**52, 2**53) + 101) + 2, 3),
    ]


# --- per_rank_fit, check_claim ---------------------------------------------------------------------------------


def _config(rng: Random, heads: int, kv_heads: int) -> dict[str, int]:
    head_dim = rng.choice([40, 72, 88, 104])
    return {
        "num_hidden_layers": rng.randrange(20, 60),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_size": heads * head_dim + 64 * rng.randrange(1, 9) * heads,
    }


def _latent(rng: Random, heads: int = 48) -> dict[str, int]:
    """A model with a latent: its config also counts KV heads, which it does not store."""
    config = _config(rng, heads, heads)
    return config | {"kv_lora_rank": 64 * rng.randrange(5, 9), "qk_rope_head_dim": rng.choice([48, 80, 96])}


def _per_rank_fit(rng: Random) -> list[Case]:
    def case(label: str, config: dict, tp: int, device: int | None = None, bits: tuple = (), rest: int = -1) -> Case:
        """`rest` fixes what is left of the room, by which the requests fit exactly or just not."""
        params = rng.randrange(5 * 10**8, 10**9) * 6 + 1
        reserve, context = rng.randrange(GIB, 2 * GIB), rng.randrange(3000, 9000)
        weights = -(-params * (bits[0] if bits else 16) // (8 * tp))
        if device is None:
            device = weights + reserve + rng.randrange(30 * GIB, 50 * GIB)
        if rest >= 0:
            heads = max(1, config["num_key_value_heads"] // tp)
            request = context * 2 * config["num_hidden_layers"] * heads * config["head_dim"] * 2
            device = weights + reserve + rng.randrange(5, 30) * request + rest
        inputs = {
            "config": config,
            "num_params": params,
            "tp": tp,
            "device_bytes": device,
            "reserve_bytes": reserve,
            "context": context,
        }
        return Case(label, inputs | dict(zip(("weight_bits", "kv_bits"), bits, strict=False)))

    return [
        case("one rank", _config(rng, 24, 6), 1),
        case("KV heads that can be shared out", _config(rng, 24, 6), 3),
        case("as many ranks as KV heads", _config(rng, 24, 6), 6),
        case("weights in 8 bits, the cache in 16", _config(rng, 24, 6), 2, bits=(8, 16)),
        case("weights in 16 bits, the cache in 8", _config(rng, 24, 6), 2, bits=(16, 8)),
        case("weights and cache in 4 bits", _config(rng, 24, 6), 2, bits=(4, 4)),
        case("more ranks than KV heads", _config(rng, 24, 6), 12),
        case("KV heads that cannot be shared out", _config(rng, 24, 6), 4),
        case("more ranks, and no multiple of the KV heads", _config(rng, 24, 6), 8),
        case("query heads that cannot be shared out", _config(rng, 12, 4), 8),
        case("the weights do not fit", _config(rng, 24, 6), 3, device=2 * GIB),
        case("a latent on every rank", _latent(rng), 8, bits=(8, 16)),
        case("a latent, and query heads that cannot be shared out", _latent(rng), 9),
        case("requests that fill the room", _config(rng, 24, 6), 2, rest=0),
    ]


def _check_claim(rng: Random) -> list[Case]:
    def case(label: str, fits: int, claimed: int, rest: float, weights_fit: bool = True) -> Case:
        """Room for `fits` requests and `rest` of one more."""
        config = _config(rng, 24, 6)
        params, context = rng.randrange(10**9, 2 * 10**9), rng.randrange(3000, 9000)
        request = context * 2 * config["num_hidden_layers"] * 6 * config["head_dim"] * 2
        reserve = request + rng.randrange(GIB, 2 * GIB)
        room = fits * request + int(rest * request)
        usable = params * 2 + reserve + room if weights_fit else params * 2 - rng.randrange(1, 1000)
        inputs = {
            "claimed": claimed,
            "config": config,
            "num_params": params,
            "usable_bytes": usable,
            "reserve_bytes": reserve,
            "context": context,
        }
        return Case(label, inputs)

    fits = rng.randrange(6, 20)
    return [
        case("a claim that holds", fits, fits - 2, 0.3),
        case("a claim that just holds", fits, fits, 0),
        case("one too many", fits, fits + 1, 0.7),
        case("far too many", fits, fits + 5, 0.2),
        case("nothing is claimed", fits, 0, 0.6),
        case("the weights do not fit", fits, 3, 0, weights_fit=False),
        case("nothing is claimed, and the weights do not fit", fits, 0, 0, weights_fit=False),
    ]


# --- admit -----------------------------------------------------------------------------------------------------


def _admit(rng: Random) -> list[Case]:
    b = rng.randrange(5, 9)

    def case(label: str, sizes: list[tuple[int, int]], free: int) -> Case:
        names = rng.sample("ABCDEFGHIJ", len(sizes))
        queue = [[name, *size] for name, size in zip(names, sizes, strict=True)]
        return Case(label, {"queue": queue, "free_blocks": free, "block_size": b})

    t = rng.randrange(2, b - 1)
    return [
        case("one that fits", [(b, b + t)], 5),
        case("one that does not fit", [(b, 2 * b + t)], 3),
        case("the blocks last for some", [(b, t + 1), (t, 2 * b), (2 * b, b), (t, t)], 6),
        case("a short one behind a long one", [(t, b), (3 * b, 2 * b), (t, 2)], 4),
        case("exactly all blocks, the last token not written", [(b, b + 1), (t, b - t + 1), (2, 2)], 3),
        case("one long tail among short ones", [(2, b - 2), (2, b - 1), (2, 6 * b), (2, 1), (2, 1)], 6),
        case("tails that would share a block", [(b, 3), (2 * b, 2), (1, 2)], 5),
        case("a prompt that fits and an answer that does not", [(b, 1), (b, 3 * b), (b, 1)], 3),
        case("an answer that ends in the prompt's last block", [(b + 1, 3), (b, 2), (1, 2), (b, 1)], 6),
        case("the last slot of each opens a block", [(b, 2), (b, 2), (b, 1)], 3),
        case("no queue", [], 3),
        case("no block", [(t, t)], 0),
    ]


# --- Scheduler -------------------------------------------------------------------------------------------------

STEP = ["step"]


def _scheduler(rng: Random) -> list[Case]:
    def case(label: str, budget: int, blocks: int, *steps: list) -> Case:
        return Case(label, {"new": [budget, blocks, b], "steps": list(steps)})

    b = rng.randrange(4, 7)
    t = rng.randrange(2, b - 1)  # a rest of a block
    new = "submit"
    return [
        case("one request", 4 * b, 6, [new, "A", b + t, 3], *[STEP] * 3, [new, "B", b, 1], *[STEP] * 2),
        case("a prompt longer than the budget", b + 1, 8, [new, "A", 2 * b + 2 + t, 2], *[STEP] * 4),
        case(
            "requests join while others run",
            b + 2,
            9,
            *[[new, "A", b, 5], STEP, [new, "B", b + 3, 2], [new, "C", b, 3]],
            *[STEP] * 4,
        ),
        case(
            "the head of the queue waits for blocks, and nobody overtakes",
            5 * b,
            4,
            *[[new, "A", 2 * b, 3], [new, "B", 2 * b + 1, 3], [new, "C", t, 2]],
            *[STEP] * 4,
        ),
        case(
            "all known tokens must fit, not the first chunk alone",
            b,
            4,
            *[[new, "A", b, 4], [new, "B", 2 * b + 1, 2]],
            *[STEP] * 5,
        ),
        case(
            "what could never be finished is refused",
            4 * b,
            3,
            [new, "A", 2 * b, b + 2],
            [new, "B", b, 3 * b + 1],
            [new, "E", 4 * b + 1, 1],
            [new, "C", 3 * b, 1],
            [new, "D", b, 2 * b + 1],
            *[STEP] * 2,
        ),
        case(
            "cancelled, waiting and running",
            4 * b,
            3,
            *[[new, name, 2 * b, 4] for name in "ABC"],
            *[STEP, ["cancel", "B"], STEP, ["cancel", "A"], STEP, ["cancel", "A"], ["cancel", "Z"], STEP],
        ),
        case(
            "deadlines, waiting and running",
            4 * b,
            4,
            *[[new, "A", 2 * b - 1, b + 2, 3], [new, "D", t, 6, 3]],
            *[[new, "B", 2 * b, 3, 2], [new, "C", 2 * b, 2], [new, "E", t, 2, 3]],
            *[STEP] * 5,
            ["cancel", "B"],
        ),
        case(
            "a deadline that has passed already, and a cancel that comes too late",
            4 * b,
            4,
            *[[new, "A", b, 2, 0], [new, "B", t, 1], [new, "C", t, 4], STEP],
            *[["cancel", "B"], ["cancel", "A"], STEP, ["cancel", "C"], STEP],
        ),
        case(
            "the youngest is preempted, and computed again",
            5 * b,
            4,
            *[[new, "A", 2 * b - 1, 5], [new, "B", 2 * b - 1, 5], [new, "C", t, 3]],
            *[STEP] * 7,
        ),
        case(
            "two are preempted in one step, the second by itself",
            6 * b,
            5,
            *[[new, "A", 2 * b, 3], [new, "B", 2 * b, 3], [new, "C", b, 4]],
            *[STEP] * 4,
        ),
        case(
            "preempted in the middle of a prompt",
            b + 1,
            4,
            *[[new, "A", b, 4], [new, "B", 3 * b, 2], [new, "C", 2, 2]],
            *[STEP] * 7,
        ),
        case(
            "a preempted request is cancelled, another one expires",
            6 * b,
            4,
            *[[new, "A", 2 * b, 5], [new, "B", b, 9], [new, "C", b, 4, 3]],
            *[STEP, STEP, ["cancel", "B"], [new, "D", b + 1, 2], STEP, STEP, STEP, STEP],
        ),
        _traffic(rng, b),
    ]


def _traffic(rng: Random, b: int) -> Case:
    """Requests of all sizes that come over time, some with a deadline, in a pool that is too small for them."""
    steps: list[list] = []
    for name in "ABCDE":
        prompt, answer = rng.randrange(1, 3 * b), rng.randrange(1, b)
        deadline = [rng.randrange(4, 9)] if rng.random() < 0.3 else []
        steps += [["submit", name, prompt, answer, *deadline], *[STEP] * rng.randrange(2)]
    return Case("requests of all sizes", {"new": [b + 3, 5, b], "steps": steps + [STEP] * 5})


def run_scheduler(candidate: object, case: Case) -> list[object]:
    """The events as they come. What their tables are worth is found out where the learner's code does not run."""
    scheduler = candidate(*case.inputs["new"])
    return [
        attempt(lambda name, *arguments: getattr(scheduler, name)(*arguments), *step) for step in case.inputs["steps"]
    ]


# --- latency_report --------------------------------------------------------------------------------------------


def _latency_report(rng: Random) -> list[Case]:
    def case(label: str, first: float, gaps: list[float]) -> Case:
        arrival = round(rng.uniform(2, 9), 3)
        stamps = [arrival + first]
        for gap in gaps:
            stamps.append(stamps[-1] + gap)
        return Case(label, {"arrival": arrival, "stamps": [round(each, 6) for each in stamps]})

    def gaps(how_many: int) -> list[float]:
        return [round(rng.uniform(0.01, 0.09), 4) for _ in range(how_many)]

    first = round(rng.uniform(0.3, 0.8), 4)
    return [
        case("four tokens", first, gaps(3)),
        case("two tokens", first, gaps(1)),
        case("one gap is far longer", first, [*gaps(2), round(rng.uniform(0.9, 1.5), 4), *gaps(3)]),
        case("the first token comes sooner than the next", 0.02, [round(rng.uniform(0.2, 0.4), 4), *gaps(2)]),
        case("tokens that come together", first, [0.0, 0.0, round(rng.uniform(0.1, 0.3), 4), 0.0]),
        case("one token", first, []),
        Case("no token", {"arrival": round(rng.uniform(2, 9), 3), "stamps": []}),
    ]


EXERCISES = (
    Exercise("kv_room", _kv_room),
    Exercise("max_requests", _max_requests),
    Exercise("per_rank_fit", _per_rank_fit),
    Exercise("check_claim", _check_claim),
    Exercise("admit", _admit),
    Exercise("Scheduler", _scheduler, run=run_scheduler),
    Exercise("latency_report", _latency_report),
)
