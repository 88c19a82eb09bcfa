r"""Commands of LaTeX, which appear anywhere in a line: which to leave out, and which separate paragraphs.

Commands are recognized by their names. An unknown one stays, as its argument may be text. A formula stays in its
sentence, which may go on after it; a long formula, or one between blank lines, is a block. A footnote after a sentence
is a separate text; one inside a sentence stays in it. Pictures made of commands are left out.
"""

import re
from dataclasses import dataclass, field

from langchain_sentence_window.splitting import BLANK as FILL
from langchain_sentence_window.splitting import CODE, HEADING, TABLE_ROW
from langchain_sentence_window.splitting.word_lists import read_words

from .grammars import DATA_FILE, PACKAGE, Region, Scan

MAX_FORMULA_CHARS = 250
"""Characters of the longest formula that stays in a sentence."""


_HEADINGS = ("title", "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_WORDS = {name: frozenset(words) for name, words in read_words(PACKAGE, DATA_FILE).items()}
_NO_TEXT = _WORDS["dropped"] | _WORDS["layout"]
_FOOTNOTES = ("footnote", "footnotetext", "thanks")
_UNCUT = _WORDS["verbatim"] | _WORDS["left_out"] | _WORDS["formulas"] | _WORDS["tables"]
_DOCUMENT = re.compile(r"^[ \t]*+\\begin\{document\}", re.MULTILINE)
_DOCUMENT_END = re.compile(r"^[ \t]*+\\end\{document\}", re.MULTILINE)
_TITLE = re.compile(r"\\title[ \t]*(?:\[[^\]\n]{0,300}\])?[ \t\n]{0,9}\{")
_STOPS = frozenset(".!?")
_MARKS = frozenset(".!?,;:")

_COMMAND_OR_SIGN = re.compile(
    r"\\begin[ \t]*\{(?P<begin>[^{}\n]{1,60})\}|\\end[ \t]*\{(?P<end>[^{}\n]{1,60})\}"
    r"|\\(?:verb|lstinline)\*?(?P<bar>[^\w\s*{])[^\n]{0,300}?(?P=bar)|\\(?P<name>[a-zA-Z@]++)\*?|(?P<display>\\\[|\$\$)"
    r"|(?P<inline>\\\(|\$)|(?P<comment>%[^\n]*+)|\\(?:.|\n)"
)
_BRACE = re.compile(r"\\.|%[^\n]*|[{}]", re.DOTALL)
_OPTION = re.compile(r"[ \t]*+\[[^\[\]{}]{0,300}(?:\{[^{}]{0,200}\}[^\[\]{}]{0,200}){0,9}\]")
_BEFORE_BRACE = re.compile(r"(?:[ \t]*+\n)?[ \t]*+(?=\{)")
_DEFINED = re.compile(r"[ \t]*+\\[a-zA-Z@]++[^{}\n\\]*+")
_INLINE_END = re.compile(r"(?:[^$\\\n]|\\[^)]|\n(?![ \t]*\n)){0,600}+(?:\$|\\\))")
_END_OF_FORMULA = re.compile(r"(?:\s|\\label\{[^{}]*\}|\\(?:qedhere|\\|,|;|quad|text\{[^{}]*\})|\})*\Z")
_ROW_END = re.compile(r"\\\\(?:\*?\[[^\]\n]{0,50}\])?|\\tabularnewline\b|\\endhead\b|\\endfirsthead\b")
_RULES_OF_TABLE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|centering|endfoot|endlastfoot|(?:cmidrule|cline)(?:\([^()]*\))?\{[^{}]*\}"
    r"|label\{[^{}]*\})(?:\[[^\]\n]{0,50}\])?|(?<!\\)%[^\n]*+"
)


def scan_latex(text: str) -> Scan:
    """Read the commands of a text in LaTeX, which has plain newlines."""
    scanner = _Scanner(text, _braces(text), list(text))
    scanner.scan()
    return Scan("".join(scanner.chars), scanner.regions, scanner.depths)


