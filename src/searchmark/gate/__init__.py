"""Baseline, comparability, verdict."""
