"""A bar for what takes a while: how far it is, how long it may still take, and a button that ends it early."""

import threading

import ipywidgets as widgets


class Progress(widgets.HBox):
    """Shown while rows come in. `stopped()` is true once the button was pressed; what is there by then is kept.

    JupyterLab brings the press to the kernel while the cell runs. Where the front end cannot, Interrupt does the same.
    """

    def __init__(self, total: int):
        self._stop = threading.Event()
        self.bar = widgets.IntProgress(value=0, max=total, layout={"width": "220px"})
        self.text = widgets.Label("starting")
        self.button = widgets.Button(description="Stop, and keep", icon="stop", layout={"width": "auto"})
        self.button.on_click(lambda _: self._stop.set())
        super().__init__((self.bar, self.button, self.text), layout={"align_items": "center", "flex_flow": "row wrap"})

    def show(self, row: dict, seconds_left: float) -> None:
        """One more row is there; the sweep may last this much longer."""
        self.bar.max = max(self.bar.max, self.bar.value + 1)  # a sweep that ran out of memory tries more points
        self.bar.value += 1
        now = f"{self.bar.value} of {self.bar.max}: {row['way']}, {row['context']:,} tokens × {row['batch']}"
        self.text.value = f"{now}, {row['outcome']} · at most {seconds_left:.0f} s left"

    def stopped(self) -> bool:
        return self._stop.is_set()

    def done(self, rows: int) -> None:
        """Nothing runs any more: `rows` are kept."""
        self.button.disabled = True
        self.text.value = f"{rows} points are kept" + (", stopped early" if rows < self.bar.max else "")