def _braces(text: str) -> dict[int, int]:
    """Return the position of the closing brace for each opening one."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            stack.append(match.start())
        elif match[0] == "}" and stack:
            found[stack.pop()] = match.start()
    return found


@dataclass(slots=True)
class _Scanner:
    """Reads commands in order.

    Attributes:
        text: The text.
        braces: The position of the closing brace for each opening one.
        chars: The text, with blanks in place of markup.
        regions: See `Scan`.
        depths: See `Scan`.
    """

    text: str
    braces: dict[int, int]
    chars: list[str]
    regions: dict[int, Region] = field(default_factory=dict)
    depths: list[tuple[int, int]] = field(default_factory=list)
    _depth: int = 0
    _unclosed: set[str] = field(default_factory=set)

    def scan(self) -> None:
        """Read the whole text."""
        at = self._read_preamble()
        end = max((match.start() for match in _DOCUMENT_END.finditer(self.text, at)), default=len(self.text))
        self._part(end, len(self.text))
        while match := _COMMAND_OR_SIGN.search(self.text, at, end):
            at = max(self._read(match), match.end())

    def _read_preamble(self) -> int:
        """Leave out the preamble except for the title; return where the document begins."""
        found = _DOCUMENT.search(self.text)
        if found is None:
            return 0
        begin = found.start()
        self._part(0, begin)
        title = _TITLE.search(self.text, 0, begin)
        if title and (end := self.braces.get(title.end() - 1)):
            self.chars[title.end() : end] = self.text[title.end() : end]
            self._add(title.end(), end, HEADING, "0")
        return begin

    def _read(self, match: "re.Match[str]") -> int:
        """Read a command; return the position after it."""
        start, end = match.span()
        if match["begin"] or match["end"]:
            return self._begin(match, match["begin"]) if match["begin"] else self._end(match)
        if name := match["name"]:
            return self._command(name, start, end)
        if match["display"]:
            found = self._find("\\]" if match["display"] == "\\[" else "$$", end)
            return self._formula(start, end, found, found + 2) if found >= 0 else end
        if match["comment"]:
            is_line = not self.text[self._line(start) : start].strip()
            return self._drop(start, min(end + is_line, len(self.text)))  # a comment line doesn't end its paragraph
        if match["inline"] and (formula := _INLINE_END.match(self.text, end)):
            end = formula.end()
        if match["inline"] or match["bar"]:
            self._shield(start, end)
        return end

    def _command(self, name: str, start: int, end: int) -> int:
        if name in _HEADINGS or name in _WORDS["textual"] or name in _FOOTNOTES:
            opening = self._opening(end)
            close = self.braces.get(opening - 1)
            return end if close is None else self._argument(name, start, opening, close)
        if name in _WORDS["dropped"] or name.startswith("index"):
            end = self._arguments(end)
        is_alone = not self.text[self._line(start) : start].strip() and self.text[end : end + 1] in ("\n", "")
        if name in _WORDS["parting"]:
            self._part(start, end)
        elif name in _NO_TEXT or name.startswith("index") or (is_alone and name not in _WORDS["names"]):
            self._drop(start, end)
        return end

    def _argument(self, name: str, start: int, opening: int, close: int) -> int:
        """Read a command whose argument is text; return the position after it."""
        if name in _FOOTNOTES and name != "footnotetext" and self.text[start - 1 : start] not in _STOPS:
            self._shield(start, close + 1)
            return close + 1
        leave_out = self._drop if name in _FOOTNOTES else self._part
        leave_out(start, opening)
        leave_out(close, close + 1)
        if name not in _HEADINGS:
            return opening
        self._add(opening, close, HEADING, str(_HEADINGS.index(name)))
        return close + 1

    def _end(self, match: "re.Match[str]") -> int:
        if match["end"].rstrip("*") in _WORDS["lists"]:
            self._deepen(match.end(), -1)
        return self._part(*match.span())

    def _begin(self, match: "re.Match[str]", full: str) -> int:
        """Read the beginning of an environment, or all of one whose inside isn't read; return the position after it."""
        start, end = match.span()
        name = full.rstrip("*")
        is_whole = name in _UNCUT
        found = self._find(f"\\end{{{full}}}", end) if is_whole else -1
        stop = found + len(full) + 6
        if found < 0:
            if name in _WORDS["lists"]:
                self._deepen(end, 1)
            takes = name in _WORDS["lists"] or name in _WORDS["with_options"] or is_whole
            return self._part(start, self._arguments(end) if takes else end)
        if name in _WORDS["formulas"]:
            return self._formula(start, end, found, stop)
        body = end if name in _WORDS["left_out"] else self._arguments(end)
        self._part(start, stop if name in _WORDS["left_out"] else body)
        if name in _WORDS["verbatim"]:
            self._add(body, found, CODE)
        elif name in _WORDS["tables"]:
            self._rows(body, found)
        self._part(found, stop)
        return stop

    def _formula(self, start: int, body: int, end: int, stop: int) -> int:
        """Leave a formula in its sentence, or make it a block if it is long or between blank lines."""
        before = self.text[max(0, start - 200) : start].rpartition("\n")
        is_alone = not before[2].strip() and not before[0].rpartition("\n")[2].strip()
        after = self.text[stop : stop + 200].split("\n")
        is_alone = is_alone and len(after) > 1 and not after[0].strip() and not after[1].strip()
        if stop - start <= MAX_FORMULA_CHARS and not is_alone:
            self._shield(start, stop, self.text[body:end])
            return stop
        self._part(start, body)
        self._add(body, end, CODE)
        self._part(end, stop)
        return stop

    def _rows(self, start: int, end: int) -> None:
        """Add the rows of a table."""
        ends = [match.span() for match in _ROW_END.finditer(self.text, start, end)]
        rows: list[Region] = []
        has_header = False
        for (_, low), (high, after) in zip([(start, start), *ends], [*ends, (end, end)], strict=True):
            own = self.text[low:high]
            for rule in _RULES_OF_TABLE.finditer(own):
                self.chars[low + rule.start() : low + rule.end()] = FILL * len(rule[0])
                is_ruled = "line" in rule[0] or "rule" in rule[0]
                has_header = has_header or (len(rows) == 1 and is_ruled)
            self._part(high, after)
            if any(map(str.isalnum, _RULES_OF_TABLE.sub("", own))):
                rows.append(self._add(low, high, TABLE_ROW))
        for number, row in enumerate(rows if has_header and len(rows) > 1 else ()):
            row.is_header = number == 0

    def _opening(self, at: int) -> int:
        """Return where the argument of a command begins, after its options; if it has none, where it would begin."""
        if option := _OPTION.match(self.text, at):
            at = option.end()
        brace = _BEFORE_BRACE.match(self.text, at)
        return (brace.end() if brace else at) + 1

    def _arguments(self, at: int) -> int:
        """Return the end of the arguments of a command."""
        if defined := _DEFINED.match(self.text, at):
            at = defined.end()
        while True:
            if option := _OPTION.match(self.text, at):
                at = option.end()
            elif (close := self.braces.get(at)) is not None:
                at = close + 1
            else:
                return at

    def _find(self, close: str, at: int) -> int:
        """Find a closing string; -1 if it is missing, which is remembered to keep the work linear."""
        found = -1 if close in self._unclosed else self.text.find(close, at)
        if found < 0:
            self._unclosed.add(close)
        return found

    def _line(self, at: int) -> int:
        """Return the start of the line with a position, at most 100 characters before it."""
        low = max(0, at - 100)
        return max(low, self.text.rfind("\n", low, at) + 1)

    def _add(self, start: int, end: int, kind: str, rank: str = "") -> Region:
        while start < end and (self.chars[start].isspace()):
            start += 1
        self.regions[start] = draft = Region(start, end, kind, rank)
        return draft

    def _deepen(self, at: int, by: int) -> None:
        self._depth = max(0, self._depth + by)
        self.depths.append((at, self._depth))

    def _shield(self, start: int, end: int, formula: str = "") -> None:
        """Replace markup in which no sentence ends by one word."""
        before = self.text[max(0, start - 3) : start].rstrip()
        word = "x" * (end - start)
        if before.endswith(tuple(_STOPS)) and self.text[start - 1].isspace():
            word = "X" + word[1:]
        last = formula[: _END_OF_FORMULA.search(formula).start()][-1:] if formula else ""  # type: ignore[union-attr]
        word = word[: -len(last)] + last if last in _MARKS and last else word
        self.chars[start:end] = word

    def _drop(self, start: int, end: int) -> int:
        self.chars[start:end] = FILL * (end - start)
        return end

    def _part(self, start: int, end: int) -> int:
        """Replace markup that separates paragraphs by newlines."""
        self.chars[start:end] = ("\n" * min(2, end - start)).ljust(end - start)
        return end
