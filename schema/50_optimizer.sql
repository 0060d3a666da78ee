-- 50_optimizer.sql - the state that every optimizer of the table would keep for the parameters of
-- every checkpoint (catalog/maps/optimizer/).
CREATE VIEW optimizer_state AS
SELECT o.name AS optimizer,
       c.id AS checkpoint_id,
       x.name,
       x.shape,
       x.dtype,
       x.axes,
       x.error
FROM optimizer o
JOIN _checkpoints c
JOIN "optimizer_state_rows (of ckptdb.so: load this extension first)"(o.spec, c.id) x;

-- Facts about optimizers, and what checkpoints share, come from functions (schema/function/): without the
-- extension these views say what is missing.
CREATE VIEW optimizer_candidate AS
SELECT optimizer, spec
FROM "optimizer_candidate (of ckptdb.so: load this extension first)";
CREATE VIEW torch_state AS
SELECT optimizer, slots, more, rank
FROM "torch_state (of ckptdb.so: load this extension first)";
CREATE VIEW optax_function AS
SELECT name, kind, chain, arguments
FROM "optax_function (of ckptdb.so: load this extension first)";
CREATE VIEW optax_slot AS
SELECT transformation, slot, scope, shape, dtype, "when"
FROM "optax_slot (of ckptdb.so: load this extension first)";
CREATE VIEW optax_unregistered AS
SELECT transformation, state, "when"
FROM "optax_unregistered (of ckptdb.so: load this extension first)";
CREATE VIEW adafactor_argument AS
SELECT name
FROM "adafactor_argument (of ckptdb.so: load this extension first)";
CREATE VIEW adafactor_axis AS
SELECT axis, word
FROM "adafactor_axis (of ckptdb.so: load this extension first)";
CREATE VIEW shared AS
SELECT checkpoint_id, checkpoint, other_id, other, tensors, nbytes, other_tensors, contents, content_nbytes, id
FROM "shared (of ckptdb.so: load this extension first)";
