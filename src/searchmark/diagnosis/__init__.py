"""Diagnosis: which queries go wrong in a system under test, why, and what to try."""
