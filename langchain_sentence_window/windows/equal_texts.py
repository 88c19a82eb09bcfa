"""Equal text once: which windows say what a better one says already.

Windows are compared only if their best sentences are equal. Those are known from the search, so nothing is read for
windows that have no equal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from langchain_sentence_window.windows.geometry import Hit, Window
from langchain_sentence_window.windows.growing import Ranked


@dataclass(frozen=True, slots=True)
class Equal:
    """A window that is left out, as its text is that of a better one.

    Attributes:
        window: The window, as it would have been returned.
        better: The position of the better one among the ranked windows, from 0.
    """

    window: Window
    better: int


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of windows, as they are compared.

    Attributes:
        key: Returns what equal sentences share; empty for one that equals no other.
        are_equal: Returns whether two windows have the same text.
        known: Windows that are known to be equal to better ones, by their positions.
    """

    key: Callable[[Hit], str]
    are_equal: Callable[[Window, Window], bool]
    known: Mapping[int, Equal]


@dataclass(slots=True)
class EqualTexts:
    """The texts of windows that were taken, and the windows that equal them.

    Attributes:
        texts: How texts are compared; ``None`` if they aren't.
        completed: Returns a window as it is returned if it isn't joined with others.
        found: The windows that were left out, by their positions.
    """

    texts: Texts | None
    completed: Callable[[Ranked], Window]
    found: dict[int, Equal] = field(default_factory=dict)
    _taken: dict[str, list[tuple[Ranked, int]]] = field(default_factory=dict)
    _left_out: dict[str, list[Equal]] = field(default_factory=dict)

    def is_known(self, rank: int) -> bool:
        """Leave a window out if it was known before to equal a better one; return whether it was."""
        equal = None if self.texts is None else self.texts.known.get(rank)
        return equal is not None and self._leave_out(rank, equal)

    def leaves_out(self, item: Ranked, rank: int) -> bool:
        """Leave a window out if it equals one that was taken, or is part of one that was left out."""
        if self.texts is None or item.fixed_cost is not None:
            return False
        best = item.window.best
        for equal in self._left_out.get(best.doc_id, []):
            if equal.window.first <= best.index <= equal.window.last:
                self.found[rank] = equal
                return True
        for taken, better in self._taken.get(self.texts.key(best), []):
            window = self.completed(item)
            if self.texts.are_equal(self.completed(taken), window):
                return self._leave_out(rank, Equal(window, better))
        return False

    def add(self, item: Ranked, rank: int) -> None:
        """Note a window that was taken."""
        if self.texts is not None and item.fixed_cost is None and (key := self.texts.key(item.window.best)):
            self._taken.setdefault(key, []).append((item, rank))

    def _leave_out(self, rank: int, equal: Equal) -> bool:
        self.found[rank] = equal
        self._left_out.setdefault(equal.window.doc_id, []).append(equal)
        return True
