"""Hold and release claims per stage, provider and tenant, without losing anything (L9)."""

from __future__ import annotations

from pipeline.domain.errors import UnknownSubject
from pipeline.domain.follow_ons import Stage
from resources.database import pauses
from resources.database.database import Database

#: What can be paused: the stages of lots, the poller, retention, or all of them.
PAUSABLE = (*map(str, Stage), "poll", "retention", pauses.ALL)


def pause(database: Database, *, stage: str, provider: str, tenant: str, actor: str, reason: str) -> bool:
    """Hold claims of that scope; False when exactly that is held already."""
    if stage not in PAUSABLE:
        raise UnknownSubject("stage", stage, f"name one of {', '.join(PAUSABLE)}")
    return database.run(
        lambda tx: pauses.pause(tx, stage=stage, provider=provider, tenant=tenant, actor=actor, reason=reason)
    )


def resume(database: Database, *, stage: str, provider: str, tenant: str, actor: str) -> bool:
    """End the pause of exactly that scope; False when there is none. Held work is due as it was."""
    return database.run(
        lambda tx: pauses.resume(tx, stage=stage, provider=provider, tenant=tenant, actor=actor)
    )
