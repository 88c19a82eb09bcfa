"""From a text to its sentences: blocks, line breaks, engine, markers, sections, lead-ins; or code."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise, takewhile, zip_longest

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import COLONS, Span
from langchain_sentence_window.errors import InvalidInputError

from .blocks import (
    CODE,
    CONTENTS,
    FRONT_MATTER,
    HEADING,
    HEADING_SEPARATOR,
    HTML,
    MAX_LEVEL,
    MAX_PATH_CHARS,
    MESSAGE,
    PROSE,
    TABLE_ROW,
    Block,
    Title,
    heading_title,
    pieces,
    plain_block,
    shorten_path,
    title_key,
    trim,
)
from .data_uris import Shortened, find_data_uris
from .engines import Engine
from .languages import Language
from .lead_ins import find_lead_ins
from .line_breaks import Gap, column_width, find_gaps, goes_on
from .markdown import FrontMatter, is_markdown, parse_markdown
from .markup import is_markup, shield_tags, strip_markup
from .parsers import Structure, parse_blocks, read_masks
from .rules import is_casual, sentence_starts
from .source_code import Syntax, code_sections, syntax_of_text
from .structure import join_markers, refine_blocks
from .transcripts import speaker_end

_UNCUT_KINDS = frozenset({HEADING, TABLE_ROW, CODE, HTML, FRONT_MATTER, CONTENTS})


@dataclass(frozen=True, slots=True)
class Sentence:
    """The span of a sentence, list item, table row, heading, code block or piece of a sentence, and its section.

    Attributes:
        start: First code point in the text.
        end: One past its last code point; ``text[start:end]`` is the sentence.
        section_start: Index of the first sentence of its section, which is the heading if it has one.
        section_end: One past the index of the section's last sentence.
        kind: The kind of its block, see `Block`.
        heading: The titles of the headings above it, outermost first, see `shorten_path`.
        lead_in: Index of the sentence of its section, before it, that gives it meaning; ``None`` if there is none. See
            `langchain_sentence_window.splitting.lead_ins`.
        level: 1 to 6 for a heading that begins a section, else 0.
        pieces: Indexes ``[start, end)`` of all pieces of the sentence that this is a piece of; ``None`` if it is whole.
    """

    start: int
    end: int
    section_start: int
    section_end: int
    kind: str = PROSE
    heading: str = ""
    lead_in: int | None = None
    level: int = 0
    pieces: Span | None = None


def moved(sentence: Sentence, by: int, sentences_before: int) -> Sentence:
    """Return a sentence of a text that stands further back in another text, after other sentences."""
    return replace(
        sentence,
        start=sentence.start + by,
        end=sentence.end + by,
        section_start=sentence.section_start + sentences_before,
        section_end=sentence.section_end + sentences_before,
        lead_in=None if sentence.lead_in is None else sentence.lead_in + sentences_before,
        pieces=sentence.pieces and (sentence.pieces[0] + sentences_before, sentence.pieces[1] + sentences_before),
    )


def split_text(
    text: str,
    language: Language,
    *,
    engine: Engine | None = None,
    structure: Structure = "auto",
    blocks: Sequence[Block] | None = None,
    headings: Sequence[Title] = (),
    front_matter: FrontMatter | None = None,
    syntax: Syntax | None = None,
    min_chars: int = 0,
    max_chars: int | None = None,
    max_piece_chars: int | None = None,
) -> list[Sentence]:
    """Cut a text into sentences.

    Args:
        text: Any string.
        language: The words of its language, which decide about full stops and newlines.
        engine: Finds the sentences of one paragraph; ``None`` for the rules of this package.
        structure: The structure of the text, or a parser that finds its blocks.
        blocks: The blocks of the text in order, and masks, see `parsers`; ``None`` if they are to be found.
        headings: The headings above the text, outermost first, which it may begin with.
        front_matter: That of the text; elsewhere than at the beginning of a document it is text.
        syntax: The syntax of the text if it is known to be code; ``None`` to look at the text. Only if the structure is
            ``auto``.
        min_chars: Characters; a shorter sentence is joined to its neighbor in the block.
        max_chars: Characters; a longer sentence is cut, see `fit_sizes`. ``None`` for no limit.
        max_piece_chars: Characters; a longer sentence of prose is cut into pieces, see `cut_at_clauses`, unless it
            introduces others. ``None`` for no pieces.

    Returns:
        Sentences in order, disjoint, with nothing but white space, markup and data URIs between, before and after them,
        see `langchain_sentence_window.splitting.markup`, and front matter before them. A data URI ends a section, so
        that no window holds it.

    Raises:
        InvalidInputError: The engine returned a span outside its text.
    """
    uris = find_data_uris(text)
    short = Shortened(text, uris) if uris else None
    if short and blocks is not None:
        at = short.short_place
        blocks = [replace(each, start=at(each.start), end=at(each.end)) for each in blocks]
    if short and front_matter:
        front_matter = replace(front_matter, end=short.short_place(front_matter.end))
    found = _split_text(
        short.text if short else text,
        language,
        engine=engine,
        structure=structure,
        blocks=blocks,
        headings=headings,
        front_matter=front_matter,
        syntax=syntax,
        sizes=(min_chars, max_chars, max_piece_chars),
    )
    return _around_data_uris(found, short) if short else found


def _split_text(
    text: str,
    language: Language,
    *,
    engine: Engine | None,
    structure: Structure,
    blocks: Sequence[Block] | None,
    headings: Sequence[Title],
    front_matter: FrontMatter | None,
    syntax: Syntax | None,
    sizes: tuple[int, int | None, int | None],
) -> list[Sentence]:
    """Cut a text without data URIs into sentences."""
    body = front_matter.end if front_matter else 0
    if blocks is None and callable(structure):
        unread = " " * body + text[body:]
        if (blocks := parse_blocks(structure, unread)) is not None:
            text = unread
    is_open = blocks is None and structure not in ("markdown", "plain")
    if is_open and (syntax := syntax or syntax_of_text(text)):
        return _of_code(text, syntax, sizes[0], sizes[1])
    cut = partial(
        _cut_text,
        language=language,
        engine=engine,
        headings=headings,
        front_matter=front_matter,
        sizes=sizes,
    )
    if blocks is not None:
        return _of_blocks(text, blocks, cut)
    if structure == "plain" or (is_open and not is_markdown(text)):
        return cut(text, blocks=None)
    parse = partial(parse_markdown, indented_code=structure == "markdown", body=body)
    if stripped := strip_markup(text):
        sentences = cut(stripped.text, blocks=parse(stripped.text, layout=stripped.layout))
        if all(is_markup(text[one.end : other.start]) for one, other in pairwise(sentences)):  # else it was text
            return sentences
    return cut(text, blocks=parse(text))


def _around_data_uris(sentences: Sequence[Sentence], short: Shortened) -> list[Sentence]:
    """Return the sentences of a shortened text at their places in the text, cut at data URIs, which end sections."""
    parts: dict[tuple[int, int], Span] = {}  # by the number of the sentence and of the URIs before the part
    for number, each in enumerate(sentences):
        for span in short.parts(each.start, each.end):
            parts[number, bisect_left(short.stand_ins, span[0])] = span
    places = {key: at for at, key in enumerate(parts)}
    sections = [(sentences[number].section_start, uris) for number, uris in parts]
    wholes = [((sentences[number].pieces or (number,))[0], uris) for number, uris in parts]
    made: list[Sentence] = []
    for at, ((number, uris), (start, end)) in enumerate(parts.items()):
        sentence = sentences[number]
        pieces = (bisect_left(wholes, wholes[at]), bisect_right(wholes, wholes[at]))
        made.append(
            replace(
                sentence,
                start=short.place(start),
                end=short.place(end),
                section_start=bisect_left(sections, sections[at]),
                section_end=bisect_right(sections, sections[at]),
                lead_in=None if sentence.lead_in is None else places.get((sentence.lead_in, uris)),
                level=sentence.level if start == sentence.start else 0,
                pieces=pieces if pieces[1] - pieces[0] > 1 else None,
            )
        )
    return made


def _of_blocks(text: str, blocks: Sequence[Block], cut: Callable[..., list[Sentence]]) -> list[Sentence]:
    """Return the sentences of a text whose blocks a loader or a parser found; see `parsers` for masks and bodies."""
    reading, plain = read_masks(text, blocks)
    sentences = cut(reading, blocks=plain)
    bodies = {block.start: block.body for block in plain if block.body is not None}
    if not bodies:
        return sentences
    return [replace(each, start=bodies.get(each.start, each.start)) for each in sentences]


def _cut_text(
    text: str,
    language: Language,
    *,
    engine: Engine | None,
    blocks: Sequence[Block] | None,
    headings: Sequence[Title],
    front_matter: FrontMatter | None,
    sizes: tuple[int, int | None, int | None],
) -> list[Sentence]:
    """Cut a text whose blocks are known, or that is plain, with sizes as `split_text` takes them."""
    titled, text = text, shield_tags(text)
    casual = is_casual(text, language)
    gaps = find_gaps(text)
    column = column_width(text, gaps)
    breaks = [gap for gap in gaps if not goes_on(text, gap, column, language, is_casual=casual)]
    starts = [gap.end for gap in breaks]
    found = _plain_blocks(text, breaks) if blocks is None else blocks
    find = partial(sentence_starts, language=language, is_casual=casual)
    if engine is not None:
        find = partial(_checked_starts, engine=engine)
    min_chars, max_chars, max_piece_chars = sizes
    sentences: list[Sentence] = []
    refined = refine_blocks(titled, found)
    if headings:
        refined = list(_with_headings(titled, refined, headings))
    for heading, section in _sections(titled, refined, front_matter, headings):
        spans: list[list[Span]] = []
        for block in section:
            cut = [(block.start, block.end)]
            if block.kind not in _UNCUT_KINDS:
                # A speaker stays with what is said first.
                body = speaker_end(text, block.start, block.end) if block.kind == MESSAGE else block.start
                inside = starts[bisect_right(starts, body) : bisect_left(starts, block.end)]
                lines = pieces(text, body, block.end, inside)
                cut = [
                    span
                    for start, end in lines
                    for span in pieces(text, start, end, (start + at for at in find(text[start:end])))
                ]
                cut = join_markers(text, cut)
                cut = [(block.start, cut[0][1]), *cut[1:]] if cut else [(block.start, block.end)]
            spans.append(fit_sizes(text, cut, min_chars, max_chars))
        leads = find_lead_ins(titled, section, spans)
        sentences += _of_section(
            text, section, spans, leads, heading=heading, low=len(sentences), max_piece_chars=max_piece_chars
        )
    return sentences


def _of_code(text: str, syntax: Syntax, min_chars: int, max_chars: int | None) -> list[Sentence]:
    sentences: list[Sentence] = []
    for blocks, leads_of_blocks in code_sections(text, syntax):
        spans = [fit_sizes(text, [(block.start, block.end)], min_chars, max_chars) for block in blocks]
        firsts = list(accumulate(map(len, spans), initial=0))
        leads = [
            None if lead is None else firsts[lead]
            for lead, of_block in zip(leads_of_blocks, spans, strict=True)
            for _ in of_block
        ]
        sentences += _of_section(text, blocks, spans, leads, low=len(sentences))
    return sentences


def _of_section(
    text: str,
    section: Sequence[Block],
    spans: Sequence[Sequence[Span]],
    leads: Sequence[int | None],
    *,
    low: int,
    heading: str = "",
    max_piece_chars: int | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a section, and those of prose that are long piece by piece."""
    sentences = [(block, span) for block, of_block in zip(section, spans, strict=True) for span in of_block]
    introducing = set(leads)
    cut = [
        [span]
        if max_piece_chars is None
        or span[1] - span[0] <= max_piece_chars
        or block.kind in _UNCUT_KINDS
        or number in introducing
        or text[span[1] - 1] in COLONS
        else cut_at_clauses(text, span, max_piece_chars)
        for number, (block, span) in enumerate(sentences)
    ]
    firsts = list(accumulate(map(len, cut), initial=low))
    for (block, _), lead, own, (first, end) in zip(sentences, leads, cut, pairwise(firsts), strict=True):
        lead_in = None if lead is None else firsts[lead]
        for span in own:
            bounds = (first, end) if len(own) > 1 else None
            yield Sentence(*span, low, firsts[-1], block.kind, heading, lead_in, block.level, bounds)


