"""Handles of open files: copies share them, and none goes into another process."""

from typing import Any, NoReturn, Self, SupportsIndex

from langchain_sentence_window.errors import StoreError


class OpenFiles:
    """What holds open files. There is nothing of it to take along into another process."""

    def __copy__(self) -> Self:
        """Make another handle for the same open files."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Refuse it.

        Raises:
            StoreError: Always; the message says how to open it a second time.
        """
        raise self._not_copyable("deep-copied")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be handed to another process.

        Raises:
            StoreError: Always; the message says how to open it in another process.
        """
        raise self._not_copyable("handed to another process")

    def _reopened(self) -> str:
        """The sentence that says how it is opened again."""
        raise NotImplementedError

    def _not_copyable(self, how: str) -> StoreError:
        return StoreError(
            f"a {type(self).__name__} can't be {how}, as it holds open files; open it again where it is needed, in "
            f"another process too: {self._reopened()}. copy.copy and model_copy share it"
        )
