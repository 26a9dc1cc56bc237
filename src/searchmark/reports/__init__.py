"""Scores and verdicts turned into text and files; nothing is computed here."""
