"""Weights of linear models, as the view `weights` has them: fitted to the owner's own questions, else as shipped."""

from __future__ import annotations

from collections.abc import Mapping

from kb.records import NamedTuple
from kb.store.connection import Connection
from kb.store.rows import retrieve_queries as queries


class Weights(NamedTuple):
    """The weights of one model by feature, and the label of their fit."""

    version: str
    values: Mapping[str, float]

    def total(self, features: Mapping[str, float]) -> float:
        """Σ weight · feature; a feature without a weight counts nothing."""
        return sum(self.of(name) * value for name, value in features.items())

    def of(self, feature: str) -> float:
        """The weight of a feature; 0 where there is none, as where the views were made by a kb that did not know it."""
        return self.values.get(feature, 0.0)


def load_weights(db: Connection, model: str) -> Weights:
    """The weights in force of a model of the view `weights`."""
    rows = queries.select_weights(db, model=model)
    return Weights(rows[0].version if rows else "none", {row.feature: row.weight for row in rows})


def shipped_weights(db: Connection, model: str) -> Weights:
    """The weights that kb came with of a model of the view `weights`."""
    rows = queries.select_shipped_weights(db, model=model)
    return Weights(rows[0].version if rows else "none", {row.feature: row.weight for row in rows})
