"""The catalog in PostgreSQL with pgvector: documents, vectors, a queue, and searches over them."""
