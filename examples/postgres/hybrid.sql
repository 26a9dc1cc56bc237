-- Both, fused by reciprocal rank in one statement: a document earns 1 / (60 + rank) from each list of 100.
WITH by_words AS (
    SELECT doc_id, ts_rank_cd(search, asked) AS score
    FROM searchmark_example,
         CAST(replace(plainto_tsquery('english', %(query)s)::text, '&', '|') AS tsquery) AS asked
    WHERE search @@ asked
    ORDER BY score DESC, doc_id COLLATE "C" DESC
    LIMIT 100
), by_meaning AS (
    SELECT doc_id, embedding <=> %(embedding)s AS distance
    FROM searchmark_example
    WHERE embedding IS NOT NULL
    ORDER BY distance, doc_id COLLATE "C" DESC
    LIMIT 100
), ranked AS (
    SELECT doc_id, row_number() OVER (ORDER BY score DESC, doc_id COLLATE "C" DESC) AS rank
    FROM by_words
    UNION ALL
    SELECT doc_id, row_number() OVER (ORDER BY distance, doc_id COLLATE "C" DESC)
    FROM by_meaning
)
SELECT doc_id, sum(1.0::float8 / (60 + rank)) AS score
FROM ranked
GROUP BY doc_id
ORDER BY score DESC, doc_id COLLATE "C" DESC
LIMIT %(k)s;
