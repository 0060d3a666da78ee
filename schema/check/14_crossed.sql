-- crossed: two tensors change places
-- severity: warning
-- advice: if they are not meant to: no shape will tell, only a comparison of values
-- In one name a word is replaced by another, and in a name that is otherwise equal, that word by
-- the first: wi_0 becomes wi_1, and wi_1 becomes wi_0. Of names that differ only in numbers, one
-- is examined.
WITH
  folded(old_name, new_name, place, old_example, example) AS MATERIALIZED (
    SELECT regexp_replace('\d+', old_name, '#'), regexp_replace('\d+', new_name, '#'),
           min(place), old_name, new_name
    FROM result WHERE tensor_id IS NOT NULL AND new_name <> old_name
    GROUP BY 1, 2 LIMIT 500
  ),
  word(old_name, new_name, side, word) AS MATERIALIZED (
    SELECT DISTINCT f.old_name, f.new_name, 'old', w.value
    FROM folded f
    JOIN json_each('["' || regexp_replace('[^A-Za-z0-9#]+', f.old_name, '","') || '"]') w
    UNION ALL
    SELECT DISTINCT f.old_name, f.new_name, 'new', w.value
    FROM folded f
    JOIN json_each('["' || regexp_replace('[^A-Za-z0-9#]+', f.new_name, '","') || '"]') w
  ),
  alone(old_name, new_name, side, word) AS MATERIALIZED (
    SELECT old_name, new_name, max(side), word FROM word
    GROUP BY old_name, new_name, word HAVING count(*) = 1
  )
SELECT NULL AS rule, f.place, f.example AS name,
       'from ' || f.old_example || ', while ' || b.old_example || ' becomes ' || b.example AS detail
FROM folded f
JOIN alone x ON x.old_name = f.old_name AND x.new_name = f.new_name AND x.side = 'old'
JOIN alone y ON y.old_name = f.old_name AND y.new_name = f.new_name AND y.side = 'new'
JOIN folded b
  ON b.old_name = regexp_replace('(?<![A-Za-z0-9])' || x.word || '(?![A-Za-z0-9])',
                                 f.old_name, y.word)
 AND b.new_name = regexp_replace('(?<![A-Za-z0-9])' || y.word || '(?![A-Za-z0-9])',
                                 f.new_name, x.word)
