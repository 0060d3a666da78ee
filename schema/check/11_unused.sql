-- unused: the rule decides no name
-- severity: note, error where every rule is required
-- advice: delete it, or mend its pattern
-- One for whatever is left may find nothing left.
SELECT rule, 0 AS place, NULL AS name, detail
FROM idle WHERE detail IS NULL OR pattern IN ('.*', '(.*)', '(?s:.*)', '(?s:(.*))')
