"""What several exercises of the lesson share: oracles, parts of wrong answers, and what to say about a mistake."""

from autograde.values import Raised

REFUSED = Raised("ValueError")


TOLERANCE = 1e-12