def _plain_blocks(text: str, breaks: Sequence[Gap]) -> Iterator[Block]:
    """Yield a block for each run of lines that no break separates."""
    start, blank_before = 0, True
    for gap in breaks:
        if text[start : gap.start].strip():
            yield plain_block(text, start, gap.start, may_be_heading=blank_before and gap.is_blank)
        start, blank_before = gap.end, gap.is_blank
    if text[start:].strip():
        yield plain_block(text, start, len(text), may_be_heading=False)


def _with_headings(text: str, blocks: Sequence[Block], headings: Sequence[Title]) -> Iterator[Block]:
    """Yield the blocks of a text, with lines without a mark that it begins with as the headings that they repeat."""
    levels = {title_key(title): max(level, at) for at, (level, title) in enumerate(headings, 1)}
    is_leading = True
    for block in blocks:
        while is_leading and block.kind == PROSE and block.start < block.end:
            lines = text[block.start : block.end].splitlines()
            level = levels.get(title_key(lines[0]))
            if level is None:
                break
            yield Block(*trim(text, block.start, block.start + len(lines[0])), HEADING, min(level, MAX_LEVEL))
            block = replace(block, start=trim(text, block.start + len(lines[0]), block.end)[0])
        is_leading = is_leading and (block.kind == HEADING or block.start == block.end)
        if block.start < block.end:
            yield block


