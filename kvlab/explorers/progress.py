"""A bar for what takes a while: how far it is, and how long it may still take."""

import ipywidgets as widgets

STOP = "To stop early, interrupt the kernel (■ in the toolbar): what is measured is kept."


class Progress(widgets.HBox):
    """Shown while the rows of a sweep come in. A cell that runs hears no button: interrupting it is the way to stop."""

    def __init__(self, total: int):
        self.bar = widgets.IntProgress(value=0, max=total, layout={"width": "200px"})
        self.text = widgets.HTML(STOP)
        super().__init__((self.bar, self.text), layout={"align_items": "center", "flex_flow": "row wrap"})

    def show(self, row: dict, seconds_left: float) -> None:
        """One more row is there; the sweep may last this much longer."""
        self.bar.max = max(self.bar.max, self.bar.value + 1)  # a sweep that ran out of memory tries more points
        self.bar.value += 1
        now = f"{self.bar.value} of {self.bar.max}: {row['way']}, {row['context']:,} tokens × {row['batch']}"
        self.text.value = f"{now}, {row['outcome']} · at most {seconds_left:.0f} s left. {STOP}"

    def done(self, rows: int) -> None:
        """Nothing runs any more: `rows` are kept."""
        early = " The sweep was stopped early." if rows < self.bar.max else ""
        self.text.value = f"{rows} points are kept.{early}"
