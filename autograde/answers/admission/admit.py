"""`admit`: what is right, which mistakes are known, and what to say about them."""

from fractions import Fraction
from itertools import takewhile
from math import ceil

from autograde.answers.admission.shared import ceil_div
from autograde.exercise import Advice, Answer, Case, Misconception
from autograde.exercises import exercise
from kvlab.paging import BlockPool


def _admitted(case: Case) -> list[str]:
    """Write every token of the worst case, and count the blocks that are opened."""
    queue, free, block_size = case.inputs.values()
    names = []
    for name, prompt, answer in queue:
        written = range(prompt + answer)[:-1]
        free -= sum(position % block_size == 0 for position in written)
        if free < 0:
            return names
        names.append(name)
    return names


def _admitting(cost, go_on=False, enough=lambda cost, free: cost <= free, late=False):
    """Admission in the order of the queue, where a request is thought to need `cost` blocks."""

    def admit(queue, free, block_size):
        names = []
        for name, prompt, answer in queue:
            needed = cost(prompt, answer, block_size)
            if enough(needed, free):
                names.append(name)
                free -= needed
            elif go_on:
                continue
            else:
                return [*names, name] if late else names
        return names

    return admit


def _worst(prompt, answer, block_size):
    return ceil_div(prompt + answer - 1, block_size)


def _admit_on_average(queue, free, block_size):
    mean = Fraction(sum(prompt + answer - 1 for _, prompt, answer in queue), len(queue) or 1)
    return [name for place, (name, _, _) in enumerate(queue, 1) if place * ceil(mean / block_size) <= free]


def _admit_pooled(queue, free, block_size):
    names, tokens = [], 0
    for name, prompt, answer in queue:
        tokens += prompt + answer - 1
        if tokens > free * block_size:
            break
        names.append(name)
    return names


def _admit_all_that_fit_alone(queue, free, block_size):
    return [name for name, _ in takewhile(lambda each: each[1] <= free, _costs(queue, block_size))]


def _costs(queue, block_size):
    return [(name, _worst(prompt, answer, block_size)) for name, prompt, answer in queue]


def _admit_from_the_queue_itself(queue, free, block_size):
    """Takes the requests out of the list that somebody else keeps."""
    names = []
    while queue and _worst(*queue[0][1:], block_size) <= free:
        name, prompt, answer = queue.pop(0)
        free -= _worst(prompt, answer, block_size)
        names.append(name)
    return names


def _admit_by_pool(queue, free, block_size):
    """Right: a pool is asked for the blocks."""
    pool, names = BlockPool(free, block_size), []
    for name, prompt, answer in queue:
        try:
            pool.allocate(prompt + answer - 1)
        except MemoryError:
            break
        names.append(name)
    return names


def _admit_by_prefix(queue, free, block_size):
    """Right: the longest head of the queue whose blocks add up to no more than are free."""
    costs = [_worst(prompt, answer, block_size) for _, prompt, answer in queue]
    return [name for place, (name, _, _) in enumerate(queue, 1) if sum(costs[:place]) <= free]


