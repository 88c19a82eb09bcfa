"""Measure the check of quotations: how often each kind of altered quote gets its verdict, and the time for an answer.

    python -m benchmarks.quotes DIR [--sentences 200] [--json PATH]

DIR holds a folder for each of two or more collections of different subjects, and each folder ``docs.jsonl``, lines of
doc_id and text, and ``questions.jsonl``, lines of question, doc_id and spans as `benchmarks.recall` reads them.

Of each collection, sentences that hold evidence are taken, spread over the file. Each is quoted in an answer in several
ways: as it stands, with other white space, marks, case and hyphens, with a word, a number or a negation changed, joined
to a sentence from elsewhere, cited as another source, or replaced by a sentence of another collection. Its sources are
ten windows: the one around it, others of its document, and some of other documents. The time is that of one core for an
answer with ten such quotes, windows new to it.
"""

import random
import re
import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from langchain_core.documents import Document

from benchmarks.question_sets import Collection, read_collections
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.answering.quotes.verification import verify_quotes
from langchain_sentence_window.errors import SentenceWindowError

SENTENCES = 200
AROUND = 2
"""Sentences on each side of a window's own."""
WINDOWS = 10
QUOTES = 10
"""Quotes of the answer that is timed."""
GOAL_MS = 2.0
MARKS = ('"{}"', "“{}”", "«{}»", "„{}“", "「{}」")
_WORD = re.compile(r"(?<![\w-])[a-z]{5,}(?![\w-])")
_AUXILIARY = re.compile(r"(?<=\w) (is|are|was|were|can|will|must|may|should|would|could|has|have) (?=[a-z])")
_NEGATION = re.compile(r"(?<=\w) (?:not|never|no) (?=\w)|(?<=\w)n['’]t\b(?= \w)")
_SENTENCE = re.compile(r"[A-Z][^‘]*[.!?]")
"""What reads as a sentence of an answer, and quotes nothing."""
_PASSING = ("verbatim", "normalized")
Alteration = Callable[["Gold", random.Random], str | None]
"""Returns what is quoted instead of a sentence; ``None`` where it can't be altered so."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A sentence that holds evidence.

    Attributes:
        text: The sentence.
        windows: The sources; the first holds it.
        elsewhere: A sentence of another window.
        invented: A sentence of another collection.
        words: Words of other collections.
    """

    text: str
    windows: list[Document]
    elsewhere: str
    invented: str
    words: list[str]


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="sentences of all collections together")
    options = parser.parse_args()
    results = Results("quotes", options)
    try:
        golds = read_golds(options)
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    measure(results, golds)
    measure_time(results, golds)
    results.save()


