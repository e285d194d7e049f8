"""The retention policy as a value: its rows, guards, limits, and who may approve (C1).

Belongs here: what a policy says. Does not belong here: how one is written
(`pipeline.documents.retention_policy`), or what follows for an object (`retention`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

HOUR = 3_600 * 1_000_000
DAY = 24 * HOUR


class What(enum.StrEnum):
    """What a row of the policy speaks of."""

    SOURCE_ASSET = "source_asset"
    APPROVED_RENDITION = "approved_rendition"  #: shown, or wanted by its slot and not declined
    DECLINED_RENDITION = "declined_rendition"
    SUPERSEDED_RENDITION = (
        "superseded_rendition"  #: its slot wants another one, or its attempt was deselected
    )
    DERIVATIVE = "derivative"
    INACTIVE_DERIVATIVE = "inactive_derivative"  #: of a transform version that nothing shows any more
    ORPHAN_OBJECT = "orphan_object"  #: bytes in the store that no row names
    TEMPORARY_OBJECT = "temporary_object"  #: what killed writes left, unfinished uploads among it
    SPOOL_FILE = "spool_file"
    INDEX_VERSION = "index_version"  #: a tag index that was built beside the live one and left
    TRANSITION_LOG = "transition_log"
    GRANT = "grant"


#: Belong to no campaign, and so to no retention class of a brief.
CLASSLESS = frozenset(
    {
        What.ORPHAN_OBJECT, What.TEMPORARY_OBJECT, What.SPOOL_FILE, What.INDEX_VERSION,
        What.TRANSITION_LOG, What.GRANT,
    }
)  # fmt: skip


#: Lie outside of every tenant's place, so that roots say nothing of them.
PLACELESS = frozenset({What.TEMPORARY_OBJECT, What.SPOOL_FILE, What.INDEX_VERSION, What.GRANT})


class Anchor(enum.StrEnum):
    """The event from which a duration counts, by our own log; never a file's time."""

    UPLOADED = "uploaded"
    STORED = "stored"
    CAMPAIGN_END = "campaign_end"  #: the end of the day `ends_on`, UTC
    DECLINED = "declined"
    SUPERSEDED = "superseded"
    LAST_GRANT = "last_grant"  #: the end of the last grant
    REPLACED = "replaced"  #: the newer transform version's picture was made
    FIRST_SEEN = "first_seen"  #: a plan saw it for the first time
    EXPIRED = "expired"  #: a grant's own end
    MASTER = "master"  #: goes with what it was made from


ANCHORS: Mapping[What, frozenset[Anchor]] = {
    What.SOURCE_ASSET: frozenset({Anchor.UPLOADED, Anchor.CAMPAIGN_END}),
    What.APPROVED_RENDITION: frozenset({Anchor.STORED, Anchor.CAMPAIGN_END, Anchor.LAST_GRANT}),
    What.DECLINED_RENDITION: frozenset({Anchor.DECLINED, Anchor.CAMPAIGN_END}),
    What.SUPERSEDED_RENDITION: frozenset({Anchor.SUPERSEDED, Anchor.CAMPAIGN_END}),
    What.DERIVATIVE: frozenset({Anchor.MASTER}),
    What.INACTIVE_DERIVATIVE: frozenset({Anchor.REPLACED}),
    What.ORPHAN_OBJECT: frozenset({Anchor.FIRST_SEEN}),
    What.TEMPORARY_OBJECT: frozenset({Anchor.FIRST_SEEN}),
    What.SPOOL_FILE: frozenset({Anchor.FIRST_SEEN}),
    What.INDEX_VERSION: frozenset({Anchor.FIRST_SEEN}),
    What.TRANSITION_LOG: frozenset({Anchor.STORED}),
    What.GRANT: frozenset({Anchor.EXPIRED}),
}


class Action(enum.StrEnum):
    PURGE = "purge"  #: bytes go, evidence stays; what a slot shows is kept
    WITHDRAW_AND_PURGE = "withdraw_and_purge"  #: what a slot shows is taken from view first


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """`keep_days` is None where nothing goes by time: kept for ever, or as long as its master."""

    id: str
    version: int
    what: What
    retention_class: str  #: empty for what belongs to no campaign
    anchor: Anchor
    keep_days: int | None
    action: Action
    approver: str  #: the role that must approve what this row lets go


@dataclass(frozen=True, slots=True)
class Limits:
    """A plan that passes one of them is refused as a whole."""

    objects: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    version: str
    sha256: str  #: of the document's meaning: a plan is bound to it
    grace_days: int
    minimum_age_hours: int
    clock_skew_minutes: int
    longest_silence_days: int
    plan_valid_hours: int
    limits: Limits
    roots: tuple[tuple[str, str], ...]  #: tenant (or `*`) and folder
    approvers: Mapping[str, tuple[str, ...]]  #: role -> who has it; `*` is anybody
    rows: tuple[PolicyRow, ...]
    _by: dict[tuple[str, str], PolicyRow] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by.update({(row.what, row.retention_class): row for row in self.rows})

    def row(self, what: What, retention_class: str) -> PolicyRow | None:
        return self._by.get((what, retention_class))

    def roles_of(self, actor: str) -> frozenset[str]:
        return frozenset(role for role, who in self.approvers.items() if actor in who or "*" in who)

    def is_within_roots(self, key: str) -> bool:
        tenant, _, rest = key.partition("/")
        folder = rest.partition("/")[0]
        return (tenant, folder) in self.roots or ("*", folder) in self.roots
