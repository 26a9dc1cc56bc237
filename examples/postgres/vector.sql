-- Nearest neighbours by cosine. The vector of the query is made by the model the project file names.
SELECT doc_id, 1 - (embedding <=> %(embedding)s) AS score
FROM searchmark_example
WHERE embedding IS NOT NULL
ORDER BY embedding <=> %(embedding)s, doc_id COLLATE "C" DESC
LIMIT %(k)s;
