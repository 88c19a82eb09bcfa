"""The plot of an evaluation. matplotlib is imported on use."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from langchain_sentence_window._arguments import checked_path
from langchain_sentence_window.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_recall(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    budgets: Sequence[int],
    unit: str,
    path: str | PathLike[str] | None,
) -> "Figure":
    """Draw recall against context, a line for each retriever.

    Args:
        curves: Points ``(context used, recall from 0 to 1)`` by the retriever's name.
        budgets: The ticks of the context's axis.
        unit: The unit of the context.
        path: The file to write; its suffix, such as ``.svg`` or ``.png``, sets the format. ``None`` writes none.

    Raises:
        MissingExtraError: matplotlib isn't installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    # Not pyplot, which keeps every figure and may need a screen.
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for name, points in curves.items():
        used, recall = zip(*points, strict=True)
        axes.plot(used, [100 * share for share in recall], marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(xlabel=f"{unit} of context", ylabel="gold characters in it, %", ylim=(0, 100))
    axes.grid(visible=True, alpha=0.3)
    if len(curves) > 1:
        axes.legend()
    if path is not None:
        figure.savefig(checked_path(path))
    return figure
