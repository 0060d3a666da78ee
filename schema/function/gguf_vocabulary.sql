-- gguf_vocabulary.sql - gguf_vocabulary(tokenizer): the tokens of a tokenizer.json; `special` (0 or 1) for tokens that were
-- added, `score` for Unigram's, a list of pieces and their scores.
-- columns: id, token, special, score
-- parameters: :tokenizer
WITH
  text(doc) AS MATERIALIZED (SELECT iif(json_valid(:tokenizer), :tokenizer, '{}')),
  added(id, token, special) AS MATERIALIZED (
    SELECT json_extract(value, '$.id'), json_extract(value, '$.content'), json_extract(value, '$.special')
    FROM text, json_each(doc, '$.added_tokens') WHERE type = 'object'),
  piece(id, token, score) AS MATERIALIZED (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM text, json_each(doc, '$.model.vocab') WHERE type = 'array' AND json_type(doc, '$.model.vocab') = 'array')
SELECT added.id, added.token, special, score FROM added LEFT JOIN piece ON piece.id = added.id
UNION ALL
SELECT value, key, NULL, NULL FROM text, json_each(doc, '$.model.vocab')
WHERE json_type(doc, '$.model.vocab') = 'object' AND type IN ('integer', 'real')
  AND value NOT IN (SELECT id FROM added WHERE id IS NOT NULL)
UNION ALL
SELECT id, token, NULL, score FROM piece WHERE id NOT IN (SELECT id FROM added WHERE id IS NOT NULL)
