"""Ids that are UUIDs, as almost all are, stored as numbers: they take half the room."""

import re
from collections.abc import Sequence

import numpy as np

from langchain_sentence_window.documents.ids import ID_LENGTH

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IS_UUID, _ARE_UUIDS = re.compile(_UUID), re.compile(f"(?:{_UUID})*")


def uuid_numbers(ids: Sequence[str]) -> list[tuple[int, int] | tuple[None, None]]:
    """Return the halves of each UUID as signed numbers of 64 bits; ``None`` for other ids, also those in upper case."""
    if set(map(len, ids)) == {ID_LENGTH} and _ARE_UUIDS.fullmatch("".join(ids)):
        return [*_halves(ids)]  # as almost always; one by one takes twice as long
    return [_halves([id_])[0] if _IS_UUID.fullmatch(id_) else (None, None) for id_ in ids]


def _halves(uuids: Sequence[str]) -> list[tuple[int, int]]:
    numbers = np.frombuffer(bytes.fromhex("".join(uuids).replace("-", "")), dtype=">i8").tolist()
    return list(zip(numbers[::2], numbers[1::2], strict=True))
