"""`kv_room`: what is right, which mistakes are known, and what to say about them."""

from autograde.answers.admission.shared import REFUSED
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from autograde.values import Raised


def _room(case: Case) -> int | Raised:
    """Pay one after the other."""
    left, weights, reserves = case.inputs.values()
    for size in [weights, *reserves.values()]:
        left -= size
        if left < 0:
            return REFUSED
    return left


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


ANSWER = Answer(
    exercise=exercise("kv_room"),
    expected=_room,
    misconceptions=(
        Misconception(
            "weights_forgotten",
            _room_of(lambda usable, weights, reserves: sum(reserves)),
            Advice(
                "Did you leave the weights out?",
                (
                    "What lies on the device before the first request comes?",
                    "The weights take their bytes whether or not anybody asks.",
                    "room = usable_bytes - weight_bytes - sum(reserves.values()).",
                ),
            ),
        ),
        Misconception(
            "reserves_forgotten",
            _room_of(lambda usable, weights, reserves: weights),
            Advice(
                "Did you give the reserves to the cache as well?",
                (
                    "Where do activations live during a step?",
                    "Every entry of reserves is somebody's memory.",
                    "Subtract sum(reserves.values()) too.",
                ),
            ),
        ),
        Misconception(
            "largest_reserve_only",
            _room_of(lambda usable, weights, reserves: weights + max(reserves, default=0)),
            Advice(
                "Did you subtract one of the reserves, instead of all?",
                (
                    "Can a graph's buffers lie in the runtime's memory?",
                    "The reserves exist at the same time.",
                    "Add them up.",
                ),
            ),
        ),
        Misconception(
            "two_gib_for_everything",
            _room_of(lambda usable, weights, reserves: weights + 2 * 2**30),
            Advice(
                "Did you subtract a fixed 2 GiB, instead of the reserves that were given?",
                (
                    "Where would that number come from?",
                    "There is no universal reserve: it is measured, and it differs.",
                    "Use sum(reserves.values()).",
                ),
            ),
        ),
        Misconception(
            "negative_room",
            _room_of(_everything, refuse=lambda left: False),
            Advice(
                "Did you return a negative number?",
                (
                    "What can somebody do with a room of minus one byte?",
                    "Too small a device is to be refused, clearly.",
                    "if room < 0: raise ValueError(…).",
                ),
            ),
        ),
        Misconception(
            "no_room_as_zero",
            _room_of(_everything, refuse=lambda left: False, shown=lambda left: max(0, left)),
            Advice(
                "Did you turn a negative room into 0?",
                (
                    "Does a server with no room for a request start at all?",
                    "Here not even the weights and reserves fit, and 0 hides that.",
                    "if room < 0: raise ValueError(…).",
                ),
            ),
        ),
        Misconception(
            "nothing_left_refused",
            _room_of(_everything, refuse=lambda left: left <= 0),
            Advice(
                "Did you refuse a room of exactly 0?",
                (
                    "Is anything missing when nothing is left?",
                    "Weights and reserves fit; there is only no room for a request.",
                    "Compare with < 0.",
                ),
            ),
        ),
    ),
    alternatives=(_room_by_paying, _room_of_a_list),
    hints=(
        "Everything that is not the cache comes off.",
        "reserves is a dict; its values are bytes.",
        "room = usable_bytes - weight_bytes - sum(reserves.values()); refuse it below 0.",
    ),
)
