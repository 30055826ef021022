"""The course table: which lessons exist, in which order, and which exercises each one grades.

Everything that must know the course without importing a lesson's code (the map, the progress file, `check`,
which must find the lesson of an exercise without importing thirteen others) reads it here.
"""

from dataclasses import dataclass, field
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
    # Functions of kvlab that would answer an exercise, by module: whoever calls one earns no points by it.
    library: dict[str, tuple[str, ...]]
    # What else the sandbox's copy of kvlab leaves out: parts of those functions. A class stands for its methods.
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def number(self) -> str:
        return self.slug.partition("_")[0]

    @property
    def key(self) -> str:
        """The name of the lesson's rooms: `autograde.exercises.<key>`, `kvlab.figures.<key>`, `tests/lessons/<key>`."""
        return self.slug.partition("_")[2]

    @property
    def points(self) -> int:
        return sum(self.exercises.values())

    def notebook(self, kind: str, root: Path = ROOT) -> Path:
        """Path of this lesson's notebook in `solutions`, `lessons` or `work` of the course's folder `root`."""
        return root / kind / self.slug / f"{self.slug}.ipynb"


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
        library={
            "kvlab.reuse": (
                "attend",
                "decode_step",
                "prefill",
                "recompute",
                "score_work",
                "reusable_rows",
            ),
        },
        left_out={
            "kvlab.reuse": (
                "_row",
                "_rows_made",
                "_same_rows",
                "_softmax",
                "metered",
                "Metered",
            ),
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
        library={
            "kvlab.sizes": (
                "kv_elements",
                "kv_bytes",
                "ragged_kv_bytes",
                "as_units",
                "bytes_per_token",
                "capacity_table",
                "max_tokens",
            ),
        },
        left_out={
            "kvlab.sizes": (
                "_decimal",
                "_each",
                "_known",
                "_shape",
                "bits_to_bytes",
                "dtype_bits",
                "show_bytes",
                "show_number",
                "weight_bytes",
            ),
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
        library={
            "kvlab.parity": (
                "CachedDecoder.step",
                "CachedDecoder.prefill",
                "cached_logits",
                "first_divergence",
                "sample",
            ),
        },
        left_out={
            "kvlab.parity": (
                "CachedDecoder",
                "full_logits",
                "_apart",
                "_known_id",
            ),
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
        library={
            "kvlab.masks": (
                "allowed",
                "additive_mask",
                "attend",
                "masked_attention",
                "chunked_attention",
                "ragged_allowed",
                "window_allowed",
            ),
        },
        left_out={
            "kvlab.masks": (
                "in_window",
                "_sizes",
            ),
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
        library={
            "kvlab.attention": (
                "kv_head_of",
                "repeat_kv",
                "grouped_attention",
                "expanded_attention",
            ),
            "kvlab.caches": (
                "GroupedCache.append",
                "ConcatenatedCache.append",
                "RotaryCache.step",
                "elements_copied",
            ),
            "kvlab.rope": ("rope",),
        },
        left_out={
            "kvlab.attention": (
                "group_size",
                "_mask",
                "_side_by_side",
            ),
            "kvlab.caches": (
                "GroupedCache",
                "ConcatenatedCache",
                "RotaryCache",
                "_heads",
            ),
            "kvlab.rope": (
                "angles",
                "apply_rotary",
            ),
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
        library={
            "kvlab.configs": (
                "read_config",
                "head_width",
                "kv_heads",
                "layer_kinds",
                "cache_bytes",
                "state_bytes",
                "_head_width",
                "_kv_heads",
                "_multi_query",
                "_kinds",
                "_listed",
                "ModelConfig.elements",
                "ModelConfig.state_bytes",
            ),
            "kvlab.latent": (
                "mla_bytes_per_token",
                "absorbed_scores",
                "rebuilt_scores",
                "mean_pool_kv",
            ),
            "kvlab.allocation": ("allocation",),
        },
        left_out={
            "kvlab.configs": (
                "Layer",
                "ModelConfig",
                "_default",
                "_flag",
                "_known",
                "_layers",
                "_origin",
                "_refuse_latent",
                "_refuse_surprises",
                "_stands_for",
                "_whisper",
                "_window",
            ),
            "kvlab.latent": ("_scale",),
            "kvlab.allocation": (
                "unused_slots",
                "_stored",
            ),
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
        library={
            "kvlab.paging": (
                "blocks_needed",
                "slot_of",
                "waste",
                "gather",
                "paged_attention",
                "can_promise",
                "BlockPool.allocate",
                "BlockPool.append",
                "BlockPool.fork",
                "BlockPool.truncate",
                "BlockPool.free",
                "BlockPool.table",
                "BlockPool.ref",
            ),
        },
        left_out={
            "kvlab.paging": ("BlockPool",),
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
        library={
            "kvlab.roofline": (
                "decode_cost",
                "intensity",
                "step_time_bound",
                "batch_gain",
                "intensity_ceiling",
                "crossover_tokens",
                "context_for_ceiling",
                "_bits_per_token",
                "attention_flops",
                "latent_decode_cost",
                "latent_flops",
                "prefill_cost",
            ),
            "kvlab.explorers.roofline": ("Reading.attainable",),
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
        library={
            "kvlab.capacity": (
                "kv_room",
                "max_requests",
                "per_rank_fit",
                "check_claim",
            ),
            "kvlab.scheduling": (
                "admit",
                "latency_report",
                "Scheduler.submit",
                "Scheduler.cancel",
                "Scheduler.step",
            ),
            "kvlab.explorers.admission": ("by_cost",),
        },
        left_out={
            "kvlab.scheduling": (
                "Scheduler",
                "_worst_case",
            ),
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
        library={
            "kvlab.bench.clock": (
                "time_call",
                "summarise",
            ),
            "kvlab.bench.rates": (
                "step_bytes",
                "effective_bandwidth",
                "plausible",
                "fit_line",
            ),
            "kvlab.bench.meter": ("copies_made",),
        },
        left_out={
            "kvlab.bench.clock": ("_seconds",),
            "kvlab.bench.rates": ("_positive",),
        },
    ),
)


def lesson(slug: str) -> Lesson:
    """The lesson called `slug`: the folder's name, its number ("02") or its key. KeyError names what exists."""
    for each in LESSONS:
        if slug in (each.slug, each.key, each.number):
            return each
    raise KeyError(f"no lesson {slug!r}; the lessons are {', '.join(each.slug for each in LESSONS)}")


def lesson_of(exercise: str) -> Lesson:
    """The lesson that grades `exercise`. KeyError names every exercise."""
    for each in LESSONS:
        if exercise in each.exercises:
            return each
    known = ", ".join(name for each in LESSONS for name in each.exercises)
    raise KeyError(f"no exercise {exercise!r}; the exercises are {known}")


def library_of(exercise: str) -> list[str]:
    """What would answer `exercise` in the library, as "package.module:function"; nothing for one outside the course."""
    for each in LESSONS:
        if exercise in each.exercises:
            return [f"{module}:{name}" for module, names in each.library.items() for name in names]
    return []
