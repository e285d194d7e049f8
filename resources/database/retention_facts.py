"""The facts by which retention judges objects: a million of them page by page, or a few under their locks.

Belongs here: the reads, one way for plan, mark and purge alike. Does not belong here: the verdict
(`pipeline.domain.retention`), or what follows from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa

from pipeline.domain.retention import Claim, Facts, Held, Master, What
from resources.database.legal_holds import active_holds, resolve

#: Objects that are in memory at a time.
PAGE = 2_000
SERVING, BEGUN = ("live", "marked"), ("live", "marked", "purging")

_OWN = """o.id, o.tenant, o.campaign, o.retention_class, o.key, o.size_bytes, o.state, o.version,
    o.created_at, o.pinned_by, EXISTS (SELECT 1 FROM retention_exemptions e
        WHERE e.subject = o.id AND e.policy_version = :policy) AS is_exempt"""

_RENDITIONS = f"""SELECT {_OWN}, a.id AS attempt, a.state AS attempt_state, a.parked_reason, a.deselected_at,
        a.rendition, r.selected_attempt, s.wanted_rendition,
        EXISTS (SELECT 1 FROM publications p WHERE p.object = o.id AND p.until_at IS NULL) AS is_shown,
        (SELECT MAX(p.until_at) FROM publications p WHERE p.object = o.id) AS last_shown_until,
        (SELECT d.verdict FROM decisions d WHERE d.subject_kind = 'attempt' AND d.subject_id = a.id
            AND d.kind = 'acceptance' ORDER BY d.id DESC LIMIT 1) AS verdict,
        (SELECT d.at FROM decisions d WHERE d.subject_kind = 'attempt' AND d.subject_id = a.id
            AND d.kind = 'acceptance' ORDER BY d.id DESC LIMIT 1) AS verdict_at,
        (SELECT MIN(w.at) FROM slot_wants w WHERE w.slot = s.id AND w.number > COALESCE((SELECT
            MAX(x.number) FROM slot_wants x WHERE x.slot = s.id AND x.rendition = r.id), 0)) AS unwanted_at,
        (SELECT MAX(g.expires_at) FROM grants g WHERE g.object = o.id AND g.revoked_at IS NULL)
            AS last_grant_at
    FROM objects o LEFT JOIN attempts a ON a.object = o.id LEFT JOIN renditions r ON r.id = a.rendition
    LEFT JOIN slots s ON s.id = r.slot"""  # noqa: S608 - constants of this module

_SOURCES = f"SELECT {_OWN} FROM objects o"  # noqa: S608

_DERIVATIVES = f"""SELECT {_OWN}, d.name, d.transform_version,
        CASE WHEN d.transform_version <> :transforms THEN (SELECT MIN(n.created_at) FROM derivatives e
            JOIN objects n ON n.id = e.object WHERE e.tenant = d.tenant
            AND e.source_sha256 = d.source_sha256 AND e.transform_version = :transforms
            AND n.state IN ('live', 'marked')) END AS replaced_at,
        CASE WHEN d.transform_version <> :transforms THEN EXISTS (SELECT 1 FROM object_uses u
            JOIN attempts a ON a.id = u.user_id WHERE u.object = o.id AND u.user_kind = 'attempt'
            AND a.derived_version = d.transform_version) END AS is_in_use
    FROM objects o LEFT JOIN derivatives d ON d.object = o.id"""  # noqa: S608

_MASTERS = """SELECT p.object AS child, m.id, m.state FROM object_parents p
        JOIN objects m ON m.id = p.parent WHERE {of_parents}
    UNION SELECT u.object, m.id, m.state FROM object_uses u JOIN attempts a ON a.id = u.user_id
        JOIN objects m ON m.id = a.object
        WHERE u.user_kind = 'attempt' AND u.object <> m.id AND {of_uses}"""

_USES = """SELECT u.object, v.campaign, v.state,
        (SELECT c.retention_class FROM campaign_settings c WHERE c.campaign = v.campaign
            AND c.effective_from <= u.from_at ORDER BY c.number DESC LIMIT 1) AS retention_class
    FROM object_uses u JOIN revisions v ON v.id = u.user_id
    WHERE u.user_kind = 'revision' AND {of_uses}"""

_OPEN_CAMPAIGNS = """SELECT DISTINCT campaign FROM attempts
    WHERE state IN ('queued', 'submitting', 'generating', 'retrieving')"""

_ENDS = """SELECT c.campaign, c.ends_on FROM campaign_settings c WHERE c.number = (SELECT MAX(n.number)
    FROM campaign_settings n WHERE n.campaign = c.campaign AND n.effective_from <= :now)"""


@dataclass(frozen=True, slots=True)
class FactsReader:
    """Reads over one connection; what concerns whole campaigns was read when it was made."""

    connection: sa.Connection
    policy_version: str
    transform_version: str
    held: Held
    ends: Mapping[str, int | None]
    open_campaigns: frozenset[str]
    _queries: dict[str, sa.TextClause] = field(default_factory=dict)

    @classmethod
    def at(
        cls, connection: sa.Connection, now: int, *, policy_version: str, transform_version: str
    ) -> FactsReader:
        """Facts as they stand in *connection* at *now*."""
        ended = connection.execute(sa.text(_ENDS), {"now": now})
        return cls(
            connection,
            policy_version,
            transform_version,
            resolve(connection, active_holds(connection)),
            {row.campaign: end_of_day(row.ends_on) for row in ended},
            frozenset(connection.scalars(sa.text(_OPEN_CAMPAIGNS))),
        )

    def everything(self) -> Iterator[Facts]:
        """All objects that serve: masters before what was made from them."""
        for kind in _READERS:
            last = ""
            while rows := self._page(kind, last):
                yield from _READERS[kind](self, rows)
                last = rows[-1].id

    def rows(self) -> Iterator[Sequence[sa.Row[Any]]]:
        """The pages of rows behind `everything`, for whoever measures what reading alone costs."""
        for kind in _READERS:
            last = ""
            while rows := self._page(kind, last):
                yield rows
                last = rows[-1].id

    def of(self, ids: Collection[str], states: Sequence[str] = SERVING) -> dict[str, Facts]:
        """Facts of those of *ids* that stand in *states*, masters first."""
        if not ids:
            return {}
        found: dict[str, Facts] = {}
        for kind in _READERS:
            rows = self._some(kind, ids, states)
            found |= {facts.id: facts for facts in _READERS[kind](self, rows)} if rows else {}
        return found

    def _page(self, kind: str, after: str) -> Sequence[sa.Row[Any]]:
        statement = self._statement(kind, "o.id > :after ORDER BY o.id LIMIT :page")
        named = self._named(kind, states=SERVING, after=after, page=PAGE)
        return self.connection.execute(statement, named).all()

    def _some(self, kind: str, ids: Collection[str], states: Sequence[str]) -> Sequence[sa.Row[Any]]:
        statement = self._statement(kind, "o.id IN :ids ORDER BY o.id")
        return self.connection.execute(statement, self._named(kind, states=states, ids=sorted(ids))).all()

    def _statement(self, kind: str, which: str) -> sa.TextClause:
        key = f"{kind} {which}"
        if key not in self._queries:
            query = f"{_QUERIES[kind]} WHERE o.kind = :kind AND o.state IN :states AND {which}"
            lists: list[sa.BindParameter[Any]] = [
                sa.bindparam(name, expanding=True) for name in ("states", "ids") if f":{name}" in query
            ]
            self._queries[key] = sa.text(query).bindparams(*lists)
        return self._queries[key]

    def _named(self, kind: str, **values: Any) -> dict[str, Any]:
        named = {"kind": kind, "policy": self.policy_version, **values}
        return named | {"transforms": self.transform_version} if kind == "derivative" else named

    def _beside(
        self, query: str, columns: Mapping[str, str], rows: Sequence[sa.Row[Any]]
    ) -> sa.CursorResult[Any]:
        """Rows of *query* about the objects of a page, or of a few ids: by their range or one by one."""
        ids = [row.id for row in rows]
        if len(ids) == PAGE:
            where = {name: f"{column} BETWEEN :first AND :last" for name, column in columns.items()}
            return self.connection.execute(sa.text(query.format(**where)), {"first": ids[0], "last": ids[-1]})
        where = {name: f"{column} IN :ids" for name, column in columns.items()}
        statement = sa.text(query.format(**where)).bindparams(sa.bindparam("ids", expanding=True))
        return self.connection.execute(statement, {"ids": ids})


def _renditions(reader: FactsReader, rows: Sequence[sa.Row[Any]]) -> Iterator[Facts]:
    held, ends = reader.held, reader.ends
    for row in rows:
        what, superseded_at = _standing(row)
        is_selected = row.selected_attempt == row.attempt and row.wanted_rendition == row.rendition
        in_work = row.attempt_state == "stored" and is_selected and row.parked_reason is None
        yield Facts(
            row.id, row.tenant, row.campaign, what, row.key, row.size_bytes, row.state, row.version,
            row.created_at, (Claim(row.retention_class, ends.get(row.campaign)),),
            row.verdict_at if what is What.DECLINED_RENDITION else None, superseded_at, None,
            row.last_grant_at, None, bool(row.is_shown),
            row.attempt if in_work and what is not What.DECLINED_RENDITION else "",
            row.pinned_by or held.matter(row.tenant, (row.campaign,), (row.id,)), bool(row.is_exempt),
        )  # fmt: skip


def _standing(row: sa.Row[Any]) -> tuple[What | None, int | None]:
    """Which row of the policy a video falls under, and since when it is superseded."""
    if row.attempt is None:
        return None, None
    if row.is_shown:
        return What.APPROVED_RENDITION, None
    if row.verdict == "decline":
        return What.DECLINED_RENDITION, None
    if row.selected_attempt == row.attempt and row.wanted_rendition == row.rendition:
        return What.APPROVED_RENDITION, None
    since = (row.created_at, row.last_shown_until, row.deselected_at, row.unwanted_at)
    return What.SUPERSEDED_RENDITION, max(at for at in since if at is not None)


def _sources(reader: FactsReader, rows: Sequence[sa.Row[Any]]) -> Iterator[Facts]:
    uses: dict[str, list[sa.Row[Any]]] = defaultdict(list)
    for use in reader._beside(_USES, {"of_uses": "u.object"}, rows):
        uses[use.object].append(use)
    for row in rows:
        mine = uses[row.id]
        campaigns = sorted({use.campaign for use in mine})
        claims = {Claim(use.retention_class or "", reader.ends.get(use.campaign)) for use in mine}
        needed = [use.campaign for use in mine if use.state in ("uploaded", "moderating")]
        needed += [name for name in campaigns if name in reader.open_campaigns]
        yield Facts(
            row.id, row.tenant, row.campaign, What.SOURCE_ASSET, row.key, row.size_bytes, row.state,
            row.version, row.created_at,
            tuple(sorted(claims, key=str)) or (Claim(row.retention_class, None),),
            needed_by=needed[0] if needed else "",
            matter=row.pinned_by or reader.held.matter(row.tenant, campaigns, (row.id,)),
            is_exempt=bool(row.is_exempt),
        )  # fmt: skip


def _derivatives(reader: FactsReader, rows: Sequence[sa.Row[Any]]) -> Iterator[Facts]:
    masters: dict[str, list[Master]] = defaultdict(list)
    columns = {"of_parents": "p.object", "of_uses": "u.object"}
    for link in reader._beside(_MASTERS, columns, rows):
        masters[link.child].append(Master(link.id, link.state))
    held = reader.held
    for row in rows:
        mine = tuple(masters.get(row.id, ()))
        is_inactive = row.replaced_at is not None and not row.is_in_use and row.name != "upright"
        yield Facts(
            row.id, row.tenant, row.campaign,
            What.INACTIVE_DERIVATIVE if is_inactive else What.DERIVATIVE, row.key, row.size_bytes, row.state,
            row.version, row.created_at, (Claim(row.retention_class, None),), None, None,
            row.replaced_at if is_inactive else None, None, None, False, "",
            row.pinned_by or held.matter(row.tenant, (row.campaign,), (row.id, *(one.id for one in mine))),
            bool(row.is_exempt), mine,
        )  # fmt: skip


_QUERIES = {"rendition": _RENDITIONS, "source": _SOURCES, "derivative": _DERIVATIVES}
#: Masters before what is made from them.
_READERS = {"rendition": _renditions, "source": _sources, "derivative": _derivatives}


def end_of_day(day: str | None) -> int | None:
    """`ends_on` means the end of that day in UTC (C1)."""
    if day is None:
        return None
    midnight = datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(), UTC)
    return int(midnight.timestamp()) * 1_000_000
