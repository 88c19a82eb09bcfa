"""The order of windows in a context."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import checked_function
from langchain_sentence_window.errors import InvalidInputError

Order: TypeAlias = Literal["relevance", "document", "edges"]
"""The order of windows in a context.

``relevance``: best first. ``document``: as they stand in the documents, the document with the best window first.
``edges``: the best first, the second best last, and so on inward, as models read the middle of a long context
least (Liu et al., "Lost in the Middle", arXiv:2307.03172)."""

ORDERS: tuple[Order, ...] = ("relevance", "document", "edges")

T = TypeVar("T")


def arrange(ranked: Sequence[T], order: Order, position: Callable[[T], tuple[str, int]]) -> list[T]:
    """Sort ranked things into the order in which a model reads them.

    Args:
        ranked: Best first.
        order: The order, see `Order`.
        position: Returns the document of a thing and its position there.

    Raises:
        InvalidInputError: There is no such order, or ``ranked`` isn't a sequence.
    """
    checked_function("position", position)
    if not isinstance(ranked, Sequence) or not (isinstance(order, str) and order in ORDERS):
        raise InvalidInputError(
            f"{shown(ranked)} can't be sorted in the order {shown(order)}; give a list, and one of {', '.join(ORDERS)}"
        )
    if order == "document":
        documents = list(dict.fromkeys(position(item)[0] for item in ranked))
        rank = {doc_id: i for i, doc_id in enumerate(documents)}
        return sorted(ranked, key=lambda item: (rank[position(item)[0]], position(item)[1]))
    if order == "edges":
        return [*ranked[0::2], *reversed(ranked[1::2])]
    return list(ranked)
