-- Documents, their words, their texts to embed, and the vectors of those texts.

-- What the stored documents were cut up by; one row at most.
CREATE TABLE layout (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    indexed jsonb NOT NULL
);

-- `words` unites the terms of all weighted fields, without places, to find candidates by.
-- `facets` holds what hard filters compare: {"field": {"text": [...], "number": [...], "read": [...]}}.
-- `last_updated` orders; `updated_as` and `updated_facet` hold the same as it was given, and what of
-- it filters compare, both under its name. A count or a date that was never given is missing.
CREATE TABLE document (
    doc_id text COLLATE "C" PRIMARY KEY CHECK (doc_id <> ''),
    fields jsonb NOT NULL,
    facets jsonb NOT NULL DEFAULT '{}',
    words tsvector NOT NULL DEFAULT '',
    settlement_count bigint CHECK (settlement_count >= 0),
    last_updated timestamptz CHECK (isfinite(last_updated)),
    updated_as jsonb NOT NULL DEFAULT '{}',
    updated_facet jsonb NOT NULL DEFAULT '{}',
    content_sha256 text NOT NULL
);
CREATE INDEX document_words ON document USING gin (words);

CREATE FUNCTION count_terms(terms tsvector) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(sum(cardinality(positions)), 0)::int FROM unnest(terms));

-- A tsvector keeps at most 255 places of a word, so a long field is several parts of 255 tokens.
CREATE TABLE document_field (
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    field text NOT NULL,
    part int NOT NULL,
    terms tsvector NOT NULL,
    length int GENERATED ALWAYS AS (count_terms(terms)) STORED,
    PRIMARY KEY (doc_id, field, part)
);
CREATE INDEX document_field_length ON document_field (field) INCLUDE (length);

-- Whole values without case, for fields in which a query may stand as it is.
CREATE TABLE document_plain (
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    field text NOT NULL,
    plain text NOT NULL,
    PRIMARY KEY (doc_id, field)
);

CREATE TABLE document_text (
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    text_kind text NOT NULL CHECK (text_kind IN ('own', 'synthetic')),
    text_no int NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (doc_id, text_kind, text_no)
);

-- What vectors must share to be comparable; searches look at the current one only.
CREATE TABLE generation (
    generation_id serial PRIMARY KEY,
    model text NOT NULL,
    revision text NOT NULL,
    dimension int NOT NULL,
    pooling text NOT NULL,
    normalized boolean NOT NULL,
    "precision" text NOT NULL,
    max_length int NOT NULL,
    tokenizer text NOT NULL,
    scheme int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    is_current boolean NOT NULL DEFAULT false,
    UNIQUE (model, revision, dimension, pooling, normalized, "precision", max_length, tokenizer, scheme)
);
CREATE UNIQUE INDEX generation_current ON generation (is_current) WHERE is_current;

CREATE TABLE embedding (
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    text_kind text NOT NULL,
    text_no int NOT NULL,
    generation_id int NOT NULL REFERENCES generation ON DELETE CASCADE,
    text_sha256 text NOT NULL,
    vector vector NOT NULL,
    PRIMARY KEY (generation_id, doc_id, text_kind, text_no)
);
