"""How a figure reaches the page: crisp, with alternative text, the same bytes each time, never as a trace."""

import base64
import io
import warnings
from html import escape

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

CSS_DPI = 100  # a figure of 7 inches is 700 CSS pixels wide
SCALE = 2  # image pixels for each CSS pixel, so that screens of high density stay sharp


class Picture:
    """A Figure with the sentence that says the same to someone who cannot see it."""

    def __init__(self, figure: Figure, alt: str):
        self.figure = figure
        self.alt = alt

    def png(self) -> bytes:
        """The figure as PNG at twice its CSS size, without date or version: equal data give equal bytes."""
        self.figure.set_dpi(CSS_DPI * SCALE)
        canvas = FigureCanvasAgg(self.figure)
        canvas.draw()
        image = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
        file = io.BytesIO()
        # A palette keeps the stored notebooks small: these plots use few colours.
        image = image.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        image.save(file, "png", optimize=True)
        return file.getvalue()

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        """HTML carries the alternative text; the bare PNG serves viewers that do not trust HTML."""
        png = base64.b64encode(self.png()).decode()
        width, height = (round(inches * CSS_DPI) for inches in self.figure.get_size_inches())
        style = "max-width: 100%; height: auto; border-radius: 4px"
        source = f"data:image/png;base64,{png}"
        html = f'<img alt="{escape(self.alt)}" width="{width}" style="{style}" src="{source}">'
        data = {"text/html": html, "image/png": png, "text/plain": self.alt}
        return data, {"image/png": {"width": width, "height": height}}


class when_written:
    """`with when_written("kv_bytes"):` draws from a learner's function, or several, that may be unfinished or wrong.

    Whatever goes wrong inside becomes one plain line on stdout; nothing reaches stderr; the notebook goes on.
    `what` says what the reader would see, if that is no picture.
    """

    def __init__(self, *names: str, what: str = "picture"):
        *others, last = [f"`{name}`" for name in names]
        self.names = f"{', '.join(others)} and {last}" if others else last
        self.verb, self.what = "are" if others else "is", what

    def __enter__(self):
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, kind, error, trace) -> bool:
        self._warnings.__exit__(kind, error, trace)
        if kind is None:
            return False
        if issubclass(kind, NotImplementedError):
            print(f"This {self.what} appears once {self.names} {self.verb} written.")
        elif issubclass(kind, Exception):  # an interrupt still stops the cell
            reason = " ".join(f"{kind.__name__}: {error}".split())
            made = "drawn" if self.what == "picture" else "made"
            print(f"This {self.what} could not be {made} from your {self.names} yet: {reason.rstrip(': ')}")
        return issubclass(kind, Exception)
