"""Headings of parts, which other splitters write into metadata, whether or not the text of a chunk holds them.

===========================================================  ==============================================
keys of the metadata                                         written by
===========================================================  ==============================================
``Header 1`` to ``Header 6``, ``h1``, ``Überschrift 1`` …    LangChain's splitters of Markdown and HTML
``Chapter`` and ``Section``, ``Topic`` and ``Subtopic`` …    the same, by names that the user chose
``headings`` in ``dl_meta``                                  docling, if the text doesn't begin with them
===========================================================  ==============================================

Names without a number count if two of them are in one Document.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from langchain_sentence_window.splitting.blocks import (
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    heading_title,
    title_key,
)

from .keys import CONTRACT_KEYS
from .source_metadata import NAMING_KEYS, docling_headings
from .source_parts import Part

_NUMBERED = re.compile(
    r"(?:h|head(?:er|ing|line|ings|ers)?|title|(?:zwischen)?überschrift|titre|intertitre|t[íi]tulo|titolo|encabezado"
    r"|cabeçalho|intestazione|kop(?:tekst)?|rubrik|nagłówek|otsikko|overskrift|başlık|заголовок|标题|標題|見出し|제목)"
    r"[ _-]?([1-6])",
    re.IGNORECASE,
)
_NAMES = frozenset(
    {"chapter", "section", "subsection", "subsubsection", "topic", "maintopic", "subtopic", "header", "subheader"}
    | {"subheading", "kapitel", "abschnitt", "unterabschnitt", "chapitre", "soussection", "capítulo", "sección"}
    | {"subsección", "seção", "subseção", "capitolo", "sezione", "sottosezione", "hoofdstuk", "paragraaf", "глава"}
    | {"раздел", "подраздел", "章", "节", "節", "小节"}
)
_OTHERS = CONTRACT_KEYS | NAMING_KEYS


def with_headings(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a source with the headings above their text that metadata says, outermost first.

    Args:
        parts: The parts of one source, in the order given.
    """
    values = [_short_texts(part.document.metadata) for part in parts]
    levels = _heading_levels(values)
    headed: list[Part] = []
    for part, texts in zip(parts, values, strict=True):
        headings = [(levels[key], text) for key, text in texts.items() if key in levels]
        if not headings and part.blocks is None:
            written = docling_headings(part.document.metadata)
            headings = [(min(level, MAX_LEVEL), each) for level, each in enumerate(written, 1)]
        titles = [(level, title) for level, each in headings if (title := heading_title(f"# {' '.join(each.split())}"))]
        titles.sort(key=itemgetter(0))  # of one level, the first stays first
        headed.append(replace(part, headings=tuple(titles)) if titles else part)
    return headed


def _heading_levels(values: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """Return the level of headings by their key; 0, above all headings in the text, if it isn't known."""
    levels: dict[str, int] = {}
    for each in values:
        named = [key for key in each if title_key(key) in _NAMES]
        if len(named) > 1:
            levels = dict.fromkeys(named, 0) | levels
    for key in {key for each in values for key in each}:
        if match := _NUMBERED.fullmatch(key.strip()):
            levels[key] = int(match[1])
    return levels


def _short_texts(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return the values that may be headings by key."""
    return {
        key: value
        for key, value in metadata.items()
        if type(value) is str  # other types may do anything when they are asked
        and type(key) is str
        and key not in _OTHERS
        and 0 < len(value) <= MAX_MARKED_HEADING_CHARS
    }
