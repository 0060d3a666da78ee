-- 08_long_facts.sql - facts whose text is long: token lists, chat templates, calibration sets.
--
-- The quantisations of one model differ in a few facts and share these: each text is stored once,
-- found by the first 16 bytes of its SHA-256.
CREATE TABLE IF NOT EXISTS _long_texts (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE,
  text    TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS _long_facts (
  id    INTEGER PRIMARY KEY,      -- _meta_facts.id, whose own value is NULL
  text  INTEGER NOT NULL REFERENCES _long_texts(id)
) STRICT;
