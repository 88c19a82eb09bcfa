"""The benchmarks that others published: their metrics by hand, and small runs."""

import csv
import json
from pathlib import Path

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from benchmarks import published
from langchain_sentence_window.evaluation import Question
from tests.interpreters import run_python

ROOT = Path(__file__).parent.parent
CORPORA = {
    "pubmed": ["Cats sleep for most of the day.", "A kitten opens its eyes after ten days.", "Cats purr — “gladly”."],
    "finance": ["The loan is repaid each month.", "Late payments incur a fee.", "The borrower may prepay."],
}
"""Two corpora by names of Chroma's, of which the defaults were chosen on one; each sentence answers a question."""


class Fixed(BaseRetriever):
    """Returns the same passages to every question."""

    found: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.found


def test_all_returned_text_counts() -> None:
    def passage(doc_id: str, start: int, end: int) -> Document:
        return Document("x" * (end - start), metadata={"doc_id": doc_id, "start_index": start})

    found = [passage("a", 5, 15), passage("b", 0, 20), passage("a", 5, 15), passage("a", 25, 30)]
    asked = [Question("Where?", "a", ((0, 10), (20, 30))), Question("Whose?", "c", ((0, 4),))]
    values = published.scores(Fixed(found=found), asked)
    # Of the first question's 20 characters, 5 to 10 and 25 to 30 are found; 45 are returned, of which 10 twice.
    assert values["recall"].tolist() == [10 / 20, 0]
    assert values["precision"].tolist() == [10 / 45, 0]
    assert values["iou"].tolist() == [10 / (45 + 10), 0]
    assert values["used"].tolist() == [45, 45]


def written_chroma(folder: Path) -> Path:
    """Write what a clone of Chroma's repository holds."""
    (folder / published.CHROMA / "corpora").mkdir(parents=True)
    with (folder / published.CHROMA / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "references", "corpus_id"])
        for corpus, sentences in CORPORA.items():
            text = "\n".join(sentences)
            (folder / published.CHROMA / "corpora" / f"{corpus}.md").write_bytes(text.encode())
            for answer in sentences:
                start = text.index(answer)
                place = {"content": answer, "start_index": start, "end_index": start + len(answer)}
                rows.writerow([f'Is it so, or not: "{answer}"', json.dumps([place]), corpus])
    return folder


def written_legal(folder: Path, questions: int = 2) -> Path:
    """Write what the download of LegalBench-RAG holds: three contracts with so many questions each."""
    names = [f"cuad/{name}.txt" for name in ("apple", "birch", "cedar")]
    texts = {name: " ".join(f"{name} owes {n} euros to the bank." for n in range(questions)) for name in names}
    tests = [
        {
            "query": f"Consider the loan of {name}; how much is debt {n}?",
            "snippets": [{"file_path": name, "span": [at, at + 6], "answer": texts[name][at : at + 6]}],
            "tags": [],
        }
        for n in range(questions)
        for name in names
        for at in [texts[name].index(f" owes {n} ")]
    ]
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "cuad.json").write_text(json.dumps({"tests": tests}), encoding="utf-8")
    (folder / "corpus" / "cuad").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.process
@pytest.mark.slow
def test_published_benchmarks_are_measured(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    for which, folder, expected in (
        ("chroma", written_chroma(tmp_path / "chroma"), {"windows within 4,000 characters, others: recall": 100}),
        ("legalbench", written_legal(tmp_path / "legal"), {"cuad: windows, recall@64": 100, "cuad: questions": 6}),
    ):
        done = run_python("-m", "benchmarks.published", which, "--data", str(folder), "--json", str(path), cwd=ROOT)
        assert done.returncode == 0, done.stderr
        figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
        assert expected.items() <= figures.items()
    done = run_python("-m", "benchmarks.published", "chroma", "--data", str(tmp_path), cwd=ROOT)
    assert done.returncode == 1
    assert "git clone https://github.com/brandonstarxel/chunking_evaluation" in done.stderr
