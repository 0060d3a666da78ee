-- option: the set's options are not what its dialect knows
-- severity: error
-- advice: UPDATE ruleset SET options = ..., or load the map again
SELECT NULL AS rule, 0 AS place, NULL AS name, fault AS detail FROM option WHERE fault IS NOT NULL
