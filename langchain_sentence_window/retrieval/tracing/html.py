"""Write a trace as HTML: sentences shaded by score, windows outlined, hits underlined."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from langchain_sentence_window._display import milliseconds, named, ranked
from langchain_sentence_window.retrieval.tracing.candidates import road

_CELL = 'style="padding:2px 8px;text-align:left;vertical-align:top"'
_OUTLINED = "border-top:2px solid #3465a4;border-bottom:2px solid #3465a4;"


def page(trace: Mapping[str, Any]) -> str:
    """Return a page for the result of `Trace.to_dict`; all text in it is escaped."""
    scores = [hit["score"] for hit in trace["hits"]]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    settings, seconds = named(trace["settings"]), milliseconds(trace["seconds"])
    heard = "".join(
        f"<br>names {escape(each['doc_id'])} by {escape(each['name'] or ', '.join(each['words']))}"
        for each in trace["named"]
    )
    passed = f"<br>{escape(road(trace['counts'], trace['tokens']))}" if trace["counts"] else ""
    head = f"{escape(settings)}<br>{escape(seconds)}{passed}{heard}"
    parts = [
        f"<p><b>{escape(trace['query'])}</b><br><small>{head}</small></p>",
        *(_window(window, low, high) for window in trace["windows"]),
        f"<details><summary>{len(scores)} hits</summary>{_hits(trace['hits'])}</details>",
    ]
    return f'<div style="font-family:sans-serif;max-width:60em">{"".join(parts)}</div>'


def _window(window: Mapping[str, Any], low: float, high: float) -> str:
    first, last = window["sentences"]
    ranks = f"window {window['number']}" + (f", reranked {window['reranked']}" if window["reranked"] else "")
    relevance = "" if window["relevance_score"] is None else f", relevance {window['relevance_score']:.3f}"
    location = f"{window['doc_id']}, sentences {first} to {last}, characters {window['start']} to {window['end']}"
    cut = f" · ended by {', '.join(window['cut'])}" if window["cut"] else ""
    heading = f"<br><i>{escape(window['heading'])}</i>" if window["heading"] else ""
    head = f"<b>{ranks}</b> · {escape(window['outcome'])} · score {window['score']:.3f}{relevance}"
    text = "".join(_sentence(sentence, low, high) for sentence in window["surroundings"])
    return (
        f'<div style="margin:1em 0">{head}<br><small>{escape(location)}{escape(cut)}{heading}</small>'
        f'<div style="white-space:pre-wrap;line-height:1.7">{text}</div></div>'
    )


def _sentence(sentence: Mapping[str, Any], low: float, high: float) -> str:
    style, title = "", f"sentence {sentence['index']}"
    if sentence["score"] is not None:
        share = (sentence["score"] - low) / (high - low) if high > low else 1.0
        style += f"background:rgba(252,175,62,{0.15 + 0.65 * share:.2f});"
        title += f", score {sentence['score']:.3f}"
    if sentence["in_window"]:
        style += _OUTLINED
    if not sentence["returned"]:
        style += "color:#888;"
    text = escape(sentence["text"])
    shown = f"<u>{text}</u>" if sentence["is_hit"] else text
    return f'<span style="{style}" title="{title}">{shown}</span>'


def _hits(hits: Sequence[Mapping[str, Any]]) -> str:
    titles = ("rank", "sentence", "score", "dense", "lexical", "signals", "outcome", "text")
    rows = [
        (
            hit["rank"],
            f"{hit['doc_id']}:{hit['index']}",
            f"{hit['score']:.3f}",
            ranked(hit["dense_rank"], hit["dense_score"], 3),
            ranked(hit["lexical_rank"], hit["lexical_score"], 1),
            ", ".join(f"{name} {value:+.2f}" for name, value in hit["signals"].items()) or "-",
            hit["outcome"],
            hit["text"],
        )
        for hit in hits
    ]
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th {_CELL}>{title}</th>' for title in titles)}</tr>{body}</table>"
