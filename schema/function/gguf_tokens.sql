-- gguf_tokens.sql - gguf_tokens(tokenizer, least): the tokens of a tokenizer.json as GGUF lists them, from 0 on, with llama.cpp's
-- `type` of each; at least `least`. No rows: llama.cpp does not take this vocabulary.
-- columns: id, token, type, score
-- parameters: :tokenizer, :least
WITH RECURSIVE
  tokenizer AS MATERIALIZED (SELECT kind, fallback, unknown FROM gguf_tokenizer(:tokenizer)),
  vocabulary AS MATERIALIZED (SELECT id, token, special, score FROM gguf_vocabulary(:tokenizer)),
  -- As many as the embedding has; tokens that the tokenizer lacks are marked as unused. (More is not a vocabulary.)
  size(n) AS MATERIALIZED (
    SELECT max(most, iif(:least < 4194304, :least, 0))
    FROM (SELECT max(id) + 1 AS most FROM vocabulary WHERE typeof(id) = 'integer')
    WHERE most BETWEEN 1 AND 4194304 AND (SELECT kind FROM tokenizer) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM vocabulary WHERE typeof(id) <> 'integer' OR id < 0 OR typeof(token) <> 'text')),
  number(id) AS (SELECT 0 FROM size UNION ALL SELECT id + 1 FROM number WHERE id + 1 < (SELECT n FROM size))
SELECT number.id,
       CASE WHEN kind = 'llama' AND special = 0 THEN replace(token, char(9601), ' ')
            WHEN kind <> 'bert' OR token GLOB '[[]*]' THEN coalesce(token, '[PAD' || number.id || ']')
            WHEN token IS NULL THEN '[PAD' || number.id || ']'
            WHEN token GLOB '##*' THEN substr(token, 3) ELSE char(9601) || token END AS token,
       CASE WHEN token IS NULL THEN 5
            WHEN kind IN ('llama', 't5') AND token = unknown THEN 2
            WHEN special IS NOT NULL THEN iif(special, 3, 4)
            WHEN fallback AND token GLOB '<0x[0-9A-F][0-9A-F]>' THEN 6 ELSE 1 END AS type,
       score
FROM number CROSS JOIN tokenizer LEFT JOIN vocabulary ON vocabulary.id = number.id
GROUP BY number.id ORDER BY number.id
