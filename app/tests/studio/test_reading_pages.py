"""The pages of PDFs: pictures and boxes, of files that may be shown and are as they were."""

import io
import math
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.tests.files.pdf.drawing import HEIGHT, WIDTH, drawn, lines
from app.tests.studio.making import client_of
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.files import load_pdf
from sentence_window.folders import sync_files
from tests.toys import BY_COSINE, WordEmbeddings

FIRST = ("A seat is free for a month. It takes a card,", "which is kept for a year after the trial.")
PAGES = (lines(*FIRST), lines("The second page names the refund. It is quick."))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    served = tmp_path / "served"
    served.mkdir()
    (served / "terms.pdf").write_bytes(drawn(*PAGES))
    return served


def indexed(path: Path, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(load_pdf(path), WordEmbeddings(), **BY_COSINE, **settings)


def client_for(path: Path, *folders: Path) -> tuple[TestClient, str]:
    return client_of(indexed(path), folders=folders), str(path)


def opened(client: TestClient, doc_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/document", params={"doc_id": doc_id}).json()
    return found


def picture(client: TestClient, doc_id: str, **given: Any) -> Any:
    return client.get("/api/page", params={"doc_id": doc_id, "page": 0, "width": 400, **given})


def boxes(client: TestClient, doc_id: str, page: int = 0) -> Any:
    return client.get("/api/boxes", params={"doc_id": doc_id, "page": page})


def test_a_pdf_has_pages_and_text(folder: Path) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    found = opened(client, doc_id)
    assert (found["kind"], found["pages"], found["no_pages"]) == ("pdf", 2, None)
    assert found["page_sizes"] == [[WIDTH, HEIGHT], [WIDTH, HEIGHT]]
    assert found["sentence_pages"] == [0, 0, 1, 1]
    assert found["blocks"][0]["runs"][0][0] == "A seat is free for a month."


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("width", [200, 400, 2400])
def test_a_page_is_a_picture_of_the_width_that_is_asked_for(folder: Path, width: int) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    answer = picture(client, doc_id, width=width)
    assert answer.headers["content-type"] == "image/png"
    image = Image.open(io.BytesIO(answer.content))
    assert image.size == (width, math.ceil(width * HEIGHT / WIDTH))
    assert min(image.convert("L").tobytes()) < 150  # there is ink


def test_boxes_are_around_their_sentences(folder: Path) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    found = boxes(client, doc_id).json()
    assert found["page"] == 0
    (first, second) = found["sentences"]
    assert [first[0], second[0]] == [0, 1]
    assert (len(first[1]), len(second[1])) == (1, 2)  # the second one goes on in the next line
    for x0, y0, x1, y1 in first[1] + second[1]:
        assert 0 <= x0 < x1 <= 1
        assert 100 / HEIGHT - 0.03 < y0 < y1 < 100 / HEIGHT + 0.05
    assert [index for index, _ in boxes(client, doc_id, 1).json()["sentences"]] == [2, 3]
    assert boxes(client, doc_id, 7).json()["sentences"] == []


@pytest.mark.parametrize("given", [{"width": 199}, {"width": 2401}, {"page": -1}, {"page": "x"}, {"other": 1}])
def test_arguments_out_of_range_are_refused(folder: Path, given: dict[str, Any]) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    assert picture(client, doc_id, **given).status_code == 400


def refused(client: TestClient, doc_id: str) -> tuple[int, str]:
    """Return what the calls for a page answer, which is what the document says; its text is there anyway."""
    found = opened(client, doc_id)
    assert found["page_sizes"] is None
    assert found["blocks"]
    answers = [picture(client, doc_id), boxes(client, doc_id)]
    assert {each.json()["error"]["message"] for each in answers} == {found["no_pages"]}
    return answers[0].status_code, found["no_pages"]


def test_a_file_outside_the_folders_is_refused_whether_it_is_there_or_not(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside.pdf"
    outside.write_bytes(drawn(*PAGES))
    client, doc_id = client_for(outside, folder)
    there = refused(client, doc_id)
    assert there[0] == 403
    assert "folders=" in there[1]
    outside.unlink()
    assert refused(client, doc_id) == there


def test_links_and_dots_lead_nowhere(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside.pdf"
    outside.write_bytes(drawn(*PAGES))
    link = folder / "link.pdf"
    link.symlink_to(outside)
    client, doc_id = client_for(link, folder)
    assert refused(client, doc_id)[0] in (403, 404)
    dotted = folder / ".." / "outside.pdf"
    assert refused(*client_for(dotted, folder))[0] == 403


def test_a_relative_source_counts_from_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as there:
        there.chdir(folder)
        retriever = indexed(Path("terms.pdf"))
    client = client_of(retriever, folders=[folder])
    assert opened(client, "terms.pdf")["no_pages"] is None
    assert picture(client, "terms.pdf").status_code == 200


@pytest.mark.process
def test_a_file_that_is_gone_is_told_of(folder: Path) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    (folder / "terms.pdf").unlink()
    status, reason = refused(client, doc_id)
    assert status == 403
    assert "the file isn't there any more" in reason


def test_a_file_with_another_text_has_no_boxes(folder: Path) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    (folder / "terms.pdf").write_bytes(drawn(lines("Something else."), PAGES[1]))
    answer = boxes(client, doc_id)
    assert answer.status_code == 409
    assert "changed" in answer.json()["error"]["message"]


@pytest.mark.process
def test_a_synced_file_is_compared_with_what_was_read(folder: Path) -> None:
    retriever = SentenceWindowRetriever.from_documents(load_pdf(folder / "terms.pdf"), WordEmbeddings(), **BY_COSINE)
    retriever.delete([str(folder / "terms.pdf")])
    sync_files(retriever, [folder])
    (doc_id,) = [each.doc_id for each in retriever.documents()]
    client = client_of(retriever, folders=[folder])
    assert opened(client, doc_id)["no_pages"] is None
    state = (folder / "terms.pdf").stat()
    os.utime(folder / "terms.pdf", ns=(state.st_atime_ns, state.st_mtime_ns + 10**9))
    assert opened(client, doc_id)["no_pages"] is None  # its bytes are the same
    (folder / "terms.pdf").write_bytes(drawn(lines("Something else."), PAGES[1]))
    assert "has changed" in opened(client, doc_id)["no_pages"]


def test_a_file_that_is_no_pdf_now_is_told_of(folder: Path) -> None:
    client, doc_id = client_for(folder / "terms.pdf", folder)
    (folder / "terms.pdf").write_bytes(b"no pdf")
    assert "can't be read as a PDF" in refused(client, doc_id)[1]


def test_a_page_of_any_shape_has_a_picture_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(drawn(lines("A seat is free.", x=1, y=13_900, size=1), size=(40, 14_000)))
    client, doc_id = client_for(path, tmp_path)
    answer = picture(client, doc_id, width=2400)
    width, height = Image.open(io.BytesIO(answer.content)).size
    assert width * height <= 12_100_000
