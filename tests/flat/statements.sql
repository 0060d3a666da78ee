-- statements.sql - what people ask of a catalog. Each statement stands after its title, `-- LIMIT [HOW] TITLE`:
-- it may take LIMIT times the CPU of the same statement over flat tables with an index on every column
-- (make_flat.py). HOW is how its rows are compared: as a multiset, or `ordered` where its ORDER BY is total, or
-- `counted` where any rows of that number would do. {cid} and the like are what statements.py takes from the flat tables.

-- ---- one table: by one column

-- 3 tensor by id
SELECT name, dtype, shape FROM tensor WHERE id = {id};
-- 3 tensor by id, every column
SELECT * FROM tensor WHERE id = {id};
-- 3 tensor by rowid of its checkpoint's range of ids
SELECT count(*), min(name), max(name) FROM tensor WHERE id BETWEEN {id} AND {id} + 100;
-- 3 tensors by a list of ids
SELECT id, name, nbytes FROM tensor WHERE id IN ({id}, {id2}, {id3}, 0, -1, NULL);
-- 3 tensors by ids of a subquery
SELECT count(*), sum(nbytes) FROM tensor WHERE id IN (SELECT id FROM tensor WHERE name = {name});
-- 3 tensors of a checkpoint_id
SELECT count(*), sum(nbytes), max(name) FROM tensor WHERE checkpoint_id = {cid};
-- 3 every column of a checkpoint_id's tensors
SELECT * FROM tensor WHERE checkpoint_id = {cid};
-- 3 tensors of a checkpoint by name
SELECT count(*), sum(elements) FROM tensor WHERE checkpoint = {checkpoint};
-- 3 tensors of a checkpoint by path
SELECT count(*), sum(elements) FROM tensor WHERE path = {path};
-- 3 tensors of three checkpoints
SELECT checkpoint, count(*), sum(nbytes) FROM tensor WHERE checkpoint_id IN ({cid}, {cid2}, {cid3}) GROUP BY checkpoint;
-- 3 tensor by name, everywhere
SELECT count(*), sum(nbytes), count(DISTINCT shape) FROM tensor WHERE name = {name};
-- 3 tensors by a list of names
SELECT name, count(*), min(nbytes), max(nbytes) FROM tensor WHERE name IN ({name}, {name2}, 'no such name') GROUP BY name;
-- 3 a name that is nowhere
SELECT * FROM tensor WHERE name = 'no.such.tensor';
-- 3 tensors of a file
SELECT count(*), min(offset), max(offset) FROM tensor WHERE file = {file};
-- 3 tensors by dtype
SELECT count(*), sum(nbytes) FROM tensor WHERE dtype = {dtype};
-- 3 tensors by a rare dtype
SELECT name, shape FROM tensor WHERE dtype = {rare_dtype} ORDER BY id LIMIT 50;
-- 3 a dtype that is nowhere
SELECT count(*) FROM tensor WHERE dtype = 'float7';
-- 3 tensors by shape
SELECT count(*), sum(nbytes), min(name) FROM tensor WHERE shape = {shape};
-- 3 tensors by rank
SELECT count(*), sum(nbytes) FROM tensor WHERE rank = 2;
-- 3 tensors by hash
SELECT checkpoint, name FROM tensor WHERE hash = {hash};
-- 3 tensors that have a hash
SELECT count(*), count(DISTINCT hash) FROM tensor WHERE hash IS NOT NULL;
-- 8 tensors that have no dtype
SELECT count(*) FROM tensor WHERE dtype IS NULL;
-- 3 tensors larger than most
SELECT count(*), sum(nbytes) FROM tensor WHERE nbytes > {large};
-- 3 tensors whose size lies between
SELECT name, count(*) FROM tensor WHERE nbytes BETWEEN {large} AND {large} + 4096 GROUP BY name ORDER BY 2 DESC, 1 LIMIT 20;
-- 3 tensors at one place in the file
SELECT count(*), count(DISTINCT name) FROM tensor WHERE ord = 3;

-- ---- one table: by pairs of columns

-- 3 one tensor of one checkpoint_id
SELECT * FROM tensor WHERE checkpoint_id = {cid} AND name = {name};
-- 3 one tensor of one checkpoint
SELECT id, dtype, shape, nbytes FROM tensor WHERE checkpoint = {checkpoint} AND name = {name};
-- 3 tensors of a checkpoint by dtype
SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint_id = {cid} AND dtype = {dtype};
-- 3 tensors of a name and a dtype
SELECT checkpoint, shape FROM tensor WHERE name = {name} AND dtype = {dtype} ORDER BY checkpoint_id LIMIT 20;
-- 3 count of a dtype and a shape
SELECT count(*) FROM tensor WHERE dtype = {dtype} AND shape = {shape};
-- 3 count of a dtype
SELECT count(*) FROM tensor WHERE dtype = {dtype};
-- 3 count of names that contain a word
SELECT count(*) FROM tensor WHERE name LIKE '%mlp%';
-- 3 count of what is no weight
SELECT count(*) FROM tensor WHERE dtype <> {dtype};
-- 3 one name or one shape
SELECT count(*), sum(nbytes) FROM tensor WHERE name = {name} OR shape = {rare_shape};
-- 3 one id or one name
SELECT count(*), max(id) FROM tensor WHERE id = {id} OR name = {name};
-- 3 either of two checkpoints, and a word
SELECT name, nbytes FROM tensor WHERE (checkpoint_id = {cid} OR checkpoint_id = {cid2}) AND name LIKE '%embed%';

-- ---- patterns

-- 3 names by prefix, GLOB
SELECT count(*), sum(nbytes) FROM tensor WHERE name GLOB {name_prefix};
-- 3 names by prefix, LIKE
SELECT count(*), sum(nbytes) FROM tensor WHERE name LIKE 'transformer.h.1.%';
-- 3 names by infix, GLOB
SELECT count(*), sum(nbytes) FROM tensor WHERE name GLOB '*self_attn*weight';
-- 3 names by REGEXP
SELECT count(*), sum(nbytes) FROM tensor WHERE name REGEXP 'layers[.][0-9][.].*proj';
-- 3 names by a range of text
SELECT count(*), min(name), max(name) FROM tensor WHERE name >= 'model.layers.1' AND name < 'model.layers.2';
-- 3 checkpoints by LIKE of tensor's column
SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint LIKE {checkpoint_like};
-- 3 paths by GLOB of tensor's column
SELECT count(*), sum(nbytes) FROM tensor WHERE path GLOB {run_glob};
-- 3 files by LIKE
SELECT count(*), sum(nbytes) FROM tensor WHERE file LIKE {file_like};
-- 3 a pattern within a checkpoint
SELECT name, shape FROM tensor WHERE checkpoint_id = {cid} AND name LIKE '%q_proj%';
-- 3 not a pattern within a checkpoint
SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint = {checkpoint} AND name NOT LIKE '%.bias' AND dtype IS NOT NULL;

-- ---- order, pages

