"""From windows to an answer: prompt, chain, citations, tools."""
