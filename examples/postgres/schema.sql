-- One table for all three systems. Run by seed.py; it starts anew each time.

CREATE EXTENSION IF NOT EXISTS vector;

DROP TABLE IF EXISTS documents;

CREATE TABLE documents (
    doc_id    text PRIMARY KEY,
    title     text NOT NULL,
    body      text NOT NULL,
    embedding vector(384),  -- what all-MiniLM-L6-v2 gives; NULL where there is no text
    search    tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', title), 'A')
        || setweight(to_tsvector('english', body), 'B')
    ) STORED
);

CREATE INDEX documents_search ON documents USING gin (search);

-- Without this index the search by vector is exact, and fast enough up to some ten thousand rows. With it,
-- it is approximate: set hnsw.ef_search in the project file to at least the depth, or fewer rows come back.
-- CREATE INDEX documents_embedding ON documents USING hnsw (embedding vector_cosine_ops);