-- 3 ordered first page by id
SELECT id, name FROM tensor ORDER BY id LIMIT 20;
-- 3 ordered a page by id, far in
SELECT id, name FROM tensor ORDER BY id LIMIT 20 OFFSET 5000;
-- 3 ordered the next page after an id
SELECT id, name FROM tensor WHERE id > {id} ORDER BY id LIMIT 100;
-- 3 ordered the page before an id
SELECT id, name FROM tensor WHERE id < {id} ORDER BY id DESC LIMIT 100;
-- 3 ordered the next page after a name
SELECT name, checkpoint_id FROM tensor WHERE (name, checkpoint_id) > ({name}, {cid}) ORDER BY name, checkpoint_id LIMIT 50;
-- 3 ordered page of names in order
SELECT name, id FROM tensor ORDER BY name, id LIMIT 50;
-- 3 ordered the largest tensors
SELECT nbytes, id, name FROM tensor ORDER BY nbytes DESC, id LIMIT 20;
-- 3 ordered the largest, of one size by name
SELECT nbytes, name FROM tensor ORDER BY nbytes DESC, name LIMIT 20;
-- 3 ordered the largest, of one size by name and checkpoint
SELECT nbytes, name, checkpoint FROM tensor ORDER BY nbytes DESC, name, checkpoint LIMIT 20;
-- 4 ordered the largest, of one size by checkpoint and name
SELECT checkpoint, name, nbytes FROM tensor ORDER BY nbytes DESC, checkpoint, name LIMIT 10;
-- 4 ordered the largest, of one size by checkpoint and name backwards
SELECT checkpoint, name, nbytes FROM tensor ORDER BY nbytes DESC, checkpoint DESC, name DESC LIMIT 300 OFFSET 100;
-- 3 ordered by dtype, then checkpoints backwards, the largest first
SELECT checkpoint_id, dtype, nbytes, name, id FROM tensor WHERE rank = 1 ORDER BY dtype, checkpoint_id DESC, nbytes DESC, id LIMIT 300;
-- 3 by shape, checkpoint and dtype
SELECT shape, checkpoint, dtype, count(*) FROM tensor GROUP BY shape, checkpoint, dtype ORDER BY 4 DESC, 1, 2, 3 LIMIT 20;
-- 3 ordered the largest of a dtype, of one size by name
SELECT nbytes, name, id FROM tensor WHERE dtype = {dtype} ORDER BY nbytes DESC, name, id LIMIT 300;
-- 3 ordered page of names, and of checkpoints
SELECT name, checkpoint, nbytes FROM tensor ORDER BY name, checkpoint LIMIT 20 OFFSET 100;
-- 3 ordered page of names, backwards
SELECT name, id FROM tensor ORDER BY name DESC, id DESC LIMIT 20;
-- 3 ordered page of names, the largest first
SELECT name, nbytes, id FROM tensor ORDER BY name, nbytes DESC, id LIMIT 20;
-- 3 ordered page of elements, names, checkpoints
SELECT elements, name, checkpoint FROM tensor ORDER BY elements DESC, name, checkpoint LIMIT 20;
-- 3 ordered all keys backwards
SELECT dtype, name, checkpoint, ord FROM tensor WHERE name LIKE '%norm%' ORDER BY dtype DESC, name DESC, checkpoint DESC, ord DESC LIMIT 3000;
-- 3 ordered two keys, then checkpoints backwards
SELECT shape, name, dtype, checkpoint_id FROM tensor ORDER BY shape, name, dtype DESC, checkpoint_id DESC LIMIT 20 OFFSET 3000;
-- 3 ordered the smallest
SELECT nbytes FROM tensor ORDER BY nbytes LIMIT 300 OFFSET 20;
-- 3 ordered most elements
SELECT elements FROM tensor ORDER BY elements DESC LIMIT 300;
-- 3 ordered fewest elements
SELECT elements FROM tensor ORDER BY elements LIMIT 300;
-- 3 ordered the largest of one checkpoint
SELECT name, nbytes FROM tensor WHERE checkpoint_id = {cid} ORDER BY nbytes DESC, name LIMIT 10;
-- 3 ordered a checkpoint's tensors in the file's order
SELECT ord, name, shape FROM tensor WHERE checkpoint_id = {cid} ORDER BY ord;
-- 3 ordered a checkpoint's tensors by name
SELECT name, dtype, shape FROM tensor WHERE checkpoint = {checkpoint} ORDER BY name;
-- 3 counted ten of any
SELECT * FROM tensor LIMIT 10;
-- 3 counted a thousand of any
SELECT id, checkpoint, name, file FROM tensor LIMIT 1000;
-- 3 counted ten of any after many
SELECT * FROM tensor LIMIT 10 OFFSET 4000;
-- 3 counted ten of a dtype
SELECT checkpoint, name FROM tensor WHERE dtype = {dtype} LIMIT 10;
-- 3 counted ten thousand rows
SELECT id, name, shape FROM tensor LIMIT 10000;
-- 3 one name of each checkpoint, as rows
SELECT checkpoint, dtype, shape, nbytes FROM tensor WHERE name = {name};

-- ---- aggregates over all

-- 8 count of tensors
SELECT count(*) FROM tensor;
-- 1 bytes of all
SELECT sum(nbytes) FROM tensor;
-- 1 bytes, elements, mean, smallest, largest
SELECT count(*), sum(nbytes), avg(nbytes), min(nbytes), max(nbytes), total(elements) FROM tensor;
-- 3 first and last name
SELECT min(name), max(name) FROM tensor;
-- 3 largest id
SELECT max(id) FROM tensor;
-- 1 conditional sums
SELECT sum(CASE WHEN dtype = {dtype} THEN nbytes ELSE 0 END), sum(nbytes) FILTER (WHERE rank = 1), count(hash) FROM tensor;
-- 1 bytes stored
SELECT sum(stored), count(file) FROM tensor;
-- 3 how many names
SELECT count(DISTINCT name) FROM tensor;
-- 3 how many names, of weights
SELECT count(DISTINCT t.name) AS names FROM tensor t WHERE rank = 2;
-- 3 how many shapes some checkpoints have
SELECT count(DISTINCT t.shape) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.step = 400 AND t.dtype <> 'I8; GROUP BY';
-- 3 how many checkpoints hold something
SELECT count(DISTINCT checkpoint_id) FROM tensor;
-- 3 how many dtypes
SELECT count(DISTINCT dtype), count(DISTINCT shape) FROM tensor;

-- ---- groups, distinct

-- 1 by dtype
SELECT dtype, count(*), sum(nbytes) FROM tensor GROUP BY dtype;
-- 3 by dtype, counted
SELECT dtype, count(*) FROM tensor GROUP BY dtype ORDER BY 2 DESC;
-- 1 by shape
SELECT shape, count(*), sum(elements) FROM tensor GROUP BY shape;
-- 1 by rank
SELECT rank, count(*), sum(nbytes) FROM tensor GROUP BY rank;
-- 3 by storage
SELECT storage, count(*) FROM tensor GROUP BY storage;
-- 3 by storage and checkpoint
SELECT storage, checkpoint_id, count(*), sum(stored) FROM tensor GROUP BY storage, checkpoint_id;
-- 3 names by storage
SELECT storage, count(*), min(name), max(id) FROM tensor WHERE name LIKE '%.weight' GROUP BY storage ORDER BY storage DESC;
-- 3 ordered by storage, backwards
SELECT storage, id, name FROM tensor ORDER BY storage DESC, id LIMIT 20;
-- 3 ordered by storage, then by a column of tensors
SELECT storage, name, id FROM tensor WHERE rank < 2 ORDER BY storage, name, id LIMIT 20;
-- 3 by checkpoint_id
SELECT checkpoint_id, count(*) FROM tensor GROUP BY checkpoint_id;
-- 1 by checkpoint, bytes
SELECT checkpoint, count(*), sum(nbytes) AS b FROM tensor GROUP BY checkpoint ORDER BY b DESC, 1 LIMIT 20;
-- 3 by name, having
SELECT name, count(*) AS n FROM tensor GROUP BY name HAVING n > 1 ORDER BY n DESC, name LIMIT 20;
-- 3 by file
SELECT file, count(*) FROM tensor GROUP BY file ORDER BY 2 DESC, 1 LIMIT 20;
-- 1 by dtype and shape
SELECT dtype, shape, count(*), sum(nbytes) FROM tensor GROUP BY dtype, shape;
-- 1 by checkpoint and dtype
SELECT checkpoint_id, dtype, sum(nbytes) AS b FROM tensor GROUP BY checkpoint_id, dtype ORDER BY b DESC, 1, 2 LIMIT 30;
-- 3 names of more than one shape
SELECT name, count(DISTINCT shape) AS n FROM tensor GROUP BY name HAVING count(DISTINCT shape) > 1 ORDER BY n DESC, name LIMIT 20;
-- 3 by the last part of the name, in one checkpoint
SELECT replace(name, rtrim(name, replace(name, '.', '')), '') AS leaf, count(*), sum(nbytes) FROM tensor WHERE checkpoint_id = {cid} GROUP BY leaf;
-- 3 distinct dtypes
SELECT DISTINCT dtype FROM tensor;
-- 3 distinct shapes
SELECT DISTINCT shape FROM tensor;
-- 3 ordered distinct checkpoints
SELECT DISTINCT checkpoint FROM tensor ORDER BY checkpoint;
-- 3 ordered distinct names, first page
SELECT DISTINCT name FROM tensor ORDER BY name LIMIT 50;
-- 3 distinct dtype and rank
SELECT DISTINCT dtype, rank FROM tensor;
-- 3 distinct shapes of a name
SELECT DISTINCT shape, dtype FROM tensor WHERE name = {name};
-- 3 distinct files of a checkpoint
SELECT DISTINCT file FROM tensor WHERE checkpoint_id = {cid};
-- 3 names of a checkpoint as one text
SELECT group_concat(name, ',') FROM (SELECT name FROM tensor WHERE checkpoint_id = {cid} ORDER BY name);

