-- 51_optimizer_drop.sql - the tables of known optimizers used to be views of the catalog, which
-- every connection had to parse at its start; now they are table-valued functions
-- (function/optax_function.sql and others). This drops the old views, which would hide the
-- functions. Without such a view, DROP VIEW IF EXISTS would find the function and fail; hence each
-- is created first.
  CREATE VIEW IF NOT EXISTS optax_function AS SELECT 1; DROP VIEW optax_function;
  CREATE VIEW IF NOT EXISTS optax_slot AS SELECT 1; DROP VIEW optax_slot;
  CREATE VIEW IF NOT EXISTS optax_unregistered AS SELECT 1; DROP VIEW optax_unregistered;
  CREATE VIEW IF NOT EXISTS adafactor_argument AS SELECT 1; DROP VIEW adafactor_argument;
  CREATE VIEW IF NOT EXISTS adafactor_axis AS SELECT 1; DROP VIEW adafactor_axis;
  CREATE VIEW IF NOT EXISTS optimizer_candidate AS SELECT 1; DROP VIEW optimizer_candidate;
  CREATE VIEW IF NOT EXISTS torch_state AS SELECT 1; DROP VIEW torch_state;
