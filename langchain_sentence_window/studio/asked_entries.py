"""The questions that a run asks."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.studio.question_list import Entry
from langchain_sentence_window.studio.replies import Refused
from langchain_sentence_window.studio.state import Studio


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions that a run asks.

    Attributes:
        entries: The questions, as the list has them.
        left_out: The number of those that it doesn't ask.
    """

    entries: Sequence[Entry]
    left_out: int

    @property
    def questions(self) -> list[Question]:
        """The questions alone."""
        return [entry.question for entry in self.entries]


async def asked_entries(studio: Studio, *, leave_out_lost: bool) -> Asked:
    """Return the questions that a run asks.

    Args:
        studio: The page.
        leave_out_lost: Whether those are left out whose gold isn't in the index, and which would score 0.

    Raises:
        Refused: There are none.
    """
    entries = await ASYNC.in_thread(studio.question_list.all)
    asked = list(entries)
    if leave_out_lost:
        golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
        asked = [entry for entry, gold in zip(entries, golds, strict=True) if gold.state in ("ok", "unknown")]
    if not asked:
        reason = "the gold of none of them is in the index" if entries else "there are none"
        raise Refused(409, f"no question can be asked: {reason}; mark some, or import them")
    return Asked(asked, len(entries) - len(asked))
