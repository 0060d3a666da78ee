-- map_file.sql - map_file(ruleset, form): a rule set as the file that `map load` makes it of, line
-- by line (catalog/map/form.h). Where the form cannot hold the set there is one row, without a line:
-- `fault` says why.
WITH file(made) AS MATERIALIZED (SELECT map_form(:ruleset, :form))
SELECT l.value AS line, NULL AS fault FROM file CROSS JOIN json_each(made, '$.lines') l
UNION ALL
SELECT NULL, made ->> 'fault' FROM file WHERE made ->> 'fault' IS NOT NULL
