"""Hits and judged grades in, scores out; one family a file."""
