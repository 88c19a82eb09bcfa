"""From a text to its sentences: blocks, line breaks, engine, markers, sections, lead-ins; or code."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise, takewhile
from typing import NamedTuple

from langchain_sentence_window._primitives import COLONS, Span

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
from .data_uris import STAND_IN, around_data_uris, find_data_uris, hide_data_uris
from .engines import Ruleset
from .front_matter import FrontMatter
from .lead_ins import find_lead_ins
from .lengths import cut_long
from .line_breaks import Gap, LineBreaks
from .markdown import is_markdown, parse_markdown
from .markup import shield_tags, strip_markup
from .parsers import parse_blocks, read_masks
from .rules import is_casual, sentence_starts
from .source_code import Syntax, code_sections, syntax_of_text
from .structure import join_markers, refine_blocks
from .transcripts import speaker_end

_UNCUT_KINDS = frozenset({HEADING, TABLE_ROW, CODE, HTML, FRONT_MATTER, CONTENTS})


class Sentence(NamedTuple):
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
    """Return a sentence of a text with its place in a longer text, after other sentences."""
    return sentence._replace(
        start=sentence.start + by,
        end=sentence.end + by,
        section_start=sentence.section_start + sentences_before,
        section_end=sentence.section_end + sentences_before,
        lead_in=None if sentence.lead_in is None else sentence.lead_in + sentences_before,
        pieces=sentence.pieces and (sentence.pieces[0] + sentences_before, sentence.pieces[1] + sentences_before),
    )


class Above(NamedTuple):
    """What is above the blocks of a text.

    Attributes:
        headings: The headings above it, outermost first, which it may begin with.
        front_matter: Its front matter; elsewhere than at the beginning of a document that is text.
    """

    headings: Sequence[Title] = ()
    front_matter: FrontMatter | None = None


_NOTHING = Above()


def split_text(
    text: str,
    rules: Ruleset,
    above: Above = _NOTHING,
    *,
    blocks: Sequence[Block] | None = None,
    syntax: Syntax | None = None,
) -> list[Sentence]:
    """Split a text into sentences.

    Args:
        text: Any string.
        rules: The rules.
        above: What is above the blocks.
        blocks: The blocks of the text in order, and masks, see `parsers`; ``None`` if they are to be found.
        syntax: The syntax of the text if it is known to be code; ``None`` to look at the text. Only if the structure is
            ``auto``.

    Returns:
        Sentences in order, disjoint, with nothing but white space, markup and data URIs between, before and after them,
        see `langchain_sentence_window.splitting.markup`, and front matter before them. A data URI ends a section, so
        that no window holds it.

    Raises:
        InvalidInputError: The engine returned a span outside its text, or the parser no blocks.
    """
    uris = find_data_uris(text)
    if uris:
        text = hide_data_uris(text, uris)
    front_matter_chars = above.front_matter.end if above.front_matter else 0
    body = " " * front_matter_chars + text[front_matter_chars:]
    structure = rules.structure
    if blocks is None and callable(structure):
        blocks, structure = parse_blocks(structure, body), "auto"
        text = text if blocks is None else body
    if blocks is not None:
        return _split_blocks(text, rules, above, blocks, uris)
    if structure == "auto" and (syntax := syntax or syntax_of_text(text)):
        return _split_code(text, syntax, rules, uris)
    if structure == "plain" or (structure == "auto" and not is_markdown(text)):
        return _cut_blocks(text, rules, above, None, uris)
    text, layout = strip_markup(body)
    found = parse_markdown(text, indented_code=structure == "markdown", layout=layout)
    return _cut_blocks(text, rules, above, found, uris)


def _split_blocks(
    text: str, rules: Ruleset, above: Above, blocks: Sequence[Block], uris: Sequence[Span]
) -> list[Sentence]:
    """Split a text whose blocks a loader or a parser found; see `parsers` for masks and bodies."""
    reading, plain = read_masks(text, blocks)
    bodies = {block.start: block.body for block in plain if block.body is not None}
    sentences = _cut_blocks(reading, rules, above, plain, uris)
    return [each._replace(start=bodies[each.start]) if each.start in bodies else each for each in sentences]


def _split_code(text: str, syntax: Syntax, rules: Ruleset, uris: Sequence[Span]) -> list[Sentence]:
    sentences: list[Sentence] = []
    for start, end in around_data_uris(text, 0, len(text), uris):
        for blocks, leads_of_blocks in code_sections(text, syntax, start, end):
            spans = [cut_long(text, (each.start, each.end), rules.max_chars) for each in blocks]
            firsts = list(accumulate(map(len, spans), initial=0))
            leads = [
                None if lead is None else firsts[lead]
                for lead, of_block in zip(leads_of_blocks, spans, strict=True)
                for _ in of_block
            ]
            sentences += _section_sentences(text, rules, blocks, spans, leads, low=len(sentences))
    return sentences


def _cut_blocks(
    text: str, rules: Ruleset, above: Above, blocks: Sequence[Block] | None, uris: Sequence[Span]
) -> list[Sentence]:
    """Cut a text whose blocks are known, or that is plain."""
    cutter = _Cutter(text, rules, blocks)
    refined = refine_blocks(text, cutter.blocks)
    if above.headings:
        refined = list(_with_headings(text, refined, above.headings))
    sentences: list[Sentence] = []
    for heading, section in _split_sections(text, refined, above, uris):
        spans = [cutter.cut(block) for block in section]
        leads = find_lead_ins(text, section, spans)
        sentences += _section_sentences(cutter.text, rules, section, spans, leads, low=len(sentences), heading=heading)
    return sentences


class _Cutter:
    """Cuts the blocks of a text.

    Attributes:
        text: The text, with tags in which nothing ends a sentence.
        blocks: Its blocks.
    """

    def __init__(self, text: str, rules: Ruleset, blocks: Sequence[Block] | None) -> None:
        self.text, self._rules = shield_tags(text), rules
        self._is_casual = is_casual(self.text, rules.words)
        self._breaks = LineBreaks(self.text, rules.words, is_casual=self._is_casual)
        self._gaps = self._breaks.gaps
        if blocks is None:
            self._gaps = self._breaks.breaks_among(self._gaps)
            blocks = list(_plain_blocks(self.text, self._gaps))
        self.blocks = blocks
        self._ends = [gap.end for gap in self._gaps]

    def cut(self, block: Block) -> list[Span]:
        """Return the spans of the sentences of a block."""
        text, rules = self.text, self._rules
        spans = [(block.start, block.end)]
        if block.kind not in _UNCUT_KINDS:
            # A speaker stays with what is said first.
            body = speaker_end(text, block.start, block.end) if block.kind == MESSAGE else block.start
            found = [span for start, end in self._lines(body, block.end) for span in self._sentences(start, end)]
            if found := join_markers(text, found):
                spans = [(block.start, found[0][1]), *found[1:]]
        return [piece for span in spans for piece in cut_long(text, span, rules.max_chars)]

    def _lines(self, start: int, end: int) -> list[Span]:
        """Return the lines of a stretch, joined where a sentence continues."""
        inside = self._gaps[bisect_right(self._ends, start) : bisect_left(self._ends, end)]
        return pieces(self.text, start, end, [gap.end for gap in self._breaks.breaks_among(inside)])

    def _sentences(self, start: int, end: int) -> list[Span]:
        paragraph, rules = self.text[start:end], self._rules
        if rules.engine is None:
            starts = sentence_starts(paragraph, rules.words, is_casual=self._is_casual)
        else:
            starts = (first for first, _ in rules.engine(paragraph))
        return pieces(self.text, start, end, [start + at for at in starts])


def _section_sentences(
    text: str,
    rules: Ruleset,
    section: Sequence[Block],
    spans: Sequence[Sequence[Span]],
    leads: Sequence[int | None],
    *,
    low: int,
    heading: str = "",
) -> Iterator[Sentence]:
    """Yield the sentences of a section, and those of prose that are long piece by piece."""
    sentences = [(block, span) for block, of_block in zip(section, spans, strict=True) for span in of_block]
    introducing = set(leads)
    cut: list[Sequence[Span]] = []
    for number, (block, span) in enumerate(sentences):
        is_whole = block.kind in _UNCUT_KINDS or number in introducing or text[span[1] - 1] in COLONS
        max_chars = None if is_whole else rules.max_piece_chars
        cut.append(cut_long(text, span, max_chars))
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
            line = text[block.start : block.end].splitlines()[0]
            level = levels.get(title_key(line))
            if level is None:
                break
            end = block.start + len(line)
            yield Block(*trim(text, block.start, end), HEADING, min(level, MAX_LEVEL))
            block = replace(block, start=trim(text, end, block.end)[0])
        is_leading = is_leading and (block.kind == HEADING or block.start == block.end)
        if block.start < block.end:
            yield block


def _split_sections(
    text: str, blocks: Sequence[Block], above: Above, uris: Sequence[Span]
) -> Iterator[tuple[str, Sequence[Block]]]:
    """Yield ``(heading path, blocks)`` for each run of blocks under one heading, cut at data URIs.

    Paths begin with the headings above the text that aren't in it; without any, with the title in the front matter
    if there is one, and no heading of level 1.
    """
    titles: list[Title] = []
    front_matter = above.front_matter
    if above.headings:
        in_text = {title_key(_block_title(text, block)) for block in blocks if block.level}
        titles += takewhile(lambda heading: title_key(heading[1]) not in in_text, above.headings)
    elif front_matter and front_matter.title and blocks and blocks[0].start >= front_matter.end:
        titles += [(0, front_matter.title)] if all(block.level != 1 for block in blocks) else []
    firsts = [number for number, block in enumerate(blocks) if block.level]
    for first, end in pairwise((0, *firsts, len(blocks))):
        if first == end:
            continue
        if level := blocks[first].level:
            titles = [heading for heading in titles if heading[0] < level]
            titles.append((level, _block_title(text, blocks[first])))
        path = shorten_path(HEADING_SEPARATOR.join(title for _, title in titles), MAX_PATH_CHARS)
        for section in _between_uris(text, blocks[first:end], uris) if uris else (blocks[first:end],):
            yield path, section


def _block_title(text: str, heading: Block) -> str:
    return heading_title(text[heading.start : heading.end].replace(STAND_IN, ""))


def _between_uris(text: str, blocks: Sequence[Block], uris: Sequence[Span]) -> Iterator[list[Block]]:
    """Yield the blocks of a section in runs, cut at data URIs."""
    parts: list[Block] = []
    for block in blocks:
        for span in around_data_uris(text, block.start, block.end, uris):
            start, end = trim(text, *span)
            parts.append(replace(block, start=start, end=end, level=block.level if start == block.start else 0))
    for _, run in groupby(parts, lambda part: bisect_left(uris, (part.start, 0))):
        yield list(run)
