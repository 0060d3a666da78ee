-- gguf_tokenizer.sql - gguf_tokenizer(tokenizer): the properties of a tokenizer.json: `kind` as llama.cpp calls it, the token
-- for unknown text, whether bytes are tokens, the expression that splits texts, and in
-- base64 the charsmap of Unigram's normalizer.
-- columns: kind, fallback, unknown, regex, charsmap
-- parameters: :tokenizer
WITH text(doc) AS MATERIALIZED (SELECT iif(json_valid(:tokenizer), :tokenizer, '{}'))
SELECT CASE WHEN json_extract(doc, '$.model.type') = 'WordPiece' THEN 'bert'
            WHEN json_extract(doc, '$.model.type') = 'Unigram' THEN 't5'
            WHEN coalesce(json_extract(doc, '$.model.type'), 'BPE') <> 'BPE' OR json_type(doc, '$.model.merges') IS NULL THEN NULL
            WHEN json_extract(doc, '$.model.byte_fallback') THEN 'llama'
            WHEN EXISTS (SELECT 1 FROM json_tree(doc, '$.pre_tokenizer') WHERE atom = 'ByteLevel') THEN 'gpt2' END AS kind,
       json_extract(doc, '$.model.byte_fallback') AS fallback,
       coalesce(json_extract(doc, '$.model.unk_token'),
                json_extract(doc, '$.model.vocab[' || json_extract(doc, '$.model.unk_id') || '][0]')) AS unknown,
       coalesce((SELECT atom FROM json_tree(doc, '$.pre_tokenizer') WHERE key = 'Regex'),
                (SELECT 'none' FROM json_tree(doc, '$.pre_tokenizer') WHERE key = 'use_regex' AND type = 'false')) AS regex,
       (SELECT atom FROM json_tree(doc, '$.normalizer') WHERE key = 'precompiled_charsmap' AND type = 'text') AS charsmap
FROM text
