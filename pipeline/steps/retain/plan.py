"""Plan what goes: frozen, hashed, priced, with the reason each thing goes or is kept (C2).

Belongs here: going through everything once, and keeping what was found. Does not belong here: the verdict
(`pipeline.domain.retention`), approving, or touching anything.

Only what goes is kept item by item, as many as the policy's limit allows; what stays is counted by reason, so
that memory is bounded whatever the store holds.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace

import sqlalchemy as sa

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.retention import Facts, Reason, RetentionPolicy, Scope, Verdict, What, judge
from pipeline.steps.retain.leftovers import Leftover, grants_due, judged_leftovers, look_around
from pipeline.steps.retain.retaining import Retaining
from resources.database.database import Transaction
from resources.database.documents import record_document
from resources.database.legal_holds import exists, objects_of_source, pictures_of
from resources.database.retention_facts import FactsReader
from resources.database.retention_plans import PlannedItem, exempted, insert_plan
from resources.database.retention_seen import keep_seen, seen_before

SWEEP, ERASURE = "sweep", "erasure"


@dataclass(frozen=True, slots=True)
class Kept:
    """How much stays for one reason."""

    what: str
    reason: str
    objects: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One frozen plan. `id` is the hash of everything else that it says; times in UTC microseconds."""

    id: str
    kind: str
    scope: str | None
    tenant: str
    policy_version: str
    policy_sha256: str
    transform_version: str
    made_at: int
    items: tuple[PlannedItem, ...]
    objects: int
    size_bytes: int
    shared_bytes: int
    monthly_saving: int
    currency: str | None
    kept: tuple[Kept, ...]
    refused: str | None  #: the limit that it passes; then `items` are those that fitted
    seen: tuple[Leftover, ...] = field(default=(), repr=False)


def plan(retaining: Retaining, *, reason: str = "sweep") -> Plan:
    """Make and keep the plan of everything that is due. Raises NotAllowed for a clock that may be wrong."""
    made = draft(retaining)
    keep_plan(retaining, made, reason)
    return made


def plan_erasure(retaining: Retaining, source_asset: str, *, reason: str) -> Plan:
    """Plan everything of one source asset (`TENANT/SHA256`) and what was made of it, whatever is due."""
    made = draft_erasure(retaining, source_asset)
    keep_plan(retaining, made, reason)
    return made


def draft(retaining: Retaining) -> Plan:
    """The plan that would be made now; nothing is kept of it (what-if)."""
    with retaining.adapters.database.reading() as connection:
        now = retaining.adapters.database.clock(connection)
        retaining.refuse_wrong_clock(connection, now)
        drafting = _Drafting(retaining.policy)
        reader = retaining.facts(connection, now)
        drafting.judge_all(reader.everything(), now)
        around = look_around(retaining, connection)
        known = seen_before(connection, [(str(one.what), one.subject) for one in around])
        found = [one.first_seen(known, now) for one in around]
        exempt = exempted(connection, retaining.policy.version)
        due = grants_due(retaining.policy, connection, now)
        for one, verdict in judged_leftovers(retaining.policy, [*found, *due], reader.held, exempt, now):
            drafting.add(one.facts, verdict)
    return drafting.plan(retaining, SWEEP, None, "*", now, tuple(found))


def draft_erasure(retaining: Retaining, source_asset: str) -> Plan:
    """The erasure that would be planned now; UnknownSubject for an asset that nobody delivered."""
    tenant = source_asset.partition("/")[0]
    with retaining.adapters.database.reading() as connection:
        now = retaining.adapters.database.clock(connection)
        retaining.refuse_wrong_clock(connection, now)
        if not exists(connection, tenant, Scope.SOURCE_ASSET, source_asset):
            raise UnknownSubject("source asset", source_asset, "name it as TENANT/SHA256")
        reader = retaining.facts(connection, now)
        drafting = _Drafting(retaining.policy, erasing=True)
        drafting.judge_all(_all_of_source(connection, reader, source_asset), now)
    return drafting.plan(retaining, ERASURE, source_asset, tenant, now, ())


def _all_of_source(connection: sa.Connection, reader: FactsReader, asset: str) -> Iterable[Facts]:
    masters = objects_of_source(connection, asset)
    return reader.of([*masters, *pictures_of(connection, masters)]).values()


def keep_plan(retaining: Retaining, made: Plan, reason: str) -> None:
    def work(tx: Transaction) -> None:
        document = record_document(tx, "retention_policy", made.policy_version, _spelled(retaining.policy))
        insert_plan(tx, _row(made, document, retaining.actor, reason), made.items)
        if made.kind == SWEEP:
            keep_seen(tx, made.seen)

    retaining.adapters.database.run(work)


def _spelled(policy: RetentionPolicy) -> dict[str, object]:
    said = asdict(policy)
    return {name: value for name, value in said.items() if not name.startswith("_")}


