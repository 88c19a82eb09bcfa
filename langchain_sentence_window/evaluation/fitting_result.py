"""The result of fitting a ranking: its weights, what they gain, and whether to use them."""

from dataclasses import dataclass
from os import PathLike

import numpy as np

from langchain_sentence_window._tables import aligned
from langchain_sentence_window.evaluation.metrics import CONFIDENCE, MeanCI
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.ranking.signals import SIGNALS

_SHOWN_CHANGES = 5


@dataclass(frozen=True)
class FittedRanking:
    """A ranking that was fitted to questions, and what it gains; ``str(fitted)`` is a table.

    Attributes:
        fitted: The ranking that was fitted to all questions.
        prior: The ranking that it started from.
        budgets: Sizes of the context in characters.
        recall_before: The mean recall at each budget with ``prior``.
        recall_after: The same with rankings that were fitted without the question.
        gains: The gain of recall at each budget, with its interval.
        gain: The gain of the mean recall over the budgets, with its interval.
        strength: How strongly the weights were held at those of ``prior``; higher holds them more.
        questions: The number of questions.
        without_gold: How many of them have no gold among their candidates, which no ranking can change.
        groups: ``documents`` if questions of one document were left out together, else ``questions``.
    """

    fitted: Ranking
    prior: Ranking
    budgets: tuple[int, ...]
    recall_before: tuple[float, ...]
    recall_after: tuple[float, ...]
    gains: tuple[MeanCI, ...]
    gain: MeanCI
    strength: float
    questions: int
    without_gold: int
    groups: str

    @property
    def is_recommended(self) -> bool:
        """Whether the fitted ranking gains: whether the whole interval of the gain is above 0."""
        return self.gain.low > 0

    @property
    def ranking(self) -> Ranking:
        """The ranking to use: the fitted one if it is recommended, else the one that it started from."""
        return self.fitted if self.is_recommended else self.prior

    def save(self, path: str | PathLike[str]) -> None:
        """Write `ranking` to a JSON file that a retriever takes: ``ranking="ranking.json"``.

        Raises:
            InvalidInputError: The file can't be written.
        """
        self.ranking.save(path)

    def __str__(self) -> str:
        """Return a table of the recall at each budget, and what to do."""
        rows = [["% recall at", *(f"{budget:,}" for budget in self.budgets), "mean"]]
        for name, values in (("before", self.recall_before), ("fitted", self.recall_after)):
            rows.append([name, *(f"{100 * value:.1f}" for value in (*values, float(np.mean(values))))])
        rows.append(["gain", *(f"{100 * gain.mean:+.1f}" for gain in (*self.gains, self.gain))])
        interval = f"{100 * self.gain.low:+.1f} to {100 * self.gain.high:+.1f}"
        advice = (
            "Use the fitted ranking."
            if self.is_recommended
            else "Not recommended: it may gain nothing, so the ranking stays as it was. More questions may help."
        )
        return "\n".join(
            [
                f"{self.questions:,} questions, {self.without_gold:,} without gold among their candidates; each "
                "is measured with weights that were fitted without it",
                *aligned(rows),
                f"{CONFIDENCE:.0%} interval of the mean gain: {interval}",
                f"largest changes: {self._changes()}",
                advice,
            ]
        )

    def _changes(self) -> str:
        changes = {name: self.fitted.weights.get(name, 0.0) - self.prior.weights.get(name, 0.0) for name in SIGNALS}
        largest = sorted(changes, key=lambda name: -abs(changes[name]))[:_SHOWN_CHANGES]
        return ", ".join(f"{name} {changes[name]:+.2f}" for name in largest if changes[name]) or "none"
