"""Habits of models and of sources that public reports tell of, in six languages: what stands there, and what doesn't.

The texts are our own.
"""

import pytest

from tests.answering.quotes.sources import verdict

AGREE = [
    # English: rendered Markdown and HTML, wrapped mail, signs of print
    ("press Save twice to keep the draft", "Then press **Save** _twice_ to keep the [draft](/help/draft.html 'x')."),
    ("The lease ends in May. The tenant moves out", "The lease ends in May.[^lease] The tenant moves out."),
    ("The lease ends in May. The tenant moves out", "The lease ends in May.³ The tenant moves out."),
    ("the old tariff no longer applies", "From June ~~the old tariff~~ no longer applies."),
    ("set retry_count to 5 & restart", "Please set retry\\_count to 5 &amp; restart."),
    ("we can meet the vendor on Tuesday at ten", "> > we can meet the vendor\n> > on Tuesday at ten"),
    ("keep it at ≥ 20 °C and ± 2 °C", "Always keep it at >= 20 °C and +/-2 °C."),
    ("an off-white, well-known finish", "It has an off-white, well-\nknown finish."),
    ("The warranty lasts two years.", "The warranty lasts two years, and it isn't transferable."),
    ("The warranty lasts two years.", "1. The warranty lasts two years\n2. Batteries are excluded"),
    # German
    ("Die Straße ist bis Freitag gesperrt", "DIE STRASSE IST BIS FREITAG GESPERRT."),
    ("Der Beitrag ist im Voraus fällig.", "Der Beitrag ist im Voraus fällig und im Mai zu zahlen."),
    ("die „Übergabe“ erfolgt am Montag", "Laut Vertrag erfolgt… die »Übergabe« erfolgt am Montag."),
    ("Grundlage ist der Tarif für Erwachsene", "Grundlage ist der <b>Tarif</b> für <em>Erwachsene</em>."),
    ("Ersatzteile sind zwei Wochen lieferbar", "Er­satz­teile sind zwei Wo-\nchen lieferbar."),
    # French
    ("le cœur du réacteur s’arrête", "Alors le coeur du réacteur s'arrête."),
    ("« Le loyer est dû »", "Il a dit : “Le loyer est dû”."),
    ("Le loyer est dû.", "Le loyer est dû en mai par virement."),
    ("voir le guide pour la suite", "Veuillez voir [le guide][guide] pour la suite."),
    ("la température dépasse 30 °C", "Si la température dépasse 30&nbsp;°C, arrêtez."),
    # Spanish
    ("El pago se hace el lunes.", "El pago se hace el lunes en la oficina central."),
    ("pulse Guardar para terminar", "Luego pulse <kbd>Guardar</kbd> para terminar."),
    ("la garantía cubre dos años", "Según el contrato, la *garantía* cubre **dos años**."),
    ("el año siguiente se revisa la cuota", "El an\u0303o siguiente se revisa la cuota."),
    # Portuguese and Italian
    ("O reembolso é feito na segunda-feira.", "O reembolso é feito na segunda-feira no balcão da loja."),
    ("a taxa de ocupação é cobrada à parte", "Nota: a taxa de ocu-\npação é cobrada à parte."),
    ("Il rimborso è pagato lunedì.", "Il rimborso è pagato lunedì con bonifico."),
    ("la garanzia dura due anni", "Si ricorda che __la garanzia__ dura `due anni`."),
    # Chinese and Japanese
    ("请在五天内付款并保留收据", "请在**五天内**付款并保留\n收据。"),
    ("保証期間は二年間です", "製品の保証期\n間は二年間です。"),
]

DIFFER = [
    # English: what is cut off, and what only looks alike
    ("Deposits are returned within a week.", "Deposits are returned within a week, except for damaged rooms."),
    ("Deposits are returned within a week.", "Deposits are returned within a week unless the room is damaged."),
    ("Deposits are returned.", "Deposits are returned only to members."),
    ("The alarm is tested.", "The alarm is tested, though hardly ever at night."),
    ("Guests may park here.", "Guests may park here; but not on Sundays."),
    ("Pets are welcome.", "Pets are welcome (excluding snakes)."),
    ("Pets are welcome.", "In no case are we told that pets are welcome."),
    ("an area of 20 m2", "It has an area of 20 m<sup>2</sup>."),
    ("a dose of 5 mg", "Take a dose of ±5 mg."),
    ("the value x[2] is used", "So the value x[1] is used."),
    ("The fee is due in March.", "The fee is due in May."),
    ("The board … approved the budget", "The board barely approved the budget."),
    # German
    ("Rabatte gelten für alle Kunden.", "Rabatte gelten für alle Kunden, außer für Händler."),
    ("Rabatte gelten.", "Rabatte gelten, es sei denn, der Artikel ist reduziert."),
    ("Der Eintritt ist frei.", "Der Eintritt ist frei, allerdings nur für Kinder."),
    ("in Maßen genießen", "in Massen genießen"),
    # French
    ("Le bureau est ouvert le samedi.", "Le bureau est ouvert le samedi, sauf en août."),
    ("Les frais sont remboursés.", "Les frais sont remboursés, à condition d'avoir un reçu."),
    ("Le parking est gratuit.", "Le parking est gratuit, mais jamais la nuit."),
    # Spanish
    ("La oficina abre los sábados.", "La oficina abre los sábados, salvo en agosto."),
    ("La entrada es gratuita.", "La entrada es gratuita solo para niños."),
    ("El plazo se amplía.", "El plazo se amplía, a menos que falte un documento."),
    # Italian
    ("L'ufficio apre il sabato.", "L'ufficio apre il sabato, tranne ad agosto."),
    ("L'ingresso è gratuito.", "L'ingresso è gratuito soltanto per i bambini."),
    # Portuguese
    ("A loja abre aos sábados.", "A loja abre aos sábados, exceto em agosto."),
    ("A entrada é gratuita.", "A entrada é gratuita apenas para crianças."),
    ("O prazo é prorrogado.", "O prazo é prorrogado, a menos que falte um documento."),
    # Chinese and Japanese
    ("商品可以退货。", "商品可以退货，但已拆封的除外。"),
    ("返品できます。", "返品できます、ただし開封済みのものを除く。"),
    ("费用在五月到期", "费用在十五月到期"[:3] + "十五月到期"),
]


def test_there_are_as_many_as_are_promised() -> None:
    assert len({*AGREE, *DIFFER}) == len(AGREE) + len(DIFFER) == 60


@pytest.mark.parametrize(("quote", "source"), AGREE)
def test_what_stands_there_in_another_form_passes(quote: str, source: str) -> None:
    assert verdict(quote, source) in ("verbatim", "normalized")


@pytest.mark.parametrize(("quote", "source"), DIFFER)
def test_what_says_another_thing_does_not_pass(quote: str, source: str) -> None:
    assert verdict(quote, source) in ("not_found", "stitched")
