"""Fit the ranking of a retriever to your documents, from a few dozen questions with gold spans.

    fitted = fit_ranking(retriever, read_questions("questions.jsonl"))
    print(fitted)
    fitted.save("ranking.json")
    retriever = SentenceWindowRetriever.open("index/", embedding, ranking="ranking.json")

Fitting moves the weights of the signals away from those of the retriever's ranking only as far as the questions demand
it. How far is chosen by cross-validation, and so is what the result says: each question's gain is that of a ranking
that was fitted without it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from langchain_sentence_window._display import aligned, shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run, with_arguments_of
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import Indexes, Numbers
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, SIGNALS, Ranking
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

from .fitting_examples import FittingExample, check_fittable, find_examples, stacked
from .fitting_objective import Stack, minimize, smoothed_recall
from .gold import LostGold, StoredCorpus, check_any_left, find_gold
from .measurement import BUDGETS, OnProgress, checked_budgets
from .metrics import CONFIDENCE, OF_DIFFERENCES, MeanCI, mean_cis
from .questions import Question, checked_questions

_LISTED_CHANGES = 5


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
        questions: The number of questions that it was fitted to.
        without_gold: How many of them have no gold among their candidates, which no ranking can change.
        groups: ``documents`` if questions of one document were left out together, else ``questions``.
        lost: The questions whose gold isn't in the index any more, to which it wasn't fitted.
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
    lost: tuple[LostGold, ...] = ()

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
                *([f"{len(self.lost):,} more aren't counted, because their gold isn't found"] if self.lost else []),
                *aligned(rows),
                f"{CONFIDENCE:.0%} interval of the mean gain: {interval}",
                f"largest changes: {self._changes()}",
                advice,
            ]
        )

    def _changes(self) -> str:
        changes = {name: self.fitted.weights.get(name, 0.0) - self.prior.weights.get(name, 0.0) for name in SIGNALS}
        largest = sorted(changes, key=lambda name: -abs(changes[name]))[:_LISTED_CHANGES]
        return ", ".join(f"{name} {changes[name]:+.2f}" for name in largest if changes[name]) or "none"


MIN_QUESTIONS = 20
"""The fewest questions with gold among their candidates that a ranking is fitted to."""

STRENGTHS = (2.0, 0.3, 0.1, 0.03)
"""How strongly weights may be held at those of the given ranking, the strongest first; cross-validation chooses one."""

FOLDS = 5
"""The parts of the questions, each of which is left out once."""

INNER_FOLDS = 3
"""The parts of the other questions, by which a strength is chosen."""

MIN_GROUPS = 3
"""The fewest documents of which all questions stay in one part; with fewer, equal questions do."""

_MIN_DEVIATION = 0.2  # of a signal, so that one that is hardly ever set gets no huge weight
_DECIMALS = 3


def fit_ranking(
    retriever: SentenceWindowRetriever,
    questions: Iterable[Question],
    budgets: Sequence[int] = BUDGETS,
    *,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
) -> FittedRanking:
    """Fit the ranking of a retriever to questions with gold spans.

    Each question is searched once. Gold is found as `evaluate` finds it, and questions whose gold isn't found are in
    `FittedRanking.lost`. The retriever isn't changed: give it `FittedRanking.ranking`, or the path of a file
    that `FittedRanking.save` wrote.

    Args:
        retriever: The retriever. The fit starts from its ranking, or from the default if it has none.
        questions: The questions; at least `MIN_QUESTIONS` whose gold a search finds. A few dozen of several documents
            are better.
        budgets: The sizes of the context whose recall is to grow, in characters.
        show_progress: Whether to show a progress bar.
        on_progress: Called with the number of questions searched so far and of all questions: before the first, and
            after each. The weights are fitted after the last. An exception in it ends the fit.

    Returns:
        The fitted ranking, and what it gains on questions that it wasn't fitted to.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`, there are too few questions, or a budget is
            below 1.
    """
    return run(_fit_ranking(BLOCKING, retriever, questions, budgets, show_progress, on_progress))


@with_arguments_of(fit_ranking)
async def afit_ranking(*given: Any, **settings: Any) -> FittedRanking:
    """Async version of `fit_ranking`."""
    return await _fit_ranking(ASYNC, *given, **settings)


def fit(
    examples: Iterable[FittingExample], prior: Ranking = DEFAULT_RANKING, budgets: Sequence[int] = BUDGETS
) -> FittedRanking:
    """Fit weights to questions and the candidates that a search found for them.

    The same examples give the same ranking.

    Args:
        examples: The questions; at least `MIN_QUESTIONS` with gold among their candidates.
        prior: The ranking to start from, and to stay near to.
        budgets: The sizes of the context whose recall is to grow, in characters.

    Raises:
        InvalidInputError: There are too few examples, one isn't a `FittingExample`, the prior isn't a `Ranking`, or a
            budget is below 1.
    """
    if not isinstance(prior, Ranking):
        raise InvalidInputError(f"prior is {shown(prior)}; give a Ranking, such as DEFAULT_RANKING")
    sizes = checked_budgets(budgets)
    return _Fitting(_checked(examples), prior, sizes).result()


async def _fit_ranking(  # noqa: PLR0917 - as the functions that call it
    io: IO,
    retriever: SentenceWindowRetriever,
    questions: Iterable[Question],
    budgets: Sequence[int] = BUDGETS,
    show_progress: bool = False,  # noqa: FBT001, FBT002
    on_progress: OnProgress | None = None,
) -> FittedRanking:
    asked, sizes = checked_questions(questions), checked_budgets(budgets)
    check_fittable(retriever)
    gold = await find_gold(io, [StoredCorpus(retriever.scope())], asked)
    check_any_left(gold)
    there = gold.questions
    examples = await find_examples(io, retriever, there, show_progress=show_progress, on_progress=on_progress)
    prior = DEFAULT_RANKING if retriever.ranking is None else retriever.ranking
    return replace(await io.in_thread(fit, examples, prior, sizes), lost=gold.lost)


class _Fitting:
    """One fit: its examples in units in which the prior's scores have a standard deviation of 1."""

    def __init__(self, examples: Sequence[FittingExample], prior: Ranking, budgets: tuple[int, ...]) -> None:
        self._examples, self._prior, self._budgets = examples, prior, budgets
        weights = np.array([prior.weights.get(name, 0.0) for name in SIGNALS])
        deviations = [np.einsum("nm,m->n", each.signals, weights).std() for each in examples if each.pieces]
        self._unit = float(np.mean(deviations)) or 1.0
        self._start = weights / self._unit
        rows = np.concatenate([each.signals for each in examples])
        self._rigidity = np.maximum(rows.std(axis=0), _MIN_DEVIATION) ** 2

    def result(self) -> FittedRanking:
        groups, kind = _groups(self._examples)
        folds = _folds(groups, FOLDS)
        after = np.zeros((len(self._examples), len(self._budgets)))
        for number in range(FOLDS):
            others, left_out = np.flatnonzero(folds != number).tolist(), np.flatnonzero(folds == number).tolist()
            if not left_out:
                continue
            weights, _ = self._fitted_by_choice(others, [groups[row] for row in others])
            for row in left_out:
                after[row] = self._examples[row].recalls(weights, self._budgets)
        before = np.array([each.recalls(self._start, self._budgets) for each in self._examples])
        weights, strength = self._fitted_by_choice(range(len(self._examples)), groups)
        differences = after - before
        gain = mean_cis(differences.mean(axis=1, keepdims=True), OF_DIFFERENCES)[0]
        return FittedRanking(
            fitted=self._as_ranking(weights, gain),
            prior=self._prior,
            budgets=self._budgets,
            recall_before=tuple(before.mean(axis=0).tolist()),
            recall_after=tuple(after.mean(axis=0).tolist()),
            gains=tuple(mean_cis(differences, OF_DIFFERENCES)),
            gain=gain,
            strength=strength,
            questions=len(self._examples),
            without_gold=sum(not each.pieces for each in self._examples),
            groups=kind,
        )

    def _fitted_by_choice(self, rows: Sequence[int], groups: Sequence[str]) -> tuple[Numbers, float]:
        """Fit to some examples, with the strength that is best for parts of them that are left out."""
        folds = _folds(groups, INNER_FOLDS)
        found: list[list[float]] = []
        for number in range(INNER_FOLDS):
            inside = self._stack([row for row, fold in zip(rows, folds, strict=True) if fold != number])
            outside = [row for row, fold in zip(rows, folds, strict=True) if fold == number]
            fits = [self._start if inside is None else self._fitted(inside, strength) for strength in STRENGTHS]
            found += [self._recalls(row, fits) for row in outside]
        strength = STRENGTHS[int(np.argmax(np.mean(found, axis=0)))]
        stack = self._stack(rows)
        return (self._start, strength) if stack is None else (self._fitted(stack, strength), strength)

    def _recalls(self, row: int, fits: Sequence[Numbers]) -> list[float]:
        """Return the smoothed recalls of an example; of few questions they tell more than recalls do."""
        stack = self._stack([row])
        return [0.0 if stack is None else smoothed_recall(stack, weights, self._budgets)[0] for weights in fits]

    def _stack(self, rows: Sequence[int]) -> Stack | None:
        examples = [self._examples[row] for row in rows if self._examples[row].pieces]
        return stacked(examples) if examples else None

    def _fitted(self, stack: Stack, strength: float) -> Numbers:
        def loss(weights: Numbers) -> tuple[float, Numbers]:
            value, gradient = smoothed_recall(stack, weights, self._budgets)
            moved = weights - self._start
            held = strength * self._rigidity * moved
            return float(held @ moved) - value, 2 * held - gradient

        return minimize(loss, self._start)

    def _as_ranking(self, weights: Numbers, gain: MeanCI) -> Ranking:
        rounded = np.round(weights * self._unit, _DECIMALS).tolist()
        description = (
            f"Fitted to {len(self._examples)} questions; mean recall {100 * gain.mean:+.1f} points "
            f"({100 * gain.low:+.1f} to {100 * gain.high:+.1f}), cross-validated."
        )
        return Ranking(dict(zip(SIGNALS, rounded, strict=True)), description)


