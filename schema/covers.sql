-- covers.sql - what a connection has in front of public views (sql_cover_views()): rows as CREATE VIRTUAL TABLE and the
-- like write them. SQLite reads them all at once, and connects a table when it is first used: as statements they took a
-- sixth of the time of a short command.
INSERT INTO temp.sqlite_schema
WITH made(type, name, tbl_name, sql) AS (VALUES
  ('table', 'tensor', 'tensor', 'CREATE VIRTUAL TABLE tensor USING ckptdb_tensor'),
  ('table', 'by_name', 'by_name', 'CREATE VIRTUAL TABLE by_name USING ckptdb_tensor'),
  ('table', 'largest', 'largest', 'CREATE VIRTUAL TABLE largest USING ckptdb_tensor'),
  ('table', 'checkpoint', 'checkpoint', 'CREATE VIRTUAL TABLE checkpoint USING ckptdb_view'),
  ('table', 'file', 'file', 'CREATE VIRTUAL TABLE file USING ckptdb_view'),
  ('table', 'issue', 'issue', 'CREATE VIRTUAL TABLE issue USING ckptdb_view'),
  ('table', 'metadata', 'metadata', 'CREATE VIRTUAL TABLE metadata USING ckptdb_view'),
  ('table', 'node', 'node', 'CREATE VIRTUAL TABLE node USING ckptdb_view'),
  ('table', 'by_dtype', 'by_dtype', 'CREATE VIRTUAL TABLE by_dtype USING ckptdb_view'),
  ('table', 'by_folded_module', 'by_folded_module', 'CREATE VIRTUAL TABLE by_folded_module USING ckptdb_view'),
  ('table', 'content', 'content', 'CREATE VIRTUAL TABLE content USING ckptdb_view'),
  ('table', 'stats', 'stats', 'CREATE VIRTUAL TABLE stats USING ckptdb_view'),
  ('table', 'by_module', 'by_module', 'CREATE VIRTUAL TABLE by_module USING ckptdb_module'),
  ('trigger', '_ruleset_dialect', 'ruleset', 'CREATE TRIGGER _ruleset_dialect BEFORE INSERT ON main.ruleset
    BEGIN SELECT dialect_check(new.dialect); END'),
  ('trigger', '_ruleset_redialect', 'ruleset', 'CREATE TRIGGER _ruleset_redialect BEFORE UPDATE OF dialect ON main.ruleset
    BEGIN SELECT dialect_check(new.dialect); END')
)
SELECT type, name, tbl_name, 0, sql FROM made WHERE name COLLATE NOCASE NOT IN (SELECT name FROM temp.sqlite_schema);

PRAGMA temp.schema_version = 1; -- what SQLite knows of it is old now,
SELECT 1 FROM temp.sqlite_schema LIMIT 0; -- and is read anew here
