-- state_score.sql - how far the state that a checkpoint holds is from what an optimizer would
-- keep (state_diff.sql): one row of sums, and the first difference.
SELECT count(problem) AS differences,
       sum(problem = 'missing') AS missing, sum(problem = 'unexpected') AS unexpected,
       sum(problem = 'shape') AS shape, sum(problem = 'dtype') AS dtype,
       sum(problem = 'null') AS "null", sum(problem = 'error') AS error,
       -- (min() picks the row that the other columns are of.)
       iif(min(ord) IS NULL, NULL,
           problem || ': ' || ifnull(name || ', ', '') || CASE problem
             WHEN 'unexpected' THEN found
             WHEN 'missing' THEN expected
             WHEN 'error' THEN expected
             ELSE expected || ' expected, ' || found || ' found' END) AS first
FROM state_diff_rows(:spec, :checkpoint)
