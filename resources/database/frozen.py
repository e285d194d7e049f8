"""Statements built from the schema once and run as text from then on.

Belongs here: turning a large SQLAlchemy expression into its text, and having PostgreSQL plan it once. Does
not belong here: any statement.

SQLAlchemy walks an expression at every execution to find its compiled form; for a union of twenty seeks that
walk costs more than the seeks do. PostgreSQL plans a text anew each time, which for a claim takes longer than
the claim: it is prepared once a connection. (A PgBouncer in between must pool sessions, not transactions.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

_PREPARED = "reelwright_prepared"
_DIALECTS: Mapping[str, tuple[type[sa.engine.default.DefaultDialect], sa.engine.interfaces._ParamStyle]] = (
    MappingProxyType({"sqlite": (SQLiteDialect, "qmark"), "postgresql": (PGDialect, "numeric_dollar")})
)


@dataclass(frozen=True, slots=True)
class Frozen:
    """Text, the parameters that it takes in their order, and the values that the expression contained."""

    text: str
    parameters: tuple[str, ...]
    constants: Mapping[str, Any]
    is_prepared: bool

    def rows(self, connection: sa.Connection, **values: Any) -> Sequence[sa.Row[Any]]:
        """Run it with *values*: one for each `given`, and any others, which it does not need."""
        known = {**self.constants, **values}
        ordered = tuple(known[name] for name in self.parameters)
        text = self._prepare(connection) if self.is_prepared else self.text
        return connection.exec_driver_sql(text, ordered).all()

    def _prepare(self, connection: sa.Connection) -> str:
        """PostgreSQL keeps it for as long as the connection lives, whatever becomes of the transaction."""
        name = f"rw_{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"
        prepared: set[str] = connection.info.setdefault(_PREPARED, set())
        if name not in prepared:
            connection.exec_driver_sql(f"PREPARE {name} AS {self.text}")
            prepared.add(name)
        return f"EXECUTE {name} ({', '.join(['%s'] * len(self.parameters))})"


def given(name: str) -> sa.BindParameter[Any]:
    """A value that each run gives."""
    return sa.bindparam(name, None, required=False)


def freeze(dialect: str, statement: sa.ClauseElement) -> Frozen:
    """*statement* as text of *dialect* (postgresql or sqlite); what changes between runs must be `given`."""
    kind, style = _DIALECTS[dialect]
    compiled = statement.compile(dialect=kind(paramstyle=style), compile_kwargs={"render_postcompile": True})
    order = tuple(compiled.positiontup or ())  # type: ignore[attr-defined]
    constants = MappingProxyType(dict(compiled.params))
    return Frozen(str(compiled), order, constants, is_prepared=dialect == "postgresql")
