PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE layouts (
  id          INTEGER PRIMARY KEY,
  logical     BLOB NOT NULL UNIQUE,
  placement   BLOB NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL,
  stored      INTEGER           -- NULL: not known without a look at every chunk
) STRICT;
INSERT INTO layouts VALUES(1,X'8314ec38066eaa871a47811ed6141296',X'a45ae733ecad2b3f976e2bb97dd8d762',3,108,432,432);
INSERT INTO layouts VALUES(2,X'1c3b544c3dc682abc48937b96210a080',X'f4acfc36f37c7111ae7ac8a592e20873',22,46,194,399);
INSERT INTO layouts VALUES(3,X'3f4f31d08b296041e826928efbc9a57f',X'f4acfc36f37c7111ae7ac8a592e20873',22,46,194,399);
INSERT INTO layouts VALUES(4,X'ec6aca63f7a15d12103d44f0965b90b7',X'37206389efb7862d3555871709daab0b',4,208,376,376);
CREATE TABLE layout_dtypes (
  id          INTEGER PRIMARY KEY,
  dtype       TEXT,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_dtypes VALUES(16777216,'float32',3,108,432);
INSERT INTO layout_dtypes VALUES(33554432,'float64',1,1,8);
INSERT INTO layout_dtypes VALUES(33554433,'int64',3,3,24);
INSERT INTO layout_dtypes VALUES(33554434,'uint32',2,4,16);
INSERT INTO layout_dtypes VALUES(33554435,'int8',2,2,2);
INSERT INTO layout_dtypes VALUES(33554436,'int32',2,2,8);
INSERT INTO layout_dtypes VALUES(33554437,'float32',9,34,136);
INSERT INTO layout_dtypes VALUES(33554438,'string',3,0,0);
INSERT INTO layout_dtypes VALUES(50331648,'float64',1,1,8);
INSERT INTO layout_dtypes VALUES(50331649,'int64',3,3,24);
INSERT INTO layout_dtypes VALUES(50331650,'uint32',2,4,16);
INSERT INTO layout_dtypes VALUES(50331651,'int8',2,2,2);
INSERT INTO layout_dtypes VALUES(50331652,'int32',2,2,8);
INSERT INTO layout_dtypes VALUES(50331653,'float32',9,34,136);
INSERT INTO layout_dtypes VALUES(50331654,'string',3,0,0);
INSERT INTO layout_dtypes VALUES(67108864,'float32',2,40,160);
INSERT INTO layout_dtypes VALUES(67108865,'q8_0',1,128,136);
INSERT INTO layout_dtypes VALUES(67108866,'float16',1,40,80);
CREATE TABLE metas (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE
) STRICT;
INSERT INTO metas VALUES(1,X'de30a799508b07a43f1c6a7b945c55d6');
INSERT INTO metas VALUES(2,X'12115a66a06e607982961865ecb5ff12');
INSERT INTO metas VALUES(3,X'c28328dd3f14e51a6c59dba2e947da1a');
INSERT INTO metas VALUES(4,X'e64ef3bd9c39170ae7dc7ad31a7d784d');
CREATE TABLE meta_facts (
  id     INTEGER PRIMARY KEY,   -- (metas.id << 24) + k
  key    TEXT NOT NULL,
  value  ANY
) STRICT;
INSERT INTO meta_facts VALUES(16777216,'head.weight','emb.weight');
INSERT INTO meta_facts VALUES(33554432,'item_handlers','orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler');
INSERT INTO meta_facts VALUES(33554433,'init_timestamp_nsecs',1795241781622641153);
INSERT INTO meta_facts VALUES(33554434,'commit_timestamp_nsecs',1795241781666374973);
INSERT INTO meta_facts VALUES(50331648,'item_handlers','orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler');
INSERT INTO meta_facts VALUES(50331649,'init_timestamp_nsecs',1795241781669095029);
INSERT INTO meta_facts VALUES(50331650,'commit_timestamp_nsecs',1795241781713275229);
INSERT INTO meta_facts VALUES(67108864,'general.architecture','llama');
INSERT INTO meta_facts VALUES(67108865,'general.name','Tiny split');
INSERT INTO meta_facts VALUES(67108866,'llama.block_count',2);
INSERT INTO meta_facts VALUES(67108867,'split.no',0);
INSERT INTO meta_facts VALUES(67108868,'split.count',3);
INSERT INTO meta_facts VALUES(67108869,'split.tensors.count',NULL);
CREATE TABLE checkpoints (
  id         INTEGER PRIMARY KEY,
  path       TEXT NOT NULL UNIQUE,
  format     TEXT NOT NULL,
  run        TEXT,
  step       INTEGER,
  item       TEXT,
  layout     INTEGER NOT NULL REFERENCES layouts(id),
  meta       INTEGER REFERENCES metas(id),
  placed     INTEGER NOT NULL,  -- 1: placements says where its tensors are
  stored     INTEGER,
  files      INTEGER NOT NULL,
  mtime_ns   INTEGER,           -- of its newest file
  imported   INTEGER NOT NULL   -- seconds since 1970
) STRICT;
INSERT INTO checkpoints VALUES(1,'WORK/models/again.safetensors','safetensors',NULL,NULL,NULL,1,1,0,432,1,1795446852995728170,1795446870);
INSERT INTO checkpoints VALUES(2,'WORK/models/nodes/plain','orbax',NULL,NULL,NULL,2,2,0,399,6,1795446870825814853,1795446870);
INSERT INTO checkpoints VALUES(3,'WORK/models/nodes/rich','orbax',NULL,NULL,NULL,3,3,0,399,6,1795446870827125615,1795446870);
INSERT INTO checkpoints VALUES(4,'WORK/models/split/tiny-00001-of-00003.gguf','gguf',NULL,NULL,NULL,4,4,0,376,3,1795446870830521632,1795446870);
INSERT INTO checkpoints VALUES(5,'WORK/models/tied.safetensors','safetensors',NULL,NULL,NULL,1,1,1,432,1,1795446852994371599,1795446870);
CREATE TABLE placements (
  id       INTEGER PRIMARY KEY,
  storage  INTEGER NOT NULL,
  file     INTEGER,
  start    INTEGER,
  stored   INTEGER,
  codec    TEXT,
  strides  TEXT,
  extents  BLOB
) STRICT;
INSERT INTO placements VALUES(83886080,1,0,0,24,NULL,NULL,NULL);
INSERT INTO placements VALUES(83886081,1,0,24,144,NULL,NULL,NULL);
INSERT INTO placements VALUES(83886082,1,0,168,264,NULL,NULL,NULL);
CREATE TABLE checksums (
  id    INTEGER PRIMARY KEY REFERENCES checkpoints(id) ON DELETE CASCADE,
  kind  TEXT NOT NULL,          -- 'crc32c', 'crc32'
  sums  BLOB NOT NULL
) STRICT;
INSERT INTO checksums VALUES(2,'crc32c',X'01020304');
CREATE TABLE files (
  id        INTEGER PRIMARY KEY,
  path      TEXT NOT NULL,
  size      INTEGER,            -- NULL: missing when the checkpoint was indexed
  mtime_ns  INTEGER,
  inode     INTEGER,
  device    INTEGER,
  role      TEXT NOT NULL,      -- 'data', 'index', 'config', ...
  base      INTEGER NOT NULL    -- added to the offsets of tensors in this file
) STRICT;
INSERT INTO files VALUES(16777216,'WORK/models/again.safetensors',688,1795446852995728170,2211975,65024,'data',256);
INSERT INTO files VALUES(33554432,'WORK/models/nodes/plain',4096,1795446870825814853,2228243,65024,'directory',0);
INSERT INTO files VALUES(33554433,'WORK/models/nodes/plain/_CHECKPOINT_METADATA',258,1795446870824949404,2228244,65024,'config',0);
INSERT INTO files VALUES(33554434,'WORK/models/nodes/plain/_METADATA',6800,1795446870825053889,2228245,65024,'index',0);
INSERT INTO files VALUES(33554435,'WORK/models/nodes/plain/manifest.ocdbt',113,1795446870825814853,2228253,65024,'index',0);
INSERT INTO files VALUES(33554436,'WORK/models/nodes/plain/d/98e934a61047ff68fbbed4ec06c0fe52',722,1795446870825724869,2228252,65024,'data',0);
INSERT INTO files VALUES(33554437,'WORK/models/nodes/plain/_strings.json',44,1795446870825127840,2228247,65024,'data',0);
INSERT INTO files VALUES(50331648,'WORK/models/nodes/rich',4096,1795446870827125615,2228265,65024,'directory',0);
INSERT INTO files VALUES(50331649,'WORK/models/nodes/rich/_CHECKPOINT_METADATA',258,1795446870826632480,2228266,65024,'config',0);
INSERT INTO files VALUES(50331650,'WORK/models/nodes/rich/_METADATA',12387,1795446870826673131,2228267,65024,'index',0);
INSERT INTO files VALUES(50331651,'WORK/models/nodes/rich/manifest.ocdbt',113,1795446870827125615,2228275,65024,'index',0);
INSERT INTO files VALUES(50331652,'WORK/models/nodes/rich/d/652b04a339cb32158254582908148eec',722,1795446870827075350,2228274,65024,'data',0);
INSERT INTO files VALUES(50331653,'WORK/models/nodes/rich/_strings.json',44,1795446870826763215,2228269,65024,'data',0);
INSERT INTO files VALUES(67108864,'WORK/models/split/tiny-00001-of-00003.gguf',736,1795446870830456034,2228287,65024,'data',416);
INSERT INTO files VALUES(67108865,'WORK/models/split/tiny-00003-of-00003.gguf',256,1795446870830521632,2228288,65024,'data',160);
INSERT INTO files VALUES(67108866,'WORK/models/split/tiny-00002-of-00003.gguf',NULL,NULL,NULL,NULL,'data',0);
INSERT INTO files VALUES(83886080,'WORK/models/tied.safetensors',688,1795446852994371599,2211974,65024,'data',256);
CREATE TABLE passed (
  path      TEXT PRIMARY KEY,
  size      INTEGER NOT NULL,
  mtime_ns  INTEGER NOT NULL,
  inode     INTEGER NOT NULL,
  device    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO passed VALUES('WORK/models/notes.pt',2,1795446870830521632,2211989,65024);
CREATE TABLE issues (
  id          INTEGER PRIMARY KEY,
  checkpoint  INTEGER REFERENCES checkpoints(id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  offset      INTEGER,
  severity    TEXT NOT NULL CHECK (severity IN ('error', 'warning')),
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
INSERT INTO issues VALUES(1,NULL,'WORK/models/notes.pt',NULL,'error','unrecognised','not a checkpoint of any format that is read here, whatever its name says');
INSERT INTO issues VALUES(2,4,'WORK/models/split/tiny-00001-of-00003.gguf',NULL,'error','missing-shard','1 of 3 split files are missing: tiny-00002-of-00003.gguf');
INSERT INTO issues VALUES(3,4,'WORK/models/split/tiny-00001-of-00003.gguf',NULL,'warning','split-disagrees','split.tensors.count is 7, the files have 4');
CREATE TABLE ruleset (
  name     TEXT PRIMARY KEY,
  dialect  TEXT NOT NULL,
  options  TEXT NOT NULL DEFAULT '{}',   -- JSON, as are the columns so marked below
  shipped  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO ruleset VALUES('own','t5x-translator','{}',0);
CREATE TABLE rule (
  ruleset      TEXT NOT NULL REFERENCES ruleset(name) ON DELETE CASCADE ON UPDATE CASCADE,
  ord          INTEGER NOT NULL,
  pattern      TEXT NOT NULL,
  replacement  TEXT,
  compute      TEXT,            -- JSON
  ops          TEXT,            -- JSON
  PRIMARY KEY (ruleset, ord)
) STRICT;
INSERT INTO rule VALUES('own',1,'emb\.(.*)','embed/\1',NULL,NULL);
INSERT INTO rule VALUES('own',2,'(.*)\.bias',NULL,NULL,NULL);
INSERT INTO rule VALUES('own',3,'(.*)','x/\1',NULL,NULL);
CREATE TABLE optimizer (
  name  TEXT PRIMARY KEY,
  spec  TEXT NOT NULL           -- JSON
) STRICT;
INSERT INTO optimizer VALUES('mine','{"adafactor":{}}');
CREATE TABLE layout_tensors (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  dtype     TEXT,               -- NULL: not known (names-only checkpoints)
  shape     TEXT,               -- JSON; NULL: not known
  elements  INTEGER,
  nbytes    INTEGER,            -- logical bytes; NULL: the dtype has no size
  module    INTEGER,            -- length of the prefix that is a module of this tensor only
  storage   INTEGER NOT NULL,   -- 0 none, 1 range, 2 pieces, 3 chunks, 4 inline
  file      INTEGER,            -- position in the checkpoint's files
  start     INTEGER,            -- of a range, relative to the file's base
  stored    INTEGER,
  codec     TEXT,               -- steps from stored bytes to elements (codec.h)
  strides   TEXT,               -- JSON, in elements; NULL: C order
  extents   BLOB                -- packed list (tensor.h); NULL for a range
) STRICT;
INSERT INTO layout_tensors VALUES(16777216,'body.bias','float32','[6]',6,24,NULL,1,0,0,24,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(16777217,'body.weight','float32','[6,6]',36,144,NULL,1,0,24,144,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(16777218,'emb.weight','float32','[11,6]',66,264,3,1,0,168,264,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(33554432,'float','float64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd200841000059f3f8c21f6ea501');
INSERT INTO layout_tensors VALUES(33554433,'int','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd20084100000000000000010000');
INSERT INTO layout_tensors VALUES(33554434,'key','uint32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100000000000005000000');
INSERT INTO layout_tensors VALUES(33554435,'neg','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd2008410000ffffffffffffffff');
INSERT INTO layout_tensors VALUES(33554436,'np','int8','[]',1,1,NULL,3,NULL,NULL,10,'zstd:1',NULL,X'0428010000030100000a0528b52ffd2001090000fd');
INSERT INTO layout_tensors VALUES(33554437,'old_key','uint32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100000000000006000000');
INSERT INTO layout_tensors VALUES(33554438,'opt_state/1/0/count','int32','[]',1,4,NULL,3,NULL,NULL,13,'zstd:4',NULL,X'0428010000030100000d0528b52ffd200421000004000000');
INSERT INTO layout_tensors VALUES(33554439,'opt_state/1/0/mu/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000ad66f5bd3a60bbbf');
INSERT INTO layout_tensors VALUES(33554440,'opt_state/1/0/mu/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c1000010e2fdbfa3e6bcbfadeb31408d15403fbb6a2140f2a67e3f');
INSERT INTO layout_tensors VALUES(33554441,'opt_state/1/0/nu/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000b55b81c03fdf723f');
INSERT INTO layout_tensors VALUES(33554442,'opt_state/1/0/nu/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c1000041a101bf50492c40da665a3f9d4a31c0f2ba473ea50e6440');
INSERT INTO layout_tensors VALUES(33554443,'opt_state/2/count','int32','[]',1,4,NULL,3,NULL,NULL,13,'zstd:4',NULL,X'0428010000030100000d0528b52ffd200421000004000000');
INSERT INTO layout_tensors VALUES(33554444,'opt_state/2/ema/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000b7a2e03d084111c0');
INSERT INTO layout_tensors VALUES(33554445,'opt_state/2/ema/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c100001022343f6fce5bc01e0f2240ac3c4cc00e5232c060b1f43f');
INSERT INTO layout_tensors VALUES(33554446,'params/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd200841000022ff99bfa8d80c40');
INSERT INTO layout_tensors VALUES(33554447,'params/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c10000600fef3ff45488c02ff0683f4089363fbcffe23f171fda3e');
INSERT INTO layout_tensors VALUES(33554448,'step','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd20084100000400000000000000');
INSERT INTO layout_tensors VALUES(33554449,'str','string','[]',1,NULL,NULL,4,NULL,NULL,17,'strings:vlen',NULL,X'42000106110100000009000000736f6d652074657874');
INSERT INTO layout_tensors VALUES(33554450,'strs/0','string','[]',1,NULL,NULL,4,NULL,NULL,9,'strings:vlen',NULL,X'4200010609010000000100000061');
INSERT INTO layout_tensors VALUES(33554451,'strs/1','string','[]',1,NULL,NULL,4,NULL,NULL,8,'strings:vlen',NULL,X'42000106080100000000000000');
INSERT INTO layout_tensors VALUES(33554452,'tuple/0','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100001fd8f6bc384d2c3f');
INSERT INTO layout_tensors VALUES(33554453,'tuple/1/0','int8','[1]',1,1,7,3,NULL,NULL,10,'zstd:1',NULL,X'042801010000030100000a0528b52ffd200109000084');
INSERT INTO layout_tensors VALUES(50331648,'float','float64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd200841000059f3f8c21f6ea501');
INSERT INTO layout_tensors VALUES(50331649,'int','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd20084100000000000000010000');
INSERT INTO layout_tensors VALUES(50331650,'key','uint32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100000000000005000000');
INSERT INTO layout_tensors VALUES(50331651,'neg','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd2008410000ffffffffffffffff');
INSERT INTO layout_tensors VALUES(50331652,'np','int8','[]',1,1,NULL,3,NULL,NULL,10,'zstd:1',NULL,X'0428010000030100000a0528b52ffd2001090000fd');
INSERT INTO layout_tensors VALUES(50331653,'old_key','uint32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100000000000006000000');
INSERT INTO layout_tensors VALUES(50331654,'opt_state/1/0/count','int32','[]',1,4,NULL,3,NULL,NULL,13,'zstd:4',NULL,X'0428010000030100000d0528b52ffd200421000004000000');
INSERT INTO layout_tensors VALUES(50331655,'opt_state/1/0/mu/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000ad66f5bd3a60bbbf');
INSERT INTO layout_tensors VALUES(50331656,'opt_state/1/0/mu/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c1000010e2fdbfa3e6bcbfadeb31408d15403fbb6a2140f2a67e3f');
INSERT INTO layout_tensors VALUES(50331657,'opt_state/1/0/nu/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000b55b81c03fdf723f');
INSERT INTO layout_tensors VALUES(50331658,'opt_state/1/0/nu/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c1000041a101bf50492c40da665a3f9d4a31c0f2ba473ea50e6440');
INSERT INTO layout_tensors VALUES(50331659,'opt_state/2/count','int32','[]',1,4,NULL,3,NULL,NULL,13,'zstd:4',NULL,X'0428010000030100000d0528b52ffd200421000004000000');
INSERT INTO layout_tensors VALUES(50331660,'opt_state/2/ema/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd2008410000b7a2e03d084111c0');
INSERT INTO layout_tensors VALUES(50331661,'opt_state/2/ema/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c100001022343f6fce5bc01e0f2240ac3c4cc00e5232c060b1f43f');
INSERT INTO layout_tensors VALUES(50331662,'params/Dense_0/bias','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd200841000022ff99bfa8d80c40');
INSERT INTO layout_tensors VALUES(50331663,'params/Dense_0/kernel','float32','[3,2]',6,24,NULL,3,NULL,NULL,33,'zstd:24',NULL,X'0428010302000003010000210528b52ffd2018c10000600fef3ff45488c02ff0683f4089363fbcffe23f171fda3e');
INSERT INTO layout_tensors VALUES(50331664,'step','int64','[]',1,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'042801000003010000110528b52ffd20084100000400000000000000');
INSERT INTO layout_tensors VALUES(50331665,'str','string','[]',1,NULL,NULL,4,NULL,NULL,17,'strings:vlen',NULL,X'42000106110100000009000000736f6d652074657874');
INSERT INTO layout_tensors VALUES(50331666,'strs/0','string','[]',1,NULL,NULL,4,NULL,NULL,9,'strings:vlen',NULL,X'4200010609010000000100000061');
INSERT INTO layout_tensors VALUES(50331667,'strs/1','string','[]',1,NULL,NULL,4,NULL,NULL,8,'strings:vlen',NULL,X'42000106080100000000000000');
INSERT INTO layout_tensors VALUES(50331668,'tuple/0','float32','[2]',2,8,NULL,3,NULL,NULL,17,'zstd:8',NULL,X'04280102000003010000110528b52ffd20084100001fd8f6bc384d2c3f');
INSERT INTO layout_tensors VALUES(50331669,'tuple/1/0','int8','[1]',1,1,7,3,NULL,NULL,10,'zstd:1',NULL,X'042801010000030100000a0528b52ffd200109000084');
INSERT INTO layout_tensors VALUES(67108864,'blk.0.attn_q.weight','float32','[4,8]',32,128,12,1,0,0,128,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(67108865,'blk.0.attn_norm.weight','float32','[8]',8,32,15,1,0,128,32,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(67108866,'blk.0.ffn_up.weight','q8_0','[4,32]',128,136,12,1,0,160,136,NULL,NULL,NULL);
INSERT INTO layout_tensors VALUES(67108867,'output.weight','float16','[5,8]',40,80,6,1,1,0,80,NULL,NULL,NULL);
CREATE TABLE layout_nodes (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  kind    TEXT NOT NULL,        -- 'null', 'dict', 'list'
  before  INTEGER NOT NULL
) STRICT;
INSERT INTO layout_nodes VALUES(33554432,'deep/x/y','dict',0);
INSERT INTO layout_nodes VALUES(33554433,'deep/z','null',0);
INSERT INTO layout_nodes VALUES(33554434,'el','list',0);
INSERT INTO layout_nodes VALUES(33554435,'empty','dict',0);
INSERT INTO layout_nodes VALUES(33554436,'et','list',0);
INSERT INTO layout_nodes VALUES(33554437,'none','null',4);
INSERT INTO layout_nodes VALUES(33554438,'opt_state/0','null',6);
INSERT INTO layout_nodes VALUES(33554439,'opt_state/1/1','null',11);
INSERT INTO layout_nodes VALUES(33554440,'opt_state/1/2','null',11);
INSERT INTO layout_nodes VALUES(33554441,'tuple/1/1','list',22);
INSERT INTO layout_nodes VALUES(50331648,'deep/x/y','dict',0);
INSERT INTO layout_nodes VALUES(50331649,'deep/z','null',0);
INSERT INTO layout_nodes VALUES(50331650,'el','list',0);
INSERT INTO layout_nodes VALUES(50331651,'empty','dict',0);
INSERT INTO layout_nodes VALUES(50331652,'et','list',0);
INSERT INTO layout_nodes VALUES(50331653,'none','null',4);
INSERT INTO layout_nodes VALUES(50331654,'opt_state/0','dict',6);
INSERT INTO layout_nodes VALUES(50331655,'opt_state/1/1','dict',11);
INSERT INTO layout_nodes VALUES(50331656,'opt_state/1/2','dict',11);
INSERT INTO layout_nodes VALUES(50331657,'tuple/1/1','list',22);
CREATE TABLE layout_modules (
  id          INTEGER PRIMARY KEY,
  tensor      INTEGER NOT NULL,   -- the position of that tensor in the layout
  length      INTEGER NOT NULL,
  depth       INTEGER NOT NULL,
  tensors     INTEGER NOT NULL,
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_modules VALUES(16777216,0,4,1,2,42,168);
INSERT INTO layout_modules VALUES(33554432,6,9,1,8,26,104);
INSERT INTO layout_modules VALUES(33554433,6,11,2,5,17,68);
INSERT INTO layout_modules VALUES(33554434,6,13,3,5,17,68);
INSERT INTO layout_modules VALUES(33554435,7,16,4,2,8,32);
INSERT INTO layout_modules VALUES(33554436,7,24,5,2,8,32);
INSERT INTO layout_modules VALUES(33554437,9,16,4,2,8,32);
INSERT INTO layout_modules VALUES(33554438,9,24,5,2,8,32);
INSERT INTO layout_modules VALUES(33554439,11,11,2,3,9,36);
INSERT INTO layout_modules VALUES(33554440,12,15,3,2,8,32);
INSERT INTO layout_modules VALUES(33554441,12,23,4,2,8,32);
INSERT INTO layout_modules VALUES(33554442,14,6,1,2,8,32);
INSERT INTO layout_modules VALUES(33554443,14,14,2,2,8,32);
INSERT INTO layout_modules VALUES(33554444,18,4,1,2,0,0);
INSERT INTO layout_modules VALUES(33554445,20,5,1,2,3,9);
INSERT INTO layout_modules VALUES(50331648,6,9,1,8,26,104);
INSERT INTO layout_modules VALUES(50331649,6,11,2,5,17,68);
INSERT INTO layout_modules VALUES(50331650,6,13,3,5,17,68);
INSERT INTO layout_modules VALUES(50331651,7,16,4,2,8,32);
INSERT INTO layout_modules VALUES(50331652,7,24,5,2,8,32);
INSERT INTO layout_modules VALUES(50331653,9,16,4,2,8,32);
INSERT INTO layout_modules VALUES(50331654,9,24,5,2,8,32);
INSERT INTO layout_modules VALUES(50331655,11,11,2,3,9,36);
INSERT INTO layout_modules VALUES(50331656,12,15,3,2,8,32);
INSERT INTO layout_modules VALUES(50331657,12,23,4,2,8,32);
INSERT INTO layout_modules VALUES(50331658,14,6,1,2,8,32);
INSERT INTO layout_modules VALUES(50331659,14,14,2,2,8,32);
INSERT INTO layout_modules VALUES(50331660,18,4,1,2,0,0);
INSERT INTO layout_modules VALUES(50331661,20,5,1,2,3,9);
INSERT INTO layout_modules VALUES(67108864,0,3,1,3,168,296);
INSERT INTO layout_modules VALUES(67108865,0,5,2,3,168,296);
CREATE TABLE labels (
  id     INTEGER PRIMARY KEY,   -- checkpoints.id
  name   TEXT NOT NULL,
  state  TEXT                   -- 'complete', 'incomplete', 'damaged'; NULL: an older
                                -- program indexed it, the next import will tell
) STRICT;
INSERT INTO labels VALUES(1,'again.safetensors','complete');
INSERT INTO labels VALUES(2,'plain','complete');
INSERT INTO labels VALUES(3,'rich','complete');
INSERT INTO labels VALUES(4,'tiny-00001-of-00003.gguf','incomplete');
INSERT INTO labels VALUES(5,'tied.safetensors','complete');
CREATE TABLE content_hashes (
  id    INTEGER PRIMARY KEY,
  hash  TEXT NOT NULL UNIQUE      -- 32 hex digits
) STRICT;
INSERT INTO content_hashes VALUES(1,'5cfbd59496772872d3c7d17997200d48');
INSERT INTO content_hashes VALUES(2,'bc1ff6db4de801ec78a70272c53bef4d');
INSERT INTO content_hashes VALUES(3,'4d176acd8dfc9f8d2e646068fa6f13b2');
INSERT INTO content_hashes VALUES(4,'0af19ab8ce70a694707b7151ca663bcc');
INSERT INTO content_hashes VALUES(5,'a09cb35cbb4b31c0a88b3b65fb4c532b');
INSERT INTO content_hashes VALUES(6,'a17dc12a22410caa2fb8880f1c7827ca');
INSERT INTO content_hashes VALUES(7,'dc6b20d207425aa58b3249d34c2ef0b0');
INSERT INTO content_hashes VALUES(8,'f19ad3882992c6f0dfbaa42dc094b413');
INSERT INTO content_hashes VALUES(9,'286af50b5ec5f7fa6af1ccf808de56e0');
INSERT INTO content_hashes VALUES(10,'9ddd505a4a81f57c2e1a542c347b8015');
INSERT INTO content_hashes VALUES(11,'4c9896c9680d9467df6ec6325825e89b');
INSERT INTO content_hashes VALUES(12,'2dfeafa7fbb51e47d6defaab58c4de99');
INSERT INTO content_hashes VALUES(13,'e58de236bb9e6283740006566c2f8638');
INSERT INTO content_hashes VALUES(14,'299d64e82a7761202dfdba3555a9ac0e');
INSERT INTO content_hashes VALUES(15,'718088233241ab11a0718a316196fbf5');
INSERT INTO content_hashes VALUES(16,'077dfa7aed8b0017f17a170eab8bd3e4');
INSERT INTO content_hashes VALUES(17,'dcaefd872285976b441cf2bbf2571e32');
INSERT INTO content_hashes VALUES(18,'6702224d62c18db8a6ff787ba6d1b1bf');
INSERT INTO content_hashes VALUES(19,'8c351d2b70cfa4587b06e7af258896d2');
INSERT INTO content_hashes VALUES(20,'6ab2872e56dc28f763f95852cd32d9e5');
INSERT INTO content_hashes VALUES(21,'e8cf16bb885f0b7177d5da731dcd5f68');
INSERT INTO content_hashes VALUES(22,'d1c463707807ca4f81d8bd33b2f9cadd');
INSERT INTO content_hashes VALUES(23,'91f3649142bf01fa4c7fea1819130163');
INSERT INTO content_hashes VALUES(24,'6ab5b5c7b34924705432bd0311dd66f1');
INSERT INTO content_hashes VALUES(25,'57ec7a3797ce1ced094c11b63d57de39');
CREATE TABLE tensor_hashes (
  id    INTEGER PRIMARY KEY,      -- tensor.id
  hash  INTEGER NOT NULL          -- content_hashes.id
) STRICT;
INSERT INTO tensor_hashes VALUES(16777216,1);
INSERT INTO tensor_hashes VALUES(16777217,2);
INSERT INTO tensor_hashes VALUES(16777218,3);
INSERT INTO tensor_hashes VALUES(33554432,4);
INSERT INTO tensor_hashes VALUES(33554433,5);
INSERT INTO tensor_hashes VALUES(33554434,6);
INSERT INTO tensor_hashes VALUES(33554435,7);
INSERT INTO tensor_hashes VALUES(33554436,8);
INSERT INTO tensor_hashes VALUES(33554437,9);
INSERT INTO tensor_hashes VALUES(33554438,10);
INSERT INTO tensor_hashes VALUES(33554439,11);
INSERT INTO tensor_hashes VALUES(33554440,12);
INSERT INTO tensor_hashes VALUES(33554441,13);
INSERT INTO tensor_hashes VALUES(33554442,14);
INSERT INTO tensor_hashes VALUES(33554443,10);
INSERT INTO tensor_hashes VALUES(33554444,15);
INSERT INTO tensor_hashes VALUES(33554445,16);
INSERT INTO tensor_hashes VALUES(33554446,17);
INSERT INTO tensor_hashes VALUES(33554447,18);
INSERT INTO tensor_hashes VALUES(33554448,19);
INSERT INTO tensor_hashes VALUES(33554452,20);
INSERT INTO tensor_hashes VALUES(33554453,21);
INSERT INTO tensor_hashes VALUES(50331648,4);
INSERT INTO tensor_hashes VALUES(50331649,5);
INSERT INTO tensor_hashes VALUES(50331650,6);
INSERT INTO tensor_hashes VALUES(50331651,7);
INSERT INTO tensor_hashes VALUES(50331652,8);
INSERT INTO tensor_hashes VALUES(50331653,9);
INSERT INTO tensor_hashes VALUES(50331654,10);
INSERT INTO tensor_hashes VALUES(50331655,11);
INSERT INTO tensor_hashes VALUES(50331656,12);
INSERT INTO tensor_hashes VALUES(50331657,13);
INSERT INTO tensor_hashes VALUES(50331658,14);
INSERT INTO tensor_hashes VALUES(50331659,10);
INSERT INTO tensor_hashes VALUES(50331660,15);
INSERT INTO tensor_hashes VALUES(50331661,16);
INSERT INTO tensor_hashes VALUES(50331662,17);
INSERT INTO tensor_hashes VALUES(50331663,18);
INSERT INTO tensor_hashes VALUES(50331664,19);
INSERT INTO tensor_hashes VALUES(50331668,20);
INSERT INTO tensor_hashes VALUES(50331669,21);
INSERT INTO tensor_hashes VALUES(67108864,22);
INSERT INTO tensor_hashes VALUES(67108865,23);
INSERT INTO tensor_hashes VALUES(67108866,24);
INSERT INTO tensor_hashes VALUES(67108867,25);
INSERT INTO tensor_hashes VALUES(83886080,1);
INSERT INTO tensor_hashes VALUES(83886081,2);
INSERT INTO tensor_hashes VALUES(83886082,3);
CREATE TABLE checkpoint_hashes (
  id    INTEGER PRIMARY KEY,      -- checkpoints.id
  hash  TEXT NOT NULL
) STRICT;
INSERT INTO checkpoint_hashes VALUES(1,'d76f088cf381f6c89a5613c3c233c728');
INSERT INTO checkpoint_hashes VALUES(2,'66fed5c64eccdf4c0f2c6536e7eb00fc');
INSERT INTO checkpoint_hashes VALUES(3,'66fed5c64eccdf4c0f2c6536e7eb00fc');
INSERT INTO checkpoint_hashes VALUES(4,'633ebf40afc0fbdc65001a072efb90ab');
INSERT INTO checkpoint_hashes VALUES(5,'d76f088cf381f6c89a5613c3c233c728');
CREATE TABLE verifications (
  id     INTEGER PRIMARY KEY,     -- checkpoints.id
  at     INTEGER NOT NULL,        -- seconds since 1970
  quick  INTEGER NOT NULL,        -- 1: headers and indexes only
  open   INTEGER NOT NULL         -- 1: its run was interrupted, and will continue after these
) STRICT;
INSERT INTO verifications VALUES(1,1795446870,0,0);
INSERT INTO verifications VALUES(2,1795446870,0,0);
INSERT INTO verifications VALUES(3,1795446870,0,0);
INSERT INTO verifications VALUES(4,1795446870,0,0);
INSERT INTO verifications VALUES(5,1795446870,0,0);
CREATE TABLE damages (
  checkpoint  INTEGER NOT NULL,   -- checkpoints.id
  name        TEXT,               -- of a tensor; NULL: all tensors, or none
  file        TEXT,
  offset      INTEGER,
  code        TEXT NOT NULL,
  message     TEXT NOT NULL
) STRICT;
INSERT INTO damages VALUES(4,NULL,'WORK/models/split/tiny-00001-of-00003.gguf',NULL,'missing-shard','1 of 3 split files are missing: tiny-00002-of-00003.gguf');
CREATE TABLE long_texts (
  id      INTEGER PRIMARY KEY,
  digest  BLOB NOT NULL UNIQUE,
  text    TEXT NOT NULL
) STRICT;
INSERT INTO long_texts VALUES(1,X'000102030405060708090a0b0c0d0e0f','a long text');
CREATE TABLE long_facts (
  id    INTEGER PRIMARY KEY,      -- meta_facts.id, whose own value is NULL
  text  INTEGER NOT NULL REFERENCES long_texts(id)
) STRICT;
INSERT INTO long_facts VALUES(67108869,1);
CREATE TABLE statistics (
  id          INTEGER PRIMARY KEY,
  hash        INTEGER,            -- content_hashes.id; NULL: not known
  dtype       TEXT NOT NULL,
  elements    INTEGER NOT NULL,
  finite      INTEGER NOT NULL,   -- the rest are NaN and infinities
  zeros       INTEGER NOT NULL,
  nans        INTEGER NOT NULL,
  infs        INTEGER NOT NULL,
  subnormals  INTEGER NOT NULL,
  min         REAL,               -- this and all below: of finite values; NULL: there is none
  max         REAL,
  mean        REAL,
  std         REAL,               -- divided by n, not n - 1
  l2          REAL,
  histogram   TEXT                -- JSON: {"edges":[…],"counts":[…]}
) STRICT;
INSERT INTO statistics VALUES(1,1,'float32',6,6,0,0,0,0,-0.40049454569816589355,0.3828067481517791748,-0.088287029415369033813,0.27543433426189628532,0.70848573190975805413,'{"edges":[-0.4004945456981659,-0.25,0.0,0.25,0.3828067481517792],"counts":[2,2,1,1]}');
INSERT INTO statistics VALUES(2,2,'float32',36,36,0,0,0,0,-0.36848261952400207519,0.40371263027191162109,-0.041001749121480524085,0.23866541813843869523,1.4529706496911072299,'{"edges":[-0.3684826195240021,-0.34375,-0.3125,-0.28125,-0.25,-0.21875,-0.1875,-0.15625,-0.125,-0.09375,-0.0625,-0.03125,0.0,0.03125,0.0625,0.09375,0.125,0.15625,0.1875,0.21875,0.25,0.28125,0.3125,0.34375,0.375,0.4037126302719116],"counts":[4,1,2,4,0,1,2,4,1,0,0,0,1,2,2,1,1,3,1,2,0,0,1,2,1]}');
INSERT INTO statistics VALUES(3,3,'float32',66,66,0,0,0,0,-1.8875719308853149414,2.4363970756530761718,0.12368392481496839896,0.91338914620286737466,7.4881313699402527461,'{"edges":[-1.887571930885315,-1.75,-1.5,-1.25,-1.0,-0.75,-0.5,-0.25,0.0,0.25,0.5,0.75,1.0,1.25,1.5,1.75,2.0,2.25,2.436397075653076],"counts":[1,3,0,3,5,2,9,6,8,8,8,4,3,1,1,1,1,2]}');
CREATE TABLE tensor_statistics (
  id          INTEGER PRIMARY KEY,  -- tensor.id
  statistics  INTEGER NOT NULL      -- statistics.id
) STRICT;
INSERT INTO tensor_statistics VALUES(83886080,1);
INSERT INTO tensor_statistics VALUES(83886081,2);
INSERT INTO tensor_statistics VALUES(83886082,3);
CREATE TABLE layout_blocks (
  id      INTEGER PRIMARY KEY,   -- layouts.id
  blocks  BLOB NOT NULL          -- 20 bytes each: 16 of a SHA-256, and how many tensors (little-endian)
) STRICT;
INSERT INTO layout_blocks VALUES(1,X'000102030405060708090a0b0c0d0e0f03000000');
CREATE TABLE layout_folds (
  id          INTEGER PRIMARY KEY,
  module      TEXT NOT NULL,
  depth       INTEGER NOT NULL,   -- components
  tensors     INTEGER NOT NULL,   -- of all modules that are folded into it
  parameters  INTEGER NOT NULL,
  nbytes      INTEGER NOT NULL
) STRICT;
INSERT INTO layout_folds VALUES(16777216,'body',1,2,42,168);
INSERT INTO layout_folds VALUES(16777217,'emb',1,1,66,264);
INSERT INTO layout_folds VALUES(33554432,'opt_state',1,8,26,104);
INSERT INTO layout_folds VALUES(33554433,'opt_state/1',2,5,17,68);
INSERT INTO layout_folds VALUES(33554434,'opt_state/1/0',3,5,17,68);
INSERT INTO layout_folds VALUES(33554435,'opt_state/1/0/mu',4,2,8,32);
INSERT INTO layout_folds VALUES(33554436,'opt_state/1/0/mu/Dense_0',5,2,8,32);
INSERT INTO layout_folds VALUES(33554437,'opt_state/1/0/nu',4,2,8,32);
INSERT INTO layout_folds VALUES(33554438,'opt_state/1/0/nu/Dense_0',5,2,8,32);
INSERT INTO layout_folds VALUES(33554439,'opt_state/2',2,3,9,36);
INSERT INTO layout_folds VALUES(33554440,'opt_state/2/ema',3,2,8,32);
INSERT INTO layout_folds VALUES(33554441,'opt_state/2/ema/Dense_0',4,2,8,32);
INSERT INTO layout_folds VALUES(33554442,'params',1,2,8,32);
INSERT INTO layout_folds VALUES(33554443,'params/Dense_0',2,2,8,32);
INSERT INTO layout_folds VALUES(33554444,'strs',1,2,0,0);
INSERT INTO layout_folds VALUES(33554445,'tuple',1,2,3,9);
INSERT INTO layout_folds VALUES(33554446,'tuple/1',2,1,1,1);
INSERT INTO layout_folds VALUES(50331648,'opt_state',1,8,26,104);
INSERT INTO layout_folds VALUES(50331649,'opt_state/1',2,5,17,68);
INSERT INTO layout_folds VALUES(50331650,'opt_state/1/0',3,5,17,68);
INSERT INTO layout_folds VALUES(50331651,'opt_state/1/0/mu',4,2,8,32);
INSERT INTO layout_folds VALUES(50331652,'opt_state/1/0/mu/Dense_0',5,2,8,32);
INSERT INTO layout_folds VALUES(50331653,'opt_state/1/0/nu',4,2,8,32);
INSERT INTO layout_folds VALUES(50331654,'opt_state/1/0/nu/Dense_0',5,2,8,32);
INSERT INTO layout_folds VALUES(50331655,'opt_state/2',2,3,9,36);
INSERT INTO layout_folds VALUES(50331656,'opt_state/2/ema',3,2,8,32);
INSERT INTO layout_folds VALUES(50331657,'opt_state/2/ema/Dense_0',4,2,8,32);
INSERT INTO layout_folds VALUES(50331658,'params',1,2,8,32);
INSERT INTO layout_folds VALUES(50331659,'params/Dense_0',2,2,8,32);
INSERT INTO layout_folds VALUES(50331660,'strs',1,2,0,0);
INSERT INTO layout_folds VALUES(50331661,'tuple',1,2,3,9);
INSERT INTO layout_folds VALUES(50331662,'tuple/1',2,1,1,1);
INSERT INTO layout_folds VALUES(67108864,'blk',1,3,168,296);
INSERT INTO layout_folds VALUES(67108865,'blk.0',2,3,168,296);
INSERT INTO layout_folds VALUES(67108866,'blk.0.attn_q',3,1,32,128);
INSERT INTO layout_folds VALUES(67108867,'blk.0.attn_norm',3,1,8,32);
INSERT INTO layout_folds VALUES(67108868,'blk.0.ffn_up',3,1,128,136);
INSERT INTO layout_folds VALUES(67108869,'output',1,1,40,80);
CREATE TABLE looked (looker TEXT NOT NULL) STRICT;
INSERT INTO looked VALUES('0.1.0 5b0bf047043414ec');
CREATE TABLE unread (
  path  TEXT PRIMARY KEY REFERENCES passed(path) ON DELETE CASCADE,
  kind  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO unread VALUES('WORK/models/notes.pt','tflite');
CREATE TABLE outdated (
  id  INTEGER PRIMARY KEY   -- checkpoints.id
) STRICT;
INSERT INTO outdated VALUES(4);
CREATE INDEX issues_by_path ON issues(path);
CREATE UNIQUE INDEX labels_by_name ON labels(name);
CREATE INDEX tensor_hashes_by_hash ON tensor_hashes(hash);
CREATE INDEX checkpoint_hashes_by_hash ON checkpoint_hashes(hash);
CREATE INDEX damages_by_checkpoint ON damages(checkpoint);
CREATE UNIQUE INDEX statistics_by_content ON statistics(hash, dtype);
CREATE INDEX tensor_statistics_by_row ON tensor_statistics(statistics);
CREATE INDEX layout_tensors_by_name ON layout_tensors(name);
CREATE INDEX layout_tensors_by_size ON layout_tensors(nbytes);
CREATE INDEX checkpoints_by_layout ON checkpoints(layout);
CREATE INDEX checkpoints_by_run ON checkpoints(run, step);
CREATE INDEX issues_by_checkpoint ON issues(checkpoint);
CREATE VIEW checkpoint_tensors AS
SELECT c.id AS checkpoint_id, c.path, c.placed, (c.id << 24) AS first_id,
       (c.id << 24) + (t.id & 16777215) AS tensor_id, (t.id & 16777215) AS ord, t.name,
       t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage, t.file, t.start, t.stored
FROM checkpoints c
JOIN layout_tensors t
  ON t.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (t.id >> 24);
CREATE VIEW tensor AS
SELECT t.tensor_id AS id, t.checkpoint_id, t.path AS checkpoint, t.ord, t.name, t.dtype, t.shape,
       iif(t.shape = '[]', 0, length(t.shape) - length(replace(t.shape, ',', '')) + 1)
         AS rank,
       t.elements,
       t.nbytes,
       iif(t.placed, (SELECT p.stored FROM placements p WHERE p.id = t.tensor_id), t.stored)
         AS stored,
       CASE iif(t.placed, (SELECT p.storage FROM placements p WHERE p.id = t.tensor_id),
                t.storage)
         WHEN 1 THEN 'range' WHEN 2 THEN 'pieces' WHEN 3 THEN 'chunks'
         WHEN 4 THEN 'inline' ELSE 'none' END AS storage,
       (SELECT f.path FROM files f
        WHERE f.id = t.first_id + iif(t.placed,
            (SELECT p.file FROM placements p WHERE p.id = t.tensor_id), t.file)) AS file,
       iif(t.placed,
           (SELECT p.start + f.base FROM placements p
            JOIN files f ON f.id = t.first_id + p.file
            WHERE p.id = t.tensor_id AND p.storage = 1),
           iif(t.storage = 1,
               t.start + (SELECT f.base FROM files f WHERE f.id = t.first_id + t.file),
               NULL)) AS offset,
       (SELECT h.hash FROM tensor_hashes x JOIN content_hashes h ON h.id = x.hash
        WHERE x.id = t.tensor_id) AS hash
FROM checkpoint_tensors t;
CREATE VIEW metadata AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, m.key,
       coalesce(m.value, (SELECT t.text FROM long_facts f JOIN long_texts t ON t.id = f.text
                          WHERE f.id = m.id)) AS value
FROM checkpoints c
JOIN meta_facts m ON m.id BETWEEN (c.meta << 24) AND ((c.meta << 24) + 16777215)
LEFT JOIN labels l ON l.id = c.id;
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape, strides
FROM "tensor_extents (of ckptdb.so: load this extension first)";
CREATE VIEW checkpoint AS
SELECT c.id, n.name, c.path, c.format, c.run, c.step, c.item, n.state, c.layout,
       l.tensors, l.parameters, l.nbytes, c.stored, c.files,
       strftime('%Y-%m-%d %H:%M:%S', c.mtime_ns / 1000000000, 'unixepoch') AS mtime,
       strftime('%Y-%m-%d %H:%M:%S', c.imported, 'unixepoch') AS imported,
       (SELECT h.hash FROM checkpoint_hashes h WHERE h.id = c.id) AS hash
FROM checkpoints c
JOIN layouts l ON l.id = c.layout
JOIN labels n ON n.id = c.id;
CREATE VIEW file AS
SELECT f.id, c.id AS checkpoint_id, f.path, f.size, f.mtime_ns, f.inode, f.device, f.role
FROM checkpoints c
JOIN files f
  ON f.id BETWEEN (c.id << 24) AND ((c.id << 24) + 16777215)
 AND c.id = (f.id >> 24);
CREATE VIEW node AS
SELECT c.id AS checkpoint_id, x.name, x.kind
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (x.id >> 24);
CREATE VIEW issue AS
SELECT i.id, i.checkpoint AS checkpoint_id, l.name AS checkpoint, i.path, i.offset,
       i.severity, i.code, i.message
FROM issues i
LEFT JOIN labels l ON l.id = i.checkpoint;
CREATE VIEW by_dtype AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, d.dtype, d.tensors, d.parameters,
       d.nbytes
FROM checkpoints c
JOIN layout_dtypes d
  ON d.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (d.id >> 24)
LEFT JOIN labels l ON l.id = c.id;
CREATE VIEW by_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint,
       substr(n.name, 1, m.length) AS module, m.depth, m.tensors, m.parameters, m.nbytes
FROM checkpoints c
JOIN layout_modules m
  ON m.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (m.id >> 24)
JOIN layout_tensors n ON n.id = (c.layout << 24) + m.tensor
LEFT JOIN labels l ON l.id = c.id
UNION ALL
SELECT t.checkpoint_id,
       l.name,
       substr(t.name, 1, t.module),
       CAST(t.module + 1 - length(replace(substr(t.name, 1, t.module),
                                          substr(t.name, t.module + 1, 1), '')) AS INTEGER),
       CAST(1 AS INTEGER),
       CAST(iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0))
            AS INTEGER),
       CAST(coalesce(t.nbytes, 0) AS INTEGER)
FROM checkpoint_tensors t
LEFT JOIN labels l ON l.id = t.checkpoint_id
WHERE t.module;
CREATE VIEW by_name AS
SELECT t.name, t.dtype, t.shape, t.elements, t.nbytes, l.checkpoints
FROM (SELECT layout, count(*) AS checkpoints FROM checkpoints GROUP BY layout) l
JOIN layout_tensors t
  ON t.id BETWEEN (l.layout << 24) AND ((l.layout << 24) + 16777215);
CREATE VIEW largest AS
SELECT t.checkpoint_id, l.name AS checkpoint, t.name, t.dtype, t.shape, t.nbytes
FROM checkpoint_tensors t
LEFT JOIN labels l ON l.id = t.checkpoint_id
ORDER BY t.nbytes DESC;
CREATE VIEW disk AS
SELECT run, folder, count(*) AS files, sum(size) AS bytes
FROM (SELECT c.run AS run,
             rtrim(rtrim(f.path, replace(f.path, '/', '')), '/') AS folder,
             f.size AS size,
             min(f.path)
      FROM files f
      JOIN checkpoints c ON c.id = (f.id >> 24)
      WHERE f.size IS NOT NULL AND f.role NOT IN ('directory', 'chunks')
      GROUP BY f.device, f.inode)
GROUP BY run, folder;
CREATE VIEW leaf AS
SELECT checkpoint_id, (2 * ord + 1 << 24) AS place, name, +tensor_id AS tensor_id, dtype,
       shape
FROM checkpoint_tensors
UNION ALL
SELECT c.id, (2 * x.before << 24) + (x.id & 16777215), x.name, NULL, CAST(NULL AS TEXT),
       CAST(NULL AS TEXT)
FROM checkpoints c
JOIN layout_nodes x
  ON x.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (x.id >> 24)
WHERE +x.kind = 'null';
CREATE VIEW content AS
SELECT h.hash, x.id AS tensor_id, (x.id >> 24) AS checkpoint_id
FROM content_hashes h JOIN tensor_hashes x ON x.hash = h.id;
CREATE VIEW place AS
WITH numbered AS (
  SELECT id, base, iif(inode IS NULL, NULL, dense_rank() OVER (ORDER BY device, inode)) AS number
  FROM files
), store AS MATERIALIZED (
  SELECT id, base, number, iif(number >> 22, NULL, (number << 40) + base) AS place FROM numbered
)
SELECT x.hash AS content, t.dtype, t.shape, t.nbytes, x.id AS tensor_id, c.id AS checkpoint_id,
       CASE WHEN c.placed AND p.id IS NULL THEN 'tensor ' || x.id
            WHEN NOT c.placed AND t.storage <> 1 THEN -(f.number << 24) - (t.id & 16777215)
            WHEN f.place IS NULL OR coalesce(p.start, t.start) + f.base >> 40
            THEN f.number || ':' || (coalesce(p.start, t.start) + f.base)
            ELSE f.place + coalesce(p.start, t.start) END AS place
FROM tensor_hashes x
JOIN checkpoints c ON c.id = (x.id >> 24)
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
LEFT JOIN placements p ON p.id = iif(c.placed, x.id, NULL) AND p.storage = 1
LEFT JOIN store f ON f.id = (c.id << 24) + coalesce(p.file, t.file, 0);
CREATE VIEW linked AS
SELECT DISTINCT (f.id >> 24) AS checkpoint_id
FROM files f LEFT JOIN (SELECT device, inode FROM files GROUP BY device, inode HAVING count(*) > 1) l
  ON l.device = f.device AND l.inode = f.inode
WHERE l.inode IS NOT NULL OR f.inode IS NULL;
CREATE VIEW repeated AS
WITH same_bytes AS MATERIALIZED (
  SELECT x.hash, count(*) AS tensors, min(x.id) AS original,
         max(iif((SELECT count(*) FROM linked), c.id IN (SELECT checkpoint_id FROM linked), 0)) AS linked,
         min((c.layout << 24) + (x.id & 16777215)) AS first, max((c.layout << 24) + (x.id & 16777215)) AS last
  FROM tensor_hashes x CROSS JOIN checkpoints c ON c.id = (x.id >> 24)
  WHERE x.hash IN (SELECT hash FROM tensor_hashes GROUP BY hash HAVING count(*) > 1)
  GROUP BY x.hash
), several AS (
  SELECT DISTINCT x.hash, (c.layout << 24) + (x.id & 16777215) AS layout_tensor
  FROM same_bytes s CROSS JOIN tensor_hashes x ON x.hash = s.hash CROSS JOIN checkpoints c ON c.id = (x.id >> 24)
  WHERE s.first <> s.last
), kin AS (
  SELECT s.hash FROM several s CROSS JOIN layout_tensors t ON t.id = s.layout_tensor
  GROUP BY s.hash
  HAVING count(*) = count(DISTINCT (s.layout_tensor >> 24))
     AND count(*) = count(t.dtype) AND min(t.dtype) = max(t.dtype)
     AND count(*) = count(t.shape) AND min(t.shape) = max(t.shape)
)
SELECT hash AS content, tensors, original, first AS layout_tensor,
       first = last OR hash IN (SELECT hash FROM kin) AS alike, linked
FROM same_bytes;
CREATE VIEW duplicate AS
WITH r AS MATERIALIZED (SELECT content, tensors, layout_tensor, alike, linked FROM repeated),
links AS MATERIALIZED (
  SELECT content, count(*) - count(DISTINCT place) AS tensors
  FROM place
  WHERE content IN (SELECT content FROM r WHERE alike AND linked) AND checkpoint_id IN (SELECT checkpoint_id FROM linked)
  GROUP BY content
), counted AS (
  SELECT r.content, t.dtype, t.shape, t.nbytes, r.tensors - coalesce(k.tensors, 0) AS copies,
         (SELECT group_concat(x.id) FROM tensor_hashes x WHERE x.hash = r.content) AS tensors
  FROM r JOIN layout_tensors t ON t.id = r.layout_tensor LEFT JOIN links k ON k.content = r.content
  WHERE r.alike
  UNION ALL
  SELECT content, dtype, shape, nbytes, count(DISTINCT place), group_concat(tensor_id)
  FROM place
  WHERE content IN (SELECT content FROM r WHERE NOT alike)
  GROUP BY content, dtype, shape
)
SELECT (SELECT h.hash FROM content_hashes h WHERE h.id = d.content) AS hash, d.dtype, d.shape, d.nbytes,
       d.copies, (d.copies - 1) * d.nbytes AS wasted, '[' || d.tensors || ']' AS tensor_ids
FROM counted d
WHERE d.copies > 1;
CREATE VIEW waste AS
WITH r AS MATERIALIZED (SELECT content, original, layout_tensor, alike, linked FROM repeated),
links AS (
  SELECT tensor_id, row_number() OVER (PARTITION BY content, place ORDER BY tensor_id) AS turn
  FROM place
  WHERE content IN (SELECT content FROM r WHERE alike AND linked) AND checkpoint_id IN (SELECT checkpoint_id FROM linked)
), stored AS (
  SELECT content, dtype, shape, nbytes, min(tensor_id) AS first
  FROM place
  WHERE content IN (SELECT content FROM r WHERE NOT alike)
  GROUP BY content, dtype, shape, place
), numbered AS (
  SELECT first, nbytes, row_number() OVER (PARTITION BY content, dtype, shape ORDER BY first) AS turn
  FROM stored
), wasted AS (
  SELECT (x.id >> 24) AS checkpoint_id, t.nbytes
  FROM r JOIN layout_tensors t ON t.id = r.layout_tensor
  CROSS JOIN tensor_hashes x ON x.hash = r.content AND x.id > r.original
  WHERE r.alike AND (NOT r.linked OR x.id NOT IN (SELECT tensor_id FROM links WHERE turn > 1))
  UNION ALL
  SELECT (first >> 24), nbytes FROM numbered WHERE turn > 1
), summed AS (
  SELECT checkpoint_id, count(*) AS tensors, sum(nbytes) AS nbytes FROM wasted GROUP BY checkpoint_id
)
SELECT s.checkpoint_id, l.name AS checkpoint, c.run, s.tensors, s.nbytes
FROM summed s
JOIN checkpoints c ON c.id = s.checkpoint_id
JOIN labels l ON l.id = s.checkpoint_id;
CREATE VIEW damage AS
SELECT d.checkpoint AS checkpoint_id, l.name AS checkpoint, d.name, d.file, d.offset, d.code,
       d.message
FROM damages d
LEFT JOIN labels l ON l.id = d.checkpoint;
CREATE VIEW verification AS
SELECT v.id AS checkpoint_id, l.name AS checkpoint,
       strftime('%Y-%m-%d %H:%M:%S', v.at, 'unixepoch') AS verified, v.quick,
       (SELECT count(*) FROM damages d WHERE d.checkpoint = v.id) AS findings
FROM verifications v
LEFT JOIN labels l ON l.id = v.id;
CREATE VIEW stats AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, x.id AS tensor_id, t.name, t.dtype, t.shape,
       s.elements, s.min, s.max, s.mean, s.std, s.l2, s.zeros, s.nans, s.infs, s.subnormals,
       s.histogram
FROM checkpoints c
JOIN tensor_statistics x
  ON x.id BETWEEN (c.id << 24) AND ((c.id << 24) + 16777215)
 AND c.id = (x.id >> 24)
JOIN statistics s ON s.id = x.statistics
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
LEFT JOIN labels l ON l.id = c.id;
CREATE TRIGGER ruleset_checked BEFORE INSERT ON ruleset WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER ruleset_rechecked BEFORE UPDATE OF options ON ruleset
WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER rule_checked BEFORE INSERT ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER rule_rechecked BEFORE UPDATE OF compute, ops ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER optimizer_checked BEFORE INSERT ON optimizer WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER optimizer_rechecked BEFORE UPDATE OF spec ON optimizer
WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER ruleset_deleted AFTER DELETE ON ruleset BEGIN
  DELETE FROM rule WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_renamed AFTER UPDATE OF name ON ruleset BEGIN
  UPDATE rule SET ruleset = new.name WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_edited AFTER UPDATE OF dialect, options ON ruleset BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.name;
END;
CREATE TRIGGER rule_inserted AFTER INSERT ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.ruleset AND shipped;
END;
CREATE TRIGGER rule_updated AFTER UPDATE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name IN (old.ruleset, new.ruleset) AND shipped;
END;
CREATE TRIGGER rule_deleted AFTER DELETE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = old.ruleset AND shipped;
END;
CREATE TRIGGER content_changed AFTER UPDATE OF imported ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM outdated WHERE id = old.id)
BEGIN
  DELETE FROM tensor_hashes WHERE id BETWEEN (old.id << 24) AND ((old.id << 24) + 16777215);
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN (old.id << 24) AND ((old.id << 24) + 16777215);
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;
CREATE TRIGGER content_forgotten AFTER DELETE ON checkpoints
BEGIN
  DELETE FROM outdated WHERE id = old.id;
  DELETE FROM tensor_hashes WHERE id BETWEEN (old.id << 24) AND ((old.id << 24) + 16777215);
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN (old.id << 24) AND ((old.id << 24) + 16777215);
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;
CREATE VIEW by_folded_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, f.module, f.depth, f.tensors,
       f.parameters, f.nbytes
FROM checkpoints c
JOIN layout_folds f
  ON f.id BETWEEN (c.layout << 24) AND ((c.layout << 24) + 16777215)
 AND c.layout = (f.id >> 24)
LEFT JOIN labels l ON l.id = c.id;
CREATE TRIGGER statistics_left AFTER DELETE ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;
CREATE TRIGGER statistics_replaced AFTER UPDATE OF statistics ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics AND old.statistics <> new.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;
CREATE TRIGGER statistics_shared AFTER INSERT ON tensor_hashes
WHEN EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.id = new.id)
BEGIN
  DELETE FROM tensor_statistics WHERE id = new.id
  AND EXISTS (SELECT 1 FROM statistics s WHERE s.id = tensor_statistics.statistics AND s.hash <> new.hash);
  UPDATE tensor_statistics SET statistics = known.id
  FROM (SELECT s.id FROM tensor_statistics x
        JOIN statistics own ON own.id = x.statistics
        JOIN statistics s ON s.hash = new.hash AND s.dtype = own.dtype
        WHERE x.id = new.id AND own.hash IS NULL) AS known
  WHERE tensor_statistics.id = new.id;
  UPDATE statistics SET hash = new.hash
  WHERE hash IS NULL AND id = (SELECT x.statistics FROM tensor_statistics x WHERE x.id = new.id);
END;
CREATE VIEW translation AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
       x.tensor_id,
       x.old_name,
       x.new_name,
       x.dtype,
       x.shape,
       x.rule,
       x.status,
       x.error,
       x.note,
       x.wins,
       x.ops
FROM ruleset r
JOIN "translation_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
CREATE VIEW conversion AS
SELECT r.name AS ruleset,
       x.checkpoint_id,
       x.ord,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.part,
       x.parts,
       x.ops,
       x.recipe,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN "conversion_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
CREATE VIEW assignment AS
SELECT r.name AS ruleset,
       x.source_id,
       x.target_id,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.ops,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN "assignment_rows (of ckptdb.so: load this extension first)" x ON x.ruleset = r.name;
CREATE VIEW restore AS
SELECT r.name AS ruleset,
       c.id AS checkpoint_id,
       m.target_id,
       m.strict,
       x.ord,
       x.name,
       x.old_name,
       x.tensor_id,
       x.origin,
       x.dtype,
       x.shape,
       x.status,
       x.error,
       x.note,
       x.ops
FROM ruleset r
JOIN checkpoints c
JOIN (SELECT NULL AS target_id, 1 AS strict
      UNION ALL SELECT id, 1 FROM checkpoints
      UNION ALL SELECT id, 0 FROM checkpoints) m
JOIN "restore_rows (of ckptdb.so: load this extension first)"(r.name, c.id, ifnull(m.target_id, 0), m.strict) x;
CREATE VIEW optimizer_state AS
SELECT o.name AS optimizer,
       c.id AS checkpoint_id,
       x.name,
       x.shape,
       x.dtype,
       x.axes,
       x.error
FROM optimizer o
JOIN checkpoints c
JOIN "optimizer_state_rows (of ckptdb.so: load this extension first)"(o.spec, c.id) x;
COMMIT;
PRAGMA user_version=8; PRAGMA application_id=1667985524;