-- ---- checkpoint with tensor

-- 3 tensors of a checkpoint by its path's end
SELECT count(*), sum(t.nbytes) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.path LIKE {path_like};
-- 3 the same, tensor first
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.path LIKE {path_like};
-- 3 tensors of a step
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.step = 400;
-- 3 tensors of a run
SELECT c.step, count(*), sum(t.nbytes) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.run = {run} GROUP BY c.step;
-- 3 tensors of a checkpoint's name
SELECT t.name, t.shape FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.name = {cname};
-- 3 by name of checkpoint, USING
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN metadata m USING (checkpoint) WHERE m.key = 'lr' AND m.value > '0.0003';
-- 1 bytes by format
SELECT c.format, count(*), sum(t.nbytes) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id GROUP BY c.format;
-- 1 bytes by run
SELECT c.run, sum(t.nbytes) AS b FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id GROUP BY c.run ORDER BY b DESC, 1 LIMIT 20;
-- 3 each checkpoint of a step and its tensors, LEFT JOIN
SELECT c.id, count(t.id), sum(t.nbytes) FROM checkpoint c LEFT JOIN tensor t ON t.checkpoint_id = c.id WHERE c.step = 400 GROUP BY c.id ORDER BY c.id LIMIT 100;
-- 3 all checkpoints, LEFT JOIN
SELECT count(*), count(t.id), sum(t.nbytes) FROM checkpoint c LEFT JOIN tensor t ON t.checkpoint_id = c.id;
-- 3 all checkpoints, LEFT JOIN of one name
SELECT count(*), count(t.id) FROM checkpoint c LEFT JOIN tensor t ON t.checkpoint_id = c.id AND t.name = {name};
-- 3 all checkpoints, RIGHT JOIN
SELECT count(*), count(t.id), sum(t.nbytes) FROM tensor t RIGHT JOIN checkpoint c ON c.id = t.checkpoint_id;
-- 3 checkpoints without tensors, RIGHT JOIN
SELECT c.name FROM tensor t RIGHT JOIN checkpoint c ON c.id = t.checkpoint_id WHERE t.id IS NULL;
-- 3 checkpoints without tensors, NOT EXISTS
SELECT c.name FROM checkpoint c WHERE NOT EXISTS (SELECT 1 FROM tensor t WHERE t.checkpoint_id = c.id);
-- 3 checkpoints that hold a name
SELECT count(*), sum(c.nbytes) FROM checkpoint c WHERE EXISTS (SELECT 1 FROM tensor t WHERE t.checkpoint_id = c.id AND t.name = {name});
-- 3 checkpoints that hold a name, IN
SELECT c.name FROM checkpoint c WHERE c.id IN (SELECT checkpoint_id FROM tensor WHERE name = {name}) ORDER BY c.name LIMIT 30;
-- 3 checkpoints that lack a name, NOT IN
SELECT count(*) FROM checkpoint c WHERE c.id NOT IN (SELECT checkpoint_id FROM tensor WHERE name = {name});
-- 3 tensors of checkpoints chosen by a subquery
SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE step = 400);
-- 3 tensors of checkpoints chosen by name
SELECT count(*), sum(nbytes) FROM tensor WHERE checkpoint IN (SELECT name FROM checkpoint WHERE run = {run});
-- 3 a scalar subquery a checkpoint
SELECT c.name, (SELECT count(*) FROM tensor t WHERE t.checkpoint_id = c.id AND t.rank = 1) FROM checkpoint c WHERE c.run = {run};
-- 3 the largest tensor of each step of a run
SELECT c.step, (SELECT t.name FROM tensor t WHERE t.checkpoint_id = c.id ORDER BY t.nbytes DESC, t.name LIMIT 1) FROM checkpoint c WHERE c.run = {run};
-- 3 counted some tensors with their checkpoint's run
SELECT c.run, c.step, t.name FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id LIMIT 500;
-- 3 ordered newest step's largest tensors
SELECT c.step, t.name, t.nbytes, c.id FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.run = {run} ORDER BY c.step DESC, t.nbytes DESC, t.name LIMIT 10;

-- ---- tensor with tensor

-- 3 two checkpoints by name
SELECT count(*), sum(a.nbytes - b.nbytes) FROM tensor a JOIN tensor b ON b.name = a.name WHERE a.checkpoint_id = {cid} AND b.checkpoint_id = {cid2};
-- 3 two checkpoints, LEFT JOIN
SELECT count(*), count(b.id) FROM tensor a LEFT JOIN tensor b ON b.name = a.name AND b.checkpoint_id = {cid3} WHERE a.checkpoint_id = {cid};
-- 3 two checkpoints, FULL JOIN of subqueries
SELECT count(*), sum(a.nbytes), sum(b.nbytes) FROM (SELECT * FROM tensor WHERE checkpoint_id = {cid}) a FULL JOIN (SELECT * FROM tensor WHERE checkpoint_id = {cid3}) b USING (name);
-- 3 two checkpoints, FULL JOIN of CTEs, what differs
WITH a AS (SELECT name, dtype, shape FROM tensor WHERE checkpoint_id = {cid}), b AS (SELECT name, dtype, shape FROM tensor WHERE checkpoint_id = {cid3})
SELECT coalesce(a.name, b.name), a.shape, b.shape FROM a FULL JOIN b ON a.name = b.name WHERE a.shape IS NOT b.shape OR a.dtype IS NOT b.dtype;
-- 3 two steps of one run
SELECT count(*), sum(a.shape = b.shape) FROM checkpoint x JOIN checkpoint y ON y.run = x.run AND y.step = x.step + 100
JOIN tensor a ON a.checkpoint_id = x.id JOIN tensor b ON b.checkpoint_id = y.id AND b.name = a.name WHERE x.run = {run};
-- 3 names of one checkpoint that another lacks
SELECT name FROM tensor WHERE checkpoint_id = {cid} EXCEPT SELECT name FROM tensor WHERE checkpoint_id = {cid3};
-- 3 names that two checkpoints share
SELECT name, shape FROM tensor WHERE checkpoint_id = {cid} INTERSECT SELECT name, shape FROM tensor WHERE checkpoint_id = {cid2};
-- 3 names of either of two checkpoints
SELECT name FROM tensor WHERE checkpoint = {checkpoint} UNION SELECT name FROM tensor WHERE checkpoint_id = {cid3};
-- 3 names of one that another lacks, NOT IN
SELECT name, nbytes FROM tensor WHERE checkpoint_id = {cid} AND name NOT IN (SELECT name FROM tensor WHERE checkpoint_id = {cid3});
-- 3 names that have another shape elsewhere, EXISTS
SELECT count(*) FROM tensor a WHERE a.checkpoint_id = {cid} AND EXISTS (SELECT 1 FROM tensor b WHERE b.name = a.name AND b.shape <> a.shape);
-- 3 copies by hash
SELECT count(*) FROM tensor a JOIN tensor b ON b.hash = a.hash AND b.id <> a.id WHERE a.checkpoint_id = {hashed};
-- 3 tensors of a shape as large as another's
SELECT count(*) FROM tensor a WHERE a.checkpoint_id = {cid} AND a.nbytes = (SELECT max(b.nbytes) FROM tensor b WHERE b.checkpoint_id = a.checkpoint_id);

-- ---- tensor with the other views

