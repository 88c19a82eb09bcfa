"""The examples as a user runs them: as programs, with the real model."""

import ast
import json
import os
import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import langchain_sentence_window
from langchain_sentence_window import FaissStore, SentenceSplitter
from tests.interpreters import run_python
from tests.openai_server import Message, openai_server
from tests.pages import run_notebook

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.model]

EXAMPLES = Path(__file__).parent.parent / "examples"
POLICY = "A refund may be asked for within 30 days. Write to the desk. It is refused after 100 bookings."
MANUAL = "The database keeps a log. The log is flushed at every commit.\r\nReplicas flush it every second."
PROGRAMS = sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("deploy/*.py")])
NOTEBOOK = EXAMPLES / "tour.ipynb"
PUBLIC_MODULES = {"adapters.postgres", "errors", "evaluation", "folders", "loaders", "testing"}
FILES = {"billing.md": f"# Refunds\n\n{POLICY}\n", "notes/tarn.txt": MANUAL, "ignored.pdf": "%PDF"}


def run(program: str, *arguments: str, **environment: str) -> CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return run_python(EXAMPLES / program, *arguments, env={**settings, "HF_HUB_OFFLINE": "1", **environment})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path / "documents"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_example_is_short_and_uses_public_names_only(path: Path) -> None:
    assert 20 <= len(path.read_text(encoding="utf-8").splitlines()) <= 60
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not name.startswith("langchain_sentence_window.") or name.partition(".")[2] in PUBLIC_MODULES, name
        if isinstance(node, ast.ImportFrom) and node.module == "langchain_sentence_window":
            assert {each.name for each in node.names} <= set(langchain_sentence_window.__all__)
        if isinstance(node, ast.Attribute):
            assert not re.match("_(?!_)", node.attr)


def test_the_notebook_shows_what_is_written_in_it() -> None:
    written = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    ran = json.loads(json.dumps(run_notebook(NOTEBOOK)))
    shown = outputs_of(ran)
    assert len(shown) == 7
    assert shown == outputs_of(written), "run python -m tests.pages examples/tour.ipynb"


