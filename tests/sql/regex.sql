-- Python's regular expressions in SQL.
SELECT regexp('b', 'abc'), 'abc' REGEXP '^b', 'x/layer_3' REGEXP 'layer_\d$' AS found;

-- The three ways to match: fullmatch backtracks to reach the end, $ forgives a newline.
SELECT how.column1 AS how, regexp_match('a|ab', 'ab', how.column1) AS a_ab,
       regexp_match('b', 'ab', how.column1) AS b,
       regexp_match('ab$', 'ab' || char(10), how.column1) AS newline
  FROM (VALUES ('search'), ('match'), ('fullmatch')) AS how;

SELECT regexp_groups('(\d+)/(x)?(\w+)', 'a/12/k"é') AS groups,
       regexp_groups('a', 'a') AS none, regexp_groups('b', 'a') AS no_match;
SELECT regexp_capture('(?P<n>\d+)(x)?', 'a12', 'n') AS named,
       regexp_capture('(?P<n>\d+)(x)?', 'a12', 0) AS whole,
       regexp_capture('(?P<n>\d+)(x)?', 'a12', 2) AS unset,
       regexp_capture('(?P<n>\d+)(x)?', 'a', 1) AS no_match,
       regexp_capture('(?P<n>\d+)(x)?', 'a', 3) AS nor_group;
SELECT regexp_expand('(.*)/kernel', 'enc/kernel', '\1/w', 'fullmatch') AS renamed,
       regexp_expand('b', 'a', '\9') AS no_match;

-- re.sub and its empty matches.
SELECT regexp_replace('layer_(\d+)', 'layer_3/layer_04', 'l.\1') AS renamed,
       regexp_replace('x*', 'abxd', '-') AS empty, regexp_replace('', 'é', '-') AS everywhere,
       regexp_replace('z', 'abc', '-') AS unchanged, hex(regexp_replace('b', 'ab', '\0')) AS nul;

-- NULL in, NULL out; numbers are text.
SELECT regexp(NULL, 'a'), regexp_match('a', NULL), regexp_match('a', 'a', NULL),
       regexp_replace('a', 'a', NULL), regexp_capture('a', 'a', NULL), regexp('^1+$', 111);

-- Patterns from rows.
WITH rule(pattern, template) AS (VALUES ('^enc/', 'encoder/'), ('_(\d)$', '/\1'), ('w', 'W'))
SELECT pattern, regexp_replace(pattern, 'enc/w_3', template) AS name FROM rule;

-- A view may use them even where the schema is not trusted.
CREATE TEMP VIEW v AS SELECT regexp('a', 'a') AS yes;
PRAGMA trusted_schema = OFF;
SELECT yes FROM v;

-- What is looked ahead at is not consumed.
SELECT regexp_match('(?=a).*a', 'a') AS ahead, regexp_match('a*(?=a)(?i:A)', 'ba') AS folded;
