"""Score sentence engines on gold data: how many sentences, and sentence ends, they get right.

    python -m benchmarks.splitting [--data DIR] [--engine default sentencex module:function] [--json PATH]
    python -m benchmarks.splitting --hostile [--sizes 500000 1000000 2000000] [--engine …] [--json PATH]

DIR holds folders of ``*.jsonl`` files with ``{"text": …, "sentences": [[start, end], …]}`` a line, a folder a
set; a file whose name begins with ``es_``, say, is Spanish, and a folder of several languages makes a row
for each. Counts are summed over the documents of a row:

- span: spans that are exactly those of the gold, after trimming;
- end: ends of sentences, without the end of the document, which nobody misses;

both as F1 in percent, with markers such as "2." or "(a)" joined to the sentence after them on either side.
"bad" counts spans that are empty, out of range, out of order or overlapping, and characters but white space
that are in none. A file of ``{"lang": …, "text": …, "expected": ["sentence", …]}`` holds golden rules; their
rows are the cases of a language that are cut exactly so, white space aside.

``--hostile`` splits texts that break splitters, and prints the seconds for each size in characters and by what
they grow from one size to the next: about 2 with each doubling is linear.
"""

import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from json import loads
from pathlib import Path

from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import trim

DATA = Path(os.environ.get("SENTENCE_WINDOW_DATA", Path(__file__).parents[2] / "shared" / "data")) / "sentences"
Split = Callable[[str], list[Span]]
_MARKER = re.compile(r"[-–—•*§\s]*[\[(]?(?:\d{1,4}(?:\.\d{1,3})*|[A-Za-z]|[ivxlIVXL]{1,6})?[\])º°ª.\s–-]{0,4}")
_LANGUAGE = re.compile(r"([a-z]{2})_")
# How the golden rules of pySBD name languages, and the lists of sentencex.
_NAMES = (
    "am-amharic ar-arabic da-danish de-deutsch en-english en-english_clean en-lists es-spanish fa-persian fr-french "
    "hi-hindi hy-armenian it-italian ja-japanese kk-kazakh mr-marathi my-burmese ru-russian sk-slovak ur-urdu"
)
_CODES = {name[3:]: name[:2] for name in _NAMES.split()}
MIN_CASES = 10
"""Cases of golden rules from which on a language has a row."""

HOSTILE = {
    "no punctuation": "word ",
    "newlines": "\n",
    "full stops": ".",
    "question marks": "?",
    "opening brackets": "[",
    "spaced stops": ". ",
    "a quoted text": "word word, ",
    "table rows": "| 1 | 2 |\n",
    "list items": "- a\n",
    "quotes": "> a\n",
    "headings": "# a\n",
    "underlines": "a\n---\n",
    "fences": "```\n",
    "links": "[a](b) ",
    "markers": "1. ",
    "open brackets": "(a\n",
    "bullets": "• a ",
    "columns": "a\tB    C ",
    "abbreviations": "Dr.\n",
    "footnotes": ". [1 ",
    "ideographic stops": "。",
    "lone surrogates": "\ud800 \udfff. ",
    "NULs": "a\x00b. ",
    "joined emoji": "👩\u200d👩\u200d👧. ",
    "combining marks": "e" + "\u0301" * 50 + ". ",
}
HOSTILE_SIZES = [500_000, 1_000_000, 2_000_000]


