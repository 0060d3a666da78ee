-- known.sql - the tensors of the catalog that is being verified.
CREATE TEMP VIEW known_tensors AS SELECT * FROM known.layout_tensors;
