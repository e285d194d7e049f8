"""What every table group stands on: the metadata, named constraints, and one type a concern.

Times are UTC integer microseconds, budget money integer micro-units of its currency, ids text.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

#: UTC microseconds since the epoch; also counters and bytes.
Micros = sa.BigInteger
Count = sa.BigInteger
#: Micro-units of the row's currency: 1 EUR is 1_000_000.
MicroMoney = sa.BigInteger

#: SQLite gives its rowid only to a column of the exact type INTEGER.
RowNumber = sa.BigInteger().with_variant(sa.Integer, "sqlite")


class JsonText(sa.types.TypeDecorator[Any]):
    """JSON kept as canonical text (sorted keys), so that it reads and compares alike on both databases."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else canonical_json(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


def canonical_json(value: Any) -> str:
    """Sorted keys, no spaces, text as it is: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text(name: str, *args: Any, null: bool = False, **kwargs: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, *args, nullable=null, **kwargs)


def micros(name: str, *, null: bool = False, **kwargs: Any) -> sa.Column[int]:
    return sa.Column(name, Micros, nullable=null, **kwargs)


def count(name: str, *args: Any, null: bool = False, default: int | None = 0) -> sa.Column[int]:
    server_default = None if default is None else sa.text(str(default))
    return sa.Column(name, Count, *args, nullable=null, server_default=server_default)


def tenant() -> sa.Column[str]:
    """Every row has its tenant: the boundary of every permission, key and byte."""
    return text("tenant")


def lease() -> tuple[sa.Column[Any], ...]:
    """Who works on the row, its fencing token, and until when (L7)."""
    return (
        text("lease_owner", null=True),
        count("lease_token"),
        count("lease_until"),
    )
