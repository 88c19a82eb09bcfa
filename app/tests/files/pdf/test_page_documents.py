from langchain_sentence_window.splitting.blocks import Block
from sentence_window.files.pdf.page_documents import page_document


def test_a_page_keeps_its_place_whatever_the_file_says_of_itself() -> None:
    about = {"title": "A Contract", "page": "none", "source": "nowhere", "layout": "none"}
    document = page_document(
        "Its text.",
        [Block(0, 9)],
        "+",
        source="a.pdf",
        page=3,
        total_pages=7,
        page_label="iv",
        about=about,
    )
    assert document.page_content == "Its text."
    assert document.metadata == {
        "title": "A Contract",
        "source": "a.pdf",
        "page": 3,
        "total_pages": 7,
        "page_label": "iv",
        "layout": '["+", [0, 9, "prose", 0, null, null]]',
    }
    assert about == {"title": "A Contract", "page": "none", "source": "nowhere", "layout": "none"}
