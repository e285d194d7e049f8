"""Record one checked brief: a new revision, an amendment, or nothing new (I1, I4).

Belongs here: what a delivery changes, in one transaction under the campaign's lock, so that the same delivery
twice or at once changes nothing. Does not belong here: files, pictures, receipts (`ingest`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pipeline.domain.brief import Administrative, Brief
from pipeline.domain.errors import BadDocument, Fault, RevisionConflict
from pipeline.domain.follow_ons import Topic
from pipeline.domain.lifecycle import SourceSetState
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.domain.renditions import creative_sha256, matrix, partition_key, revision_id
from pipeline.steps.produce.moderate import withdrawal
from pipeline.steps.produce.orderable import order_faults
from resources.database.campaigns import (
    change_campaign,
    lock_budget,
    newest_settings,
    open_campaign,
    settings_columns,
    write_cap,
    write_settings,
)
from resources.database.database import Transaction
from resources.database.index_entries import say_campaign_again
from resources.database.objects import plain
from resources.database.planning import selected_outputs
from resources.database.revisions import (
    NewRevision,
    insert_revision,
    move_delivery,
    revision_by_id,
    revisions_in,
    want_receipt,
)
from resources.database.transitions import Transition, apply_one, message, post

#: Settings whose change a published object learns of as a retag (T6).
_REQUIRED_TAGS = ("asset_type", "visibility", "retention_class")


class Outcome(enum.StrEnum):
    NEW_REVISION = "new_revision"
    AMENDED = "amended"  #: only the administrative part changed
    UNCHANGED = "unchanged"  #: the same delivery, or an older revision's settings


@dataclass(frozen=True, slots=True)
class Delivery:
    """A brief, checked, and where it lies."""

    brief: Brief
    path: str
    folder: str
    actor: str


@dataclass(frozen=True, slots=True)
class Recorded:
    revision: str
    campaign: str
    outcome: Outcome


def record_brief(tx: Transaction, delivery: Delivery, providers: Mapping[str, ProviderTerms]) -> Recorded:
    """Record *delivery*. Raises RevisionConflict, or BadDocument for what cannot be ordered or kept."""
    brief = delivery.brief
    campaign = open_campaign(tx, partition_key(brief.tenant, brief.campaign), brief.administrative.title)
    name = revision_id(brief.tenant, brief.campaign, brief.revision)
    known = revision_by_id(tx.connection, name)
    if known is None:
        _record_new(tx, campaign, delivery, providers)
        return Recorded(name, campaign.id, Outcome.NEW_REVISION)
    if known.creative_sha256 != creative_sha256(brief.creative):
        raise RevisionConflict(campaign.id, brief.revision, "it is known with other creative content")
    is_amended = _deliver_again(tx, campaign, known, delivery)
    return Recorded(name, campaign.id, Outcome.AMENDED if is_amended else Outcome.UNCHANGED)


def _record_new(
    tx: Transaction, campaign: sa.Row[Any], delivery: Delivery, providers: Mapping[str, ProviderTerms]
) -> None:
    brief = delivery.brief
    if brief.revision < campaign.newest_revision:
        problem = f"it is unknown, and revision {campaign.newest_revision} is newer"
        raise RevisionConflict(campaign.id, brief.revision, problem)
    if faults := order_faults(delivery.brief, providers):
        raise BadDocument(delivery.path, faults)
    _settle_settings(tx, campaign, delivery)
    for older in revisions_in(
        tx, campaign.id, (SourceSetState.UPLOADED, SourceSetState.MODERATING), below=brief.revision
    ):
        apply_one(tx, withdrawal(older, delivery.actor, "newer_revision"))
    change_campaign(tx, campaign.id, newest_revision=brief.revision, title=brief.administrative.title)
    insert_revision(tx, _new_revision(campaign, delivery))
    _mark(tx, campaign)


def _new_revision(campaign: sa.Row[Any], delivery: Delivery) -> NewRevision:
    brief = delivery.brief
    return NewRevision(
        id=revision_id(brief.tenant, brief.campaign, brief.revision),
        campaign=campaign,
        number=brief.revision,
        creative=plain(brief.creative),
        creative_sha256=creative_sha256(brief.creative),
        sources=brief.creative.sources,
        variants=matrix(brief.creative.variants),
        submit_mode=str(brief.administrative.submit),
        intake_path=delivery.path,
        intake_folder=delivery.folder,
        actor=delivery.actor,
    )


def _deliver_again(tx: Transaction, campaign: sa.Row[Any], known: sa.Row[Any], delivery: Delivery) -> bool:
    """The same creative content once more; True when the administrative part of the newest was amended."""
    move_delivery(tx, known, path=delivery.path, folder=delivery.folder)
    want_receipt(tx, known.id)
    if known.number != campaign.newest_revision:
        return False
    amended = _settle_settings(tx, campaign, delivery)
    submit = str(delivery.brief.administrative.submit)
    if known.submit_mode != submit:
        facts = {"submit_mode": submit}
        apply_one(tx, Transition("revision", known, None, delivery.actor, "amended", facts=facts))
        amended = True
    if amended:
        change_campaign(tx, campaign.id, title=delivery.brief.administrative.title)
        _mark(tx, campaign)
    return amended


def _settle_settings(tx: Transaction, campaign: sa.Row[Any], delivery: Delivery) -> bool:
    """One more row of settings when they differ from the newest; False when they do not."""
    wanted = delivery.brief.administrative
    newest = newest_settings(tx, campaign.id)
    columns = settings_columns(wanted)
    if newest is not None and all(getattr(newest, name) == value for name, value in columns.items()):
        return False
    number = 1 if newest is None else newest.number + 1
    is_retag = newest is not None and any(getattr(newest, tag) != columns[tag] for tag in _REQUIRED_TAGS)
    tags_version = 1 if newest is None else newest.tags_version + is_retag
    is_raised = _settle_budget(tx, campaign, delivery)
    write_settings(tx, campaign, wanted, number=number, tags_version=tags_version, actor=delivery.actor)
    say_campaign_again(tx, campaign.id)
    if is_raised:
        post(tx, [message(tx, Topic.BUDGET_FREED, campaign.tenant, campaign.id, str(number))])
    if is_retag or (newest is not None and newest.publish != columns["publish"]):
        _wake_outputs(tx, campaign, number)
    return True


def _settle_budget(tx: Transaction, campaign: sa.Row[Any], delivery: Delivery) -> bool:
    """Move the cap; never below what is held and spent, never to another currency. True when it rose."""
    wanted, budget = delivery.brief.administrative.budget, lock_budget(tx, campaign.id)
    if budget is not None:
        _require_kept(delivery, budget)
    write_cap(tx, campaign, wanted)
    return budget is not None and wanted.cap_micros > budget.cap


def _require_kept(delivery: Delivery, budget: sa.Row[Any]) -> None:
    wanted: Administrative = delivery.brief.administrative
    used = budget.held + budget.settled
    faults: list[Fault] = []
    if used and wanted.budget.currency != budget.currency:
        problem = "cannot change once money is held or spent"
        faults.append(
            Fault("budget.currency", problem, value=wanted.budget.currency, allowed=budget.currency)
        )
    elif wanted.budget.cap_micros < used:
        problem = f"is below the {used / 1e6:.2f} {budget.currency} that are held or spent"
        value = f"{wanted.budget.cap_micros / 1e6:.2f}"
        faults.append(Fault("budget.cap", problem, value=value, allowed=f"{used / 1e6:.2f} or more"))
    if faults:
        raise BadDocument(delivery.path, faults)


def _wake_outputs(tx: Transaction, campaign: sa.Row[Any], number: int) -> None:
    """Indexed outputs look again at tags and publication policy."""
    attempts = selected_outputs(tx, campaign.id)
    post(tx, [message(tx, Topic.INDEXED, campaign.tenant, one, f"settings-{number}") for one in attempts])


def _mark(tx: Transaction, campaign: sa.Row[Any]) -> None:
    post(tx, [message(tx, Topic.WISH_CHANGED, campaign.tenant, campaign.id, tx.operation_id)])
