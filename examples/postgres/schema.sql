-- One table for all three systems. Run by seed.py, which touches no other table.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE searchmark_example (
    doc_id    text PRIMARY KEY,
    title     text NOT NULL,
    body      text NOT NULL,
    embedding vector(384),  -- what all-MiniLM-L6-v2 gives; NULL where there is no text
    search    tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', title), 'A')
        || setweight(to_tsvector('english', body), 'B')
    ) STORED
);

CREATE INDEX searchmark_example_search ON searchmark_example USING gin (search);

-- Without this index the search by vector is exact, and fast enough up to some ten thousand rows. With it,
-- it is approximate: set hnsw.ef_search in the project file to at least the depth, or fewer rows come back.
-- CREATE INDEX searchmark_example_embedding ON searchmark_example USING hnsw (embedding vector_cosine_ops);
