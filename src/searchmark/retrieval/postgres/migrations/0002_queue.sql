-- Documents whose texts wait to be embedded in a generation.
--
-- A job is claimed for a while: until `lease_until` nobody else takes it, and only who holds the
-- `claim_token` may end it. `attempts` counts claims; those that were given back do not count.
CREATE TABLE embedding_job (
    job_id bigserial PRIMARY KEY,
    doc_id text COLLATE "C" NOT NULL REFERENCES document ON DELETE CASCADE,
    generation_id int NOT NULL REFERENCES generation ON DELETE CASCADE,
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'claimed', 'dead')),
    attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    not_before timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz,
    claimed_by text,
    claim_token uuid,
    last_error text,
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (doc_id, generation_id),
    CHECK ((status = 'claimed') = (claim_token IS NOT NULL)),
    CHECK ((status = 'claimed') = (lease_until IS NOT NULL))
);
CREATE INDEX embedding_job_waiting ON embedding_job (generation_id, not_before, job_id)
    WHERE status = 'waiting';
CREATE INDEX embedding_job_claimed ON embedding_job (generation_id, lease_until)
    WHERE status = 'claimed';
CREATE INDEX embedding_job_token ON embedding_job (claim_token) WHERE claim_token IS NOT NULL;
