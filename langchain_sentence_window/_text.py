"""Name the marks that end sentences in many scripts, and make texts encodable."""

COLONS = (":", "：")
"""The marks at the end of what introduces what stands below it."""

ENDS_OF_SENTENCES = (
    *COLONS,
    *(".", "?", "!", ";", ",", '"', "'", "…", "”", "’", "»"),
    *("。", "．", "！", "？", "；", "，", "、", "｡", "」", "』"),
    *("؟", "۔", "؛", "،", "।", "॥"),
)
"""The characters with which sentences and clauses end, and titles don't: Latin, Chinese and Japanese, Arabic, Hindi."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which libraries in other programming languages refuse, by ``?``; spans stay valid."""
    return text.encode("utf-8", "replace").decode("utf-8")
