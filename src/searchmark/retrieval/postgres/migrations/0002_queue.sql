-- Documents whose texts wait to be embedded in a generation.
CREATE TABLE embedding_job (
    job_id bigserial PRIMARY KEY,
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    generation_id int NOT NULL REFERENCES generation ON DELETE CASCADE,
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'claimed', 'dead')),
    attempts int NOT NULL DEFAULT 0,
    not_before timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    claimed_by text,
    claim_token uuid,
    last_error text,
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (doc_id, generation_id)
);
