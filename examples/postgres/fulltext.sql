-- Full-text search. websearch_to_tsquery would ask for all words of a question at once, which few
-- documents hold; here any of them is enough, and ts_rank_cd sorts.
SELECT doc_id, ts_rank_cd(search, asked) AS score
FROM searchmark_example,
     CAST(replace(plainto_tsquery('english', %(query)s)::text, '&', '|') AS tsquery) AS asked
WHERE search @@ asked
ORDER BY score DESC, doc_id COLLATE "C" DESC
LIMIT %(k)s;
