"""A base class for objects with open files: copies share them, and pickling is refused."""

from typing import Any, NoReturn, Self, SupportsIndex

from langchain_sentence_window.errors import StoreError


class OpenFiles:
    """An object that holds open files, so it can't be deep-copied or sent to another process."""

    def __copy__(self) -> Self:
        """Return another handle of the same open files."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Refuse a deep copy.

        Raises:
            StoreError: Always. The message says how to open the files a second time.
        """
        raise self._not_copyable("deep-copied")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickling.

        Raises:
            StoreError: Always. The message says how to open the files in another process.
        """
        raise self._not_copyable("pickled")

    def _reopened(self) -> str:
        """Return how to open the files again, as the end of a message."""
        raise NotImplementedError

    def _not_copyable(self, how: str) -> StoreError:
        return StoreError(
            f"a {type(self).__name__} can't be {how}, as it holds open files; open it again where it is needed, in "
            f"another process too: {self._reopened()}. copy.copy and model_copy share it"
        )