def outputs_of(notebook: dict[str, Any]) -> list[str]:
    """Return what the cells show, without numbers, as those differ a little between machines."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    texts = [
        output["text"] if "text" in output else [shown for _, shown in sorted(output["data"].items())]
        for output in outputs
    ]
    joined = ["".join(each if isinstance(each, str) else "".join(each) for each in text) for text in texts]
    return [re.sub(r"\d+(\.\d+)?", "0", text) for text in joined]


def test_the_demo_answers_in_the_first_of_its_cited_passages_and_embeds_nothing_the_second_time(tmp_path: Path) -> None:
    first, second = (run("demo.py", "--index", str(tmp_path / "index"), "--reranker", "nobody/none") for _ in range(2))
    for done in (first, second):
        assert done.returncode == 0, done.stderr
    assert "Embedding" in first.stderr
    assert "Embedding" not in second.stderr
    shown = first.stdout[first.stdout.index("=====") :]
    assert second.stdout.endswith(shown)
    assert shown.count("=" * 100) == 6
    assert "»A refund is not given, however, once more than 100 bookings have been taken in the period.«" in shown
    assert "Customers on an annual plan may ask for a refund within 30 days of the first payment." in shown
    answers = (
        "A refund is not given, however, once more than 100 bookings have been taken in the period.",
        "Transfers are accepted for amounts of €600 or more only",
        "Goodwill credit, that is credit given by an agent as an apology, lapses after 90 days",
        "The option is disabled by default; set `verify_writes = on`",
        "Cold tables are an exception: they are recovered only to the state of the last nightly merge",
        "a backup of an encrypted cluster is readable until `backup_encrypt = on` has been set",
    )
    for answer, windows in zip(answers, shown.split("=" * 100)[1:], strict=True):
        assert answer in windows[windows.index("\n[1] ") : windows.index("\n[2] ")].replace("\n    ", " ")
    assert "Reranking by late interaction: the cross-encoder 'nobody/none' can't be loaded" in first.stdout
    assert ", reranked " in shown
    command, index = re.findall(r"\nLook into the index in your browser: (\S+) serve --index (\S+)\n$", first.stdout)[0]
    assert Path(command).name == "sentence-window"
    assert FaissStore.exists(index)
    sentences = int(first.stdout.split(" sentences.")[0].split()[-1])
    assert sentences >= 400


def test_the_places_the_quickstart_prints_are_true(folder: Path, tmp_path: Path) -> None:
    ask = ("--documents", str(folder), "--index", str(tmp_path / "index"), "--question", "When is a refund refused?")
    done = run("quickstart.py", *ask, "-k", "1")
    assert done.returncode == 0, done.stderr
    place = next(line for line in done.stdout.splitlines() if line.startswith("[1] "))
    (name, first, last), *_ = re.findall(r"(\S+), lines? (\d+)(?:–(\d+))?", place)
    text = (folder / name).read_bytes().decode().splitlines()[int(first) - 1 : int(last or first)]
    assert "It is refused after 100 bookings." in " ".join(text)
    assert "(Refunds)" in place
    assert "score 0." in place


def test_the_quickstart_embeds_only_what_changed(folder: Path, tmp_path: Path) -> None:
    ask = ["quickstart.py", "--documents", str(folder), "--index", str(tmp_path / "index")]
    ask += ["--question", "How often is the log flushed?"]
    assert "7/7 " in run(*ask).stderr
    assert "Embedding" not in run(*ask).stderr
    (folder / "notes/tarn.txt").write_text("The log is flushed once an hour.", encoding="utf-8")
    (folder / "billing.md").unlink()
    done = run(*ask)
    assert "1/1 " in done.stderr
    assert "holds 1 documents, 1 sentences" in done.stdout
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
    assert "Answer: It is refused after 100 bookings [1].\n  [1] billing.md, line" in done.stdout


def test_with_a_key_quotes_of_a_pdf_are_verified_and_marked_on_their_page(tmp_path: Path) -> None:
    def reply(messages: list[Message]) -> str:
        words = "The notice takes effect only if it is signed"
        number = messages[-1]["content"].split(words)[0].rsplit("\n[", 1)[1].split("]")[0]
        statement = {"text": "It must be signed.", "evidence": [{"source": int(number), "quote": words}]}
        return json.dumps({"statements": [statement], "remark": ""})

    with openai_server(reply) as server:
        done = run("cited_pdf.py", "--out", str(tmp_path), OPENAI_API_KEY="test", OPENAI_BASE_URL=server.base_url)
    assert done.returncode == 0, done.stderr
    assert "It must be signed. [" in done.stdout
    assert "verbatim: »The notice takes effect only if it is signed«, " in done.stdout
    assert "agreement.pdf, p" in done.stdout
    (picture,) = tmp_path.glob("*.png")
    assert picture.name in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_evaluate_compares_retrievers_on_40_questions_and_draws_them(tmp_path: Path) -> None:
    done = run("evaluate.py", "--plot", str(tmp_path / "plot.svg"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("% of 40 questions")
    rows = {line[:24].strip(): list(map(float, line[24:].split())) for line in lines[2:-1]}
    assert list(rows) == ["sentence windows", "chunks of 400 characters", "chunks of 800 characters"]
    for recall in (row[:4] for row in rows.values()):
        assert recall == sorted(recall)
    # All of the evidence but a little is within reach of small chunks: the questions and spans belong together.
    assert rows["chunks of 400 characters"][3] > 90
    assert "</svg>" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_evaluate_reads_a_folder_of_ones_own(folder: Path, tmp_path: Path) -> None:
    write_question(folder)
    done = run("evaluate.py", str(folder), "--plot", str(tmp_path / "plot.png"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("% of 1 questions")
    # There is no more than 190 characters, so all is found by all.
    assert all(line.split()[-9:] == ["100.0"] * 8 + ["0.0"] for line in lines[2:5])
    assert (tmp_path / "plot.png").exists()


def write_question(folder: Path) -> None:
    start = MANUAL.index("Replicas")
    asked = {"question": "How often do replicas flush?", "doc_id": "notes/tarn.txt", "spans": [[start, len(MANUAL)]]}
    (folder / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")


def test_evaluate_answers_mistakes_in_a_line(folder: Path) -> None:
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
    assert "No, from 600 euros on [1].\n  [1] billing-policy.md, line 81 (" in done.stdout


def test_the_agent_searches_then_reads_around_then_answers() -> None:
    def reply(messages: list[Message]) -> str | Message:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results:
            return tool_call("search", query="wire transfer for a yearly bill", k=1)
        if len(results) == 1:
            doc_id, first, last = re.findall(r"doc_id: (\S+) · first: (\d+) · last: (\d+)", results[0])[0]
            return tool_call("read_around", doc_id=doc_id, first=int(first), last=int(last), before=8, after=8)
        return f"No: “{CLAUSE}” {re.findall(r'^.[0-9]+.', results[-1], re.MULTILINE)[0]}."

    with openai_server(reply) as server:
        done = run("agent.py", OPENAI_API_KEY="test", OPENAI_BASE_URL=server.base_url)
        shown = server.prompts()[-1]
    assert done.returncode == 0, done.stderr
    found, read = (message["content"] for message in shown if message["role"] == "tool")
    assert "doc_id:" in found
    assert CLAUSE in " ".join(read.split())
    *steps, answer, citation = done.stdout.splitlines()
    assert [line.split()[0] for line in steps] == ["→", "←", "→", "←"]
    number = answer.removeprefix(f"No: “{CLAUSE}” ").removesuffix(".")
    assert citation.startswith(f"{number} billing-policy.md, line")


def tool_call(name: str, **arguments: object) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


@pytest.mark.parametrize("program", ["rag_chain.py", "agent.py"])
def test_without_a_model_the_examples_say_what_is_missing(program: str) -> None:
    done = run(program)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "OPENAI_API_KEY" in done.stderr
