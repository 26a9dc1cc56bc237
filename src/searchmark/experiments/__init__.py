"""The runner and the store of results."""
