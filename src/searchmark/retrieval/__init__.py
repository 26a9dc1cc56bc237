"""The built-in search: analysis, BM25F, dense, fusion, constraints; it knows no evaluation."""