def read_golds(options: Namespace) -> list[Gold]:
    """Read the sentences that hold evidence, with windows around them.

    Raises:
        InvalidInputError: There are fewer than two collections.
    """
    chance = random.Random(1)
    collections = [_Sentences(each) for each in read_collections(options.folder, at_least=2)]
    share = -(-options.sentences // len(collections))
    golds: list[Gold] = []
    for at, collection in enumerate(collections):
        other = collections[at - 1]
        words = sorted(other.words - collection.words) or ["otherwise"]
        for doc_id, index in collection.evidence(share):
            windows = collection.sources(doc_id, index, chance)
            elsewhere = collection.elsewhere(windows, chance)
            golds.append(Gold(collection.text(doc_id, index), windows, elsewhere, other.any_sentence(chance), words))
    return golds[: options.sentences]


class _Sentences:
    """The sentences of a collection's documents about which something is asked."""

    def __init__(self, collection: Collection) -> None:
        splitter = SentenceSplitter()
        self.questions = collection.questions
        self.texts = {str(each.metadata["doc_id"]): each.page_content for each in collection.documents}
        asked = {each.doc_id for each in self.questions}
        self.texts = {doc_id: text for doc_id, text in self.texts.items() if doc_id in asked}
        self.spans = {doc_id: splitter.spans(text) for doc_id, text in self.texts.items()}
        self.words = {word for text in self.texts.values() for word in _WORD.findall(text)}

    def text(self, doc_id: str, index: int) -> str:
        """Return a sentence."""
        start, end = self.spans[doc_id][index]
        return self.texts[doc_id][start:end]

    def is_usual(self, doc_id: str, index: int) -> bool:
        """Return whether a sentence is a line of prose of some length that stands once in its document."""
        text = self.text(doc_id, index)
        words = text.split()
        return (
            10 <= len(words) <= 60
            and text[0].isalpha()
            and "\n" not in text
            and self.texts[doc_id].count(text) == 1
            and not re.search(r"\[\d|[|`*\"“”«»„「」\[\]…]|\.\.", text)
        )

    def evidence(self, count: int) -> list[tuple[str, int]]:
        """Return sentences that hold evidence, spread over the questions."""
        found: dict[tuple[str, int], None] = {}
        for question in self.questions:
            for start, end in question.spans:
                for index, (low, high) in enumerate(self.spans.get(question.doc_id, [])):
                    if low < end and start < high and self.is_usual(question.doc_id, index):
                        found[question.doc_id, index] = None
        all_found = list(found)
        step = max(1.0, len(all_found) / count)
        return [all_found[int(at * step)] for at in range(min(count, len(all_found)))]

    def window(self, doc_id: str, index: int) -> Document:
        """Return the window around a sentence."""
        spans = self.spans[doc_id]
        first, last = max(0, index - AROUND), min(len(spans) - 1, index + AROUND)
        start, end = spans[first][0], spans[last][1]
        place = {"doc_id": doc_id, "start_index": start, "end_index": end, "sentences": [first, last]}
        return Document(self.texts[doc_id][start:end], metadata={"source": f"{doc_id}.md", **place})

    def sources(self, doc_id: str, index: int, chance: random.Random) -> list[Document]:
        """Return windows; the first holds the sentence, and no other does."""
        windows = [self.window(doc_id, index)]
        text = self.text(doc_id, index)
        for _ in range(20 * WINDOWS):
            name = doc_id if len(windows) < WINDOWS // 2 else chance.choice(sorted(self.spans))
            if not self.spans[name]:
                continue
            other = self.window(name, chance.randrange(len(self.spans[name])))
            is_new = all(other.page_content != each.page_content for each in windows)
            if is_new and text.lower() not in other.page_content.lower():
                windows.append(other)
            if len(windows) == WINDOWS:
                break
        return windows

    def elsewhere(self, windows: list[Document], chance: random.Random) -> str:
        """Return a sentence of a window that isn't the first one."""
        splitter = SentenceSplitter()
        texts = [
            window.page_content[start:end]
            for window in windows[1:]
            for start, end in splitter.spans(window.page_content)
            if len(window.page_content[start:end].split()) >= 5 and "\n" not in window.page_content[start:end]
        ]
        usual = [text for text in texts if not re.search(r"\[\d|[|`*\"“”«»„「」\[\]…]|\.\.", text)]
        outside = [text for text in usual if text not in windows[0].page_content]
        return chance.choice(outside) if outside else ""

    def any_sentence(self, chance: random.Random) -> str:
        """Return a usual sentence."""
        while True:
            doc_id = chance.choice(sorted(self.spans))
            index = chance.randrange(max(1, len(self.spans[doc_id])))
            if index < len(self.spans[doc_id]) and self.is_usual(doc_id, index):
                return self.text(doc_id, index)


def exact(gold: Gold, _: random.Random) -> str:
    """Quote the sentence as it stands."""
    return gold.text


def respaced(gold: Gold, chance: random.Random) -> str:
    """Break lines and double spaces."""
    gaps = ["\n", "  ", "\u00a0", " \n ", " "]
    words = gold.text.split(" ")
    at = chance.randrange(1, len(words))
    return (
        " ".join(words[:at]) + chance.choice(gaps[:4]) + "".join(w + chance.choice(gaps) for w in words[at:]).rstrip()
    )


def remarked(gold: Gold, chance: random.Random) -> str | None:
    """Write other apostrophes, hyphens and case, and another mark at the end."""
    quote = gold.text.replace("’", "'") if "’" in gold.text else gold.text.replace("'", "’")
    quote = re.sub(r"(?<=[a-z])-(?=[a-z])", "\u2011", quote)
    if chance.random() < 0.5:
        quote = quote[0].swapcase() + quote[1:]
    if quote[-1] == "." and chance.random() < 0.5:
        quote = quote[:-1] + ","
    return quote if quote != gold.text else None


def rehyphenated(gold: Gold, chance: random.Random) -> str | None:
    """Part a word at the end of a line."""
    found = list(_WORD.finditer(gold.text))
    if not found:
        return None
    at = chance.choice(found).start() + 3
    return f"{gold.text[:at]}-\n{gold.text[at:]}"


def in_capitals(gold: Gold, _: random.Random) -> str | None:
    """Write the sentence in capitals, if that keeps its letters."""
    return gold.text.upper() if gold.text.upper().lower() == gold.text.lower() != gold.text else None


def word_changed(gold: Gold, chance: random.Random) -> str | None:
    """Replace a word by one of another collection."""
    return _changed(gold, chance, chance.choice(gold.words))


def word_swapped(gold: Gold, chance: random.Random) -> str | None:
    """Replace a word by one that stands in the sources, which is harder to see."""
    words = sorted({word for window in gold.windows for word in _WORD.findall(window.page_content)})
    return _changed(gold, chance, chance.choice(words))


def _changed(gold: Gold, chance: random.Random, new: str) -> str | None:
    found = [each for each in _WORD.finditer(gold.text) if each[0] != new]
    if not found:
        return None
    word = chance.choice(found)
    return gold.text[: word.start()] + new + gold.text[word.end() :]


def number_changed(gold: Gold, chance: random.Random) -> str | None:
    """Change a digit, or write a minus or a decimal point."""
    digits = [each.start() for each in re.finditer(r"\d", gold.text)]
    if not digits:
        return None
    at = chance.choice(digits)
    how = chance.randrange(4)
    if how == 0:
        return f"{gold.text[:at]}{(int(gold.text[at]) + 1 + chance.randrange(9)) % 10}{gold.text[at + 1 :]}"
    if how == 1 and not gold.text[max(0, at - 2) : at].strip(" "):
        return None
    return gold.text[:at] + ("-", "0", "1", "5.")[how] + gold.text[at:]


def negation_inserted(gold: Gold, chance: random.Random) -> str | None:
    """Negate an auxiliary verb."""
    found = list(_AUXILIARY.finditer(gold.text))
    if not found:
        return None
    verb = chance.choice(found)
    return f"{gold.text[: verb.end()]}not {gold.text[verb.end() :]}"


def negation_removed(gold: Gold, chance: random.Random) -> str | None:
    """Leave out a negation."""
    found = list(_NEGATION.finditer(gold.text))
    if not found:
        return None
    word = chance.choice(found)
    return gold.text[: word.start()] + (" " if word[0].endswith(" ") else "") + gold.text[word.end() :]


def two_stitched(gold: Gold, _: random.Random) -> str | None:
    """Join the sentence and one of another window."""
    return f"{gold.text} {gold.elsewhere}" if gold.elsewhere else None


def invented(gold: Gold, _: random.Random) -> str | None:
    """Quote a sentence of another collection."""
    return gold.invented


ALTERATIONS: dict[str, tuple[Alteration, int, tuple[str, ...]]] = {
    "exact": (exact, 1, ("verbatim",)),
    "re-spaced": (respaced, 1, ("normalized",)),
    "other marks and case": (remarked, 1, ("normalized",)),
    "hyphenated": (rehyphenated, 1, ("normalized",)),
    "in capitals": (in_capitals, 1, ("normalized",)),
    "one word changed": (word_changed, 1, ("not_found",)),
    "one word swapped": (word_swapped, 1, ("not_found",)),
    "number changed": (number_changed, 1, ("not_found",)),
    "negation inserted": (negation_inserted, 1, ("not_found",)),
    # What is left out may be called so, where enough stands on both sides of it.
    "negation removed": (negation_removed, 1, ("not_found", "stitched")),
    "two sentences stitched": (two_stitched, 1, ("stitched",)),
    "wrong source": (exact, 2, ("misattributed",)),
    "invented": (invented, 1, ("not_found",)),
}
"""How a sentence is quoted, the source that is cited, and the verdicts that are right."""


def measure(results: Results, golds: list[Gold]) -> None:
    """Count the right verdicts; print and keep the shares."""
    chance = random.Random(2)
    total = right = passed = 0
    for name, (alter, cited, wanted) in ALTERATIONS.items():
        verdicts = [
            (verdict, quote, gold)
            for gold in golds
            if (quote := alter(gold, chance)) is not None
            for verdict in verdicts_of(gold, quote, cited, chance)
        ]
        wrong = [each for each in verdicts if each[0] not in wanted]
        for verdict, quote, _ in wrong[:3]:
            print(f"  {name}: {verdict}: {quote!r}"[:400])
        if verdicts:
            results.note(f"{name}: right of {len(verdicts)}", 100 * (1 - len(wrong) / len(verdicts)), "%")
        total, right = total + len(verdicts), right + len(verdicts) - len(wrong)
        if name.startswith(("number", "negation")):
            passed += sum(verdict in _PASSING for verdict, _, _ in verdicts)
    sentences = [gold for gold in golds if _SENTENCE.fullmatch(gold.text)]
    claims = [
        [each.verdict for each in verify_quotes(f"So it is. {gold.text} [1] More.", gold.windows)] for gold in sentences
    ]
    as_claims = sum(verdicts == ["verbatim"] for verdicts in claims)
    results.note(f"exact, as a claim: right of {len(claims)}", 100 * as_claims / len(claims), "%")
    total, right = total + len(claims), right + as_claims
    results.note("right verdicts of all", 100 * right / total, "%")
    results.note("changed numbers and negations that pass", passed, "", most=0)


def verdicts_of(gold: Gold, quote: str, cited: int, chance: random.Random) -> Iterator[str]:
    """Yield the verdict on a quote between some marks, in a block quote, and as a claim."""
    marks = chance.choice(MARKS)
    block = "\n".join(f"> {line}" for line in quote.split("\n"))
    answers = [
        f"As the first source says, {marks.format(quote)} [{cited}]. That is all.",
        f"The source says:\n\n{block} [{cited}]\n\nThat is all.",
    ]
    for answer in answers:
        found = [each for each in verify_quotes(answer, gold.windows) if each.kind == "quotation"]
        yield found[0].verdict if len(found) == 1 else f"{len(found)} quotes"


def measure_time(results: Results, golds: list[Gold]) -> None:
    """Time answers with ten quotes each; print and keep the milliseconds."""
    chance = random.Random(3)
    names = list(ALTERATIONS)
    lasted: list[float] = []
    of_exact: list[float] = []
    for start in range(len(golds)):
        taken = [golds[(start + at) % len(golds)] for at in range(QUOTES)]
        windows = [gold.windows[0] for gold in taken]
        for times, kinds in ((lasted, names), (of_exact, names[:1])):
            parts = []
            for at, gold in enumerate(taken):
                alter, _, _ = ALTERATIONS[kinds[(start + at) % len(kinds)]]
                quote = alter(gold, chance) or gold.text
                parts.append(f"It says “{quote}” [{at + 1}].")
            answer = " ".join(parts)
            begun = time.thread_time()
            found = verify_quotes(answer, windows)
            times.append(1000 * (time.thread_time() - begun))
            assert len(found) == QUOTES, answer
    results.note("an answer with ten quotes, median", statistics.median(lasted), "ms", most=GOAL_MS)
    results.note("an answer with ten quotes, 95 % of answers within", sorted(lasted)[int(0.95 * len(lasted))], "ms")
    results.note("an answer with ten verbatim quotes, median", statistics.median(of_exact), "ms", most=GOAL_MS)


if __name__ == "__main__":
    main()
