-- hashed.sql - hashed(checkpoint): how many of its tensors have a known content hash.
-- columns: tensors
-- parameters: :checkpoint
SELECT count(*) AS tensors FROM _tensor_hashes
WHERE id BETWEEN ID_FIRST(:checkpoint) AND ID_LAST(:checkpoint)
