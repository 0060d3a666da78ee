-- known.sql - the tensors of the catalog that is verified.
CREATE TEMP VIEW known_tensors AS SELECT * FROM known.layout_tensors;