-- 3 metadata and tensors
SELECT m.value, count(*), sum(t.nbytes) FROM metadata m JOIN tensor t ON t.checkpoint_id = m.checkpoint_id WHERE m.key = 'lr' GROUP BY m.value;
-- 3 tensors and metadata
SELECT m.value, count(*), sum(t.nbytes) FROM tensor t JOIN metadata m ON m.checkpoint_id = t.checkpoint_id AND m.key = 'lr' WHERE t.name = {name} GROUP BY m.value;
-- 3 tensors RIGHT JOIN metadata
SELECT m.key, count(t.id) FROM tensor t RIGHT JOIN metadata m ON m.checkpoint_id = t.checkpoint_id AND t.name = {name} GROUP BY m.key;
-- 3 metadata of one checkpoint beside its tensors
SELECT m.key, m.value, count(t.id) FROM metadata m LEFT JOIN tensor t ON t.checkpoint_id = m.checkpoint_id WHERE m.checkpoint_id = {cid} GROUP BY m.key, m.value;
-- 3 metadata by key and value
SELECT c.name, c.nbytes FROM metadata m JOIN checkpoint c ON c.id = m.checkpoint_id WHERE m.key = 'seed' AND m.value = '7';
-- 3 keys of metadata
SELECT key, count(*), count(DISTINCT value) FROM metadata GROUP BY key;
-- 3 a fact as a column of every checkpoint
SELECT count(*), count(m.value), min(m.value) FROM checkpoint c LEFT JOIN metadata m ON m.checkpoint_id = c.id AND m.key = 'lr';
-- 3 files and their tensors
SELECT f.path, f.size, count(t.id), sum(t.nbytes) FROM file f JOIN tensor t ON t.file = f.path WHERE f.checkpoint_id = {cid} GROUP BY f.id;
-- 3 tensors and their files' size
SELECT t.name, f.size FROM tensor t JOIN file f ON f.path = t.file WHERE t.checkpoint_id = {cid} ORDER BY t.id LIMIT 50;
-- 3 files of a size
SELECT count(*), sum(size) FROM file WHERE size > {file_size};
-- 3 files that hold no tensor
SELECT count(*) FROM file f LEFT JOIN tensor t ON t.file = f.path WHERE t.id IS NULL;
-- 3 file by path
SELECT * FROM file WHERE path = {file};
-- 3 issues and tensors of their checkpoints
SELECT i.code, count(t.id) FROM issue i LEFT JOIN tensor t ON t.checkpoint_id = i.checkpoint_id GROUP BY i.code;
-- 3 tensors of checkpoints with an error
SELECT count(*), sum(t.nbytes) FROM tensor t WHERE t.checkpoint_id IN (SELECT checkpoint_id FROM issue WHERE severity = 'error');
-- 3 tensors and issues, RIGHT JOIN
SELECT i.id, count(t.id) FROM tensor t RIGHT JOIN issue i ON t.checkpoint_id = i.checkpoint_id GROUP BY i.id;
-- 3 by_dtype of a checkpoint against its tensors
SELECT d.dtype, d.tensors, count(t.id) FROM by_dtype d JOIN tensor t ON t.checkpoint_id = d.checkpoint_id AND t.dtype = d.dtype WHERE d.checkpoint_id = {cid} GROUP BY d.dtype;
-- 3 by_dtype of the catalog
SELECT dtype, sum(tensors), sum(nbytes) FROM by_dtype GROUP BY dtype;
-- 3 by_module of a checkpoint
SELECT module, tensors, nbytes FROM by_module WHERE checkpoint_id = {cid} AND depth = 2;
-- 3 by_folded_module of a checkpoint
SELECT module, tensors, nbytes FROM by_folded_module WHERE checkpoint_id = {cid};
-- 3 by_name of a pattern
SELECT sum(checkpoints), sum(nbytes * checkpoints) FROM by_name WHERE name GLOB '*self_attn*weight';
-- 3 by_name with tensor
SELECT b.name, count(*) FROM by_name b JOIN tensor t ON t.name = b.name AND t.shape = b.shape WHERE b.name = {name} GROUP BY b.name;
-- 3 by_name of a checkpoint's names
SELECT count(*), sum(b.checkpoints) FROM by_name b JOIN tensor t ON t.name = b.name WHERE t.checkpoint_id = {cid};
-- 3 by_name of a checkpoint's names, dtypes and shapes
SELECT t.name, b.checkpoints FROM tensor t JOIN by_name b ON b.name = t.name AND b.shape = t.shape AND b.dtype = t.dtype WHERE t.checkpoint = {checkpoint};
-- 3 the largest of all
SELECT nbytes FROM largest ORDER BY nbytes DESC LIMIT 20;
-- 3 counted largest, as they come
SELECT nbytes, name FROM largest LIMIT 50;
-- 5 rows of largest
SELECT count(*) FROM largest;
-- 3 sum of largest
SELECT count(*), sum(nbytes) FROM largest;
-- 3 largest beside checkpoints
SELECT count(*), count(l.name), max(l.nbytes) FROM checkpoint c LEFT JOIN largest l ON l.checkpoint_id = c.id WHERE c.id <= {cid};
-- 4 the largest of each checkpoint, as they come
SELECT c.name, (SELECT nbytes FROM largest l WHERE l.checkpoint_id = c.id LIMIT 1) FROM checkpoint c WHERE c.id <= {cid};
-- 3 the largest of one checkpoint, of the view
SELECT name, nbytes FROM largest WHERE checkpoint_id = {cid} ORDER BY nbytes DESC, name LIMIT 10;
-- 3 largest with tensor, by name and checkpoint
SELECT l.name, t.offset FROM largest l JOIN tensor t ON t.checkpoint_id = l.checkpoint_id AND t.name = l.name WHERE l.checkpoint_id = {cid};
-- 3 nodes with tensors beside them
SELECT count(*), count(t.id) FROM node n LEFT JOIN tensor t ON t.checkpoint_id = n.checkpoint_id AND t.name = n.name;
-- 3 duplicates and their tensors
SELECT count(*), sum(t.nbytes) FROM duplicate d JOIN tensor t ON t.hash = d.hash;
-- 3 content beside all tensors
SELECT count(*), count(x.hash) FROM tensor t LEFT JOIN content x ON x.tensor_id = t.id;
-- 3 ordered content beside tensors, the last ones first
SELECT t.id, x.hash FROM tensor t LEFT JOIN content x ON x.tensor_id = t.id WHERE t.checkpoint_id <= {cid} ORDER BY t.id DESC;
-- 3 stats beside all tensors
SELECT count(*), count(s.mean), sum(s.zeros) FROM tensor t LEFT JOIN stats s ON s.tensor_id = t.id;
-- 3 nodes beside all tensors
SELECT count(*), count(n.kind) FROM tensor t LEFT JOIN node n ON n.name = t.name AND n.checkpoint_id = t.checkpoint_id;
-- 6 tensors without a hash, by NOT EXISTS
SELECT count(*) FROM tensor t WHERE NOT EXISTS (SELECT 1 FROM content x WHERE x.tensor_id = t.id);
-- 6 steps of a few checkpoints' tensors, by subquery
SELECT sum((SELECT c.step FROM checkpoint c WHERE c.id = t.checkpoint_id)), sum((SELECT c.step FROM checkpoint c WHERE c.name = t.checkpoint))
FROM tensor t WHERE t.checkpoint_id <= {cid};
-- 3 content and tensors by id
SELECT count(*), sum(t.nbytes) FROM content x JOIN tensor t ON t.id = x.tensor_id;
-- 3 statistics and tensors by id
SELECT count(*), sum(t.nbytes) FROM stats s JOIN tensor t ON t.id = s.tensor_id;
-- 3 three views: run, fact, tensor
SELECT c.run, m.value, count(*), sum(t.nbytes) FROM checkpoint c JOIN metadata m ON m.checkpoint_id = c.id AND m.key = 'lr'
JOIN tensor t ON t.checkpoint_id = c.id WHERE c.run = {run} AND t.rank = 2 GROUP BY c.run, m.value;
-- 3 three views: tensor, checkpoint, file
SELECT count(*), sum(f.size) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id JOIN file f ON f.checkpoint_id = c.id AND f.path = t.file WHERE t.name = {name};

-- ---- checkpoint alone

-- 3 checkpoint by id
SELECT * FROM checkpoint WHERE id = {cid};
-- 3 checkpoint by name
SELECT id, path, tensors FROM checkpoint WHERE name = {cname};
-- 3 ordered checkpoints of a run
SELECT step, tensors, nbytes, id FROM checkpoint WHERE run = {run} ORDER BY step, id;
-- 3 checkpoints by the run's path
SELECT count(*), sum(nbytes) FROM checkpoint WHERE run_path GLOB {run_glob};
-- 3 checkpoints' bytes by run
SELECT run, count(*), sum(nbytes) FROM checkpoint GROUP BY run ORDER BY 3 DESC, 1 LIMIT 20;
-- 3 latest step of each run
SELECT run, max(step) FROM checkpoint GROUP BY run;
-- 3 checkpoints of one layout
SELECT layout, count(*) AS n FROM checkpoint GROUP BY layout HAVING n > 1 ORDER BY n DESC, layout LIMIT 10;

-- ---- windows, recursion, expressions

