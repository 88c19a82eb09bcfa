"""Build the wheel and the source distribution, install them with each extra in a new environment, and use them.

    python -m tests.wheels                              # all extras, at the lowest versions allowed and the newest
    python -m tests.wheels --extra cli --resolution highest

It needs a package index, and the packages of the group ``release``. An extra is used by its program below, which must
run without warnings of this package, and must import nothing of the repository.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESOLUTIONS = ("lowest-direct", "highest")
MAX_SECONDS = 900

BASE = """
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_sentence_window import *
from langchain_sentence_window.errors import SentenceWindowWarning

warnings.simplefilter("error", SentenceWindowWarning)
embedding = DeterministicFakeEmbedding(size=16)
text = "# Refunds\\n\\nA refund takes a week. It is refused after 100 bookings. Write to us."
document = Document(page_content=text, metadata={"source": "policy.md"}, id="policy")
with SentenceWindowRetriever.from_documents([document], embedding, path="index") as retriever:
    (window,) = retriever.invoke("Is it refused after 100 bookings?", k=1, window=(1, 0))
    assert "It is refused after 100 bookings." in window.page_content, window
    assert format_context([window]).startswith("<source"), format_context([window])
    assert retriever.check().is_sound
retriever = SentenceWindowRetriever.open("index", embedding)
assert len(retriever) == 1
"""

PROGRAMS = {
    "": "",
    "openai": """
assert load_embedding("openai:text-embedding-3-small").model == "text-embedding-3-small"
""",
    "agents": """
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
assert {"model", "tools"} <= set(create_agent(FakeListChatModel(responses=["yes"]), create_tools(retriever)).nodes)
""",
    "mcp": """
import asyncio
tools = asyncio.run(create_mcp_server(retriever).list_tools())
assert {tool.name for tool in tools} == {"search", "fetch", "read_around", "verify_quote"}, tools
""",
    "files": """
import pathlib
import openpyxl
from langchain_sentence_window.folders import sync_files
from langchain_sentence_window.loaders import load_file
pathlib.Path("docs").mkdir()
pathlib.Path("docs/halls.html").write_text("<h1>Halls</h1><p>Halls open at nine.</p><p>Dogs may enter.</p>")
book = openpyxl.Workbook()
book.active.append(["hall", "price"]), book.active.append(["North", 12])
book.save("docs/prices.xlsx")
pathlib.Path("docs/note.rtf").write_text(r"{\\rtf1 Bring your card.}")
pathlib.Path("docs/agreement.pdf").write_bytes(PDF.read_bytes())
result = sync_files(retriever, ["docs"])
assert len(result.added) == 4 and not result.failed and not result.missing_extras, result
""",
    "studio": """
import asyncio
from langchain_sentence_window.studio import create_studio
async def asked():
    sent = []
    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "scheme": "http",
             "headers": [(b"host", b"localhost:8321")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321)}
    received = [{"type": "http.request", "body": b"", "more_body": False}]
    async def receive(): return received.pop() if received else await asyncio.Event().wait()  # stays connected
    async def send(message): sent.append(message)
    await create_studio(retriever)(scope, receive, send)
    return sent
sent = asyncio.run(asked())
assert sent[0]["status"] == 200 and b"Sentence window" in sent[1]["body"], sent
""",
    "cli": """
import subprocess, sysconfig
command = pathlib.Path(sysconfig.get_path("scripts")) / "sentence-window"
run = lambda *arguments: subprocess.run([command, *arguments], capture_output=True, text=True)
assert "ask" in run("--help").stdout
assert run("stats", "--index", "index", "--json").returncode == 0
found = run("ls", "--index", "index", "--json")
assert '"policy.md"' in found.stdout, found
""",
    "languages": """
(first, *_) = SentenceSplitter("auto").split_text("यह एक वाक्य है। यह दूसरा वाक्य है।")
assert len(SentenceSplitter("hi").split_text("यह एक वाक्य है। यह दूसरा वाक्य है।")) == 2
""",
    "nupunkt": """
assert len(SentenceSplitter(engine="nupunkt").split_text("See 12 U.S.C. § 5. It holds.")) == 2
""",
    "plot": """
from langchain_sentence_window.evaluation import Question, evaluate
start = text.index("It is refused")
report = evaluate(retriever, [Question("Is it refused?", doc_id="policy", spans=((start, start + 20),))], budgets=[100])
report.plot("plot.png")
assert pathlib.Path("plot.png").read_bytes().startswith(b"\\x89PNG")
""",
    "ray": """
from langchain_sentence_window.distributed import ingest
import ray.data
""",
    "local": """
model = load_embedding()
assert len(model.embed_query("Is it refused?")) == 384
reranker = LateInteractionReranker(model=model)
with SentenceWindowRetriever.from_documents([document], model, reranker=reranker) as local:
    assert "refused" in local.invoke("When is my money not given back?", k=1)[0].page_content
""",
}
"""What is done with each extra, after `BASE`."""


def main() -> None:
    """Build, install and use; exit with 1 if something fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extra", action="append", choices=[*PROGRAMS], help="an extra; all but local if none is given"
    )
    parser.add_argument(
        "--resolution", action="append", choices=RESOLUTIONS, help="the versions; both if none is given"
    )
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", help="the interpreter")
    given = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        wheel, source = built(Path(folder))
        jobs = [
            (wheel, extra, resolution)
            for resolution in given.resolution or RESOLUTIONS
            for extra in given.extra or USUAL
        ]
        for package, extra, resolution in [*jobs, (source, "", "highest")]:
            name = f"{package.name}[{extra}], {resolution}"
            began = time.monotonic()
            output = used(package, extra, resolution, given.python, Path(folder))
            print(f"{'ok' if output is None else 'FAILED'}  {name}  {time.monotonic() - began:.0f} s", flush=True)
            if output is not None:
                failed.append(name)
                print(output)
    if failed:
        sys.exit(f"failed: {'; '.join(failed)}")


USUAL = [extra for extra in PROGRAMS if extra != "local"]
"""`local` brings some gigabytes."""


def built(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the source distribution, and check that the wheel holds the package and nothing else."""
    command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"langchain_sentence_window", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}, tops
    return wheel, source


def used(package: Path, extra: str, resolution: str, python: str, folder: Path) -> str | None:
    """Install a package in a new environment and run its program; return what it printed if that failed."""
    place = Path(tempfile.mkdtemp(dir=folder))
    interpreter = place / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    wanted = f"{package}[{extra}]" if extra else str(package)
    pdf = str(ROOT / "examples/agreement.pdf")
    program = f"import pathlib, warnings\nPDF = pathlib.Path({pdf!r})\n{BASE}{PROGRAMS[extra]}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "OPENAI_API_KEY": "none"
    }
    for command in (
        [*uv, "venv", "--python", python, str(place / "env")],
        [*uv, "pip", "install", "--python", str(interpreter), "--resolution", resolution, wanted],
        [str(interpreter), "-c", program],
    ):
        try:
            done = subprocess.run(
                command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=MAX_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"{command[0]} took more than {MAX_SECONDS} seconds"
        if done.returncode:
            return done.stdout + done.stderr
    return None


if __name__ == "__main__":
    main()
