"""Pictures that tests compare: by what they show, not by how they are packed."""

import io

from PIL import Image, ImageChops


def pixels(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def differ(one: bytes, other: bytes) -> bool:
    return ImageChops.difference(pixels(one), pixels(other)).getbbox() is not None
