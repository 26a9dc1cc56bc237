"""Search engines behind HTTP."""
