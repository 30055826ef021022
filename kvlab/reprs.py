"""Any value in few characters, for a message or a caption."""


def short_repr(value: object, most: int = 60) -> str:
    """`repr(value)` on one line, in at most `most` characters; "…" stands for what is cut off."""
    if type(value) is int and value.bit_length() > 200:
        return "a very large number"  # Python refuses to write out the longest ones
    text = " ".join(line.strip() for line in repr(value).splitlines())
    return text if len(text) <= most else text[: most - 1] + "…"
