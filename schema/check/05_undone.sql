-- undone: the source's own value of the new name replaces the mapped one
-- severity: error
-- advice: give that value a name of its own by another rule
SELECT rule, place, new_name AS name, note AS detail
FROM mapping WHERE status = 'dropped' AND note GLOB 'undone*'
