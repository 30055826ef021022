"""Lesson 10, people make the same mistake in other words: the same name. An unrelated error: no name."""

import itertools
import math
from collections import deque

import pytest

from autograde.answers import answer_of
from autograde.check import examine
from kvlab.paging import BlockPool
from tests.variants import pair_of_tests


def room_without(*left_out):
    """A room that is counted down, and forgets some of the names or the weights."""

    def kv_room(usable, weights, reserves):
        left = usable if "weights" in left_out else usable - weights
        for name in reserves:
            left -= 0 if "reserves" in left_out else reserves[name]
        if left < 0:
            raise ValueError("too small")
        return left

    return kv_room


def clamped(usable, weights, reserves):
    left = usable - weights - sum(reserves.values())
    return left if left > 0 else 0


def unchecked(usable, weights, reserves):
    for each in reserves.values():
        usable -= each
    return usable - weights


def rank(share=None, check=True, weights=None, latent=None, bits=None):
    """A rank written from the config down: `share` gives KV heads, `latent` elements of a latent."""

    def per_rank_fit(config, n, tp, device, reserve, context, weight_bits=16, kv_bits=16):
        layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
        weight_bits, kv_bits = bits(weight_bits, kv_bits) if bits else (weight_bits, kv_bits)
        if heads / tp != heads // tp:
            raise ValueError
        if "kv_lora_rank" in config:
            kv, width = None, config["kv_lora_rank"] + config["qk_rope_head_dim"]
            width = latent(width, tp) if latent else width
        else:
            stored = config["num_key_value_heads"]
            if check and max(stored, tp) % min(stored, tp):
                raise ValueError
            kv = share(stored, tp) if share else -(-stored // tp)
            width = 2 * kv * config["head_dim"]
        token = int(layers * width * kv_bits) // 8
        held = math.ceil(n * weight_bits / 8 / tp) if weights is None else weights(n * weight_bits, tp)
        fits = 0
        left = device - reserve - held
        if left > 0:
            fits = left // (context * token)
        return {"weight_bytes": held, "kv_heads": kv, "kv_bytes_per_token": token, "requests": fits}

    return per_rank_fit


def claim(size, bytes_per_weight=2):
    def check_claim(claimed, config, n, usable, reserve, context):
        each = size(config) * config["num_hidden_layers"] * context * 4
        spare = usable - reserve - n * bytes_per_weight
        fits = spare // each if spare > 0 else 0
        return {"requests": fits, "missing_bytes": max(claimed * each - spare, 0)}

    return check_claim


def claim_cut_off(claimed, config, n, usable, reserve, context):
    spare = max(usable - reserve - 2 * n, 0)
    each = 4 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"] * context
    return {"requests": spare // each, "missing_bytes": max(claimed * each - spare, 0)}


def served_from(queue, free, block):
    """Empties the list of whoever asks."""
    names = []
    while queue:
        name, prompt, answer = queue[0]
        free -= math.ceil((prompt + answer - 1) / block)
        if free < 0:
            break
        names.append(name)
        del queue[0]
    return names


def everyone_alone(queue, free, block):
    names = []
    for name, prompt, answer in queue:
        if (prompt + answer - 2) // block + 1 > free:
            break
        names += [name]
    return names


def queue_loop(cost, stop=True, spare=0):
    def admit(queue, free, block):
        inside, used = [], 0
        for each in queue:
            used_then = used + math.ceil(cost(*each[1:], block))
            if used_then + spare > free:
                if stop:
                    return inside
                continue
            used = used_then
            inside.append(each[0])
        return inside

    return admit


class Desk:
    """A right scheduler unlike any of the answers: a pool, two deques, requests that know their own phase."""

    def __init__(self, budget, blocks, block):
        self.budget, self.blocks, self.block, self.clock = budget, blocks, block, 0
        self.pool, self.line, self.inside = BlockPool(blocks, block), deque(), deque()

    def worst(self, prompt, answer):
        return math.ceil((prompt + answer - 1) / self.block)

    def submit(self, id, prompt, answer, deadline=None):
        if self.worst(prompt, answer) > self.blocks:
            raise ValueError(id)
        self.line.append(
            {
                "id": id,
                "prompt": prompt,
                "out": 0,
                "answer": answer,
                "done": 0,
                "key": None,
                "end": 10**9 if deadline is None else deadline,
            }
        )

    def drop(self, each):
        (self.inside if each in self.inside else self.line).remove(each)
        if each["key"] is not None:
            self.pool.free(each["key"])
            each["key"] = None

    def cancel(self, id):
        self.drop({each["id"]: each for each in [*self.inside, *self.line]}[id])

    def late(self, each):
        return each["end"] < self.clock

    def step(self):
        self.clock += 1
        self.log, self.left = [], self.budget
        for each in [each for each in [*self.inside, *self.line] if self.late(each)]:
            self.drop(each)
            self.log.append(("expire", each["id"]))
        self.round()
        self.welcome()
        return self.log

    def round(self):
        for each in self.turns():
            if each["key"] is not None and self.left:
                self.serve(each)

    def turns(self):
        return list(self.inside)

    def missing(self, each):
        return each["prompt"] + each["out"] - each["done"]

    def serve(self, each):
        n = min(self.missing(each), self.left)
        while each["key"] is not None:
            try:
                self.pool.append(each["key"], n)
                break
            except MemoryError:
                self.evict(self.victim(each))
        else:
            return
        each["done"] += n
        self.left -= n
        self.log.append(("write", each["id"], n, self.pool.table(each["key"])))
        if not self.missing(each):
            self.speak(each)

    def speak(self, each):
        each["out"] += 1
        self.log.append(("token", each["id"]))
        if each["out"] == each["answer"]:
            self.drop(each)
            self.log.append(("finish", each["id"]))

    def victim(self, each):
        return self.inside[-1]

    def evict(self, each):
        self.drop(each)
        each["done"] = 0
        self.line.appendleft(each)
        self.log.append(("preempt", each["id"]))

    def may_enter(self, each):
        return math.ceil(self.missing(each) / self.block) <= self.pool.free_blocks

    def welcome(self):
        while self.line and self.left and self.may_enter(self.line[0]):
            self.enter(self.line.popleft())

    def enter(self, each):
        each["key"] = self.pool.allocate(0)
        self.inside.append(each)
        self.log.append(("admit", each["id"]))
        self.serve(each)


class ToTheEnd(Desk):
    def evict(self, each):
        super().evict(each)
        self.line.rotate(-1)


class FirstIn(Desk):
    def victim(self, each):
        return self.inside[0]


class StartsAgain(Desk):
    def evict(self, each):
        super().evict(each)
        each["out"] = 0


class Late(Desk):
    def late(self, each):
        return each["end"] <= self.clock


class Guests(Desk):
    """Newcomers before those that are inside."""

    def round(self):
        old = list(self.inside)
        super().welcome()
        for each in old:
            if each["key"] is not None and self.left:
                self.serve(each)

    def welcome(self):
        pass


class Greedy(Desk):
    def may_enter(self, each):
        return True


class FirstPart(Desk):
    def may_enter(self, each):
        return math.ceil(min(self.left, self.missing(each)) / self.block) <= self.pool.free_blocks


class Jumps(Desk):
    def welcome(self):
        while self.left:
            fitting = [each for each in self.line if self.may_enter(each)]
            if not fitting:
                return
            self.line.remove(fitting[0])
            self.enter(fitting[0])


class Counts(Desk):
    """The budget is a number of requests."""

    def serve(self, each):
        budget, self.left = self.left, 10**6
        super().serve(each)
        self.left = budget - 1


class Batch(Desk):
    def welcome(self):
        if not self.busy:
            super().welcome()

    def round(self):
        self.busy = bool(self.inside)
        super().round()


class Leaky(Desk):
    def cancel(self, id):
        for queue in (self.inside, self.line):
            for each in queue:
                if each["id"] == id:
                    return queue.remove(each)
        raise KeyError(id)


class Silent(Desk):
    def cancel(self, id):
        for each in [*self.inside, *self.line]:
            if each["id"] == id:
                self.drop(each)


class Everybody(Desk):
    def worst(self, prompt, answer):
        return 1


class OneMore(Desk):
    def worst(self, prompt, answer):
        return math.ceil((prompt + answer) / self.block)


class Stops(Desk):
    """Never ends the youngest: it waits with its blocks."""

    def serve(self, each):
        n = min(self.missing(each), self.left)
        held = len(self.pool.table(each["key"]))
        if each is self.inside[-1] and math.ceil((each["done"] + n) / self.block) - held > self.pool.free_blocks:
            return
        super().serve(each)


class Keeps(Desk):
    """Who is sent away still believes that its tokens are cached."""

    def evict(self, each):
        done = each["done"]
        super().evict(each)
        each["done"] = done

    def may_enter(self, each):
        return math.ceil((each["prompt"] + each["out"]) / self.block) <= self.pool.free_blocks


class KeepsAndAsks(Keeps):
    """The same, where the table's length is compared before anything is appended."""

    def serve(self, each):
        n = min(self.missing(each), self.left)
        while each["key"] is not None:
            held = len(self.pool.table(each["key"]))
            if math.ceil((each["done"] + n) / self.block) - held <= self.pool.free_blocks:
                return super().serve(each)
            self.evict(self.victim(each))


class OnlyAsked(Desk):
    """Starts again from the prompt, and counts what it has said."""

    def evict(self, each):
        super().evict(each)
        each["answer"] -= each["out"]
        each["out"] = 0


class AsksForLess(Desk):
    def may_enter(self, each):
        return math.ceil(each["prompt"] / self.block) <= self.pool.free_blocks

    def enter(self, each):
        if math.ceil(min(self.missing(each), self.left) / self.block) > self.pool.free_blocks:
            each["key"] = self.pool.allocate(0)
            self.inside.append(each)
            raise MemoryError
        super().enter(each)


class InTwo(Desk):
    """Who comes back writes its prompt, and the rest in the next step."""

    def enter(self, each):
        out, each["out"], left = each["out"], 0, self.left
        speak, self.speak = self.speak, (lambda who: None) if out else self.speak
        super().enter(each)
        each["out"], self.speak = each["out"] + out, speak
        assert self.left < left


class LastFirst(Desk):
    def turns(self):
        return reversed(list(self.inside))


class Shifting(Desk):
    """A list that gets shorter while it is walked through."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.inside = []

    def turns(self):
        return self.inside


class Ghosts(Desk):
    """Who was sent away by another has its turn, without a sequence."""

    def round(self):
        for each in self.turns():
            if self.left:
                self.pool.table(each["key"])
                self.serve(each)


class Hesitant(Desk):
    """As vLLM does: nobody new in a step that sent somebody away."""

    def welcome(self):
        if "preempt" not in {kind for kind, *_ in self.log}:
            super().welcome()


class Backwards(Desk):
    """Those outside expire before those inside."""

    def step(self):
        late = [each["id"] for each in [*self.line, *self.inside] if each["end"] < self.clock + 1]
        events = super().step()
        return [("expire", id) for id in late] + events[len(late) :]


class Remembers(Desk):
    def submit(self, id, prompt, answer, deadline=None):
        try:
            super().submit(id, prompt, answer, deadline)
        except ValueError:
            self.worst, worst = (lambda *sizes: 0), self.worst
            super().submit(id, prompt, answer, deadline)
            self.worst = worst
            raise


class WritesAll(Desk):
    """Writes the last token too, and ends when everything is written."""

    def speak(self, each):
        if each["out"] == each["answer"]:
            self.drop(each)
            self.log.append(("finish", each["id"]))
        else:
            each["out"] += 1
            self.log.append(("token", each["id"]))


class Talks(Desk):
    def submit(self, id, prompt, answer, deadline=None):
        super().submit(id, prompt, answer, deadline)
        self.line[-1]["answer"] += 1


class Unsorted(Desk):
    """Of two inside that are late, the younger first."""

    def step(self):
        events = super().step()
        late = [event for event in events if event[0] == "expire"]
        return late[::-1] + events[len(late) :]


class TooEarly(Desk):
    """Shows the table as it was before the tokens came."""

    def serve(self, each):
        before, self.log = self.log, []
        table = self.pool.table(each["key"])
        super().serve(each)
        self.log = before + [(*e[:3], table) if e[:2] == ("write", each["id"]) else e for e in self.log]


class Tableless(Desk):
    def step(self):
        return [event[:3] for event in super().step()]


class Forger(Desk):
    """The words of a write in place of its table."""

    def step(self):
        events = super().step()
        return [("write", f"{e[1]} {e[2]}: {e[1]}0-{e[2] - 1}, {len(e[3])} blocks") if e[3:] else e for e in events]


class Mute(Desk):
    """No event for a token."""

    def speak(self, each):
        super().speak(each)
        self.log = [event for event in self.log if event[0] != "token"]


class Reversed(Desk):
    """The blocks of a table in the wrong order."""

    def step(self):
        return [(*event[:3], event[3][::-1]) if event[0] == "write" else event for event in super().step()]


class Everywhere(Desk):
    """All requests write into the first blocks of the pool."""

    def step(self):
        events = super().step()
        return [(*e[:3], list(range(len(e[3])))) if e[0] == "write" else e for e in events]


class Texts(Desk):
    """Events as the words in which a report shows them."""

    def step(self):
        return [f"{event[0]} {event[1]}" if len(event) == 2 else event for event in super().step()]


class Extra(Desk):
    def step(self):
        return [*super().step(), ("idle", "")]


def times(mean=None, first=None, last=None):
    def latency_report(arrival, stamps):
        if len(stamps) == 0:
            raise ValueError
        waits = [after - before for before, after in itertools.pairwise(stamps)]
        return {
            "ttft": first(arrival, stamps) if first else stamps[0] - arrival,
            "mean_itl": mean(arrival, stamps, waits) if mean else (sum(waits) / len(waits) if waits else None),
            "max_itl": max(waits, default=None),
            "end_to_end": last(arrival, stamps) if last else stamps[-1] - arrival,
        }

    return latency_report


VARIANTS = [
    ("kv_room", room_without("weights"), "weights_forgotten"),
    ("kv_room", room_without("reserves"), "reserves_forgotten"),
    ("kv_room", clamped, "no_room_as_zero"),
    ("kv_room", unchecked, "negative_room"),
    ("max_requests", lambda room, size: room // size + (room % size > 0), "rounded_up"),
    ("max_requests", lambda room, size: math.floor(room / size), "through_a_float"),
    ("per_rank_fit", rank(share=lambda stored, tp: stored), "kv_heads_on_every_rank"),
    ("per_rank_fit", rank(check=False, share=lambda stored, tp: stored // tp or 1), "indivisible_kv_heads"),
    ("per_rank_fit", rank(latent=lambda width, tp: width // tp), "latent_divided"),
    ("per_rank_fit", rank(latent=lambda width, tp: width * 2), "latent_twice"),
    ("per_rank_fit", rank(weights=lambda bits, tp: math.ceil(bits / 8)), "weights_on_every_rank"),
    ("per_rank_fit", rank(weights=lambda bits, tp: bits // 8 // tp), "weights_rounded_down"),
    ("max_requests", lambda room, size: int(round(room / size, 0)), "rounded_to_nearest"),
    (
        "per_rank_fit",
        rank(share=lambda stored, tp: stored if tp == 1 else stored // tp),
        "no_head_at_all",
    ),
    ("per_rank_fit", rank(bits=lambda weights, kv: (weights, 16)), "kv_bits_ignored"),
    ("per_rank_fit", rank(bits=lambda weights, kv: (weights * 8, kv * 8)), "bits_as_bytes"),
    ("per_rank_fit", rank(bits=lambda weights, kv: (weights, kv * 8)), "cache_bits_as_bytes"),
    (
        "per_rank_fit",
        rank(bits=lambda weights, kv: (weights, kv / 2), latent=lambda width, tp: width * 2),
        "keys_without_values",
    ),
    ("check_claim", claim_cut_off, "missing_from_no_room"),
    ("check_claim", claim(lambda config: config["num_attention_heads"] * config["head_dim"]), "query_heads_stored"),
    (
        "check_claim",
        claim(lambda config: config["num_key_value_heads"] * (config["hidden_size"] // config["num_attention_heads"])),
        "width_divided",
    ),
    ("check_claim", claim(lambda config: config["num_key_value_heads"] * config["head_dim"], 1), "one_byte_weights"),
    ("check_claim", claim(lambda config: config["num_key_value_heads"] * config["head_dim"], 0), "weights_forgotten"),
    ("admit", queue_loop(lambda prompt, answer, block: (prompt + answer) / block), "last_token_reserved"),
    ("admit", queue_loop(lambda prompt, answer, block: prompt / block), "prompt_only"),
    ("admit", queue_loop(lambda p, answer, block: (p + answer - 1) / block, stop=False), "overtaking"),
    ("admit", queue_loop(lambda p, answer, block: (p + answer - 1) / block, spare=1), "strictly_fewer"),
    ("admit", queue_loop(lambda p, answer, block: (p + answer - 1) // block), "floor_instead_of_ceiling"),
    ("admit", served_from, "queue_taken_apart"),
    ("admit", everyone_alone, "blocks_never_fewer"),
    ("Scheduler", ToTheEnd, "preempted_to_the_tail"),
    ("Scheduler", FirstIn, "oldest_preempted"),
    ("Scheduler", StartsAgain, "generated_tokens_forgotten"),
    ("Scheduler", Late, "deadline_one_early"),
    ("Scheduler", Guests, "admission_before_the_running"),
    ("Scheduler", FirstPart, "first_chunk_only"),
    ("Scheduler", Jumps, "overtaking"),
    ("Scheduler", Counts, "budget_of_requests"),
    ("Scheduler", Batch, "nobody_joins"),
    ("Scheduler", Leaky, "blocks_kept_at_cancel"),
    ("Scheduler", Silent, "unknown_cancelled"),
    ("Scheduler", Everybody, "nobody_refused"),
    ("Scheduler", OneMore, "refused_for_the_last_token"),
    ("Scheduler", Stops, "youngest_stalls"),
    ("Scheduler", Keeps, "cached_kept_beside_a_new_table"),
    ("Scheduler", KeepsAndAsks, "cached_kept"),
    ("Scheduler", OnlyAsked, "prompt_alone_computed_again"),
    ("Scheduler", AsksForLess, "prompt_alone_asked_for"),
    ("Scheduler", InTwo, "generated_tokens_one_step_late"),
    ("Scheduler", LastFirst, "youngest_first"),
    ("Scheduler", Shifting, "list_changed_while_walked"),
    ("Scheduler", Ghosts, "turn_of_the_preempted"),
    ("Scheduler", Hesitant, "nobody_after_a_preemption"),
    ("Scheduler", Backwards, "waiting_expire_first"),
    ("Scheduler", Remembers, "refused_and_queued"),
    ("Scheduler", WritesAll, "last_token_written"),
    ("Scheduler", Talks, "one_token_too_many"),
    ("latency_report", times(first=lambda arrival, stamps: stamps[0]), "arrival_ignored"),
    (
        "latency_report",
        times(mean=lambda arrival, stamps, waits: (stamps[-1] - stamps[0]) / len(stamps) if waits else None),
        "mean_over_all_tokens",
    ),
    ("latency_report", times(last=lambda arrival, stamps: stamps[-1] - stamps[0]), "end_to_end_from_the_first_token"),
]

UNRELATED = [
    ("kv_room", lambda usable, weights, reserves: usable // 2),
    ("max_requests", lambda room, size: 7),
    ("per_rank_fit", lambda *arguments: {"weight_bytes": 1, "kv_heads": 1, "kv_bytes_per_token": 1, "requests": 1}),
    ("check_claim", lambda claimed, *more: {"requests": claimed, "missing_bytes": 0}),
    ("admit", lambda queue, free, block: [name for name, *_ in queue]),
    ("admit", lambda queue, free, block: []),
    ("admit", lambda queue, free, block: queue.sort() or []),
    ("Scheduler", Unsorted),
    ("Scheduler", TooEarly),
    ("Scheduler", Tableless),
    ("Scheduler", Forger),
    ("Scheduler", Mute),
    ("Scheduler", Reversed),
    ("Scheduler", Everywhere),
    ("Scheduler", Texts),
    ("Scheduler", Extra),
    ("Scheduler", type("Nothing", (Desk,), {"step": lambda self: []})),
    ("latency_report", lambda arrival, stamps: sum(stamps)),
    ("latency_report", times(mean=lambda arrival, stamps, waits: 0.04)),
]


@pytest.mark.parametrize("seed", range(30))
def test_a_scheduler_of_another_making_is_right(seed):
    assert examine(answer_of("Scheduler"), 1, Desk, seed).right


def test_tokens_that_were_overwritten_are_told_apart_from_ones_own():
    verdict = examine(answer_of("Scheduler"), 1, Everywhere, 1)
    assert verdict.case_label == "requests join while others run"
    assert "'A0-" in verdict.yours or "'B0-" in verdict.yours


def test_a_table_without_its_slots_is_said_to_come_too_early():
    note = examine(answer_of("Scheduler"), 1, TooEarly, 1).note
    assert "through its table of 0 blocks: 6 without a slot. Was the table taken before pool.append?" in note


def test_what_is_no_event_is_told_as_the_learner_wrote_it():
    for wrong, shown in ((Tableless, "['write', 'A', 6]"), (Forger, "['write', 'A 6: A0-5, 2 blocks']")):
        note = examine(answer_of("Scheduler"), 1, wrong, 1).note
        assert note.startswith(f"{shown} is no event that can be followed. Wanted: (kind, id), or")


def test_a_table_of_somebody_else_is_read_back():
    note = examine(answer_of("Scheduler"), 1, Everywhere, 1).note
    assert note.startswith("Read back after 'write") and note.endswith("the table of this request, in its order?")


def test_an_admission_that_takes_the_queue_apart_is_told_what_it_changed():
    verdict = examine(answer_of("admit"), 1, served_from, 1)
    assert verdict.case_number == 1 and verdict.note.startswith("Your function changed the caller's `queue`.")


def test_words_in_place_of_an_event_are_no_event():
    assert "'admit A'" in examine(answer_of("Scheduler"), 1, Texts, 1).yours


test_the_same_mistake_in_other_words_gets_the_same_name, test_an_unrelated_error_is_rejected_without_a_name = (
    pair_of_tests(VARIANTS, UNRELATED)
)
