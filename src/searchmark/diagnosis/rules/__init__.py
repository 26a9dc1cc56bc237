"""Rules: each a function of the evidence that returns findings, one fault a file."""
