"""The examples as a user runs them: as programs, with the real model."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_sentence_window
from langchain_sentence_window import SentenceSplitter
from tests.openai_server import Message, openai_server

EXAMPLES = Path(__file__).parent.parent / "examples"
POLICY = "A refund may be asked for within 30 days. Write to the desk. It is refused after 100 bookings."
MANUAL = "The database keeps a log. The log is flushed at every commit.\r\nReplicas flush it every second."
FILES = {"billing.md": f"# Refunds\n\n{POLICY}\n", "notes/tarn.txt": MANUAL, "ignored.pdf": "%PDF"}


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / program), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**settings, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "documents"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_import_public_names_only(path: Path) -> None:
    name = langchain_sentence_window.__name__
    public = {name, *(f"{name}.{part}" for part in ("errors", "evaluation", "testing"))}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(name):
            assert node.module in public
            assert not [alias.name for alias in node.names if alias.name.startswith("_")]
        elif isinstance(node, ast.Import):
            assert {alias.name for alias in node.names if alias.name.startswith(name)} <= public


def test_the_demo_shows_six_cited_answers_and_embeds_nothing_the_second_time(tmp_path: Path) -> None:
    first, second = (run("demo.py", "--index", str(tmp_path / "index"), "--reranker", "nobody/none") for _ in range(2))
    for done in (first, second):
        assert done.returncode == 0, done.stderr
    assert "Embedding" in first.stderr
    assert "Indexing 2 new or changed documents" in first.stdout
    assert "Embedding" not in second.stderr
    shown = first.stdout[first.stdout.index("=====") :]
    assert second.stdout.endswith(shown)
    assert shown.count("=" * 100) == 6
    assert "»A refund is not given, however, once more than 100 bookings have been taken in the period.«" in shown
    assert "Customers on an annual plan may ask for a refund within 30 days of the first payment." in shown
    for clause in (
        "A refund is not given, however, once more than 100 bookings have been taken in the period.",
        "Transfers are accepted for amounts of €600 or more only",
        "Goodwill credit, that is credit given by an agent as an apology, lapses after 90 days",
        "The option is disabled by default; set `verify_writes = on`",
        "Cold tables are an exception: they are recovered only to the state of the last nightly merge",
        "a backup of an encrypted cluster is readable until `backup_encrypt = on` has been set",
    ):
        assert clause in shown.replace("\n    ", " ")
    assert "Reranking by late interaction: the cross-encoder 'nobody/none' can't be loaded" in first.stdout
    sentences = int(first.stdout.split(" sentences.")[0].split()[-1])
    assert sentences >= 400


def test_the_places_the_quickstart_prints_are_true(folder: Path, tmp_path: Path) -> None:
    ask = ("--documents", str(folder), "--index", str(tmp_path / "index"), "--question", "When is a refund refused?")
    done = run("quickstart.py", *ask, "-k", "1")
    assert done.returncode == 0, done.stderr
    place = next(line for line in done.stdout.splitlines() if line.startswith("[1] "))
    name, _, offsets = place.split()[1].partition(":")
    start, end = map(int, offsets.split("-"))
    text = (folder / name).read_bytes().decode()[start:end]
    assert "It is refused after 100 bookings." in text
    assert "(Refunds)" in place
    assert "score 0." in place


def test_a_cross_encoder_from_a_folder_reranks(folder: Path, tmp_path: Path, tiny_model: Path) -> None:
    ask = ("--documents", str(folder), "--index", str(tmp_path / "index"), "--question", "When is a refund refused?")
    done = run("quickstart.py", *ask, "--reranker", str(tiny_model))
    assert done.returncode == 0, done.stderr
    assert f"Reranking with {tiny_model}." in done.stdout
    assert ", reranked " in done.stdout


def test_the_quickstart_embeds_only_what_changed(folder: Path, tmp_path: Path) -> None:
    ask = (
        "--documents",
        str(folder),
        "--index",
        str(tmp_path / "index"),
        "--question",
        "How often is the log flushed?",
    )
    assert "Indexing 2 new or changed documents, removing 0." in run("quickstart.py", *ask).stdout
    assert "Indexing" not in run("quickstart.py", *ask).stdout
    (folder / "notes/tarn.txt").write_text("The log is flushed once an hour.", encoding="utf-8")
    (folder / "billing.md").unlink()
    done = run("quickstart.py", *ask)
    assert "Indexing 1 new or changed documents, removing 1." in done.stdout
    assert "once an hour" in done.stdout
    assert "refund" not in done.stdout


def test_with_a_key_the_quickstart_prints_the_answer_and_its_citations(folder: Path, tmp_path: Path) -> None:
    def reply(messages: list[Message]) -> str:
        return "It is refused after 100 bookings [1]."

    with openai_server(reply) as server:
        done = run(
            "quickstart.py",
            *(
                "--documents",
                str(folder),
                "--index",
                str(tmp_path / "index"),
                "--question",
                "When is a refund refused?",
            ),
            OPENAI_API_KEY="test",
            OPENAI_BASE_URL=server.base_url,
        )
        (shown,) = server.prompts()
        assert [body["stream"] for body in server.bodies("/v1/chat/completions")] == [True]
    assert done.returncode == 0, done.stderr
    assert "refused after 100 bookings" in shown[-1]["content"]
    assert "Answer: It is refused after 100 bookings [1].\n  [1] billing.md:" in done.stdout


def test_evaluate_compares_retrievers_on_40_questions_and_draws_them(tmp_path: Path) -> None:
    done = run("evaluate.py", "--plot", str(tmp_path / "plot.svg"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("% of 40 questions")
    rows = {line[:32].strip(): list(map(float, line[32:].split())) for line in lines[2:-1]}
    chunks = [f"chunks of {size}, {how}" for size in ("400", "800", "2,000") for how in ("dense", "dense + BM25")]
    plain = [f"plain windows, {size} on each side" for size in (1, 3)]
    assert list(rows) == ["sentence windows", *chunks, *plain]
    for recall in (row[:4] for row in rows.values()):
        assert recall == sorted(recall)
    # All of the evidence but a little is within reach of small chunks: the questions and spans belong together.
    assert rows["chunks of 400, dense"][3] > 90
    assert "</svg>" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_evaluate_reads_a_folder_of_ones_own(folder: Path, tmp_path: Path) -> None:
    start = MANUAL.index("Replicas")
    asked = {"question": "How often do replicas flush?", "doc_id": "notes/tarn.txt", "spans": [[start, len(MANUAL)]]}
    (folder / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    done = run("evaluate.py", str(folder), "--plot", str(tmp_path / "plot.png"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("% of 1 questions")
    # There is no more than 190 characters, so all is found by all.
    assert all(line.split()[-9:] == ["100.0"] * 8 + ["0.0"] for line in lines[2:11])
    assert (tmp_path / "plot.png").exists()


def test_evaluate_answers_mistakes_in_a_line(folder: Path) -> None:
    (folder / "docs.jsonl").write_text('{"doc_id": "a", "text": "A refund."}\n', encoding="utf-8")
    assert "InvalidInputError" in run("evaluate.py", str(folder)).stderr.splitlines()[-1]
    (folder / "questions.jsonl").write_text('{"question": "Why?"}', encoding="utf-8")
    done = run("evaluate.py", str(folder))
    assert done.returncode == 1
    assert "InvalidInputError: line 1 of" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_the_questions_quote_the_documents_and_20_need_a_clause_further_on() -> None:
    records = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {name: (EXAMPLES / name).read_bytes().decode() for name in {record["doc_id"] for record in records}}
    sentences = {name: SentenceSplitter().spans(text) for name, text in texts.items()}
    distances = []
    for record in records:
        text, spans = texts[record["doc_id"]], sentences[record["doc_id"]]
        assert [text[start:end] for start, end in record["spans"]] == record["texts"]
        if "match" in record:
            (match,) = (i for i, (start, end) in enumerate(spans) if text[start:end] == record["match"])
            (answer,) = (i for i, (start, _) in enumerate(spans) if start == record["spans"][0][0])
            distances.append(answer - match)
    assert len({record["question"] for record in records}) == 40
    assert len(distances) == 20
    assert set(distances) == {1, 2, 3, 4}


def test_mistakes_are_answered_in_a_line(folder: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("--documents", str(tmp_path / "none"), "--question", "Why?"), "is not a folder"),
        (("--documents", str(folder), "--index", str(folder / "billing.md"), "--question", "Why?"), "StoreError"),
        (("--documents", str(folder), "--index", str(tmp_path / "index"), "--question", " "), "InvalidInputError"),
    ):
        done = run("quickstart.py", *arguments)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr


CLAUSE = "Transfers are accepted for amounts of €600 or more only"


def test_the_chain_streams_a_cited_answer() -> None:
    with openai_server(lambda messages: "No, from 600 euros on [1].") as server:
        done = run("rag_chain.py", OPENAI_API_KEY="test", OPENAI_BASE_URL=server.base_url)
        (shown,) = server.prompts()
    assert done.returncode == 0, done.stderr
    assert CLAUSE in shown[-1]["content"]
    assert "No, from 600 euros on [1].\n  [1] billing-policy.md:" in done.stdout


def test_the_agent_searches_then_reads_around_then_answers() -> None:
    def reply(messages: list[Message]) -> str | Message:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results:
            return tool_call("search", query="wire transfer for a yearly bill", k=1)
        if len(results) == 1:
            doc_id, first, last = re.findall(r"doc_id: (\S+) · first: (\d+) · last: (\d+)", results[0])[0]
            return tool_call("read_around", doc_id=doc_id, first=int(first), last=int(last), before=8, after=8)
        return "No, from 600 euros on."

    with openai_server(reply) as server:
        done = run("agent.py", OPENAI_API_KEY="test", OPENAI_BASE_URL=server.base_url)
        shown = server.prompts()[-1]
    assert done.returncode == 0, done.stderr
    found, read = (message["content"] for message in shown if message["role"] == "tool")
    assert CLAUSE not in " ".join(found.split())
    assert CLAUSE in " ".join(read.split())
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["→", "←", "→", "←", "No,"]


def tool_call(name: str, **arguments: object) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@pytest.mark.parametrize("program", ["rag_chain.py", "agent.py"])
def test_without_a_model_the_examples_say_what_is_missing(program: str) -> None:
    done = run(program)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "OPENAI_API_KEY" in done.stderr