ANSWER = Answer(
    exercise=exercise("admit"),
    expected=_admitted,
    misconceptions=(
        Misconception(
            "average_length",
            _admit_on_average,
            Advice(
                "Did you count the average request, instead of each one's own worst case?",
                (
                    "One request is ten times as long as the others. What happens when it comes to its end?",
                    "An average says nothing about those that are admitted.",
                    "Add up the blocks of each request's own prompt and limit.",
                ),
            ),
        ),
        Misconception(
            "prompt_only",
            _admitting(lambda prompt, answer, block_size: ceil_div(prompt, block_size)),
            Advice(
                "Did you count the prompt alone?",
                (
                    "What happens to the cache with each token that is generated?",
                    "That the present fits promises nothing about the growth.",
                    "prompt + max_new - 1 tokens.",
                ),
            ),
        ),
        Misconception(
            "answer_only",
            _admitting(lambda prompt, answer, block_size: ceil_div(answer, block_size)),
            Advice(
                "Did you count the generated tokens alone?",
                (
                    "What does the first generated token attend to?",
                    "The prompt's K and V stay.",
                    "prompt + max_new - 1 tokens.",
                ),
            ),
        ),
        Misconception(
            "floor_instead_of_ceiling",
            _admitting(lambda prompt, answer, block_size: (prompt + answer - 1) // block_size),
            Advice(
                "Did you round the blocks down?",
                (
                    "Where does the first token behind a full block go?",
                    "A block that is used in part is used.",
                    "-(-tokens // block_size).",
                ),
            ),
        ),
        Misconception(
            "last_token_reserved",
            _admitting(lambda prompt, answer, block_size: ceil_div(prompt + answer, block_size)),
            Advice(
                "Did you reserve a slot for the last token, which nothing will ever read?",
                (
                    "Which step writes the K and V of a generated token?",
                    "The step that computes the next one. After the last there is none.",
                    "prompt + max_new - 1 tokens are written.",
                ),
            ),
        ),
        Misconception(
            "two_tokens_without_a_slot",
            _admitting(lambda prompt, answer, block_size: ceil_div(prompt + answer - 2, block_size)),
            Advice(
                "Did you leave one token too many without a slot?",
                (
                    "Which tokens of a request are never read again?",
                    "Only the very last one: when it has been made, nothing follows that would read it.",
                    "P + M - 1 tokens need slots.",
                ),
            ),
        ),
        Misconception(
            "tails_shared",
            _admit_pooled,
            Advice(
                "Did you add up tokens of different requests before you rounded?",
                (
                    "May two requests write into one block?",
                    "Each has a last block of its own.",
                    "Round up for each request, then add.",
                ),
            ),
        ),
        Misconception(
            "prompt_and_answer_apart",
            _admitting(
                lambda prompt, answer, block_size: ceil_div(prompt, block_size) + ceil_div(answer - 1, block_size)
            ),
            Advice(
                "Did you round prompt and answer up separately?",
                (
                    "Where does the first generated token go when the prompt's last block has room?",
                    "It is one sequence, with one last block.",
                    "Add first, then round up once for each request.",
                ),
            ),
        ),
        Misconception(
            "overtaking",
            _admitting(_worst, go_on=True),
            Advice(
                "Did a request behind one that does not fit get in?",
                (
                    "When does a long request get in if short ones always may pass?",
                    "The first that does not fit ends the admission.",
                    "break, not continue.",
                ),
            ),
        ),
        Misconception(
            "strictly_fewer",
            _admitting(_worst, enough=lambda cost, free: cost < free),
            Advice(
                "Did you refuse a request that takes exactly the blocks that are left?",
                (
                    "Three blocks are needed, three are free.",
                    "The last block may be used too.",
                    "Compare with <=.",
                ),
            ),
        ),
        Misconception(
            "blocks_never_fewer",
            _admit_all_that_fit_alone,
            Advice(
                "Do you compare each request with all free blocks, as if nobody had been admitted before it?",
                (
                    "Six blocks are free, two requests of four blocks come. Who gets which?",
                    "Whoever is admitted takes blocks from those that follow.",
                    "free_blocks -= needed.",
                ),
            ),
        ),
        Misconception(
            "queue_taken_apart",
            _admit_from_the_queue_itself,
            Advice(
                "Do you take requests out of the queue that you were given?",
                (
                    "Whose list is it?",
                    "You were asked for names. Who called you may still need the queue.",
                    "for id, prompt_tokens, max_new_tokens in queue: …, and no pop.",
                ),
            ),
        ),
        Misconception(
            "noticed_too_late",
            _admitting(_worst, late=True),
            Advice(
                "Did you admit the request that shows that the blocks do not suffice?",
                (
                    "When do you compare, before or after you add the name?",
                    "Ask first, admit then.",
                    "if needed > free: break, before append.",
                ),
            ),
        ),
    ),
    alternatives=(_admit_by_pool, _admit_by_prefix),
    hints=(
        "How many tokens can one request write at most?",
        "Round up to blocks for each request; walk through the queue while they last.",
        "needed = -(-(prompt + max_new - 1) // block_size); if needed > free: break.",
    ),
)
