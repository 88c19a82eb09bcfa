"""What a question needs: a fact, what was said in an exchange, or the steps of a procedure; and whether it has a name.

Most questions need a fact, which a sentence and those after it hold. "What did Anna think of the price?" needs turns of
talk, and "How do I pair the remote?" the steps under a heading. Questions are recognized by English words alone; those
of other languages are taken to need a fact.
"""

import re
from dataclasses import dataclass

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


def needs_of(question: str) -> Needs:
    """Tell what a question needs."""
    return Needs(_ASKS_WHAT_WAS_SAID.search(question) is not None, _ASKS_HOW_TO.search(question) is not None)


def has_name(question: str) -> bool:
    """Return whether a question holds a word that is written as a name, and isn't "I"."""
    return any(token.is_name and len(token.word) > 1 for token in tokens_of(question))
