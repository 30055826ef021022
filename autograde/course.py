"""The course table: which lessons exist, in which order, and which exercises each one grades.

Everything that must know the course without importing a lesson's code (the map, the progress file, `check`,
which must find the lesson of an exercise without importing thirteen others) reads it here.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Lesson:
    """One lesson. `exercises` maps each graded name to its points, in teaching order."""

    slug: str  # "02_byte_formula": the folder, the notebook and nbgrader's assignment name
    title: str
    promise: str  # one sentence: what a learner can do afterwards
    minutes: int
    needs: tuple[str, ...]  # slugs of the lessons that this one builds on
    exercises: dict[str, int]

    @property
    def module(self) -> str:
        """Name of the lesson's module in `autograde.exercises` and `autograde.answers`."""
        return self.slug.partition("_")[2]

    @property
    def points(self) -> int:
        return sum(self.exercises.values())

    def notebook(self, kind: str) -> Path:
        """Path of this lesson's notebook in `solutions`, `lessons` or `work`."""
        return ROOT / kind / self.slug / f"{self.slug}.ipynb"


LESSONS = (
    Lesson(
        slug="01_why_a_cache",
        title="Why a cache",
        promise="Write a decode step that reuses old keys and values, and say which rows survive a change.",
        minutes=40,
        needs=(),
        exercises={
            "hand_two_steps": 1,
            "attend": 2,
            "decode_step": 4,
            "recompute": 3,
            "score_work": 2,
            "reusable_rows": 3,
        },
    ),
    Lesson(
        slug="02_byte_formula",
        title="The byte formula",
        promise="Compute the exact bytes of any full-attention KV cache, and say what fits on a device.",
        minutes=40,
        needs=("01_why_a_cache",),
        exercises={
            "kv_elements": 2,
            "kv_bytes": 2,
            "ragged_kv_bytes": 2,
            "as_units": 2,
            "bytes_per_token": 2,
            "capacity_table": 3,
            "max_tokens": 3,
        },
    ),
    Lesson(
        slug="03_cache_parity",
        title="Cache parity",
        promise="Build a cached decoder, and prove row by row that it computes the logits of full recomputation.",
        minutes=45,
        needs=("02_byte_formula",),
        exercises={
            "cached_logits": 3,
            "CachedDecoder": 5,
            "first_divergence": 2,
            "hidden_by_argmax": 3,
            "sample": 2,
        },
    ),
    Lesson(
        slug="04_rectangular_masks",
        title="Where chunked prefill goes wrong",
        promise="Mask a chunk of tokens on a used cache, and say which test would have seen each wrong mask.",
        minutes=35,
        needs=("03_cache_parity",),
        exercises={
            "allowed": 2,
            "additive_mask": 2,
            "masked_attention": 3,
            "chunked_attention": 4,
            "ragged_allowed": 3,
            "window_allowed": 2,
        },
    ),
    Lesson(
        slug="05_grouped_query_cache",
        title="A cache for grouped heads",
        promise="Build a preallocated cache that query heads share, with rotary positions, equal under any chunking.",
        minutes=60,
        needs=("04_rectangular_masks",),
        exercises={
            "kv_head_of": 1,
            "expand_kv": 1,
            "grouped_attention": 4,
            "GroupedCache": 5,
            "elements_copied": 2,
            "rope": 3,
            "RotaryCache": 4,
        },
    ),
    Lesson(
        slug="06_model_configs",
        title="Read the configuration",
        promise="Say from a real config.json what each layer caches, in bytes, or which field forbids an answer.",
        minutes=50,
        needs=("02_byte_formula", "05_grouped_query_cache"),
        exercises={
            "head_width": 2,
            "kv_heads": 3,
            "layer_kinds": 3,
            "cache_bytes": 4,
            "state_bytes": 2,
            "mla_bytes_per_token": 2,
            "absorbed_scores": 3,
            "mean_pool_kv": 1,
        },
    ),
    Lesson(
        slug="07_paging",
        title="Paging",
        promise="Keep tokens in blocks of a shared pool, and say what growth, forks and a full pool cost.",
        minutes=50,
        needs=("02_byte_formula", "04_rectangular_masks"),
        exercises={
            "blocks_needed": 1,
            "slot_of": 2,
            "waste": 2,
            "gather": 2,
            "paged_attention": 3,
            "BlockPool": 6,
            "can_promise": 2,
        },
    ),
    Lesson(
        slug="09_roofline",
        title="What bounds a step",
        promise="Bound a decode step from below, and say which intensity no batch gets beyond at a given context.",
        minutes=45,
        needs=("02_byte_formula",),
        exercises={
            "decode_cost": 4,
            "intensity": 1,
            "step_time_bound": 2,
            "batch_gain": 2,
            "intensity_ceiling": 2,
            "crossover_tokens": 2,
            "context_for_ceiling": 3,
        },
    ),
    Lesson(
        slug="10_admission",
        title="Admission",
        promise="Turn bytes into a number of requests, decide who runs in each step, and say what each user waits for.",
        minutes=60,
        needs=("02_byte_formula", "07_paging"),
        exercises={
            "kv_room": 2,
            "max_requests": 1,
            "per_rank_fit": 4,
            "check_claim": 2,
            "admit": 2,
            "Scheduler": 6,
            "latency_report": 2,
        },
    ),
    Lesson(
        slug="11_decode_timing",
        title="Timing a real decode",
        promise="Time decode steps on a device that works on its own, and tell a measurement from an impossible one.",
        minutes=50,
        needs=("05_grouped_query_cache",),
        exercises={
            "time_call": 4,
            "summarise": 2,
            "step_bytes": 2,
            "effective_bandwidth": 1,
            "plausible": 2,
            "fit_line": 3,
            "copies_made": 3,
        },
    ),
)


def lesson(slug: str) -> Lesson:
    """The lesson called `slug`; the folder name, or its number alone ("02"). KeyError names what exists."""
    for each in LESSONS:
        if slug in (each.slug, each.slug.partition("_")[0]):
            return each
    raise KeyError(f"no lesson {slug!r}; the lessons are {', '.join(each.slug for each in LESSONS)}")


def lesson_of(exercise: str) -> Lesson:
    """The lesson that grades `exercise`. KeyError names every exercise."""
    for each in LESSONS:
        if exercise in each.exercises:
            return each
    known = ", ".join(name for each in LESSONS for name in each.exercises)
    raise KeyError(f"no exercise {exercise!r}; the exercises are {known}")
