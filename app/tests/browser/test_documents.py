"""The view Documents, by mouse and by keys: find, read, add, follow and delete documents."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from app.tests.browser.conftest import EXAMPLES
from app.tests.browser.looking import Seen, axe, shot
from app.tests.browser.serving import Serve, Served
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.stores import IndexSettings, write_index_settings
from sentence_window.folders import sync_files
from tests.toys import WordEmbeddings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "files"
    found.mkdir()
    for path in (EXAMPLES / "documents" / "billing-policy.md", EXAMPLES / "agreement.pdf"):
        shutil.copy(path, found)
    (found / "notes.txt").write_text("A refund takes five days. It is <b>free</b>.")
    return found


@pytest.fixture
def own(serve: Serve, folder: Path, tmp_path: Path) -> Served:
    """A page whose index may change."""
    retriever = SentenceWindowRetriever(vectorstore=_store(tmp_path / "index"), ranking=None)
    sync_files(retriever, [folder])
    write_index_settings(tmp_path / "index", IndexSettings(sources=(str(folder),)))
    return serve(retriever, folders=[folder])


def _store(path: Path) -> FaissStore:
    return FaissStore(WordEmbeddings(), path)


def rows(page: Page) -> Locator:
    return page.locator("#view-documents tbody tr[data-doc]")


def names(page: Page) -> Locator:
    return page.locator(".document-open")


def wait_for_rows(page: Page, count: int) -> None:
    expect(rows(page)).to_have_count(count)


def drop(page: Page, files: dict[str, str]) -> None:
    transfer = page.evaluate_handle(
        """files => { const transfer = new DataTransfer();
        for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name));
        return transfer; }""",
        files,
    )
    page.dispatch_event("#view-documents", "dragenter", {"dataTransfer": transfer})
    expect(page.get_by_text("Drop files to add them")).to_be_visible()
    page.dispatch_event("#view-documents .documents-list", "drop", {"dataTransfer": transfer})
    expect(page.get_by_text("Drop files to add them")).to_be_hidden()


def test_documents_are_listed_searched_and_sorted(page: Page, own: Served) -> None:
    page.goto(f"{own.url}/#/documents")
    wait_for_rows(page, 3)
    expect(names(page)).to_have_text(["agreement.pdf", "billing-policy.md", "notes.txt"])
    expect(page.get_by_text("3 documents, 361 sentences").first).to_be_visible()
    page.get_by_role("button", name="Sentences").click()
    expect(page.locator(".document-open").first).to_have_text("billing-policy.md")
    expect(page.locator("th.column-sentences")).to_have_attribute("aria-sort", "descending")
    expect(page.locator("th.column-name")).to_have_attribute("aria-sort", "none")
    page.keyboard.press("/")
    page.keyboard.type("agree")
    wait_for_rows(page, 1)
    expect(page).to_have_url(re.compile("search=agree"))
    page.reload()
    wait_for_rows(page, 1)
    page.get_by_role("searchbox").fill("nothing like it")
    page.get_by_text("No document has these words").wait_for()
    assert axe(page) == []
    page.get_by_role("searchbox").fill("")
    wait_for_rows(page, 3)
    shot(page, "documents")


def test_a_document_is_read_with_its_metadata(page: Page, own: Served) -> None:
    page.goto(f"{own.url}/#/documents")
    page.get_by_role("button", name="notes.txt").click()
    page.locator(".document-head h2", has_text="notes.txt").wait_for()
    expect(rows(page).nth(2)).to_have_attribute("aria-current", "true")
    expect(page.locator(".reader-text .s")).to_have_text(["A refund takes five days.", "It is <b>free</b>."])
    page.get_by_role("tab", name="Text").press("ArrowRight")
    expect(page.get_by_role("rowheader", name="content_type")).to_be_visible()
    assert axe(page) == []
    shot(page, "documents-metadata")
    page.reload()
    page.locator(".document-head h2", has_text="notes.txt").wait_for()
    page.go_back()  # opening a document is a step
    page.get_by_text("Choose a document to read it").wait_for()
    expect(rows(page)).to_have_count(3)


def test_dropped_files_are_added_with_what_failed(page: Page, own: Served, folder: Path, seen: Seen) -> None:
    seen.allow("status of 400")
    page.goto(f"{own.url}/#/documents")
    wait_for_rows(page, 3)
    text = "# Trials\n\nA trial lasts 14 days. Ünïcode 😀 is fine."
    drop(page, {"trials.md": text, "empty.txt": "", "program.exe": "x", "CON.txt": "A seat."})
    page.get_by_role("heading", name="2 files added, 2 failed").wait_for()
    panel = page.locator(".job")
    expect(panel).to_contain_text("empty.txt: empty.txt is empty", use_inner_text=True)
    expect(panel).to_contain_text("program.exe: files of this kind can't be read", use_inner_text=True)
    wait_for_rows(page, 5)
    expect(names(page)).to_have_text(["_CON.txt", "agreement.pdf", "billing-policy.md", "notes.txt", "trials.md"])
    expect(page.locator("#about")).to_contain_text("5 documents", use_inner_text=True)
    assert axe(page) == []
    shot(page, "documents-added")
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)
    drop(page, {"again.md": text})
    page.get_by_role("heading", name="0 files added, 1 in the index already").wait_for()
    assert len(list((folder / "uploads").iterdir())) == 2


def test_documents_are_deleted_after_a_question(page: Page, own: Served) -> None:
    page.goto(f"{own.url}/#/documents")
    wait_for_rows(page, 3)
    page.get_by_role("checkbox", name="Choose agreement.pdf").check()
    page.get_by_role("checkbox", name="Choose notes.txt").press("Space")
    page.get_by_text("2 chosen").wait_for()
    page.get_by_role("button", name="Delete…").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Delete 2 documents with 28 sentences?", use_inner_text=True)
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    assert axe(page) == []
    shot(page, "documents-delete")
    page.keyboard.press("Escape")
    assert len(own.retriever.documents()) == 3
    page.get_by_role("button", name="Delete…").first.click()
    dialog.get_by_role("button", name="Delete 2 documents").click()
    wait_for_rows(page, 1)
    expect(page.get_by_text("2 documents deleted")).to_be_visible()
    expect(page.locator("#about")).to_contain_text("1 document,", use_inner_text=True)
    expect(page.get_by_text("2 chosen")).to_be_hidden()


def test_the_index_follows_its_folders(page: Page, own: Served, folder: Path) -> None:
    page.goto(f"{own.url}/#/documents")
    wait_for_rows(page, 3)
    (folder / "new.md").write_text("A new page.")
    (folder / "notes.txt").unlink()
    page.get_by_role("button", name="Update from folders…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(str(folder), use_inner_text=True)
    assert axe(page) == []
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Update").click()
    page.get_by_role("heading", name="1 file added, 0 updated, 2 unchanged, 1 deleted").wait_for()
    expect(page.get_by_role("button", name="new.md")).to_be_visible()
    expect(names(page)).to_have_text(["agreement.pdf", "billing-policy.md", "new.md"])
