-- flatten.sql - flatten(checkpoint): T5X's flatten_state_dict, the leaves of a state by name,
-- including null leaves. Empty containers have no leaf.
SELECT name, tensor_id, dtype, shape
FROM leaf WHERE checkpoint_id = known_checkpoint(:checkpoint)
ORDER BY place
