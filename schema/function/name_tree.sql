-- name_tree.sql - name_tree(checkpoint): T5X's get_name_tree, every node of the tree; a leaf
-- has its flat name. `parent` is NULL for the root, whose path is ''.
WITH RECURSIVE
  leaves(place, name) AS MATERIALIZED (
    SELECT place, name FROM leaf WHERE checkpoint_id = known_checkpoint(:checkpoint)
  ),
  node(path, place, name) AS (
    SELECT name, place, name FROM leaves
    UNION
    -- The parent: everything before the last separator, or the root.
    SELECT substr(path, 1, max(length(path)
             - length(regexp_capture('[^/]*$', path, 0)) - 1, 0)), place, NULL
    FROM node WHERE path <> ''
  )
SELECT path,
       iif(path = '', NULL, substr(path, 1, max(length(path)
         - length(regexp_capture('[^/]*$', path, 0)) - 1, 0))) AS parent,
       regexp_capture('[^/]*$', path, 0) AS component,
       max(name) AS name
FROM node
GROUP BY path
ORDER BY min(place), length(path)