def _row(made: Plan, document: str, actor: str, reason: str) -> dict[str, object]:
    return {
        "id": made.id, "tenant": made.tenant, "kind": made.kind, "scope": made.scope,
        "policy_version": made.policy_version, "policy_sha256": made.policy_sha256,
        "policy_document": document, "transform_version": made.transform_version, "made_at": made.made_at,
        "made_by": actor, "reason": reason, "items": made.objects, "size_bytes": made.size_bytes,
        "shared_bytes": made.shared_bytes, "monthly_saving": made.monthly_saving, "currency": made.currency,
        "kept": [asdict(one) for one in made.kept], "refused": made.refused,
    }  # fmt: skip


@dataclass(slots=True)
class _Drafting:
    """What was found so far: items up to the limit, everything else as counts."""

    policy: RetentionPolicy
    erasing: bool = False
    going: set[str] = field(default_factory=set)
    items: list[PlannedItem] = field(default_factory=list)
    objects: int = 0
    size_bytes: int = 0
    shared_bytes: int = 0
    kept_objects: Counter[tuple[str, str]] = field(default_factory=Counter)
    kept_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def judge_all(self, all_facts: Iterable[Facts], now: int) -> None:
        """Masters come before what was made from them, so that `going` is known in time."""
        policy, going, erasing = self.policy, self.going, self.erasing
        kept_objects, kept_bytes = self.kept_objects, self.kept_bytes
        for facts in all_facts:
            verdict = judge(policy, facts, now, going=going, erasing=erasing)
            if verdict.goes:
                self.add(facts, verdict)
                continue
            kept = (facts.what or "unknown", verdict.reason)
            kept_objects[kept] += 1
            kept_bytes[kept] += facts.size_bytes

    def add(self, facts: Facts, verdict: Verdict) -> None:
        if verdict.goes and facts.state == "marked":
            verdict = verdict._replace(goes=False, reason=Reason.MARKED_BEFORE)
        if not verdict.goes:
            kept = (str(facts.what or "unknown"), verdict.reason)
            self.kept_objects[kept] += 1
            self.kept_bytes[kept] += facts.size_bytes
            return
        self.objects += 1
        self.size_bytes += facts.size_bytes
        self.shared_bytes += facts.size_bytes if len(facts.claims) > 1 else 0
        self.going.add(facts.id) if facts.what is not What.DERIVATIVE else None
        if len(self.items) < self.policy.limits.objects:
            self.items.append(_item(facts, verdict))

    def plan(
        self, retaining: Retaining, kind: str, scope: str | None, tenant: str, now: int,
        seen: tuple[Leftover, ...],
    ) -> Plan:  # fmt: skip
        price = retaining.price
        made = Plan(
            id="",
            kind=kind,
            scope=scope,
            tenant=tenant,
            policy_version=self.policy.version,
            policy_sha256=self.policy.sha256,
            transform_version=retaining.adapters.transforms.version,
            made_at=now,
            items=tuple(self.items),
            objects=self.objects,
            size_bytes=self.size_bytes,
            shared_bytes=self.shared_bytes,
            monthly_saving=price.monthly(self.size_bytes) if price else 0,
            currency=price.currency if price else None,
            kept=tuple(self._kept()),
            refused=self._refused(),
            seen=seen,
        )
        return replace(made, id=plan_hash(made))

    def _kept(self) -> Iterator[Kept]:
        for what, reason in sorted(self.kept_objects):
            kept = (what, reason)
            yield Kept(str(what), str(reason), self.kept_objects[kept], self.kept_bytes[kept])

    def _refused(self) -> str | None:
        limits = self.policy.limits
        if self.objects > limits.objects:
            return f"{self.objects} things would go, {limits.objects} may (guards.limits.objects)"
        if self.size_bytes > limits.bytes:
            return f"{self.size_bytes} bytes would go, {limits.bytes} may (guards.limits.bytes)"
        return None


def _item(facts: Facts, verdict: Verdict) -> PlannedItem:
    row = verdict.row
    assert row is not None and facts.what is not None, "nothing goes without a row"  # noqa: S101, PT018
    return PlannedItem(
        facts.tenant, str(facts.what), facts.id, facts.key, facts.campaign, row.id, row.version,
        row.approver, str(verdict.reason), verdict.anchor_at, verdict.due_at, facts.size_bytes, facts.version,
    )  # fmt: skip


def plan_hash(made: Plan) -> str:
    """Over everything that a plan says, items in their order."""
    hashed = hashlib.sha256()
    head = [made.kind, made.scope, made.tenant, made.policy_sha256, made.transform_version, made.made_at,
            made.objects, made.size_bytes, made.refused]  # fmt: skip
    for part in (head, *(list(asdict(one).values()) for one in made.items)):
        hashed.update(json.dumps(part, ensure_ascii=False).encode() + b"\n")
    return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """What one plan lets go and the other does not."""

    only_new: tuple[str, ...]  #: subjects
    only_old: tuple[str, ...]
    in_both: int


def difference(new: Collection[str], old: Collection[str]) -> Difference:
    """Between the subjects of two plans."""
    ours, theirs = set(new), set(old)
    return Difference(tuple(sorted(ours - theirs)), tuple(sorted(theirs - ours)), len(ours & theirs))
