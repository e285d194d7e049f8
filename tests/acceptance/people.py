"""What people do to a studio, each command by a number that picks its subject.

Belongs here: one call a command. Does not belong here: when they do it, or what must hold afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from pipeline.domain.moderation import Decision
from pipeline.steps.operate import resolve
from pipeline.steps.operate.accept import accept, decline
from pipeline.steps.operate.cancel import cancel
from pipeline.steps.operate.pause import pause, resume
from pipeline.steps.operate.retry import retry
from pipeline.steps.operate.roll_back import Target, roll_back
from pipeline.steps.produce import moderate
from pipeline.steps.produce.deliver import take
from pipeline.steps.produce.stages import planning_rules
from pipeline.steps.produce.withdraw import withdraw
from resources.database import schema
from resources.database.selecting import lock_rendition, select_attempt
from tests.acceptance.studio import CAMPAIGN, TENANT, Studio

Command = Callable[[Studio, int], Any]
SAID = {"actor": "ada", "reason": "because"}
PAUSABLE = ("submit", "poll", "retrieve", "derive", "publish", "*")


def _pick(studio: Studio, table: sa.Table, number: int, *where: sa.ColumnElement[bool]) -> Any:
    with studio.database.reading() as connection:
        rows = connection.execute(sa.select(table).where(*where).order_by(*table.primary_key)).all()
    return rows[number % len(rows)] if rows else None


def _newest(studio: Studio) -> str:
    return f"{CAMPAIGN}/r{studio.newest_revision}"


def _decide(decision: Decision) -> Command:
    def command(studio: Studio, _number: int) -> None:
        adapters = studio.adapters
        moderate.decide(
            studio.database, adapters.moderation, planning_rules(adapters), _newest(studio), decision, **SAID
        )

    return command


def _of_rendition(call: Callable[..., Any]) -> Command:
    def command(studio: Studio, number: int) -> None:
        if rendition := _pick(studio, schema.renditions, number):
            call(studio.database, rendition.id, TENANT, **SAID)

    return command


def _decline(studio: Studio, number: int) -> None:
    if rendition := _pick(studio, schema.renditions, number):
        decline(studio.database, studio.adapters.index, rendition.id, TENANT, **SAID)


def _select(studio: Studio, number: int) -> None:
    """An operator selects another attempt (L4)."""
    attempt = _pick(studio, schema.attempts, number, schema.attempts.c.deselected_at.is_not(None))
    if attempt is None:
        return

    def work(tx: Any) -> None:
        rendition = lock_rendition(tx, attempt.rendition)
        assert rendition is not None
        select_attempt(tx, rendition, attempt.id, actor="ada", reason="better")

    studio.database.run(work)


def _roll_back(studio: Studio, number: int) -> None:
    shown = schema.publications.c.object.is_not(None)
    if publication := _pick(studio, schema.publications, number, shown):
        to = Target(number=publication.number)
        roll_back(studio.database, studio.adapters.index, publication.slot, TENANT, to=to, **SAID)


def _withdraw(studio: Studio, number: int) -> None:
    if slot := _pick(studio, schema.slots, number):
        withdraw(studio.database, studio.adapters.index, slot.id, TENANT, **SAID)


def _take(studio: Studio, number: int) -> None:
    variants = (("en-GB/16x9/1s",), ())[number % 2]
    take(studio.database, planning_rules(studio.adapters), _newest(studio), variants, actor="ada")


def _pause(studio: Studio, number: int) -> None:
    stage = PAUSABLE[number % len(PAUSABLE)]
    pause(studio.database, stage=stage, provider="*", tenant="*", **SAID)


def _resume(studio: Studio, _number: int) -> None:
    for stage in PAUSABLE:
        resume(studio.database, stage=stage, provider="*", tenant="*", actor="ada")


def _lost(studio: Studio, number: int) -> Any:
    return _pick(studio, schema.attempts, number, schema.attempts.c.submission == "unknown")


def _accepted(studio: Studio, number: int) -> None:
    """A person looked at the provider's own pages and found the job."""
    row = _lost(studio, number)
    jobs = [job for job in studio.remote.jobs.values() if row and job.reference == row.id]
    if jobs:
        terms = studio.adapters.terms[row.provider]
        resolve.accepted(studio.database, row.id, TENANT, terms, handle=jobs[0].handle, **SAID)


def not_accepted(studio: Studio, number: int) -> None:
    """A person looked there and found none; says so only when that is true."""
    row = _lost(studio, number)
    if row and row.id not in studio.remote.starts():
        resolve.not_accepted(studio.database, row.id, TENANT, studio.adapters.terms[row.provider], **SAID)


def _write_off(studio: Studio, number: int) -> None:
    if row := _lost(studio, number):
        resolve.write_off(studio.database, row.id, TENANT, **SAID)


PEOPLE: Mapping[str, Command] = {
    "approve": _decide(Decision.APPROVED),
    "reject": _decide(Decision.REJECTED),
    "review": lambda studio, _: moderate.review(studio.database, _newest(studio), **SAID),
    "retry": _of_rendition(retry),
    "cancel": _of_rendition(cancel),
    "accept": _of_rendition(accept),
    "decline": _decline,
    "select": _select,
    "roll_back": _roll_back,
    "withdraw": _withdraw,
    "take": _take,
    "pause": _pause,
    "resume": _resume,
    "say_accepted": _accepted,
    "write_off": _write_off,
}
