"""From the names that people use to the rows they mean: campaigns, revisions, slots, renditions, attempts.

Belongs here: every spelling that a command or a request may use, and the refusal of one that means nothing
or too much. Does not belong here: what is then done with the subject.

A video may be named by its rendition (`r-…`), by its slot (`tenant.campaign/en-GB/16x9/6s`: the rendition
that the slot wants), by one revision's wish (`tenant.campaign/r3/en-GB/16x9/6s`), or by the variant alone
(`en-GB/16x9/6s`, or `en-GB/16:9/6s`) where one campaign wants it. Nothing but a whole name is ever guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import AmbiguousName, UnknownSubject
from pipeline.domain.renditions import revision_id
from resources.database.schema import attempts, campaigns, publications, renditions, revisions, slots, wishes

_RENDITION = re.compile(r"r-[0-9a-f]{32}")
_ATTEMPT = re.compile(r"r-[0-9a-f]{32}-a[0-9]+")
_REVISION_PART = re.compile(r"(?P<campaign>[^/]+)/r(?P<number>[0-9]{1,9})(?:/(?P<variant>.+))?")
MAX_NAMED = 5
#: A file in the intake is taken at the second look that finds it unchanged.
CAMPAIGN_REMEDY = (
    "list what exists with `reelwright status`; a brief just dropped is known within half a minute, while"
    " `make dev` runs"
)


@dataclass(frozen=True, slots=True)
class FoundCampaign:
    id: str  #: `tenant.campaign`
    tenant: str
    newest_revision: int


@dataclass(frozen=True, slots=True)
class FoundRevision:
    id: str
    tenant: str
    campaign: str
    number: int
    state: str


@dataclass(frozen=True, slots=True)
class FoundSlot:
    id: str
    tenant: str
    campaign: str
    variant: str
    wanted_rendition: str | None
    published_object: str | None


@dataclass(frozen=True, slots=True)
class FoundRendition:
    id: str
    tenant: str
    campaign: str
    slot: str
    variant: str
    attempt: str  #: the selected one


@dataclass(frozen=True, slots=True)
class FoundAttempt:
    id: str
    tenant: str
    campaign: str
    rendition: str
    number: int
    provider: str
    state: str


def find_campaign(connection: sa.Connection, name: str) -> FoundCampaign:
    """The campaign `tenant.campaign`."""
    row = connection.execute(sa.select(campaigns).where(campaigns.c.id == name)).one_or_none()
    if row is None:
        raise UnknownSubject("campaign", name, CAMPAIGN_REMEDY)
    return FoundCampaign(row.id, row.tenant, row.newest_revision)


def find_revision(connection: sa.Connection, name: str, number: int | None = None) -> FoundRevision:
    """Revision *number* of the campaign *name*; without a number `campaign/r3`, or the newest one."""
    spelled = _REVISION_PART.fullmatch(name)
    if spelled and not spelled["variant"]:
        name, number = spelled["campaign"], number or int(spelled["number"])
    campaign = find_campaign(connection, name)
    slug = campaign.id.removeprefix(f"{campaign.tenant}.")
    wanted = revision_id(campaign.tenant, slug, campaign.newest_revision if number is None else number)
    row = connection.execute(sa.select(revisions).where(revisions.c.id == wanted)).one_or_none()
    if row is None:
        raise UnknownSubject("revision", wanted)
    return FoundRevision(row.id, row.tenant, row.campaign, row.number, row.state)


def find_slot(connection: sa.Connection, name: str) -> FoundSlot:
    """A slot by its id, or by a variant that one campaign has."""
    rows = _slot_rows(connection, _with_x(name))
    if not rows:
        raise UnknownSubject("slot", name)
    if len(rows) > 1:
        raise AmbiguousName(name, [row.id for row in rows])
    row = rows[0]
    return FoundSlot(
        row.id, row.tenant, row.campaign, row.variant, row.wanted_rendition, row.published_object
    )


def earlier_publication(connection: sa.Connection, slot: FoundSlot) -> int:
    """Number of the newest publication of *slot* that showed another object than it shows now."""
    number = connection.scalar(
        sa.select(sa.func.max(publications.c.number)).where(
            publications.c.slot == slot.id,
            publications.c.object.is_not(None),
            publications.c.object.is_distinct_from(slot.published_object),
        )
    )
    if number is None:
        raise UnknownSubject("earlier publication", slot.id, "nothing else was shown there before")
    return int(number)


def find_tenant(connection: sa.Connection, name: str | None = None) -> str:
    """The tenant *name*, or the only one there is."""
    known = connection.scalars(sa.select(campaigns.c.tenant).distinct().order_by(campaigns.c.tenant)).all()
    if name is None and len(known) > 1:
        raise AmbiguousName("the tenant", known[:MAX_NAMED], "say whose with --tenant, or name a --campaign")
    if not known or name not in (None, *known):
        raise UnknownSubject("tenant", name or "yet")
    return name or known[0]


def find_rendition(connection: sa.Connection, name: str) -> FoundRendition:
    """A rendition by its id, by a slot, by a revision's wish, or by an attempt of it."""
    wanted = name.rpartition("-a")[0] if _ATTEMPT.fullmatch(name) else name
    if not _RENDITION.fullmatch(wanted):
        wanted = _named_by_place(connection, name)
    row = connection.execute(sa.select(renditions).where(renditions.c.id == wanted)).one_or_none()
    if row is None:
        raise UnknownSubject("rendition", name)
    return FoundRendition(row.id, row.tenant, row.campaign, row.slot, row.variant, row.selected_attempt)


