-- unused: the rule decides no name
-- severity: note, error where every rule is required
-- advice: delete it, or fix its pattern
-- A final catch-all rule that decides no name is unused, not shadowed.
SELECT rule, 0 AS place, NULL AS name, detail
FROM idle WHERE detail IS NULL OR pattern IN ('.*', '(.*)', '(?s:.*)', '(?s:(.*))')
UNION ALL
SELECT ord, 0, NULL,
       'no leaf of the model gets a value by it: there is none, it is ignored, or a later rule writes there'
FROM rule CROSS JOIN option CROSS JOIN given g
WHERE rule.ruleset = g.ruleset AND g.target IS NOT NULL AND dialect_is(dialect, 'path')
  AND ord NOT IN (SELECT rule FROM mapping WHERE rule IS NOT NULL AND status <> 'missing')
