"""The progress of a sync, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncProgress:
    """How far a sync is.

    Attributes:
        done: The number of files that are finished.
        total: The number of files that were found.
        sentences: The number of sentences added so far.
        current: The path of the file that is next; ``None`` at the end.
        seconds: The time since the sync began.
    """

    done: int
    total: int
    sentences: int
    current: str | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """The result of a sync. Files are named by their absolute paths, which are the sources of their documents.

    Attributes:
        added: Files that the index didn't have.
        updated: Files that had changed.
        unchanged: Files that the index holds as they are.
        deleted: Files that have gone, and whose documents were deleted.
        failed: Why a file or a folder couldn't be read, by its path. What the index has of it stays, unless the file
            is empty now.
        skipped: The number of files that weren't read because of their suffix or kind.
        sentences: The number of sentences of the files that were added and updated.
        seconds: The time it took.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    skipped: int = 0
    sentences: int = 0
    seconds: float = 0.0

    @property
    def has_changes(self) -> bool:
        """Whether the index was changed."""
        return bool(self.added or self.updated or self.deleted)

    def __str__(self) -> str:
        """Return the counts on one line, and the files that failed below it."""
        counts = {
            "added": len(self.added),
            "updated": len(self.updated),
            "unchanged": len(self.unchanged),
            "deleted": len(self.deleted),
            "failed": len(self.failed),
            "skipped": self.skipped,
        }
        line = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no files"
        return "\n".join([f"{line}; {self.sentences:,} sentences", *self.failed.values()])
