"""The benchmarks: their arithmetic by hand, and small runs of each."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import page, splitting, streams
from benchmarks.corpus import PER_DOCUMENT
from benchmarks.plot import Line, draw_plot
from benchmarks.truth import Nearest
from tests.interpreters import run_python

ROOT = Path(__file__).parent.parent


def test_f1_of_spans_and_ends() -> None:
    text = "One two. Three. (a) Four. Five"
    gold = [(0, 8), (9, 15), (16, 19), (20, 25), (26, 30)]
    score = splitting.Score()
    score.add(text, [(0, 3), (4, 8), (9, 15), (16, 25), (26, 30)], gold)
    # With "(a)" joined, gold has four spans, of which three are found, by five; and three inner ends,
    # all found, by four.
    assert score.figures == pytest.approx((200 * 3 / 9, 200 * 3 / 7))
    assert score.bad == 0


@pytest.mark.parametrize(
    ("spans", "bad"),
    [([(0, 2), (3, 5)], 0), ([(0, 2)], 2), ([], 4), ([(0, 2), (1, 5)], 3), ([(0, 9)], 5), ([(0, 0), (0, 5)], 1)],
)
def test_faults_are_counted(spans: list[tuple[int, int]], bad: int) -> None:
    assert splitting.faults("ab cd", spans) == bad


SMALL = {
    "concurrency": ["--sentences", "400", "--seconds", "0.1", "--rounds", "1"],
    "embeddings": ["--sentences", "8"],
    "plan": ["--sentences", "1e7", "--chunks", "1e6"],
    "retrieval": ["--sentences", "1000"],
    "scale": ["--sentences", "1000"],
    "side_by_side": ["--sentences", "1000", "--only", "FaissStore", "FaissStore, exact"],
    "splitting": ["--hostile", "--sizes", "1000", "2000", "--engine", "default"],
    "stalls": ["--sentences", "400", "--queries", "5", "--rounds", "1", "--only", "FaissStore"],
    "store": ["--sentences", "1000", "--peers", "memory"],
    "stores": ["--sentences", "400", "--only", "InMemory", "--no-suite"],
    "torture": ["--kills", "1", "--seconds", "0.5", "--tries", "2", "--images", "1", "--index", "exact"],
}
"""Each script with little to do."""
KNOWN = {
    "concurrency": ("8 threads: cost, to 1 thread", 0, 1000),
    "embeddings": ("bfloat16: cosine to float32, lowest", 0.99, 1.0001),
    "plan": ("10000000: sentences", 1e7, 1e7),
    "retrieval": ("hybrid search, k = 50", 0, 1000),
    "scale": ("text of docs: whole query, default, functions called", 100, 25_000),
    "side_by_side": ("FaissStore: recall, default", 0.999, 1),
    "splitting": ("default, full stops, 2000 characters: bad", 0, 0),
    "stalls": ("FaissStore: longest turn of the loop, CPU", 0, 1000),
    "store": ("on disk, to text + half-precision vectors + FAISS file", 0.9, 1.6),
    "stores": ("InMemoryVectorStore: calls a query", 2, 2),
    "torture": ("kill -9, any index: kills", 1, 1),
}
"""A figure of each, and between what it lies on any machine."""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_writes_its_figures_as_json(name: str, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    spawns = name == "concurrency"
    done = run_python("-m", f"benchmarks.{name}", *SMALL[name], "--json", path, cwd=ROOT, spawns=spawns)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    written = json.loads(path.read_text(encoding="utf-8"))
    assert list(written) == ["benchmark", "date", "machine", "versions", "parameters", "results"]
    assert written["benchmark"] == name
    assert {"python", "langchain-sentence-window", "numpy"} < written["versions"].keys()
    assert "cores" in written["machine"]
    assert "json" not in written["parameters"]
    assert all(list(figure) == ["name", "value", "unit"] for figure in written["results"])
    figures = {figure["name"]: figure["value"] for figure in written["results"]}
    assert len(figures) == len(written["results"]) >= 5
    known, low, high = KNOWN[name]
    assert low <= figures[known] <= high


def test_every_benchmark_has_a_command_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shared = {"__init__", "baselines", "corpus", "results", "peers", "plot", "processes", "real_vectors"}
    shared |= {
        "page_postgres",
        "plan_model",
        "postgres_server",
        "question_sets",
        "real_text",
        "scale_steps",
        "spaces",
        "streams",
        "truth",
    }
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - shared
    assert scripts == {
        *SMALL,
        *OF_COLLECTIONS,
        "page",
        "places",
        "postgres",
        "published",
        "ray_ingest",
    }
    for name in scripts:
        assert f"`.venv/bin/python -m benchmarks.{name}" in page


COLLECTIONS = {
    "cats": "Cats sleep for most of the day|A kitten opens its eyes after ten days|Cats purr when they are content|"
    "Whiskers show a cat how wide a gap is|A cat lands on its feet when it falls|Most cats dislike getting wet|"
    "Cats groom their fur with rough tongues|A cat hunts mice at dusk|Cats see well in dim light|"
    "Kittens lose their milk teeth",
    "loans": "The loan is repaid in monthly installments|Interest accrues daily at a fixed rate|"
    "Late payments incur a fee|The borrower may prepay without penalty|A default lets the bank demand the balance|"
    "Taxes are paid by the debtor|The bank may assign the debt to others|Collateral secures the principal|"
    "Notices are sent to the borrower in writing|The lender reviews the credit limit each year",
}
OF_COLLECTIONS = {
    "recall": (["DIR/cats"], "sentence windows: recall within 400", 100, 100),
    "settings": (["DIR", "--only", "the defaults"], "cats: the defaults, budget, 3200", 100, 100),
    "relevance": (["DIR"], "cats: AUC, questions of loans", 0.9, 1),
    "quotes": (["DIR", "--sentences", "8"], "changed numbers and negations that pass", 0, 0),
    "reranking": (["--data", "DIR", "--cross-encoder", "MODEL"], "cats: late interaction, 3200", 100, 100),
}
"""Each script that measures collections, and the bounds of one of its figures."""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", OF_COLLECTIONS)
def test_a_benchmark_measures_collections(name: str, tiny_model: Path, tmp_path: Path) -> None:
    # Quotes are altered in several places, so they must be long.
    end = ", as number {n} of the well-known and not so long list of them says." if name == "quotes" else "."
    for collection, sentences in COLLECTIONS.items():
        folder = tmp_path / "sets" / collection
        folder.mkdir(parents=True)
        texts = {str(n): sentence + end.format(n=n) for n, sentence in enumerate(sentences.split("|"))}
        documents = [{"doc_id": doc_id, "text": text} for doc_id, text in texts.items()]
        questions = [{"question": text, "doc_id": doc_id, "spans": [[0, len(text)]]} for doc_id, text in texts.items()]
        (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n", encoding="utf-8")
        (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)) + "\n", encoding="utf-8")
    arguments, figure, low, high = OF_COLLECTIONS[name]
    values = [each.replace("DIR", str(tmp_path / "sets")).replace("MODEL", str(tiny_model)) for each in arguments]
    path = tmp_path / "figures.json"
    done = run_python("-m", f"benchmarks.{name}", *values, "--json", str(path), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    figures = {each["name"]: each["value"] for each in json.loads(path.read_text(encoding="utf-8"))["results"]}
    assert low <= figures[figure] <= high


def test_recall_counts_what_is_as_near_as_the_last() -> None:
    nearest = Nearest.none(2)
    axes = np.eye(3, dtype=np.float32)
    questions = np.array([[0.8, 0.6, 0], [0, 0, 1]], dtype=np.float32)
    nearest.add(np.array([7, 8]), axes[:2], questions)
    nearest.add(np.array([3, 5]), axes[1:], questions)
    # The first question's cosines are .8 for 7, .6 for 8 and for 3, and 0 for 5.
    assert nearest.rows[0, :4].tolist() == [7, 8, 3, 5]
    assert nearest.recall([[7, 3], [5, 8]], 2) == [1, 1]
    assert nearest.recall([[7, 5], [8, 7]], 2) == [0.5, 1]  # all but 5 are equally far from the second
    assert nearest.recall([[5], []], 1) == [0, 0]
    assert Nearest.none(1).recall([[4]], 5) == [1]


def test_a_stream_is_the_same_each_time_and_a_small_one_begins_a_large_one() -> None:
    stream = streams.Stream(2_000, streams.Synthetic(2_000))
    texts, vectors = stream.texts(0), stream.vectors(0)
    again = streams.Stream(2_000, streams.Synthetic(2_000))
    assert again.texts(0) == texts
    assert np.array_equal(again.vectors(0), vectors)
    assert streams.Stream(500, streams.Synthetic(500)).texts(0) == texts[:500]
    documents = stream.documents(0)
    assert [each.page_content for each in documents] == texts
    assert documents[PER_DOCUMENT + 1].metadata["start_index"] == len(texts[PER_DOCUMENT]) + 1
    questions, asked = stream.asked()
    assert len(questions) == len(asked) == streams.QUERIES
    assert np.linalg.norm(asked, axis=1) == pytest.approx(1, abs=1e-5)


def test_the_page_shows_what_was_measured() -> None:
    for path, tables in page.PAGES.items():
        written = path.read_text(encoding="utf-8")
        assert page.with_tables(written, tables) == written, "run python -m benchmarks.page"
    assert page.PLOT.read_text(encoding="utf-8") == page.draw_scale()
    assert set(page.SOURCES) == set(page.TABLES)
    assert sorted(page.TABLES) == sorted(each for tables in page.PLACES.values() for each in tables)
    assert {path.stem for path in page.MEASURED.glob("*.json")} <= set(page.SOURCES)


def test_a_plot_places_points_on_its_scales() -> None:
    drawn = draw_plot([Line("one", [(1_000, 1), (100_000, 100)])], [Line("two", [(1_000, 1), (100_000, 0.98)])])
    # Both ends of both scales, in pixels: left, bottom to right, top; then left, top to right, bottom.
    assert '<polyline points="70,300 420,70"' in drawn
    assert '<polyline points="530,70 880,300"' in drawn
    assert ">0.98</text>" in drawn
