"""The examples as a user runs them: as programs, with the real model."""

import ast
import json
import os
import re
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from tests.interpreters import run_python
from tests.openai_server import Message, openai_server
from tests.pages import run_notebook

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.model]

EXAMPLES = Path(__file__).parent.parent / "examples"
POLICY = "A refund may be asked for within 30 days. Write to the desk. It is refused after 100 bookings."
MANUAL = "The database keeps a log. The log is flushed at every commit.\r\nReplicas flush it every second."
PROGRAMS = sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("deploy/*.py")])
NOTEBOOK = EXAMPLES / "tour.ipynb"
FILES = {"billing.md": f"# Refunds\n\n{POLICY}\n", "notes/tarn.txt": MANUAL, "ignored.pdf": "%PDF"}


def run(program: str, *arguments: str | Path, **environment: str) -> CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return run_python(EXAMPLES / program, *map(str, arguments), env={**settings, "HF_HUB_OFFLINE": "1", **environment})


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
        if isinstance(node, ast.ImportFrom) and "sentence_window" in str(node.module):
            assert {each.name for each in node.names} <= set(import_module(str(node.module)).__all__)
        if isinstance(node, ast.Attribute):
            assert not re.match("_(?!_)", node.attr)


def test_the_outputs_in_the_notebook_are_current() -> None:
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


def test_with_a_key_the_quickstart_prints_the_answer_and_its_citations(folder: Path, tmp_path: Path) -> None:
    def reply(messages: list[Message]) -> str:
        return "It is refused after 100 bookings [1]."

    with openai_server(reply) as server:
        done = run(
            "quickstart.py",
            *("--documents", folder, "--index", tmp_path / "index", "--question", "When is a refund refused?"),
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


def test_evaluate_compares_retrievers_on_40_questions() -> None:
    done = run("evaluate.py")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("% of 40 questions")
    rows = {line[:24].strip(): list(map(float, line[24:].split())) for line in lines[2:]}
    assert list(rows) == ["sentence windows", "chunks of 400 characters", "chunks of 800 characters"]
    # All of the evidence but a little is within reach of small chunks: the questions and spans belong together.
    assert rows["chunks of 400 characters"][3] > 90


def test_programs_report_mistakes_in_a_line(folder: Path) -> None:
    assert "InvalidInputError" in run("evaluate.py", str(folder)).stderr.splitlines()[-1]
    (folder / "questions.jsonl").write_text('{"question": "Why?"}', encoding="utf-8")
    done = run("evaluate.py", str(folder))
    assert done.returncode == 1
    assert "InvalidInputError: line 1 of" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    done = run("quickstart.py", "--documents", folder / "none", "--question", "Why?")
    assert done.returncode == 1
    assert "is not a folder" in done.stderr
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
