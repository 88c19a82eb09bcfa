"""Build both packages, install them with each extra in a new environment, and use them.

    python -m tests.wheels                              # all extras, at the lowest versions allowed and the newest
    python -m tests.wheels --extra agents --resolution highest

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

LIBRARY_PROGRAMS = {
    "": "",
    "openai": """
assert load_embedding("openai:text-embedding-3-small").model == "text-embedding-3-small"
""",
    "agents": """
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
model = FakeListChatModel(responses=["yes"])
assert {"model", "tools"} <= set(create_agent(model, create_tools(retriever)).nodes)
assert "model" in create_agent(model, middleware=[SentenceWindowMiddleware(retriever)]).nodes
""",
    "languages": """
(first, *_) = SentenceSplitter("auto").split_text("यह एक वाक्य है। यह दूसरा वाक्य है।")
assert len(SentenceSplitter("hi").split_text("यह एक वाक्य है। यह दूसरा वाक्य है।")) == 2
assert len(SentenceSplitter(engine="nupunkt").split_text("See 12 U.S.C. § 5. It holds.")) == 2
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
"""What is done with each extra of the library, after `BASE`."""

APPLICATION_PROGRAMS = {
    "": """
import asyncio, subprocess, sysconfig
import openpyxl
from sentence_window.files import load_file
from sentence_window.folders import sync_files
from sentence_window.mcp import create_mcp_server
from sentence_window.studio import create_studio

pathlib.Path("docs").mkdir()
pathlib.Path("docs/halls.html").write_text("<h1>Halls</h1><p>Halls open at nine.</p><p>Dogs may enter.</p>")
book = openpyxl.Workbook()
book.active.append(["hall", "price"]), book.active.append(["North", 12])
book.save("docs/prices.xlsx")
pathlib.Path("docs/note.rtf").write_text(r"{\\rtf1 Bring your card.}")
pathlib.Path("docs/agreement.pdf").write_bytes(PDF.read_bytes())
result = sync_files(retriever, ["docs"])
assert len(result.added) == 4 and not result.failed, result
assert load_file("docs/halls.html")

tools = asyncio.run(create_mcp_server(retriever).list_tools())
assert {tool.name for tool in tools} == {"search", "fetch", "read_around", "verify_quote"}, tools

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

command = pathlib.Path(sysconfig.get_path("scripts")) / "sentence-window"
run = lambda *arguments: subprocess.run([command, *arguments], capture_output=True, text=True)
assert "ask" in run("--help").stdout
assert run("stats", "--index", "index", "--json").returncode == 0
found = run("ls", "--index", "index", "--json")
assert "policy.md" in found.stdout, found
""",
    "openai": LIBRARY_PROGRAMS["openai"],
    "local": LIBRARY_PROGRAMS["local"],
}
"""What is done with each extra of the application, after `BASE`."""

PROGRAMS = {"library": LIBRARY_PROGRAMS, "application": APPLICATION_PROGRAMS}
TOPS = {"library": "langchain_sentence_window", "application": "sentence_window"}
MAX_LIBRARY_BYTES = 640_000


def main() -> None:
    """Build, install and use; exit with 1 if something fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", help="an extra; all but local if none is given")
    parser.add_argument(
        "--resolution", action="append", choices=RESOLUTIONS, help="the versions; both if none is given"
    )
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", help="the interpreter")
    given = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        wheels, source = built(Path(folder))
        jobs = [
            (package, extra, resolution)
            for resolution in given.resolution or RESOLUTIONS
            for package, programs in PROGRAMS.items()
            for extra in programs
            if extra in (given.extra or programs.keys() - {"local"})  # `local` brings some gigabytes
        ]
        for package, extra, resolution in jobs:
            # The application needs the library at the same version, which no index has yet.
            wanted = [f"{wheels[package]}[{extra}]" if extra else str(wheels[package])]
            wanted += [str(wheels["library"])] if package == "application" else []
            failed += tried(
                f"{package}[{extra}], {resolution}", wanted, resolution, PROGRAMS[package][extra], given.python
            )
        failed += tried(source.name, [str(source)], "highest", "", given.python)
    if failed:
        sys.exit(f"failed: {'; '.join(failed)}")


def built(folder: Path) -> tuple[dict[str, Path], Path]:
    """Build both wheels and the source distribution of the library; check what the wheels hold, and their size."""
    wheels = {}
    for package, top in TOPS.items():
        place, target = (ROOT if package == "library" else ROOT / "app"), folder / package
        command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(target), str(place)]
        subprocess.run(command, check=True, capture_output=True)
        (wheel,) = target.glob("*.whl")
        tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        assert tops == {top, f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}, tops
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)
        wheels[package] = wheel
    assert wheels["library"].stat().st_size <= MAX_LIBRARY_BYTES
    (source,) = (folder / "library").glob("*.tar.gz")
    return wheels, source


def tried(name: str, wanted: list[str], resolution: str, program: str, python: str) -> list[str]:
    """Use packages in a new environment and print how it went; return the name if that failed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        output = used(wanted, resolution, program, python, Path(place))
    print(f"{'ok' if output is None else 'FAILED'}  {name}  {time.monotonic() - began:.0f} s", flush=True)
    if output is None:
        return []
    print(output)
    return [name]


def used(wanted: list[str], resolution: str, program: str, python: str, place: Path) -> str | None:
    """Install packages in a new environment and run a program; return what it printed if that failed."""
    interpreter = place / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    pdf = str(ROOT / "examples/agreement.pdf")
    code = f"import pathlib, warnings\nPDF = pathlib.Path({pdf!r})\n{BASE}{program}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "OPENAI_API_KEY": "none"
    }
    for command in (
        [*uv, "venv", "--python", python, str(place / "env")],
        [*uv, "pip", "install", "--python", str(interpreter), "--resolution", resolution, *wanted],
        [str(interpreter), "-c", code],
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
