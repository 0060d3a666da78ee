-- broken: the rule will fail as soon as a name comes to it
-- severity: error
-- advice: fix its pattern, or its replacement
-- References to the groups of steps are replaced first: the pattern does not have them.
SELECT rule, 0 AS place, NULL AS name, error AS detail
FROM (
  SELECT ord AS rule, regexp_error(pattern, ifnull(regexp_replace(
           '(?<!\\)((?:\\\\)*)\\g<(?:' || steps || ')>', replacement, '\1'), replacement)) AS error
  FROM (SELECT ord, replacement,
               pattern || iif(dialect_is(dialect, 'match'), '$', '') AS pattern,
               (SELECT group_concat(value ->> 0, '|') FROM json_each(compute)
                WHERE value ->> 0 NOT GLOB '*[^A-Za-z0-9_]*') AS steps
        FROM rule CROSS JOIN option
        WHERE ruleset = (SELECT ruleset FROM given) AND NOT dialect_is(dialect, 'path'))
  WHERE ord NOT IN (SELECT rule FROM mapping WHERE status = 'error' AND rule IS NOT NULL)
)
WHERE error IS NOT NULL
