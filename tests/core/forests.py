"""Random trees of bones for hypothesis."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def forests(draw, most: int = 12) -> np.ndarray:
    """Parents [n] of some bones, -1 for roots, in any order."""
    count = draw(st.integers(1, most))
    parents = [draw(st.integers(-1, i - 1)) for i in range(count)]
    place = [*draw(st.permutations(range(count))), -1]
    shuffled = np.empty(count, dtype=int)
    for i, parent in enumerate(parents):
        shuffled[place[i]] = place[parent]
    return shuffled
