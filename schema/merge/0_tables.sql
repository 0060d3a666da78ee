-- 0_tables.sql - the plan of a merge (1_checkpoints.sql to 3_shared.sql): made once, and filled for each catalog.
CREATE TEMP TABLE merge_checkpoint (
  id        INTEGER PRIMARY KEY,  -- there
  path      TEXT NOT NULL,        -- here
  here      INTEGER,              -- id here; NULL: it is new
  fresh     INTEGER,              -- the id that a new one gets
  target    INTEGER AS (coalesce(here, fresh)),
  known     INTEGER NOT NULL,     -- 1: the same path is here; 2: the same files are, at another path
  taken     INTEGER NOT NULL,     -- its rows replace those that are here
  same      INTEGER NOT NULL,     -- its files are those that are here: so is what is known of their contents
  imported  INTEGER NOT NULL      -- there
);

-- The first files of checkpoints whose paths are not here.
CREATE TEMP TABLE merge_first (
  inode     INTEGER NOT NULL,
  size      INTEGER,
  mtime_ns  INTEGER,
  device    INTEGER,
  id        INTEGER NOT NULL    -- there
);

-- The first files here: rows are added, but never removed, as a row may be out of date.
CREATE TEMP TABLE merge_read (version INTEGER); -- a row: they were read
CREATE TEMP TABLE merge_inode (
  inode       INTEGER NOT NULL,
  checkpoint  INTEGER NOT NULL, -- here
  PRIMARY KEY (inode, checkpoint)
) WITHOUT ROWID;

CREATE TEMP TABLE merge_layout (
  id      INTEGER PRIMARY KEY,
  target  INTEGER,
  known   INTEGER NOT NULL,
  moved   INTEGER NOT NULL      -- the layout here says that bytes lie elsewhere
);
CREATE TEMP TABLE merge_meta (id INTEGER PRIMARY KEY, target INTEGER, known INTEGER NOT NULL);

-- The plan for their rows.
CREATE TEMP VIEW merge_row AS
SELECT m.target AS id, m.path, c.format, merge_path(c.run) AS run, c.step, c.item, l.target AS layout,
       x.target AS meta, c.placed OR l.moved AS placed, c.stored, c.files, c.mtime_ns, c.imported, m.known
FROM merge_checkpoint m
CROSS JOIN source._checkpoints c ON c.id = m.id
CROSS JOIN merge_layout l ON l.id = c.layout
LEFT JOIN merge_meta x ON x.id = c.meta
WHERE m.taken;

CREATE TEMP TABLE merge_statistic (
  tensor  INTEGER PRIMARY KEY,  -- here
  origin  INTEGER NOT NULL,     -- the row there
  hash    INTEGER,              -- here
  dtype   TEXT NOT NULL,
  target  INTEGER               -- the row here
);