def _sections(
    text: str, blocks: Sequence[Block], front_matter: FrontMatter | None, headings: Sequence[Title]
) -> Iterator[tuple[str, list[Block]]]:
    """Yield ``(heading path, blocks)`` for each run of blocks under one heading.

    Paths begin with the headings above the text that don't stand in it; without any, with the title in the front matter
    if there is one, and no heading of level 1.
    """
    in_text = {_key(text, block) for block in blocks if block.level} if headings else set[str]()
    above = list(takewhile(lambda heading: title_key(heading[1]) not in in_text, headings))
    titles: list[Title] = []
    is_without = not headings and all(block.level != 1 for block in blocks)
    if front_matter and blocks and blocks[0].start >= front_matter.end and is_without:
        titles += [(0, front_matter.title)] if front_matter.title else []
    section: list[Block] = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.level:
            above = [(level, title) for level, title in above if level < block.level]
            titles = [(level, title) for level, title in titles if level < block.level]
            titles.append((block.level, heading_title(text[block.start : block.end])))
        section.append(block)
        if following is None or following.level:
            path = HEADING_SEPARATOR.join(title for _, title in (*above, *titles))
            yield shorten_path(path, MAX_PATH_CHARS), section
            section = []


def _key(text: str, heading: Block) -> str:
    return title_key(heading_title(text[heading.start : heading.end]))