-- 3 ordered tensors of a checkpoint numbered by size
SELECT name, row_number() OVER (ORDER BY nbytes DESC, name) AS n FROM tensor WHERE checkpoint_id = {cid} ORDER BY n LIMIT 20;
-- 3 the largest tensor of each checkpoint of a run
SELECT checkpoint_id, name FROM (SELECT t.checkpoint_id, t.name, row_number() OVER (PARTITION BY t.checkpoint_id ORDER BY t.nbytes DESC, t.name) AS n
FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.run = {run}) WHERE n = 1;
-- 3 a name's bytes over the steps of a run, lag
SELECT c.step, t.nbytes - lag(t.nbytes) OVER (ORDER BY c.step) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.run = {run} AND t.name = {name};
-- 3 ordered running sum of a checkpoint's bytes
SELECT ord, sum(nbytes) OVER (ORDER BY ord) FROM tensor WHERE checkpoint_id = {cid} ORDER BY ord;
-- 3 rank of dtypes by bytes
SELECT dtype, rank() OVER (ORDER BY sum(nbytes) DESC) FROM tensor GROUP BY dtype;
-- 3 one window over everything
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY checkpoint_id ORDER BY nbytes) AS n FROM tensor);
-- 3 layers that a recursion counts up
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
SELECT i, count(t.id), sum(t.nbytes) FROM n LEFT JOIN tensor t ON t.checkpoint_id = {cid} AND t.name = 'model.layers.' || i || '.mlp.up_proj.weight' GROUP BY i;
-- 3 names of a list, with values
WITH w(name) AS (VALUES ({name}), ({name2}), ('none')) SELECT w.name, count(t.id) FROM w LEFT JOIN tensor t ON t.name = w.name GROUP BY w.name;
-- 3 largest by each dtype, correlated
SELECT DISTINCT d.dtype, (SELECT max(t.nbytes) FROM tensor t WHERE t.dtype = d.dtype) FROM by_dtype d WHERE d.checkpoint_id IN ({cid}, {cid3});
-- 1 sizes in classes
SELECT CASE WHEN nbytes < 1024 THEN 'small' WHEN nbytes < 65536 THEN 'middle' ELSE 'large' END AS class, count(*), sum(nbytes) FROM tensor GROUP BY class;
-- 3 ordered union of two kinds
SELECT 'tensor' AS kind, count(*) AS n FROM tensor WHERE checkpoint_id = {cid} UNION ALL SELECT 'file', count(*) FROM file WHERE checkpoint_id = {cid} ORDER BY kind;
-- 3 ordered pages of a joined list
SELECT c.name, t.name, t.id FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id ORDER BY t.id LIMIT 50 OFFSET 1000;

-- ---- more of each

