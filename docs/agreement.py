"""Write the made-up contract that the documentation loads: ``python -m docs.agreement``."""

from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

PATH = Path(__file__).parent.parent / "examples" / "agreement.pdf"
SECTIONS = {
    "1. Seats": "Acme provides seats in its halls to the Guest. A seat is reserved for the Guest alone. The Guest may "
    "pass a seat on to another person, but not sell it. Acme may move a seat within the same hall if repairs are due. "
    "It then tells the Guest three days before.",
    "2. Fees": "The Guest pays the fees in the table below. They are due on the first Monday of a month. If a fee is "
    "late by more than ten days, Acme may give the seat to somebody else. It must remind the Guest once before, in "
    "writing. A fee that was paid for a month in which the hall was closed is paid back, unless the hall was closed by "
    "order of a court, or for fewer than three days in a row.",
    "3. Term": "This agreement runs for two years. Either party may end it earlier by a notice of one month. The "
    "notice takes effect only if it is signed by the same person who signed this agreement, or by a person who was "
    "named to the other party in writing. Fees for the time after the end are paid back within thirty days.",
    "4. Law": "The law of Kenya applies. Disputes go to the courts of Nairobi. Before a party goes to court, both "
    "parties meet once to settle the dispute.",
}
FEES = [["Hall", "Month", "Year"], ["North", "20", "200"], ["South", "35", "350"], ["West", "50", "480"]]


def write(path: Path = PATH) -> None:
    """Write the contract."""
    styles = getSampleStyleSheet()
    styles["BodyText"].fontSize, styles["BodyText"].leading = 11, 15
    story: list[Any] = [Paragraph("Seat Agreement", styles["Title"])]
    for heading, text in SECTIONS.items():
        story += [Paragraph(heading, styles["Heading2"]), Paragraph(text, styles["BodyText"])]
        if heading == "2. Fees":
            story.append(Table(FEES, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")]))
    facts = {"title": "Seat Agreement", "author": "Acme", "subject": "Seats", "creator": "Acme"}
    page = SimpleDocTemplate(str(path), pagesize=A5, invariant=1, **facts)
    page.build(story, onFirstPage=_edges, onLaterPages=_edges)


def _edges(canvas: Canvas, _: Any) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(72, 560, "Acme - Seat Agreement")
    canvas.drawString(200, 30, f"Page {canvas.getPageNumber()}")


if __name__ == "__main__":
    write()
