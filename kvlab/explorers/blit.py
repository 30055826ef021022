"""Fast redrawing: the part of a figure that never changes is drawn once, the rest over a copy of it."""

import io
from collections.abc import Iterable

import ipywidgets
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from traitlets import Unicode

from kvlab.figures.picture import CSS_DPI, SCALE


class DescribedImage(ipywidgets.Image):
    """An image that says in words what it shows: `tooltip` becomes the accessible name of the `<img>`."""

    # ipywidgets' front end shows a tooltip only beside an empty description, and fails where there is none.
    description = Unicode("").tag(sync=True)


class Blitter:
    """Draws `moving` artists over a figure whose layout is frozen at the first draw.

    A full draw of a small figure takes tens of milliseconds, most of them for axes, ticks and text that stay.
    """

    def __init__(self, figure: Figure, moving: Iterable[Artist]):
        figure.set_dpi(CSS_DPI * SCALE)
        self.canvas = FigureCanvasAgg(figure)
        self.moving = list(moving)
        for artist in self.moving:
            artist.set_animated(True)  # left out of a full draw
        self.canvas.draw()
        figure.set_layout_engine("none")  # from here on nothing may move the axes
        self.still = self.canvas.copy_from_bbox(figure.bbox)

    def png(self) -> bytes:
        """The figure as it now is, as PNG at twice its CSS size."""
        self.canvas.restore_region(self.still)
        renderer = self.canvas.get_renderer()
        for artist in self.moving:
            artist.draw(renderer)
        size = self.canvas.get_width_height()
        image = Image.frombuffer("RGBA", size, self.canvas.buffer_rgba()).convert("RGB")
        # An indexed picture is packed in a third of the time. The palette is found anew each time: kept from the first
        # picture it would lack what only later ones show. It travels once and is not kept, so speed comes before size.
        file = io.BytesIO()
        image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, "png", compress_level=1)
        return file.getvalue()
