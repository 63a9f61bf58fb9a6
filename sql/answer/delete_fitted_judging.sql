-- Judge by the weights that kb came with again, in the models named.
-- version 1
-- param models_json TEXT  their names: about, right, right_limits
DELETE FROM fitted_weights
WHERE model IN (SELECT value FROM json_each(:models_json));