def _checked_starts(paragraph: str, engine: Engine) -> Iterator[int]:
    for start, end in engine(paragraph):
        if not 0 <= start <= end <= len(paragraph):
            raise InvalidInputError(
                f"the sentence engine returned the span ({shown(start)}, {shown(end)}) for a text of {len(paragraph)} "
                "characters; spans are (start, end) with 0 <= start <= end <= len(text)"
            )
        yield start


_CLAUSE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)[,;:—–][\"'”’»]*\s|[，；：、）」』】]"
    r"|\s(?=\((?:[a-zA-Z]|[ivxIVX]{1,5})\)\s)"  # before "(a) the fee"
)
_BRACKET_END = re.compile(r"(?<=\s)[^\s()\[\]]{3,}[)\]][\"'”’»]*\s")
"""The end of a bracket of several words; one around a single word, as in "thirty (30) days", ends nothing."""
_WHITE_SPACE = re.compile(r"\s")


def fit_sizes(text: str, spans: Sequence[Span], min_chars: int, max_chars: int | None) -> list[Span]:
    """Join short spans of a block to their neighbors, and cut long ones.

    Args:
        text: The text.
        spans: Spans of one block, in order.
        min_chars: Characters; a shorter span is joined to the next one, the last one to the one before it.
        max_chars: Characters; a longer span is cut at the last end of a clause in its second half, else of a bracket
            there, else at the last white space, else inside a word. ``None`` for no limit.

    Returns:
        Spans in order that cover the same text.
    """
    joined: list[Span] = []
    waiting: int | None = None
    for start, end in spans:
        start = start if waiting is None else waiting
        waiting = start if end - start < min_chars else None
        if waiting is None:
            joined.append((start, end))
    if waiting is not None:
        start = joined.pop()[0] if joined else waiting
        joined.append((start, spans[-1][1]))
    if max_chars is None:
        return joined
    fitted: list[Span] = []
    for start, end in joined:
        is_long = end - start > max_chars
        fitted += pieces(text, start, end, _cuts(text, start, end, max_chars)) if is_long else [(start, end)]
    return fitted


