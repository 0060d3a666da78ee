-- map_file.sql - map_file(ruleset, form): the lines of a file from which `map load` would load the
-- rule set (catalog/maps/form/form.h). If the form cannot hold the set there is one row, whose `fault`
-- says why.
WITH file(made) AS MATERIALIZED (SELECT map_form(known_ruleset(:ruleset), :form))
SELECT l.value AS line, NULL AS fault FROM file CROSS JOIN json_each(made, '$.lines') l
UNION ALL
SELECT NULL, made ->> 'fault' FROM file WHERE made ->> 'fault' IS NOT NULL
