"""The progress of a sync, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncProgress:
    """How far a sync is.

    Attributes:
        done: The number of files that are finished. Files are added together, so it rises by several at once.
        total: The number of files that were found.
        sentences: The number of sentences that were added, or embedded to be added next.
        current: The path of the file that is read, or of the largest of those that are embedded together; ``None`` at
            the end.
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
        known_failed: The same for files that failed at an earlier sync and haven't changed since.
        missing_extras: Files that need a library that isn't installed, by the extra that installs it.
        skipped: The numbers of files that weren't read, by their suffixes in lower case; of a kind that can be read,
            too, if they aren't regular files.
        sentences: The number of sentences of the files that were added and updated.
        seconds: The time it took.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    known_failed: Mapping[str, str] = field(default_factory=dict)
    missing_extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    sentences: int = 0
    seconds: float = 0.0

    @property
    def has_changes(self) -> bool:
        """Whether the index was changed."""
        return bool(self.added or self.updated or self.deleted)

    def __str__(self) -> str:
        """Return the counts on one line, and the files that failed below it."""
        suffixes = {each if each.isprintable() else ascii(each): count for each, count in self.skipped.items()}
        kinds = ", ".join(f"{count:,} {suffix or 'without a suffix'}" for suffix, count in suffixes.items())
        counts = {
            "added": len(self.added),
            "updated": len(self.updated),
            "unchanged": len(self.unchanged),
            "deleted": len(self.deleted),
            "failed": len(self.failed),
            "failed before": len(self.known_failed),
            "without a library": sum(map(len, self.missing_extras.values())),
            f"skipped ({kinds})": sum(self.skipped.values()),
        }
        line = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no files"
        missing = [
            f'{len(paths):,} files need: pip install "langchain-sentence-window[{extra}]"'
            for extra, paths in self.missing_extras.items()
        ]
        return "\n".join([f"{line}; {self.sentences:,} sentences", *missing, *self.failed.values()])
