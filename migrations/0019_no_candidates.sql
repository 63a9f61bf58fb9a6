-- Evaluations keep hits alone: no other ranking is tried on what they were chosen from.

DROP TABLE eval_candidates;