-- 3 by path
SELECT path, count(*), sum(nbytes) FROM tensor GROUP BY path ORDER BY 3 DESC, 1 LIMIT 20;
-- 3 by size, having
SELECT nbytes, count(*) AS n FROM tensor GROUP BY nbytes HAVING n > 10 ORDER BY nbytes DESC LIMIT 20;
-- 3 by hash, having
SELECT hash, count(*), sum(nbytes) FROM tensor WHERE hash IS NOT NULL GROUP BY hash HAVING count(*) > 1;
-- 3 by elements and dtype
SELECT elements, dtype, count(*) FROM tensor GROUP BY elements, dtype ORDER BY 3 DESC, 1, 2 LIMIT 20;
-- 3 by name and shape, having
SELECT name, shape, count(*) AS n FROM tensor GROUP BY name, shape HAVING n >= 5 ORDER BY n DESC, name, shape LIMIT 30;
-- 3 checkpoints that have many tensors of a dtype
SELECT checkpoint, count(*) AS n FROM tensor WHERE dtype = {dtype} GROUP BY checkpoint HAVING n > 10 ORDER BY n DESC, checkpoint LIMIT 20;
-- 3 distinct storage
SELECT DISTINCT storage FROM tensor;
-- 3 distinct storage, backwards, but one
SELECT DISTINCT storage FROM tensor WHERE storage <> 'none' ORDER BY storage DESC;
-- 3 distinct storage and checkpoint
SELECT count(*) FROM (SELECT DISTINCT storage, checkpoint_id FROM tensor);
-- 3 distinct ranks
SELECT DISTINCT rank FROM tensor ORDER BY 1;
-- 3 distinct sizes
SELECT count(*), sum(nbytes) FROM (SELECT DISTINCT nbytes FROM tensor);
-- 3 distinct checkpoint and dtype
SELECT count(*) FROM (SELECT DISTINCT checkpoint_id, dtype FROM tensor);
-- 3 distinct name and shape
SELECT count(*) FROM (SELECT DISTINCT name, shape FROM tensor);
-- 3 how many files
SELECT count(DISTINCT file) FROM tensor;
-- 3 how many hashes
SELECT count(DISTINCT hash), count(hash) FROM tensor;
-- 3 all tensors with their checkpoint, LEFT JOIN
SELECT count(*), count(c.id), sum(t.nbytes) FROM tensor t LEFT JOIN checkpoint c ON c.id = t.checkpoint_id;
-- 3 checkpoints and tensors, FULL JOIN
SELECT count(*), count(c.id), count(t.id) FROM checkpoint c FULL JOIN tensor t ON t.checkpoint_id = c.id;
-- 3 tensors and checkpoints by name, FULL JOIN of one name
SELECT count(*), count(t.id) FROM (SELECT * FROM tensor WHERE name = {name}) t FULL JOIN checkpoint c ON c.id = t.checkpoint_id;
-- 3 tensors of an incomplete checkpoint
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.state <> 'complete';
-- 1 tensors of a format
SELECT count(*), sum(t.nbytes) FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE c.format = 'safetensors';
-- 3 tensors of the last checkpoints
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN (SELECT id FROM checkpoint ORDER BY id DESC LIMIT 20) c ON c.id = t.checkpoint_id;
-- 3 tensors of each run's latest step
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN (SELECT run, max(step) AS step FROM checkpoint GROUP BY run) r
JOIN checkpoint c ON c.id = t.checkpoint_id AND c.run = r.run AND c.step = r.step;
-- 3 a name or a step
SELECT count(*), sum(t.nbytes) FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE t.name = {name} OR c.id = {cid};
-- 3 tensors whose name is another's and a suffix
SELECT count(*) FROM tensor a JOIN tensor b ON b.name = replace(a.name, '.weight', '.bias') AND b.checkpoint_id = a.checkpoint_id WHERE a.checkpoint_id = {cid};
-- 3 same shape in another checkpoint
SELECT count(*) FROM tensor a JOIN tensor b ON b.shape = a.shape AND b.checkpoint_id = {cid3} WHERE a.checkpoint_id = {cid} AND a.ord < 20;
-- 3 self join on the next in order
SELECT count(*), sum(b.offset - a.offset) FROM tensor a JOIN tensor b ON b.checkpoint_id = a.checkpoint_id AND b.ord = a.ord + 1 WHERE a.checkpoint_id = {cid};
-- 3 self join on id
SELECT a.name, b.name FROM tensor a JOIN tensor b ON b.id = a.id + 1 WHERE a.checkpoint_id = {cid} ORDER BY a.id LIMIT 20;
-- 3 names in every step of a run
SELECT t.name FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.run = {run} GROUP BY t.name
HAVING count(*) = (SELECT count(*) FROM checkpoint WHERE run = {run}) ORDER BY t.name LIMIT 20;
-- 3 shapes that change over the steps of a run
SELECT t.name, count(DISTINCT t.shape) AS n FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.run = {run} GROUP BY t.name HAVING n > 1;
-- 3 issues with their checkpoints
SELECT c.name, i.code FROM issue i JOIN checkpoint c ON c.id = i.checkpoint_id ORDER BY i.id LIMIT 50;
-- 3 checkpoints without issues
SELECT count(*) FROM checkpoint c LEFT JOIN issue i ON i.checkpoint_id = c.id WHERE i.id IS NULL;
-- 3 files with their checkpoints
SELECT c.format, count(*), sum(f.size) FROM file f JOIN checkpoint c ON c.id = f.checkpoint_id GROUP BY c.format;
-- 3 checkpoints with their files
SELECT c.name, f.path FROM checkpoint c JOIN file f ON f.checkpoint_id = c.id WHERE c.run = {run} ORDER BY c.id, f.path LIMIT 50;
-- 3 by_dtype with checkpoint
SELECT c.run, d.dtype, sum(d.nbytes) AS b FROM by_dtype d JOIN checkpoint c ON c.id = d.checkpoint_id GROUP BY c.run, d.dtype ORDER BY b DESC, 1, 2 LIMIT 20;
-- 3 by_module with checkpoint
SELECT c.name, m.module, m.nbytes FROM checkpoint c JOIN by_module m ON m.checkpoint_id = c.id WHERE c.run = {run} AND m.depth = 1;
-- 3 by_module of a module, everywhere
SELECT count(*), sum(nbytes) FROM by_module WHERE module = 'model';
-- 3 largest with checkpoint
SELECT c.run, l.name, l.nbytes FROM largest l JOIN checkpoint c ON c.id = l.checkpoint_id WHERE c.id = {cid} ORDER BY l.nbytes DESC, l.name LIMIT 10;
-- 3 metadata with file
SELECT m.value, count(*), sum(f.size) FROM metadata m JOIN file f ON f.checkpoint_id = m.checkpoint_id WHERE m.key = 'lr' GROUP BY m.value;
-- 3 two facts of each checkpoint
SELECT a.value, b.value, count(*) FROM metadata a JOIN metadata b ON b.checkpoint_id = a.checkpoint_id AND b.key = 'seed' WHERE a.key = 'lr' GROUP BY 1, 2;
-- 3 metadata of a run as a pivot
SELECT c.step, max(CASE WHEN m.key = 'lr' THEN m.value END), max(CASE WHEN m.key = 'seed' THEN m.value END) FROM checkpoint c
LEFT JOIN metadata m ON m.checkpoint_id = c.id WHERE c.run = {run} GROUP BY c.step;
-- 3 disk by run
SELECT run, sum(bytes) FROM disk GROUP BY run ORDER BY 2 DESC, 1 LIMIT 10;
-- 3 disk with checkpoint
SELECT c.name, d.bytes FROM checkpoint c JOIN disk d ON d.run = c.run WHERE c.id = {cid};
-- 3 five thousand rows of a join
SELECT c.name, t.name, t.dtype, t.nbytes FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE t.name IN ({name}, {name2}) ORDER BY t.id LIMIT 5000;
-- 3 checkpoints that hold every name of another
SELECT count(*) FROM checkpoint c WHERE c.step = 400 AND c.run GLOB '*run000*'
AND NOT EXISTS (SELECT 1 FROM tensor a WHERE a.checkpoint_id = {cid} AND NOT EXISTS (SELECT 1 FROM tensor b WHERE b.checkpoint_id = c.id AND b.name = a.name));
-- 3 the same name in two runs
SELECT count(*) FROM (SELECT name FROM tensor WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE run = {run})
INTERSECT SELECT name FROM tensor WHERE checkpoint_id = {cid3});
-- 3 names that only one checkpoint has
SELECT count(*) FROM (SELECT name FROM tensor GROUP BY name HAVING count(*) = 1);
-- 3 mean size by rank of a checkpoint
SELECT rank, avg(nbytes), min(nbytes), max(nbytes) FROM tensor WHERE checkpoint_id = {cid} GROUP BY rank;
-- 3 share of each dtype
SELECT dtype, round(100.0 * sum(nbytes) / (SELECT sum(nbytes) FROM tensor), 1) FROM tensor GROUP BY dtype;
-- 3 bytes by file and checkpoint, backwards
SELECT file, checkpoint_id, count(*), sum(nbytes), max(offset) FROM tensor GROUP BY file, checkpoint_id ORDER BY file DESC, checkpoint_id DESC LIMIT 50;
-- 3 files that hold a dtype
SELECT file, count(*) AS n FROM tensor WHERE dtype = {dtype} GROUP BY file HAVING n > 10 ORDER BY n DESC, file LIMIT 20;
-- 8 ordered files in order, what is in none first
SELECT file, checkpoint_id FROM tensor WHERE ord = 0 ORDER BY file, checkpoint_id LIMIT 40;
-- 3 ordered the last files
SELECT DISTINCT file FROM tensor ORDER BY file DESC LIMIT 10;
-- 4 distinct files
SELECT count(*) FROM (SELECT DISTINCT file FROM tensor);
-- 3 a module deep in the model, everywhere
SELECT checkpoint, depth, tensors, nbytes FROM by_module WHERE module = 'model.layers.3.mlp';
-- 3 a module of a single tensor, everywhere
SELECT checkpoint_id, depth, tensors, nbytes FROM by_module WHERE module = 'model.layers.3.mlp.up_proj' AND checkpoint_id > 3;
-- 3 a module that is nowhere
SELECT * FROM by_module WHERE module = 'vision_tower';
-- 3 modules of a list, by run
SELECT m.module, c.run, sum(m.nbytes) FROM by_module m JOIN checkpoint c ON c.id = m.checkpoint_id WHERE m.module IN ('lm_head', 'encoder.block.1', 'layers')
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20;
-- 3 module names that are numbers
SELECT count(*) FROM by_module WHERE module = 1 OR module = '0';
-- 3 the largest tensors of a run, by name
SELECT name, max(nbytes) FROM largest WHERE checkpoint LIKE {checkpoint_like} GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5;
-- 3 names of a rare dtype, counted
SELECT name, count(*) FROM tensor WHERE dtype = {rare_dtype} GROUP BY name;
-- 3 matrices by name
SELECT name, max(nbytes) FROM tensor WHERE rank = 2 GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10;
-- 3 shapes of names with a word
SELECT shape, dtype, count(*) FROM tensor WHERE name LIKE '%embed_tokens.weight' GROUP BY shape, dtype;
-- 3 sizes that a few places have
SELECT DISTINCT nbytes FROM tensor WHERE ord < 3 AND rank > 0 ORDER BY nbytes;
-- 3 metadata by a key, in order
SELECT checkpoint, value FROM metadata WHERE key = 'lr' ORDER BY CAST(value AS REAL) DESC, checkpoint LIMIT 5;
-- 3 ordered by checkpoint, then by name
SELECT checkpoint, name FROM tensor ORDER BY checkpoint, name LIMIT 20;
-- 3 ordered by checkpoint backwards, then by size and name
SELECT checkpoint_id, nbytes, name, id FROM tensor WHERE rank < 2 ORDER BY checkpoint_id DESC, nbytes DESC, name, id LIMIT 700;
-- 3 the largest of each checkpoint, window over all
SELECT checkpoint, name, nbytes FROM (SELECT checkpoint, name, nbytes, row_number() OVER (PARTITION BY checkpoint_id ORDER BY nbytes DESC, ord) AS n
FROM tensor) WHERE n = 1 ORDER BY nbytes DESC, checkpoint LIMIT 10;
-- 3 distinct path, dtype and rank
SELECT DISTINCT path, dtype, rank FROM tensor WHERE name LIKE '%weight';
-- 3 ordered pages of a joined list by name
SELECT c.name, t.name FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id ORDER BY t.name, t.id LIMIT 50;
-- 3 ordered pages of a joined list by size
SELECT c.run, t.name, t.nbytes FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id ORDER BY t.nbytes DESC, t.id LIMIT 20;
-- 3 ordered tensors with their files' size, a page far in
SELECT f.size, t.name FROM tensor t JOIN file f ON f.path = t.file ORDER BY t.id LIMIT 50 OFFSET 1000;
-- 3 ordered the largest of some paths
SELECT c.name, t.name, t.id FROM tensor t JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.path LIKE {path_like} ORDER BY t.nbytes DESC, t.id LIMIT 20;

-- ---- where tensors are, and what many have alike