@dataclass
class Score:
    """Counts over documents; ``true`` are those that engine and gold share."""

    documents: int = 0
    spans: int = 0
    spans_true: int = 0
    spans_gold: int = 0
    ends: int = 0
    ends_true: int = 0
    ends_gold: int = 0
    bad: int = 0
    seconds: float = 0.0

    def add(self, text: str, found: list[Span], gold: Iterable[Span]) -> None:
        """Count one document."""
        self.documents += 1
        self.bad += faults(text, found)
        have, want = (set(with_markers(text, spans)) for spans in (found, gold))
        self.spans, self.spans_gold = self.spans + len(have), self.spans_gold + len(want)
        self.spans_true += len(have & want)
        last = len(text.rstrip())
        ends, ends_gold = ({end for _, end in spans} - {last} for spans in (have, want))
        self.ends, self.ends_gold = self.ends + len(ends), self.ends_gold + len(ends_gold)
        self.ends_true += len(ends & ends_gold)

    @property
    def figures(self) -> tuple[float, float]:
        """F1 of spans and of ends, in percent."""
        return f1(self.spans_true, self.spans, self.spans_gold), f1(self.ends_true, self.ends, self.ends_gold)


def f1(true: int, found: int, gold: int) -> float:
    """The harmonic mean of precision and recall, in percent; 100 where there is nothing to find."""
    return 200 * true / (found + gold) if found + gold else 100.0