def cut_at_clauses(text: str, span: Span, max_chars: int | None) -> list[Span]:
    """Cut a long sentence into pieces of about equal length.

    Args:
        text: The text.
        span: The sentence.
        max_chars: Characters; a longer sentence is cut at ends of clauses, else of brackets, else at white space, else
            inside words. ``None`` for no limit.

    Returns:
        The pieces in order; one for a sentence that isn't cut.
    """
    start, end = span
    if max_chars is None or end - start <= max_chars:
        return [span]
    return list(pieces(text, start, end, _even_cuts(text, start, end, max_chars)))


def _even_cuts(text: str, start: int, end: int, max_chars: int) -> Iterator[int]:
    while end - start > max_chars:
        low, high = start + max_chars // 3, min(start + max_chars, end - max_chars // 6)
        target = start + (end - start) // math.ceil((end - start) / max_chars)
        start = (
            _nearest_end(_CLAUSE_END, text, low, high, target)
            or _nearest_end(_BRACKET_END, text, low, high, target)
            or _last_end(_WHITE_SPACE, text, low, high)
            or high
        )
        yield start


def _nearest_end(pattern: "re.Pattern[str]", text: str, low: int, high: int, target: int) -> int | None:
    ends = (match.end() for match in pattern.finditer(text, low, high))
    return min(ends, key=lambda end: abs(end - target), default=None)


def _cuts(text: str, start: int, end: int, max_chars: int) -> Iterator[int]:
    while end - start > max_chars:
        middle, stop = start + max_chars // 2, start + max_chars
        start = (
            _last_end(_CLAUSE_END, text, middle, stop)
            or _last_end(_BRACKET_END, text, middle, stop)
            or _last_end(_WHITE_SPACE, text, start, stop)
            or stop
        )
        yield start


def _last_end(pattern: "re.Pattern[str]", text: str, low: int, stop: int) -> int | None:
    ends = [match.end() for match in pattern.finditer(text, low, stop)]
    return ends[-1] if ends else None
