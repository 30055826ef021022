"""What `autograde.check` is in the sandbox, where nothing knows the answers: cells that call it find it and go on."""


def check(name: str) -> None:
    """Nothing: the grader tries the answer itself, at the place of the locked check."""


def hint(name: str) -> None:
    """Nothing."""