def _groups(examples: Sequence[FittingExample]) -> tuple[list[str], str]:
    """Return what is left out together with each example, and its name."""
    documents = [each.question.doc_id for each in examples]
    if len(set(documents)) >= MIN_GROUPS:
        return documents, "documents"
    questions = [each.question.question for each in examples]
    if len(set(questions)) >= MIN_GROUPS:
        return questions, "questions"
    return [str(number) for number in range(len(examples))], "questions"


def _folds(groups: Sequence[str], count: int) -> Indexes:
    """Put each group into one of some parts of about the same size: large groups first, each into the smallest part."""
    sizes = [0] * count
    part: dict[str, int] = {}
    for group, size in sorted(Counter(groups).items(), key=lambda item: (-item[1], item[0])):
        part[group] = sizes.index(min(sizes))
        sizes[part[group]] += size
    return np.array([part[group] for group in groups], dtype=np.int64)


def _checked(examples: object) -> list[FittingExample]:
    found = checked_list("examples", examples)
    for position, example in enumerate(found):
        if not isinstance(example, FittingExample):
            raise InvalidInputError(f"examples[{position}] is {shown(example)}; give a FittingExample")
    checked = [example for example in found if isinstance(example, FittingExample)]
    usable = sum(bool(example.pieces) for example in checked)
    if usable < MIN_QUESTIONS:
        raise InvalidInputError(
            f"{usable:,} of {len(checked):,} questions have gold among the candidates of a search; give at least "
            f"{MIN_QUESTIONS}, and name documents as the index does"
        )
    return checked