def with_markers(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Trim spans and join those that are a marker alone to the one after them."""
    trimmed = sorted(span for span in (trim(text, *span) for span in spans) if span[0] < span[1])
    begin: int | None = None
    for index, (start, end) in enumerate(trimmed):
        begin = start if begin is None else begin
        if index + 1 == len(trimmed) or not _MARKER.fullmatch(text, start, end):
            yield begin, end
            begin = None


def faults(text: str, spans: list[Span]) -> int:
    """Count bad spans, and characters but white space outside of all spans."""
    at = bad = 0
    for start, end in spans:
        if at <= start < end <= len(text):
            bad += len("".join(text[at:start].split()))
            at = end
        else:
            bad += 1
    return bad + len("".join(text[at:].split()))


def read_gold(data: Path) -> Iterator[tuple[str, str, str, list[Span]]]:
    """Yield ``(row, language, text, gold spans)`` for each document."""
    for path in sorted(data.glob("*/*.jsonl")):
        language = _LANGUAGE.match(path.name)
        code = language[1] if language and language[1] != "ud" else "en"
        for line in path.read_text(encoding="utf-8").split("\n"):
            record = loads(line) if line else {}
            if "sentences" in record:
                row = path.parent.name + (f"/{code}" if language and language[1] != "ud" else "")
                yield row, code, record["text"], [(start, end) for start, end in record["sentences"]]


def make_split(engine: str, language: str) -> Split:
    """Make what splits by an engine's name, or load ``module:function``."""
    if ":" not in engine:
        return SentenceSplitter(language, engine=None if engine == "default" else engine).spans
    module, _, name = engine.partition(":")
    found: Split = getattr(import_module(module), name)
    return found


def measure(data: Path, engine: str) -> dict[str, Score]:
    """Score an engine on each row of the data whose language it knows."""
    splits: dict[str, Split | None] = {}
    scores: dict[str, Score] = defaultdict(Score)
    for row, language, text, gold in read_gold(data):
        if language not in splits:
            splits[language] = _split_if_known(engine, language)
        split = splits[language]
        if split is None:
            continue
        began = time.process_time()
        found = split(text)
        scores[row].seconds += time.process_time() - began
        scores[row].add(text, found, gold)
    return dict(scores)


def read_rules(data: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield ``(language, text, expected sentences)`` for each golden rule."""
    for path in sorted(data.glob("*/*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            record = loads(line) if line else {}
            if "expected" in record:
                yield _CODES.get(record["lang"], record["lang"]), record["text"], record["expected"]


def measure_rules(data: Path, engine: str) -> dict[str, tuple[int, int]]:
    """Count the golden rules that an engine keeps, and all, by language."""
    kept: dict[str, list[bool]] = defaultdict(list)
    splits: dict[str, Split | None] = {}
    for language, text, expected in read_rules(data):
        if language not in splits:
            splits[language] = _split_if_known(engine, language)
        if split := splits[language]:
            found = [" ".join(text[start:end].split()) for start, end in split(text)]
            kept[language].append(found == [" ".join(sentence.split()) for sentence in expected])
    rows = sorted(kept.items(), key=lambda row: (-len(row[1]), row[0]))
    return {language: (sum(cases), len(cases)) for language, cases in rows if len(cases) >= MIN_CASES}


def hostile_text(name: str, size: int) -> str:
    """Make a hostile text of about a size in characters."""
    unit = HOSTILE[name]
    body = unit * (size // len(unit))
    return {"table rows": "| a | b |\n|---|---|\n" + body, "a quoted text": f'"{body}"'}.get(name, body)


def measure_hostile(results: Results, engine: str, sizes: list[int]) -> None:
    """Print seconds by text and size, and how they grow."""
    split = make_split(engine, "en")
    print(f"{engine}: seconds for " + ", ".join(f"{size:,}" for size in sizes) + " characters")
    for name in HOSTILE:
        seconds = []
        for size in sizes:
            text = hostile_text(name, size)
            began = time.process_time()
            found = split(text)
            seconds.append(time.process_time() - began)
            bad = faults(text, found)
            results.add(f"{engine}, {name}, {size} characters: time", seconds[-1], "s")
            results.add(f"{engine}, {name}, {size} characters: bad", bad)
        growth = " ".join(f"x{after / max(before, 1e-9):.2f}" for before, after in pairwise(seconds))
        print(f"{name:20}" + "".join(f"{took:8.2f}" for took in seconds) + f"   {growth}   {bad} bad", flush=True)


def _split_if_known(engine: str, language: str) -> Split | None:
    try:
        return make_split(engine, language)
    except InvalidInputError:
        return None


def print_scores(results: Results, table: dict[str, dict[str, Score]]) -> None:
    """Print a row for each set and language, a column for each engine."""
    print(f"{'span F1 / end F1':20}" + "".join(f"{engine:>32}" for engine in table))
    for row in dict.fromkeys(row for scores in table.values() for row in scores):
        print(f"{row:20}", end="")
        for engine, scores in table.items():
            if row not in scores:
                print(f"{'-':>32}", end="")
                continue
            score = scores[row]
            span, end = score.figures
            speed = score.spans / max(score.seconds, 1e-9)
            print(f"{span:12.1f} /{end:5.1f} {speed / 1000:5.1f} k/s {score.bad} bad", end="")
            results.add(f"{engine}, {row}: F1 of spans", span, "%")
            results.add(f"{engine}, {row}: F1 of ends", end, "%")
            results.add(f"{engine}, {row}: speed", speed, "sentences a second")
            results.add(f"{engine}, {row}: bad", score.bad)
        print()


def print_rules(results: Results, rules: dict[str, dict[str, tuple[int, int]]]) -> None:
    """Print a row for each language with golden rules."""
    for language in dict.fromkeys(language for counts in rules.values() for language in counts):
        print(f"{'rules/' + language:20}", end="")
        for engine, counts in rules.items():
            kept, cases = counts.get(language, (0, 0))
            print(f"{f'{100 * kept / cases:.1f} % of {cases}' if cases else '-':>32}", end="")
            if cases:
                results.add(f"{engine}, rules/{language}: kept", 100 * kept / cases, f"% of {cases}")
        print()


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--engine", nargs="+", default=["default", "sentencex"])
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=HOSTILE_SIZES)
    options = parser.parse_args()
    results = Results("splitting", options)
    if options.hostile:
        for engine in options.engine:
            measure_hostile(results, engine, options.sizes)
    elif any(options.data.glob("*/*.jsonl")):
        print_scores(results, {engine: measure(options.data, engine) for engine in options.engine})
        print_rules(results, {engine: measure_rules(options.data, engine) for engine in options.engine})
    else:
        sys.exit(f"Skipped: there is no gold data in {options.data}; name a folder with --data.")
    results.save()


if __name__ == "__main__":
    main()
