-- gguf_sentence.sql - gguf_sentence(tokenizer, pieces, least): SentencePiece's scores and types of the tokens of gguf_tokens(tokenizer, least),
-- as JSON lists. Added and missing tokens have llama.cpp's scores. No row: the tokenizer is of
-- another kind, or tokenizer.model has other tokens.
-- columns: scores, types
-- parameters: :tokenizer, :pieces, :least
WITH
  added(id) AS MATERIALIZED (
    SELECT json_extract(value, '$.id') FROM json_each(iif(json_valid(:tokenizer), :tokenizer, '{}'), '$.added_tokens') WHERE type = 'object'),
  piece(id, token, score, type) AS MATERIALIZED (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
    FROM json_each(:pieces) WHERE (SELECT kind FROM gguf_tokenizer(:tokenizer)) = 'llama')
SELECT json_group_array(iif(id IN (SELECT id FROM added), -1000.0, coalesce(p.score, -10000.0))) AS scores,
       json_group_array(iif(t.type = 1, coalesce(p.type, 1), t.type)) AS types
FROM (SELECT id, token, type FROM gguf_tokens(:tokenizer, :least) ORDER BY id) t LEFT JOIN piece p USING (id)
HAVING count(p.id) AND NOT max(coalesce(p.token <> t.token, 0) AND id NOT IN (SELECT id FROM added))
