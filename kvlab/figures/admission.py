"""The figures of lesson 10."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from kvlab.figures.labels import byte_label
from kvlab.figures.picture import Picture
from kvlab.figures.style import (
    BLUE,
    GREEN,
    INK,
    ON_COLOUR,
    ORANGE,
    PAPER,
    PINK,
    SKY,
    SOFT,
    VERMILION,
    draw_cell,
    even_binary_steps,
    new_figure,
    table_axes,
)


def device_parts(parts: Mapping[str, int], total: int, room: int | None = None) -> Picture:
    """What lies on a device, as one bar, in bytes: `parts` by name, `total` is all of it, `room` what is left."""
    fig, ax = new_figure(7.4, 2.3)
    shades, left, said = (BLUE, ORANGE, PINK, SKY, SOFT), 0.0, []
    bars = [*zip(parts.items(), (shades * len(parts))[: len(parts)], strict=True)]
    bars += [(("room for the cache", room), GREEN)] * (room is not None)
    for (name, size), colour in bars:
        size = float(size)
        free = colour == GREEN
        ax.barh(0, size, 0.5, left, color=colour, edgecolor=PAPER, linewidth=1.5, hatch="//" * free, label=name)
        if size > total / 12:
            box = ON_COLOUR if free or colour in (ORANGE, SKY, PINK) else None
            look = {"color": INK if box else "white", "fontsize": 9, "bbox": box}
            ax.text(left + size / 2, 0, byte_label(size), ha="center", va="center", **look)
        said.append(f"{name} {byte_label(size)}")
        left += size
    ax.axvline(total, color=VERMILION, linewidth=1.6)
    ax.set_xlim(0, max(total, left) * 1.03)
    ax.xaxis.set_major_locator(FixedLocator(even_binary_steps(max(total, left))))
    ax.xaxis.set_major_formatter(FuncFormatter(byte_label))
    ax.set_xlabel("bytes; the line is the end of the device")
    ax.set_yticks([0], ["device"])
    ax.grid(axis="y", visible=False)
    fig.legend(loc="outside lower center", ncols=4, frameon=False)
    return Picture(fig, f"A device of {byte_label(total)}: {', '.join(said)}.")


def queue_fit(needs: Mapping[str, int], free: int, admitted: Iterable[str]) -> Picture:
    """A queue side by side with the free blocks: `needs` maps an id to its blocks, `admitted` lists those let in."""
    fig, ax = new_figure(7.4, 1.3 + 0.36 * max(len(needs), 2))
    end, inside = 0, list(admitted)
    for row, (name, blocks) in enumerate(needs.items()):
        look = {"color": BLUE} if name in inside else {"facecolor": PAPER, "edgecolor": SOFT, "hatch": "///"}
        ax.barh(row, blocks, 0.7, end, linewidth=1, **look)
        end += blocks
        ax.annotate(f"{blocks}", (end, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
    ax.axvline(free, color=VERMILION, linewidth=1.6)
    ax.set_yticks(range(len(needs)), needs)
    ax.set_ylim(len(needs) - 0.4, -0.6)
    ax.set_xlim(0, max(end, free) * 1.06 + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    ax.set_xlabel("blocks of the worst case, one request behind the other; the line: free blocks")
    ax.grid(axis="y", visible=False)
    keys = [Rectangle((0, 0), 1, 1, color=BLUE), Rectangle((0, 0), 1, 1, facecolor=PAPER, edgecolor=SOFT, hatch="///")]
    fig.legend(keys, ["admitted", "waits"], loc="outside lower center", ncols=2, frameon=False)
    each = ", ".join(f"{name} {blocks}" for name, blocks in needs.items())
    return Picture(
        fig, f"Blocks of each worst case: {each}. {free} are free. Admitted: {', '.join(inside) or 'nobody'}."
    )


def schedule(steps: Sequence[Sequence[tuple]], budget: int) -> Picture:
    """Who wrote how many tokens in which step: `steps` are lists of a scheduler's events, a list for each step.

    A cell holds the tokens written; a dot marks a step that gave a token, a cross one in which it was preempted.
    """
    marks = {"token": "o", "preempt": "x", "expire": "X", "finish": "s"}
    written, marked = {}, {}
    for number, events in enumerate(steps, start=1):
        for kind, name, *more in events:
            written.setdefault(name, {})
            if kind == "write":
                written[name][number] = int(more[0])
            elif kind in marks:
                marked.setdefault((name, number), []).append(kind)
    names = list(written)
    fig, ax = table_axes(len(names), len(steps), f"step, of at most {budget} tokens")
    fills, said = ("#dcecf6", "#bfdcee", "#8fc1e3"), []
    for row, name in enumerate(names):
        for column in range(len(steps)):
            n, kinds = written[name].get(column + 1, 0), marked.get((name, column + 1), [])
            draw_cell(ax, row, column, f"{n}" if n else "", fills[(n > 1) + (n >= budget / 2)] if n else PAPER, INK)
            if "token" in kinds:
                end = "finish" in kinds
                ax.plot(column + 0.32, row + 0.28, "s" if end else "o", color=VERMILION if end else GREEN, markersize=4)
            for kind in {"preempt", "expire"} & set(kinds):
                ax.plot(column, row, marks[kind], color=VERMILION, markersize=7, markeredgewidth=1.8)
        told = ", ".join(f"{n} in step {number}" for number, n in written[name].items()) or "nothing"
        ends = "".join(
            f"; {kind} in step {n}"
            for (who, n), ks in marked.items()
            if who == name
            for kind in ks[-1:]
            if kind != "token"
        )
        said.append(f"{name} writes {told}{ends}")
    ax.set_xticks(range(len(steps)), range(1, len(steps) + 1))
    ax.set_yticks(range(len(names)), names)
    looks = [(GREEN, "o", "gives a token"), (VERMILION, "s", "gives the last"), (VERMILION, "x", "preempted")]
    keys = [Line2D([], [], color=colour, marker=marker, linestyle="", label=label) for colour, marker, label in looks]
    fig.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False)
    return Picture(fig, f"Tokens written in each step. {'. '.join(said)}.")


def token_times(
    arrival: float, rows: Mapping[str, Sequence[float]], reports: Mapping[str, Mapping[str, float | None]]
) -> Picture:
    """When tokens came: `rows` maps a label to time stamps in seconds, `reports` the label to what a report says.

    Drawn for each row: the wait for the first token, a dot for each token, and the end.
    """
    fig, ax = new_figure(7.4, 1.5 + 0.7 * len(rows))
    said = []
    for row, (label, stamps) in enumerate(rows.items()):
        ax.plot([arrival, stamps[0]], [row, row], color=ORANGE, linewidth=5, solid_capstyle="butt")
        ax.plot(stamps, [row] * len(stamps), color=BLUE, marker="o", markersize=6, linewidth=1.2)
        numbers = ((name, reports[label].get(name)) for name in ("ttft", "mean_itl", "max_itl", "end_to_end"))
        words = ", ".join(f"{name} {'none' if value is None else f'{float(value):.3g} s'}" for name, value in numbers)
        ax.annotate(words, (arrival, row), (3, 9), textcoords="offset points", fontsize=9)
        said.append(f"{label}: {words}")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.6, -0.7)
    ax.set_xlim(left=arrival)
    ax.set_xlabel("seconds")
    ax.grid(axis="y", visible=False)
    keys = [Line2D([], [], color=ORANGE, linewidth=5, label="wait for the first token")]
    keys.append(Line2D([], [], color=BLUE, marker="o", linewidth=1.2, label="tokens, and the gaps between them"))
    fig.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    return Picture(fig, f"{'; '.join(said)}.")
