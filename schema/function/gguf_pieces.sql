-- gguf_pieces.sql - gguf_pieces(checkpoint, pieces, tokenizer_config, added): the tokenizer.json for a SentencePiece
-- model that has none: from its pieces ([[TEXT, SCORE, TYPE], ...]) and the tokens that tokenizer_config.json
-- and added_tokens.json add ('{}': not there). For T5 it is a Unigram, else Llama's. No row: there are no pieces.
-- columns: doc
-- parameters: :checkpoint, :pieces, :tokenizer_config, :added
WITH
  unigram(yes) AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM gguf_architecture(:checkpoint) WHERE arch = 't5')),
  piece(id, token, score, type) AS MATERIALIZED (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:pieces)),
  decoder(id, token, special) AS MATERIALIZED (
    SELECT CAST(key AS INTEGER), json_extract(value, '$.content'), json_extract(value, '$.special')
    FROM json_each(iif(json_valid(:tokenizer_config), :tokenizer_config, '{}'), '$.added_tokens_decoder')
    WHERE type = 'object' AND key NOT GLOB '*[^0-9]*'),
  more(id, token, special) AS MATERIALIZED (
    SELECT id, token, special FROM decoder
    UNION ALL
    SELECT value, key, 0 FROM json_each(iif(json_valid(:added), :added, '{}')) WHERE type = 'integer' AND value NOT IN (SELECT id FROM decoder)),
  added(id, token, special) AS (
    SELECT id, token, special FROM more
    UNION ALL
    SELECT id, token, 1 FROM piece, unigram WHERE yes AND type = 3 AND id NOT IN (SELECT id FROM more))
SELECT json_object(
         'added_tokens',
         (SELECT json_group_array(json_object('id', id, 'content', token, 'special', json(iif(special, 'true', 'false')))) FROM added),
         'model',
         iif(yes,
             json_object('type', 'Unigram', 'unk_id', (SELECT id FROM piece WHERE type = 2),
                         'vocab', (SELECT json_group_array(json_array(token, score)) FROM (SELECT token, score FROM piece ORDER BY id))),
             json_object('type', 'BPE', 'byte_fallback', json('true'), 'unk_token', (SELECT token FROM piece WHERE type = 2),
                         'vocab', (SELECT json_group_object(token, id) FROM piece), 'merges', json('[]')))) AS doc
FROM unigram
WHERE EXISTS (SELECT 1 FROM piece)
