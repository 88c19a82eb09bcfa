"""How far an evaluation is: a progress bar, a callback, or both."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from tqdm.auto import tqdm

from langchain_sentence_window._validation import checked_callback

OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of steps done, and of all steps. What it raises ends the work."""


@contextmanager
def counted(
    total: int, title: str, *, show_progress: bool, on_progress: OnProgress | None
) -> Iterator[Callable[[], None]]:
    """Count steps.

    Args:
        total: The number of all steps.
        title: What the bar calls them.
        show_progress: Whether to show a bar.
        on_progress: Called before the first step, and after each.

    Yields:
        What to call after each step.
    """
    if on_progress is not None:
        checked_callback("on_progress", on_progress, "the number of steps done", "the number of all steps")
    done = 0

    def tell() -> None:
        if on_progress is not None:
            on_progress(done, total)

    with tqdm(total=total, desc=title, disable=not show_progress) as bar:

        def step() -> None:
            nonlocal done
            done += 1
            bar.update()
            tell()

        tell()
        yield step