def find_attempt(connection: sa.Connection, name: str) -> FoundAttempt:
    """An attempt by its id, or the selected one of what *name* names."""
    wanted = name if _ATTEMPT.fullmatch(name) else find_rendition(connection, name).attempt
    row = connection.execute(sa.select(attempts).where(attempts.c.id == wanted)).one_or_none()
    if row is None:
        raise UnknownSubject("attempt", name)
    return FoundAttempt(row.id, row.tenant, row.campaign, row.rendition, row.number, row.provider, row.state)


def is_slot_name(name: str) -> bool:
    """Whether *name* is spelled as a slot or variant, and not as a campaign or one of its revisions."""
    return "/" in name and not _REVISION_PART.fullmatch(name)


def is_rendition_name(name: str) -> bool:
    """Whether *name* is spelled as a rendition, one of its attempts, or a revision's wish."""
    spelled = _REVISION_PART.fullmatch(name)
    is_wish = spelled is not None and bool(spelled["variant"])
    return is_wish or bool(_RENDITION.fullmatch(name) or _ATTEMPT.fullmatch(name))


def variant_key(name: str) -> str:
    """The variant in *name* as keys spell it: `en-GB/16:9/6s` and a whole slot id too."""
    return "/".join(_with_x(name).split("/")[-3:])


def _named_by_place(connection: sa.Connection, name: str) -> str:
    spelled = _REVISION_PART.fullmatch(name)
    if spelled is None:
        wanted = find_slot(connection, name).wanted_rendition
    else:
        wanted = connection.scalar(sa.select(wishes.c.rendition).where(wishes.c.id == _with_x(name)))
    if wanted is None:
        raise UnknownSubject("rendition", f"{name} (nothing is made for it yet)")
    return wanted


def _slot_rows(connection: sa.Connection, name: str) -> Sequence[sa.Row[Any]]:
    same = slots.c.id == name if name.count("/") == 3 else slots.c.variant == name
    return connection.execute(sa.select(slots).where(same).order_by(slots.c.id).limit(MAX_NAMED)).all()


def _with_x(name: str) -> str:
    """Keys hold `16x9` where people write `16:9`."""
    return name.replace(":", "x")