-- 8 tensors in no file
SELECT count(*) FROM tensor WHERE file IS NULL;
-- 3 ordered tensors in a file, from one checkpoint on
SELECT id, file, storage FROM tensor WHERE file IS NOT NULL AND checkpoint_id >= {cid} ORDER BY id LIMIT 20;
-- 8 tensors that are no single range
SELECT count(*) FROM tensor WHERE storage IN ('pieces', 'chunks', 'inline');
-- 3 counted some that are not in a range
SELECT checkpoint, name, storage FROM tensor WHERE storage <> 'range' LIMIT 20;
-- 3 without bytes, by storage
SELECT storage, file IS NULL, count(*) FROM tensor WHERE storage = 'none' OR file IS NULL GROUP BY 1, 2;
-- 8 tensors far into their file
SELECT count(*) FROM tensor WHERE offset > 1000000;
-- 8 scalars, counted
SELECT count(*) FROM tensor WHERE elements = 1;
-- 3 ordered scalars of one kind, by name
SELECT name, id FROM tensor WHERE elements = 1 AND storage = 'range' AND dtype = {dtype} ORDER BY name, id LIMIT 20;
-- 4 ordered by shape, first page
SELECT shape, id FROM tensor ORDER BY shape, id LIMIT 20;
-- 4 ordered the smallest tensors
SELECT nbytes, id FROM tensor ORDER BY nbytes, id LIMIT 20;
-- 3 ordered by elements, backwards
SELECT name, elements, id FROM tensor ORDER BY elements DESC, id LIMIT 20;
-- 3 ordered by rank, backwards
SELECT name, rank, id FROM tensor ORDER BY rank DESC, id LIMIT 20;
-- 6 ordered the largest of a rare dtype
SELECT name, nbytes FROM largest WHERE dtype = {rare_dtype} ORDER BY nbytes DESC, name LIMIT 5;
-- 3 runs that have a shape
SELECT DISTINCT c.run FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id WHERE t.shape = {rare_shape} ORDER BY 1;

-- ---- by_module

-- 8 modules, counted
SELECT count(*) FROM by_module;
-- 4 ordered the largest modules
SELECT checkpoint_id, module, nbytes FROM by_module ORDER BY nbytes DESC, checkpoint_id, module LIMIT 20;
-- 8 modules at the top, counted
SELECT count(*) FROM by_module WHERE depth = 1;
-- 3 modules at the top
SELECT checkpoint, module, nbytes FROM by_module WHERE depth = 1;
-- 3 modules at the top, by name
SELECT module, count(*), sum(nbytes) FROM by_module WHERE depth = 1 GROUP BY module ORDER BY 3 DESC, 1 LIMIT 20;
-- 3 modules by depth
SELECT depth, count(*), sum(nbytes), max(parameters) FROM by_module GROUP BY depth;
-- 3 modules that two checkpoints have
SELECT count(*), sum(a.nbytes), sum(b.nbytes) FROM by_module a JOIN by_module b ON b.checkpoint_id = {cid2} AND b.module = a.module WHERE a.checkpoint_id = {cid};
-- 4 a module that most have, by checkpoint
SELECT checkpoint, tensors, nbytes FROM by_module WHERE module = 'model.layers';
-- 3 ordered the largest modules of a checkpoint
SELECT module, nbytes FROM by_module WHERE checkpoint_id = {cid} ORDER BY nbytes DESC, module LIMIT 10;
-- 5 depths of modules
SELECT DISTINCT depth FROM by_module;
-- 15 names of modules
SELECT count(*) FROM (SELECT DISTINCT module FROM by_module);
-- 3 modules by name
SELECT module, count(*), sum(nbytes) FROM by_module GROUP BY module ORDER BY 3 DESC, 1 LIMIT 10;
-- 4 modules below a prefix
SELECT count(*), sum(parameters) FROM by_module WHERE module GLOB 'model.layers.1*';
-- 3 modules of a size
SELECT count(*) FROM by_module WHERE nbytes > 1000000 AND depth > 1;
-- 3 modules of each checkpoint
SELECT checkpoint_id, count(*), max(nbytes) FROM by_module GROUP BY checkpoint_id ORDER BY 3 DESC, 1 LIMIT 10;
-- 60 ordered modules in the order of their names
SELECT module, checkpoint_id FROM by_module ORDER BY module, checkpoint_id LIMIT 20;
-- 1 modules, summed
SELECT sum(nbytes), max(depth) FROM by_module;
-- 4 ordered small modules of one depth, backwards
SELECT module, depth, nbytes, checkpoint FROM by_module WHERE depth = 3 ORDER BY nbytes, checkpoint DESC, module DESC LIMIT 40;
-- 3 ordered modules by checkpoint and size
SELECT checkpoint, depth, nbytes, module FROM by_module ORDER BY checkpoint DESC, nbytes DESC, module LIMIT 300;
-- 3 depths and sizes of each checkpoint
SELECT count(*), sum(depth) FROM (SELECT DISTINCT checkpoint_id, depth, tensors FROM by_module);
-- 3 depths and sizes, grouped with a checkpoint
SELECT depth, checkpoint, count(*), max(module) FROM by_module WHERE nbytes > 5000 GROUP BY depth, checkpoint ORDER BY 3 DESC, 1, 2 LIMIT 30;
-- 3 modules of some checkpoints by size
SELECT module, nbytes FROM by_module WHERE checkpoint_id IN ({cid}, {cid2}, {cid3}) AND tensors > 1 ORDER BY nbytes DESC, module LIMIT 30;

-- ---- by_name

-- 8 names of layouts, counted
SELECT count(*) FROM by_name;
-- 3 one name in all layouts
SELECT * FROM by_name WHERE name = {name};
-- 4 ordered names of a pattern and their checkpoints
SELECT name, sum(checkpoints) FROM by_name WHERE name GLOB '*mlp.up_proj*' GROUP BY name ORDER BY name;
-- 3 names of a pattern, counted in all checkpoints
SELECT name, count(*), max(nbytes) FROM tensor WHERE name GLOB '*mlp.up_proj*' AND name NOT LIKE '%1%' GROUP BY name;
-- 4 ordered names of layouts, and how many checkpoints have each
SELECT name, dtype, shape, checkpoints FROM by_name ORDER BY name, dtype, shape, checkpoints LIMIT 20;
-- 4 ordered a page of names, by how many checkpoints have each
SELECT name, checkpoints FROM by_name WHERE dtype = {dtype} ORDER BY name DESC, checkpoints DESC LIMIT 20 OFFSET 100;
-- 4 ordered a page of tensors by name and id
SELECT name, id FROM tensor ORDER BY name, id LIMIT 1000;
-- 5 names of several layouts
SELECT name, count(*) AS n, sum(checkpoints) FROM by_name GROUP BY name HAVING n > 3 ORDER BY n DESC, name LIMIT 20;
-- 3 tensors of a layout that few checkpoints have
SELECT name, dtype, shape, checkpoints FROM by_name WHERE checkpoints BETWEEN 1 AND 2;
-- 3 ordered the largest tensors of layouts
SELECT nbytes, name FROM by_name ORDER BY nbytes DESC, name LIMIT 20;
-- 3 ordered what most checkpoints have
SELECT name, dtype, checkpoints FROM by_name ORDER BY checkpoints DESC, name, dtype, shape LIMIT 20;
-- 3 where else a checkpoint's tensors are
SELECT t.name, b.checkpoints FROM tensor t LEFT JOIN by_name b ON b.name = t.name AND b.dtype = t.dtype AND b.shape = t.shape WHERE t.checkpoint_id = {cid};
-- 3 names of layouts and a checkpoint's tensors, FULL JOIN
SELECT count(*), count(t.id), count(b.name) FROM (SELECT * FROM tensor WHERE checkpoint_id = {cid}) t FULL JOIN by_name b ON b.name = t.name;
-- 3 a name, a shape or a dtype in all layouts
SELECT count(*), sum(nbytes) FROM by_name WHERE name = {name} OR shape = {shape} OR dtype = {rare_dtype};
-- 3 counted tensors of layouts by rowid
SELECT name FROM by_name WHERE rowid <> 0 ORDER BY rowid LIMIT 20;
-- 3 dtypes and checkpoints of layouts
SELECT DISTINCT dtype, checkpoints FROM by_name;
-- 3 bytes of all, by layouts
SELECT dtype, sum(checkpoints), sum(nbytes * checkpoints) FROM by_name GROUP BY dtype;

-- ---- public views on the right of a LEFT JOIN

-- 3 what of each checkpoint is hashed
SELECT c.name, count(x.hash) FROM checkpoint c LEFT JOIN content x ON x.checkpoint_id = c.id GROUP BY c.id;
-- 3 folded modules of the checkpoints of a run, if any
SELECT c.name, m.module FROM checkpoint c LEFT JOIN by_folded_module m ON m.checkpoint = c.name WHERE c.run = {run};
-- 3 hashes and statistics of a checkpoint's tensors, if any
SELECT t.name, x.hash, s.mean FROM tensor t LEFT JOIN content x ON x.tensor_id = t.id LEFT JOIN stats s ON s.tensor_id = t.id WHERE t.checkpoint_id = {cid};

