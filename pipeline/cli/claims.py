"""`reelwright pause`, `resume`, `resolve`: what holds work back, and what lets lost work go on.

Arguments and lines only; the work is `pipeline.steps.operate`.
"""

from __future__ import annotations

import enum
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.opening import As, Json, acting, opened_database
from pipeline.cli.printing import emit, say, show
from pipeline.domain.errors import LostRace, NotAllowed, UnknownSubject

if TYPE_CHECKING:
    import sqlalchemy as sa

    from pipeline.documents.settings import Settings
    from pipeline.domain.provider_terms import ProviderTerms
    from pipeline.steps.answer.find import FoundAttempt
    from pipeline.steps.produce.lot import ItemResult
    from resources.database.database import Database

EVERY = "*"
#: What is told of a pause, and where its row holds it; `resume` takes the first three.
SCOPE = {"stage": "stage", "provider": "provider", "tenant": "tenant", "by": "paused_by", "why": "reason"}
LOST = "lost"  #: the word of a result whose row somebody else moved first

STAGE = typer.Argument(help="ingest, submit, poll, retrieve, derive, publish, retention, or * for all.")
Stage = Annotated[str, STAGE]
Provider = Annotated[str, typer.Option("--provider", help="Only work of this provider.")]
Tenant = Annotated[str, typer.Option("--tenant", help="Only work of this tenant.")]


def pause(
    stage: Annotated[str | None, STAGE] = None,
    provider: Provider = "*",
    tenant: Tenant = "*",
    reason: Annotated[str, typer.Option("--reason", help="Why, for those who wait.")] = "",
    listed: Annotated[bool, typer.Option("--list", help="Say what is held, and hold nothing.")] = False,
    as_: As = None,
    json: Json = False,
) -> None:
    """Hold work of a stage, provider or tenant; nothing is lost."""
    from pipeline.steps.operate.pause import pause as step

    if listed:
        _list(json=json)
        return
    if stage is None and (provider, tenant) == (EVERY, EVERY):
        raise typer.BadParameter("say what to hold: a stage, --provider or --tenant; '*' holds everything")
    settings, stage = acting(as_), stage or EVERY
    scope = {"stage": stage, "provider": provider, "tenant": tenant}
    with opened_database(settings) as database:
        is_new = step(database, **scope, actor=settings.actor, reason=reason)
        unknown = _unknown(database, settings, provider, tenant)
    said = "; ".join(["paused" if is_new else "paused before", *unknown])
    _tell({**scope, "paused": True, "changed": is_new, "unknown": unknown}, said, json=json)


def _list(*, json: bool) -> None:
    from resources.database.pauses import active_pauses

    with opened_database(acting()) as database, database.reading() as connection:
        held = active_pauses(connection)
    if json:
        emit({"pauses": [{**_scope(row), "at": _time(row.paused_at)} for row in held]})
    else:
        rows = [(*_scope(row).values(), f"{_time(row.paused_at):%Y-%m-%d %H:%M:%S}") for row in held]
        show((*SCOPE, "since (UTC)"), rows, "" if rows else "nothing is held")


def _scope(row: sa.Row[Any]) -> dict[str, object]:
    return {name: getattr(row, column) for name, column in SCOPE.items()}


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // 1_000_000, UTC)


def _unknown(database: Database, settings: Settings, provider: str, tenant: str) -> list[str]:
    """What has no work yet may be held; but a slip of the pen would hold nothing, so it is said."""
    from pipeline.steps.answer.find import find_tenant
    from resources.connect import provider_terms

    found = []
    if provider != EVERY and provider not in provider_terms(settings):
        found.append(f"but no provider {provider!r} is in the provider list")
    if tenant != EVERY:
        try:
            with database.reading() as connection:
                find_tenant(connection, tenant)
        except UnknownSubject:
            found.append(f"but no tenant {tenant!r} has delivered a brief")
    return found


def resume(
    stage: Stage = "*", provider: Provider = "*", tenant: Tenant = "*", as_: As = None, json: Json = False
) -> None:
    """End a pause."""
    from pipeline.steps.operate.pause import resume as step

    settings = acting(as_)
    scope = {"stage": stage, "provider": provider, "tenant": tenant}
    with opened_database(settings) as database:
        ended = step(database, **scope, actor=settings.actor)
    said = "resumed" if ended else "not paused in exactly this scope; see `reelwright pause --list`"
    _tell({**scope, "paused": False, "changed": ended}, said, json=json)


def _tell(document: dict[str, object], said: str, *, json: bool) -> None:
    if json:
        emit(document)
    else:
        say(
            f"stage {document['stage']}, provider {document['provider']}, tenant {document['tenant']}: {said}"
        )


class Verdict(enum.StrEnum):
    ACCEPTED = "accepted"
    NOT_ACCEPTED = "not-accepted"
    WRITE_OFF = "write-off"


def resolve(
    attempt: Annotated[str, typer.Argument(metavar="ATTEMPT", help="An attempt, or the video it is of.")],
    verdict: Annotated[
        Verdict, typer.Argument(help="Whether the provider has it, or that nobody will know.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="How you know; recorded for good.")],
    handle: Annotated[
        str | None, typer.Option("--handle", help="With accepted: the provider's own name of the job.")
    ] = None,
    as_: As = None,
    json: Json = False,
) -> None:
    """Give the verdict on a submission whose answer was lost."""
    if (verdict is Verdict.ACCEPTED) is not bool(handle):
        raise typer.BadParameter("--handle belongs to accepted, and accepted needs it")
    settings = acting(as_)
    with opened_database(settings) as database:
        result = _resolve(database, settings, attempt, verdict, handle or "", reason)
    if result.word == LOST:
        raise LostRace("attempt", result.subject, result.reason)
    if json:
        emit(result)
    else:
        say(f"{result.subject}: {result.word}" + (f" ({result.reason})" if result.reason else ""))


def _resolve(
    database: Database, settings: Settings, name: str, verdict: Verdict, handle: str, reason: str
) -> ItemResult:
    from pipeline.steps.answer.find import find_attempt
    from pipeline.steps.operate import resolve as step

    with database.reading() as connection:
        found = find_attempt(connection, name)
    said = {"actor": settings.actor, "reason": reason}
    if verdict is Verdict.WRITE_OFF:
        return step.write_off(database, found.id, found.tenant, **said)
    terms = _terms(settings, found)
    if verdict is Verdict.ACCEPTED:
        return step.accepted(database, found.id, found.tenant, terms, handle=handle, **said)
    return step.not_accepted(database, found.id, found.tenant, terms, **said)


def _terms(settings: Settings, found: FoundAttempt) -> ProviderTerms:
    from resources.connect import provider_terms

    known = provider_terms(settings)
    if found.provider not in known:
        problem = f"its provider {found.provider} is not in the provider list"
        raise NotAllowed(found.id, problem, "put the provider back into the list, or write it off")
    return known[found.provider]
