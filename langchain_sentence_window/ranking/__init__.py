"""Scores of meaning and of words, joined."""
