-- hidden: a later tensor has the name of the folder that holds these
-- severity: error
-- advice: rename one of them: no tree can hold both
SELECT rule, place, new_name AS name, note AS detail
FROM mapping WHERE status = 'dropped' AND note GLOB 'hidden*'
