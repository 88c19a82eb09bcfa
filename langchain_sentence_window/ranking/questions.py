"""What a question needs: a fact, an exchange of messages, or the steps of a procedure.

Most questions need a fact, which a sentence and those after it hold. "What did Anna think of the price?" needs turns of
a conversation, and "How do I pair the remote?" the steps under a heading. Only English wording is recognized; questions
in other languages are treated as asking for a fact.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from langchain_sentence_window.splitting.blocks import MESSAGE

from .words import tokens_of

_ASKS_WHAT_WAS_SAID = re.compile(
    r"\b(?:summari[sz]e|discuss(?:ed|ion|ions|ing)?|opinions?|views? (?:of|on|about|towards?)|decide[ds]?|agreed?|"
    r"(?:said|say|thought|think|talked|talk|explained|explain|argued|argue|proposed|propose|suggested|suggest|"
    r"recommended|recommend) (?:about|on|of|that|in|towards?)|"
    r"wh(?:y|at) did .{1,60} (?:say|think|explain|propose|suggest))\b",
    re.IGNORECASE,
)
_ASKS_HOW_TO = re.compile(
    r"\b(?:how (?:do|can|could|should|would) (?:i|we|you|one)|how to|what to do|"
    r"what (?:do|should|can) (?:i|we|you|one)|where (?:do|can|should) (?:i|we|you|one)|steps|instructions|procedure|"
    r"configure|set ?up|install|fix|troubleshoot|not working|failed)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a question needs in addition to a fact.

    Attributes:
        exchange: Whether it asks what was said, thought or decided.
        procedure: Whether it asks how something is done.
    """

    exchange: bool
    procedure: bool

    def passage_around(self, kind: str, heading: str, *, in_manual: bool) -> Literal["exchange", "procedure"] | None:
        """Return which passage the question needs around a sentence; ``None`` if the sentence is enough.

        Args:
            kind: The kind of the sentence's block, see `langchain_sentence_window.splitting.blocks`.
            heading: Its heading path.
            in_manual: Whether its document is one of `manuals`.
        """
        if kind == MESSAGE:
            return "exchange" if self.exchange else None
        return "procedure" if self.procedure and heading and in_manual else None


MAX_MEAN_OF_MANUAL = 70
"""The largest mean length, in characters, of the sentences of a manual."""


def manuals(sentences: Iterable[tuple[str, str]]) -> set[str]:
    """Return the ids of documents that consist of short lines, as manuals do.

    Args:
        sentences: The document and the text of each known sentence.
    """
    lengths: dict[str, list[int]] = {}
    for doc_id, text in sentences:
        lengths.setdefault(doc_id, []).append(len(text))
    return {doc_id for doc_id, each in lengths.items() if sum(each) <= MAX_MEAN_OF_MANUAL * len(each)}


def needs_of(question: str) -> Needs:
    """Return what a question needs."""
    return Needs(_ASKS_WHAT_WAS_SAID.search(question) is not None, _ASKS_HOW_TO.search(question) is not None)


def has_name(question: str) -> bool:
    """Return whether a question holds a word that is written as a name, and isn't "I"."""
    return any(token.is_name and len(token.word) > 1 for token in tokens_of(question))
