"""A trace of a query in a terminal: two lines for each window and hit, as wide as there is room."""

from collections.abc import Mapping

from rich.text import Text

from langchain_sentence_window._tables import milliseconds, named, ranked
from langchain_sentence_window.cli.names import written
from langchain_sentence_window.cli.output import STRONG, WEAK, Output
from langchain_sentence_window.cli.plain_text import one_line
from langchain_sentence_window.cli.tables import shortened
from langchain_sentence_window.retrieval.tracing.trace import HitTrace, NameTrace, Trace, WindowTrace

_INDENT = 4
_LINE = 120
"""The columns of a sentence where there is no terminal."""

_MAX_SIGNALS, _MIN_SIGNAL = 4, 0.005


def show_trace(out: Output, trace: Trace) -> None:
    """Write a trace."""
    out.line(Text(one_line(trace.query), style=STRONG))
    out.line(Text(one_line(named(trace.settings)), style=WEAK))
    for each in trace.named:
        out.line(_name(each, trace.searched_as))
    if trace.relevance:
        out.line(f"relevance: {', '.join(f'{name} {value:.3g}' for name, value in trace.relevance.items())}")
    out.line()
    out.line(Text("Windows", style=STRONG))
    for window in trace.windows:
        _show(out, window.number, _window(window), window.outcome, window.text)
    out.line()
    out.line(Text("Hits", style=STRONG))
    for hit in trace.hits:
        _show(out, hit.rank, _hit(hit), hit.outcome, hit.text)
    out.line()
    out.line(Text(milliseconds(trace.seconds), style=WEAK))


def _show(out: Output, number: int, facts: str, outcome: str, text: str) -> None:
    out.line(Text.assemble((f"{number:>3}", STRONG), " ", one_line(facts), " · ", (one_line(outcome), STRONG)))
    columns = out.columns or _LINE
    out.line(Text(shortened(one_line(text), columns - _INDENT), style=WEAK), indent=_INDENT)


def _window(window: WindowTrace) -> str:
    first, last = window.sentences
    facts = [
        f"{written(window.doc_id)} {first if first == last else f'{first}–{last}'}",
        f"score {window.score:.2f}",
        f"hits {', '.join(map(str, window.hits))}",
    ]
    if window.reranked is not None:
        score = "" if window.relevance_score is None else f" ({window.relevance_score:.3f})"
        facts.append(f"reranked {window.reranked}{score}")
    if window.cut:
        facts.append(f"cut by {', '.join(window.cut)}")
    return " · ".join(facts)


def _hit(hit: HitTrace) -> str:
    facts = [
        f"{written(hit.doc_id)} {hit.index}",
        f"score {hit.score:.2f}",
        f"by meaning {ranked(hit.dense_rank, hit.dense_score, 3)}",
        f"by words {ranked(hit.lexical_rank, hit.lexical_score, 1)}",
    ]
    signals = _largest(hit.signals)
    return " · ".join([*facts, *([signals] if signals else [])])


def _largest(signals: Mapping[str, float]) -> str:
    largest = sorted(signals.items(), key=lambda each: -abs(each[1]))[:_MAX_SIGNALS]
    return ", ".join(f"{name} {value:+.2f}" for name, value in largest if abs(value) >= _MIN_SIGNAL)


def _name(name: NameTrace, searched_as: str) -> str:
    how = f"by its name {name.name!r}" if name.name else f"by {', '.join(name.words)}"
    return f"names {written(name.doc_id)}, {how}; searched there first as {searched_as!r}"
