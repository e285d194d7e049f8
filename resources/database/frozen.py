"""Statements built from the schema once and run as text from then on.

Belongs here: turning a large SQLAlchemy expression into its text. Does not belong here: any statement.

SQLAlchemy walks an expression at every execution to find its compiled form; for a union of twenty seeks that
walk costs more than the seeks do. A frozen statement is found by its text, by SQLAlchemy and by the driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

_DIALECTS: Mapping[str, type[sa.engine.default.DefaultDialect]] = MappingProxyType(
    {"sqlite": SQLiteDialect, "postgresql": PGDialect}
)


@dataclass(frozen=True, slots=True)
class Frozen:
    """Text with named parameters, and the values of those that the expression itself contained."""

    text: sa.TextClause
    constants: Mapping[str, Any]

    def rows(self, connection: sa.Connection, **values: Any) -> Sequence[sa.Row[Any]]:
        return connection.execute(self.text, {**self.constants, **values}).all()


def given(name: str) -> sa.BindParameter[Any]:
    """A value that each run gives."""
    return sa.bindparam(name, None, required=False)


def freeze(dialect: str, statement: sa.ClauseElement) -> Frozen:
    """*statement* as text of *dialect*; what changes between runs must be `given`."""
    compiled = statement.compile(
        dialect=_DIALECTS[dialect](paramstyle="named"), compile_kwargs={"render_postcompile": True}
    )
    return Frozen(sa.text(str(compiled)), MappingProxyType(dict(compiled.params)))