-- ---- joins that ask one thing for many rows, orders by file, modules by name

-- 3 all tensors and their files, LEFT JOIN
SELECT count(*), count(f.id), sum(f.size), min(f.id) FROM tensor t LEFT JOIN file f ON f.path = t.file;
-- 3 all files and their tensors, RIGHT JOIN
SELECT f.id, f.size, count(t.id), max(t.name) FROM tensor t RIGHT JOIN file f ON f.path = t.file GROUP BY f.id;
-- 3 a checkpoint's tensors beside its facts, by name
SELECT t.name, m.key, m.value FROM tensor t LEFT JOIN metadata m ON m.checkpoint = t.checkpoint WHERE t.checkpoint_id = {cid};
-- 3 a checkpoint's tensors and issues of their files
SELECT t.id, i.code FROM tensor t LEFT JOIN issue i ON i.path = t.file WHERE t.checkpoint_id IN ({cid}, {cid2});
-- 3 checkpoints with the same content
SELECT a.name, b.name FROM checkpoint a JOIN checkpoint b ON b.hash = a.hash AND b.id > a.id;
-- 3 ordered the last files' tensors
SELECT file, id, name FROM tensor ORDER BY file DESC, id DESC LIMIT 20;
-- 3 ordered tensors of a kind by file and place
SELECT file, checkpoint_id, ord, name FROM tensor WHERE rank < 2 ORDER BY file, checkpoint_id, ord LIMIT 700 OFFSET 20;
-- 4 modules of a list, one within another
SELECT module, count(*), sum(nbytes), max(depth) FROM by_module WHERE module IN ('model.layers.1', 'model.layers', 'model.layerz', 'lm_head', NULL) GROUP BY module;
-- 3 modules that begin alike
SELECT module, count(*), sum(tensors) FROM by_module WHERE module GLOB 'transformer.h.1?' GROUP BY module;
-- 8 modules of a list that begin alike
SELECT checkpoint, module FROM by_module WHERE module GLOB 'encoder.*' AND module IN ('encoder.block.2', 'encoder', 'model') AND tensors > 2;
-- 3 modules of two names each checkpoint has
SELECT count(*) FROM by_module a JOIN by_module b ON b.checkpoint_id = a.checkpoint_id WHERE a.module = 'lm_head' AND b.module = 'model.layers.0';
-- 3 ordered checkpoints backwards, tensors forwards
SELECT checkpoint_id, ord, name FROM tensor ORDER BY checkpoint_id DESC, ord LIMIT 700;
-- 3 ordered names of checkpoints backwards, ids forwards
SELECT checkpoint, id FROM tensor WHERE rank < 2 ORDER BY checkpoint DESC, id LIMIT 300 OFFSET 20;
-- 3 ordered tensors of a file, backwards
SELECT id, name FROM tensor WHERE file = {file} ORDER BY id DESC LIMIT 20;
-- 3 ordered what most checkpoints have
SELECT checkpoints FROM by_name ORDER BY checkpoints DESC LIMIT 300;
-- 3 counted what few checkpoints have
SELECT name, dtype, shape FROM by_name WHERE name NOT LIKE '%norm%' ORDER BY checkpoints LIMIT 20;
-- 3 how many tensors so many checkpoints have
SELECT checkpoints, count(*) FROM by_name GROUP BY checkpoints ORDER BY checkpoints;
-- 3 ordered the largest among the last ones
SELECT nbytes, name, id FROM tensor WHERE ord > 20 ORDER BY nbytes DESC, name DESC, id LIMIT 300;
-- 3 ordered by rank, checkpoints backwards, tensors forwards
SELECT rank, checkpoint_id, id FROM tensor ORDER BY rank DESC, checkpoint_id DESC, id LIMIT 3000;

-- ---- pages after a name, one view with itself, first rows in an order
-- 3 ordered names of a pattern, the smallest first
SELECT name, nbytes, id FROM tensor WHERE name LIKE '%q_proj%' ORDER BY name, nbytes, id LIMIT 300;
-- 3 ordered page after a name in the order of sizes
SELECT name, elements, dtype, id FROM tensor WHERE ord > 3 AND name > {name} ORDER BY name, elements DESC, dtype, id LIMIT 20;
-- 5 ordered page after a name
SELECT id, name FROM tensor WHERE name > {name} ORDER BY name, id LIMIT 50;
-- 8 ordered page after a name and an id
SELECT id, name FROM tensor WHERE (name, id) > ({name}, {id}) ORDER BY name, id LIMIT 50;
-- 5 ordered page before a name
SELECT id, name FROM tensor WHERE name < {name} ORDER BY name DESC, id DESC LIMIT 50;
-- 3 ordered page of the names of a prefix
SELECT name, checkpoint_id, ord FROM tensor WHERE name GLOB {name_prefix} ORDER BY name, checkpoint_id, ord LIMIT 50;
-- 3 ordered names of a prefix as files have them
SELECT id, name FROM tensor WHERE name GLOB {name_prefix} ORDER BY id DESC LIMIT 50;
-- 5 ordered the last tensors of a name
SELECT id FROM tensor WHERE name = {name} ORDER BY id DESC LIMIT 20;
-- 5 ordered names of a list in the order of ids
SELECT name, id FROM tensor WHERE name IN ({name}, {name2}, 'x') ORDER BY name, nbytes, id LIMIT 50;
-- 8 checkpoints that are alike
SELECT a.name, b.name FROM checkpoint a JOIN checkpoint b ON a.layout = b.layout AND a.id < b.id;
-- 8 how many are alike
SELECT a.name, (SELECT count(*) FROM checkpoint b WHERE b.layout = a.layout) FROM checkpoint a;
-- 5 checkpoints of one hash
SELECT a.name, b.name FROM checkpoint a JOIN checkpoint b ON a.hash = b.hash AND a.id < b.id;
-- 5 files of one inode
SELECT a.path, b.path FROM file a JOIN file b USING (inode, device) WHERE a.path < b.path;
-- 5 files of the size of a checkpoint, by a pattern
SELECT f.path, c.name FROM file f JOIN checkpoint c ON f.size = c.stored AND c.format LIKE 'safe%' AND c.imported > '2000';
-- 8 the first imported at the time of each
SELECT a.id, (SELECT min(b.id) FROM checkpoint b WHERE b.imported = a.imported AND b.state = a.state) FROM checkpoint a;
-- 8 ordered the largest folded modules
SELECT nbytes, checkpoint_id, module FROM by_folded_module ORDER BY nbytes DESC, checkpoint_id, module LIMIT 20 OFFSET 10;
-- 3 ordered the largest checkpoints, by a condition that only SQLite tests
SELECT * FROM checkpoint WHERE step % 200 = 0 AND state = 'complete' ORDER BY nbytes DESC, id LIMIT 25 OFFSET 5;
-- 8 the largest of each format and layout
SELECT a.id, (SELECT b.id FROM checkpoint b WHERE b.layout = a.layout AND b.format = a.format ORDER BY b.nbytes DESC, b.id LIMIT 1) FROM checkpoint a;
-- 25 ordered by stored size, from the largest on
SELECT stored, id, name FROM tensor ORDER BY stored DESC, id LIMIT 20;
-- 25 ordered by stored size and name of the checkpoint
SELECT stored, checkpoint, id FROM tensor ORDER BY stored, checkpoint DESC, id LIMIT 20 OFFSET 30;
-- 4 ordered the first tensor of each checkpoint, first page
SELECT ord, id, name FROM tensor ORDER BY ord, id LIMIT 20;
-- 3 ordered by place in the checkpoint, backwards
SELECT ord, path, id FROM tensor ORDER BY ord DESC, path, id LIMIT 20 OFFSET 100;
-- 5 ordered by dtype, first page
SELECT dtype, id FROM tensor ORDER BY dtype, id LIMIT 20;
-- 3 ordered the largest tensors of many checkpoints
SELECT nbytes, id, name FROM tensor WHERE checkpoint_id <= {cid} ORDER BY nbytes DESC, id LIMIT 20;
-- 3 ordered the largest tensors of a checkpoint, with a number for their name
SELECT nbytes, id FROM tensor WHERE checkpoint_id = {cid} AND name < 7 ORDER BY nbytes DESC, id LIMIT 20;
-- 3 ordered stored sizes of a file, backwards
SELECT stored, id FROM tensor WHERE file = {file} ORDER BY stored DESC, id DESC LIMIT 20;
