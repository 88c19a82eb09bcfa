"""Types that several folders share."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Span: TypeAlias = tuple[int, int]
"""A half-open range of code points, ``[start, end)``."""

SentenceKey: TypeAlias = tuple[str, int]
"""A document's id, and the index of a sentence in the document."""

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Vectors in single precision, usually of shape ``(n, dimension)``."""

Rows: TypeAlias = npt.NDArray[np.int64]
"""Numbers of rows in the database."""
