"""`CheckResult`: what a check of an index looked at, and what is wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check of an index.

    Attributes:
        problems: What is wrong, a sentence each, with what to do about it; empty for a sound index.
        documents: The number of documents; 0 if the database can't be read.
        sentences: The number of sentences, likewise.
        checked: The parts that were looked at: ``files``, ``database``, ``documents``, and as far as they are there,
            ``vectors``, ``words``, ``settings`` and ``ranking``.
    """

    problems: tuple[str, ...] = ()
    documents: int = 0
    sentences: int = 0
    checked: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict that JSON can hold."""
        return {
            "problems": list(self.problems),
            "documents": self.documents,
            "sentences": self.sentences,
            "checked": list(self.checked),
        }

    def with_part(self, name: str, problems: Iterable[str]) -> Self:
        """Return the result with the problems of one more part."""
        return replace(self, problems=(*self.problems, *problems), checked=(*self.checked, name))

    def __str__(self) -> str:
        """Return a report, with a line for each problem."""
        counts = f"{_number(self.documents, 'document')}, {_number(self.sentences, 'sentence')}"
        found = f"{_number(len(self.problems), 'problem')}:" if self.problems else "no problems"
        lines = [f"{found} {counts}" if not self.problems else found, *(f"- {each}" for each in self.problems)]
        if self.problems:
            lines.append(counts)
        lines[0] = lines[0].replace("no problems ", "no problems in ")
        return "\n".join([*lines, f"checked: {', '.join(self.checked)}"])


def _number(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
