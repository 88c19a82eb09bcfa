"""The outcome of each document of an ingest, and the summary of all."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["written", "unchanged", "pending", "failed", "stopped"]
"""What happened to a document. ``pending``: a dry run would have written it. ``stopped``: the store didn't answer."""

_MAX_LISTED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a document.

    Attributes:
        doc_id: Its name.
        status: ``written``, ``unchanged``, ``pending``, ``failed`` or ``stopped``.
        sentences: The number of its sentences; 0 if it has no text, or failed before it was split.
        characters: The characters of its text; 0 if it couldn't be read.
        error: Why it failed; empty if it didn't.
    """

    doc_id: str
    status: Status
    sentences: int = 0
    characters: int = 0
    error: str = ""


@dataclass(slots=True)
class IngestSummary:
    """The work that an ingest did, and what is left to do.

    Attributes:
        documents: The number of documents that were reached.
        written: The number of documents that were embedded and written.
        unchanged: The number of documents that the store held already.
        deleted: The number of documents that were deleted because they weren't in the input.
        sentences: The number of sentences that were written.
        characters: The characters of the documents that were written.
        seconds: How long the workers took, including their start.
        workers: The number of workers.
        failures: Why documents failed, by their names.
        pending: The number of documents that are still to be written: those that failed, and in a dry run those that
            would have been written.
        pending_sentences: The number of their sentences, if they were split.
        pending_characters: The characters of their texts, if they could be read.
    """

    documents: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    sentences: int = 0
    characters: int = 0
    seconds: float = 0.0
    workers: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    pending: int = 0
    pending_sentences: int = 0
    pending_characters: int = 0

    def _add(self, outcome: Outcome) -> None:
        """Count the outcome of a document."""
        self.documents += 1
        if outcome.status == "unchanged":
            self.unchanged += 1
        elif outcome.status == "written":
            self.written += 1
            self.sentences += outcome.sentences
            self.characters += outcome.characters
        else:
            self.pending += 1
            self.pending_sentences += outcome.sentences
            self.pending_characters += outcome.characters
        if outcome.error:
            self.failures[outcome.doc_id] = outcome.error

    def __str__(self) -> str:
        """Write the summary in a few lines."""
        speed = self.sentences / self.seconds if self.seconds else 0.0
        lines = [
            f"{self.documents:,} documents: {self.written:,} written, {self.unchanged:,} unchanged, "
            f"{self.deleted:,} deleted, {len(self.failures):,} failed",
            f"{self.sentences:,} sentences in {self.seconds:,.1f} s with {self.workers} workers, {speed:,.0f} a second",
        ]
        if self.pending:
            pace = ""
            if self.characters:
                pace = f", about {self.pending_characters * self.seconds / self.characters:,.0f} s at this pace"
            lines.append(
                f"to finish: {self.pending:,} documents with {self.pending_characters:,} characters and "
                f"{self.pending_sentences:,} sentences to embed{pace}"
            )
        lines += [f"failed: {name}: {why}" for name, why in list(self.failures.items())[:_MAX_LISTED]]
        if len(self.failures) > _MAX_LISTED:
            lines.append(f"and {len(self.failures) - _MAX_LISTED:,} more failures")
        return "\n".join(lines)
