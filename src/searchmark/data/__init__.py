"""The tables, their readers and writers, and the one ordering rule."""
