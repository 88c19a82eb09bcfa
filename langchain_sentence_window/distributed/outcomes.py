"""The outcomes of documents, and the summary of an ingest."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["written", "unchanged", "pending", "failed", "stopped"]
"""Tells a document's fate. ``pending``: a dry run would have written it. ``stopped``: the store didn't answer."""

_MAX_SHOWN = 5


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


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The work that an ingest did, and what is left to do.

    Attributes:
        documents: The number of documents that were given, as far as they were reached.
        written: The number of documents that were embedded and written.
        unchanged: The number of documents that the store had already, the same.
        deleted: The number of documents that were deleted, as they weren't given any more.
        sentences: The number of sentences that were written.
        characters: The characters of the documents that were written.
        seconds: How long the workers took, with the time in which they were started.
        workers: The most workers that wrote.
        failures: Why documents failed, by their names.
        pending: The number of documents that are still to be written: those that failed, and in a dry run those that
            would have been written.
        pending_sentences: The number of their sentences, as far as they were split.
        pending_characters: The characters of their texts, as far as they could be read.
    """

    documents: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    sentences: int = 0
    characters: int = 0
    seconds: float = 0.0
    workers: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    pending: int = 0
    pending_sentences: int = 0
    pending_characters: int = 0

    @property
    def sentences_per_second(self) -> float:
        """The throughput of all workers; 0 if nothing was written."""
        return self.sentences / self.seconds if self.seconds and self.sentences else 0.0

    @property
    def seconds_to_finish(self) -> float | None:
        """How long it would take to write what is pending, at the pace so far; ``None`` if the pace isn't known."""
        if not self.pending:
            return 0.0
        return self.pending_characters * self.seconds / self.characters if self.characters else None

    def __str__(self) -> str:
        """Write the summary in a few lines."""
        lines = [
            f"{self.documents:,} documents: {self.written:,} written, {self.unchanged:,} unchanged, "
            f"{self.deleted:,} deleted, {len(self.failures):,} failed",
            f"{self.sentences:,} sentences in {self.seconds:,.1f} s with {self.workers} workers, "
            f"{self.sentences_per_second:,.0f} a second",
        ]
        if self.pending:
            left = self.seconds_to_finish
            time = "" if left is None else f", about {left:,.0f} s at this pace"
            lines.append(
                f"to finish: {self.pending:,} documents with {self.pending_characters:,} characters and "
                f"{self.pending_sentences:,} sentences to embed{time}"
            )
        lines += [f"failed: {name}: {why}" for name, why in list(self.failures.items())[:_MAX_SHOWN]]
        if len(self.failures) > _MAX_SHOWN:
            lines.append(f"and {len(self.failures) - _MAX_SHOWN:,} more failures")
        return "\n".join(lines)


class Tally:
    """Counts outcomes as they come."""

    def __init__(self) -> None:
        """Begin with none."""
        self.counts = dict.fromkeys(("written", "unchanged", "pending", "failed", "stopped"), 0)
        self.failures: dict[str, str] = {}
        self.sentences = self.characters = self.pending_sentences = self.pending_characters = 0

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.counts[outcome.status] += 1
        if outcome.status == "written":
            self.sentences += outcome.sentences
            self.characters += outcome.characters
        elif outcome.status != "unchanged":
            self.pending_sentences += outcome.sentences
            self.pending_characters += outcome.characters
        if outcome.error:
            self.failures[outcome.doc_id] = outcome.error

    def summary(self, *, seconds: float, workers: int, deleted: int = 0) -> IngestSummary:
        """Return the summary of what was counted."""
        counts = self.counts
        return IngestSummary(
            documents=sum(counts.values()),
            written=counts["written"],
            unchanged=counts["unchanged"],
            deleted=deleted,
            sentences=self.sentences,
            characters=self.characters,
            seconds=seconds,
            workers=workers,
            failures=dict(self.failures),
            pending=counts["pending"] + counts["failed"] + counts["stopped"],
            pending_sentences=self.pending_sentences,
            pending_characters=self.pending_characters,
        )
