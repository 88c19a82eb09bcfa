"""From windows to an answer: prompts, chains, tools."""
