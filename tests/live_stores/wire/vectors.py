"""Keep vectors, and find the closest: all the loopback servers do."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def closest(query: Sequence[float], vectors: Sequence[Sequence[float]], k: int) -> list[tuple[int, float]]:
    """Return the places of the ``k`` vectors closest to a query, with their cosines, best first."""
    if not len(vectors):
        return []
    matrix, wanted = np.asarray(vectors, dtype=np.float32), np.asarray(query, dtype=np.float32)
    cosines: Any = matrix @ wanted / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted))
    order = np.argsort(-cosines, kind="stable")[:k]
    return [(int(place), float(cosines[place])) for place in order]
