"""`check_claim`: what is right, which mistakes are known, and what to say about them."""

from bisect import bisect_right

from autograde.answers.admission.shared import WIDTH_DIVIDED
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise


def _claim(case: Case) -> dict:
    """Add requests one by one."""
    claimed, config, params, usable, reserve, context = case.inputs.values()
    layers, heads, width = (config[key] for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"))
    size = sum(2 * heads * width * 2 for _ in range(layers)) * context
    taken, requests = params * 2 + reserve, 0
    while taken + (requests + 1) * size <= usable:
        requests += 1
    return {"requests": requests, "missing_bytes": max(0, taken + claimed * size - usable)}


def _claim_of(
    heads="num_key_value_heads",
    width=lambda config: config["head_dim"],
    weights=lambda params: params * 2,
    reserved=lambda reserve: reserve,
    fit=lambda room, size: max(0, room) // size,
    missing=lambda claimed, fit, size, room: max(0, claimed * size - room),
    size=lambda layers, heads, width, context: 4 * layers * heads * width * context,
):
    """A claim checked, right as it stands; each argument is a mistake."""

    def check_claim(claimed, config, params, usable, reserve, context):
        each = size(config["num_hidden_layers"], config[heads], width(config), context)
        room = usable - weights(params) - reserved(reserve)
        count = fit(room, each)
        return {"requests": count, "missing_bytes": missing(claimed, count, each, room)}

    return check_claim


def _claim_by_total(claimed, config, params, usable, reserve, context):
    """Right: totals for each number of requests."""
    per_layer = 2 * config["num_key_value_heads"] * config["head_dim"] * context
    size = 2 * config["num_hidden_layers"] * per_layer
    totals = [2 * params + reserve + n * size for n in range(1, 200)]
    lacking = 2 * params + reserve + claimed * size - usable
    return {"requests": bisect_right(totals, usable), "missing_bytes": lacking if lacking > 0 else 0}


def _refusing_claim(claimed, config, params, usable, reserve, context):
    if usable < 2 * params + reserve:
        raise ValueError("nothing is left for the cache")
    return _claim_of()(claimed, config, params, usable, reserve, context)


ANSWER = Answer(
    exercise=exercise("check_claim"),
    expected=_claim,
    misconceptions=(
        Misconception(
            "weights_forgotten",
            _claim_of(weights=lambda params: 0),
            Advice(
                "Did you give all of the device to the cache?",
                (
                    "What lies on the device before the first request comes?",
                    "Weights of two bytes a parameter.",
                    "Subtract 2 * num_params.",
                ),
            ),
        ),
        Misconception(
            "one_byte_weights",
            _claim_of(weights=lambda params: params),
            Advice(
                "Did you count one byte for a parameter?",
                (
                    "How many bits has a weight here?",
                    "16 bits are two bytes.",
                    "2 * num_params.",
                ),
            ),
        ),
        Misconception(
            "reserve_forgotten",
            _claim_of(reserved=lambda reserve: 0),
            Advice(
                "Did you leave the reserve out?",
                (
                    "Which claims hold with no reserve at all?",
                    "reserve_bytes is not the cache's.",
                    "Subtract reserve_bytes as well.",
                ),
            ),
        ),
        Misconception(
            "query_heads_stored",
            _claim_of(heads="num_attention_heads"),
            Advice(
                "Did you store K and V of every query head?",
                (
                    "Which heads have keys and values?",
                    "That would be the multi-head variant of the model.",
                    "Use num_key_value_heads.",
                ),
                source="hahnyuan/LLM-Viewer#12: the cache of a grouped-query model was sized by its query heads.",
            ),
        ),
        Misconception(
            "width_divided",
            _claim_of(width=lambda config: config["hidden_size"] // config["num_attention_heads"]),
            WIDTH_DIVIDED,
        ),
        Misconception(
            "rounded_up",
            _claim_of(fit=lambda room, size: max(0, -(-room // size))),
            Advice(
                "Did you round the requests up?",
                (
                    "Is a part of a request served?",
                    "Only whole requests fit.",
                    "Use //.",
                ),
            ),
        ),
        Misconception(
            "refused_instead_of_none",
            _refusing_claim,
            Advice(
                "Does your kv_room refuse a device on which the weights do not fit, and nobody catches it?",
                (
                    "A claim about too small a device is wrong by how much?",
                    "Here the answer is 0 requests, and the bytes that are missing.",
                    "Compute the room yourself, and use max(0, room) for the requests.",
                ),
            ),
        ),
        Misconception(
            "negative_requests",
            _claim_of(fit=lambda room, size: room // size),
            Advice(
                "Did you return a negative number of requests?",
                (
                    "What if the weights do not fit?",
                    "Then no request does.",
                    "max(0, room) // size.",
                ),
            ),
        ),
        Misconception(
            "spare_bytes_as_missing",
            _claim_of(missing=lambda claimed, fit, size, room: claimed * size - room),
            Advice(
                "Did you return a negative number of missing bytes where the claim holds?",
                (
                    "How many bytes are missing when none is?",
                    "A claim that holds misses 0.",
                    "max(0, claimed * size - room).",
                ),
            ),
        ),
        Misconception(
            "missing_from_no_room",
            _claim_of(missing=lambda claimed, fit, size, room: max(0, claimed * size - max(0, room))),
            Advice(
                "Did you forget what the weights lack already when you counted the missing bytes?",
                (
                    "The weights alone are too large. Are only the requests missing?",
                    "A room cut off at 0 forgets by how much the weights exceed the device.",
                    "max(0, …) for the requests only; missing_bytes takes the room as it is, below 0 too.",
                ),
            ),
        ),
        Misconception(
            "missing_in_whole_requests",
            _claim_of(missing=lambda claimed, fit, size, room: max(0, claimed - fit) * size),
            Advice(
                "Did you count whole requests as missing, although the rest of the room is there?",
                (
                    "Room for 3.7 requests, 4 are claimed. How much is missing?",
                    "The rest of the room helps.",
                    "max(0, claimed * size - room).",
                ),
            ),
        ),
    ),
    alternatives=(_claim_by_total, _claim_of(weights=lambda params: (params * 16 + 7) // 8)),
    hints=(
        "What does one request take, and what is left for all of them?",
        "room = usable_bytes - 2 * num_params - reserve_bytes; it may be negative here.",
        "requests: max(0, room) // size. missing_bytes: max(0, claimed * size - room).",
    ),
)
