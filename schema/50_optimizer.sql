-- 50_optimizer.sql - the state that every optimizer of the table would keep for the parameters of
-- every checkpoint (catalog/optimizer/).
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
