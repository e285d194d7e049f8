"""The retention policy: how long what is kept, from which event, and who approves its end (C1).

Belongs here: its fields and what each may hold. Does not belong here: the verdict
(`pipeline.domain.retention`). `forever` is a word; 0, negative numbers and null are errors.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import Slug
from pipeline.domain.retention import (
    ANCHORS,
    CLASSLESS,
    Action,
    Anchor,
    Limits,
    PolicyRow,
    RetentionPolicy,
    What,
)

DEFAULT = "retention_policy.yaml"
FOLDERS = ("sources", "renditions", "derivatives")
#: An import may run for a day (`resources.database.invariants.owning`): nothing younger is ever touched.
LEAST_AGE_HOURS = 25
MOST_OBJECTS = 100_000  #: of one plan; its items are held in memory
MOST_DAYS = 36_500
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_ROOT = re.compile(r"(\*|[a-z0-9]+(?:-[a-z0-9]+)*)/([a-z]+)/")


def read_retention_policy(text: str | bytes, *, name: str) -> RetentionPolicy:
    """The policy in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(RetentionPolicyDocument, text, name=name).policy()


def default_retention_policy() -> RetentionPolicy:
    """The policy that comes with Reelwright."""
    return read_retention_policy(shipped(DEFAULT), name=DEFAULT)


def _keep(value: Any) -> int | str:
    if value in ("forever", "with_master"):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_DAYS:
        return value
    raise refusal("is no duration", f"a whole number of days from 1 to {MOST_DAYS}, forever, with_master")


def _bytes(value: Any) -> int:
    found = (
        re.fullmatch(r"([1-9][0-9]{0,11}) ?(B|KiB|MiB|GiB|TiB)", value) if isinstance(value, str) else None
    )
    if found is None:
        raise refusal("is no number of bytes", "a number with its unit: 500 MiB, 200 GiB")
    return int(found[1]) * _UNITS[found[2]]


def _root(text: str) -> str:
    found = _ROOT.fullmatch(text)
    if found is None or found[2] not in FOLDERS:
        allowed = ", ".join(f"TENANT/{folder}/" for folder in FOLDERS)
        raise refusal("is no place where objects lie", f"{allowed}, with * for every tenant")
    return text


Keep = Annotated[int | str, BeforeValidator(_keep)]
ByteCount = Annotated[int, BeforeValidator(_bytes)]
Root = Annotated[str, AfterValidator(_root)]


class LimitsPart(Document):
    objects: Annotated[StrictInt, Field(ge=1, le=MOST_OBJECTS)] = 10_000
    bytes_: ByteCount = Field(alias="bytes", default=200 * 2**30)


class GuardsPart(Document):
    """On by default, whatever a file leaves out."""

    minimum_age_hours: Annotated[StrictInt, Field(ge=LEAST_AGE_HOURS, le=8760)] = 48
    clock_skew_minutes: Annotated[StrictInt, Field(ge=1, le=60)] = 5
    longest_silence_days: Annotated[StrictInt, Field(ge=1, le=366)] = 30
    limits: LimitsPart = LimitsPart()
    roots: Annotated[tuple[Root, ...], Field(min_length=1)] = tuple(f"*/{name}/" for name in FOLDERS)


class RowPart(Document):
    id: Slug
    version: Annotated[StrictInt, Field(ge=1)]
    what: What
    class_: Slug | None = Field(alias="class", default=None)
    keep_days: Keep
    after: Anchor
    action: Action
    approver: Slug

    @model_validator(mode="after")
    def _fits(self) -> RowPart:
        if self.after not in ANCHORS[self.what]:
            allowed = ", ".join(sorted(ANCHORS[self.what]))
            raise refusal(f"counts {self.what} after {self.after}", f"after: {allowed}")
        if (self.what in CLASSLESS) is (self.class_ is not None):
            problem = "has a class" if self.class_ else "names no class"
            raise refusal(f"{problem}, and {self.what} must{' not' if self.class_ else ''}", "see `what`")
        if (self.keep_days == "with_master") is not (self.after is Anchor.MASTER):
            raise refusal("mixes a duration with its master's", "keep_days: with_master, after: master")
        if self.what is What.TRANSITION_LOG and self.keep_days != "forever":
            raise refusal("would let the log of moves go, which is the evidence", "keep_days: forever")
        if self.action is Action.WITHDRAW_AND_PURGE and self.what is not What.APPROVED_RENDITION:
            raise refusal(f"would withdraw {self.what}, which no slot shows", "action: purge")
        return self

    def row(self) -> PolicyRow:
        days = self.keep_days if isinstance(self.keep_days, int) else None
        return PolicyRow(
            self.id, self.version, self.what, self.class_ or "", self.after, days, self.action, self.approver
        )


class RetentionPolicyDocument(Document):
    version: Slug
    grace_days: Annotated[StrictInt, Field(ge=1, le=365)]
    plan_valid_hours: Annotated[StrictInt, Field(ge=1, le=24)] = 24
    guards: GuardsPart = GuardsPart()
    approvers: dict[Slug, Annotated[tuple[str, ...], Field(min_length=1)]]
    rows: Annotated[tuple[RowPart, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _whole(self) -> RetentionPolicyDocument:
        _once([row.id for row in self.rows], "row id")
        _once([f"{row.what} of class {row.class_}" for row in self.rows], "row")
        unknown = sorted({row.approver for row in self.rows} - set(self.approvers))
        if unknown:
            raise refusal(f"names approvers without people: {', '.join(unknown)}", ", ".join(self.approvers))
        return self

    def policy(self) -> RetentionPolicy:
        guards = self.guards
        said: dict[str, Any] = {
            "version": self.version,
            "grace_days": self.grace_days,
            "minimum_age_hours": guards.minimum_age_hours,
            "clock_skew_minutes": guards.clock_skew_minutes,
            "longest_silence_days": guards.longest_silence_days,
            "plan_valid_hours": self.plan_valid_hours,
            "limits": Limits(guards.limits.objects, guards.limits.bytes_),
            "roots": tuple(_split(root) for root in guards.roots),
            "approvers": {role: tuple(who) for role, who in self.approvers.items()},
            "rows": tuple(part.row() for part in self.rows),
        }
        return RetentionPolicy(sha256=_digest(said), **said)


def _split(root: str) -> tuple[str, str]:
    tenant, folder, _ = root.split("/")
    return tenant, folder


def _digest(said: dict[str, Any]) -> str:
    """Of the meaning, so that a comment or another order of fields is no change."""
    plain = {**said, "limits": asdict(said["limits"]), "rows": [asdict(row) for row in said["rows"]]}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _once(names: list[str], what: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise refusal(f"has {', '.join(repeated)} more than once", f"each {what} once")
