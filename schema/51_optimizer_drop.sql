-- 51_optimizer_drop.sql - what is known of optimizers is not part of the catalog: it was views, which every
-- connection had to read at its start, and is table functions (function/optax_function.sql and others). Old
-- views go, so that they do not hide these; DROP VIEW IF EXISTS would meet the function where there is none.
  CREATE VIEW IF NOT EXISTS optax_function AS SELECT 1; DROP VIEW optax_function;
  CREATE VIEW IF NOT EXISTS optax_slot AS SELECT 1; DROP VIEW optax_slot;
  CREATE VIEW IF NOT EXISTS optax_unregistered AS SELECT 1; DROP VIEW optax_unregistered;
  CREATE VIEW IF NOT EXISTS adafactor_argument AS SELECT 1; DROP VIEW adafactor_argument;
  CREATE VIEW IF NOT EXISTS adafactor_axis AS SELECT 1; DROP VIEW adafactor_axis;
  CREATE VIEW IF NOT EXISTS optimizer_candidate AS SELECT 1; DROP VIEW optimizer_candidate;
  CREATE VIEW IF NOT EXISTS torch_state AS SELECT 1; DROP VIEW torch_state;
