"""`reelwright migrate`: the one verb that changes a database's schema (E7)."""

from __future__ import annotations

from pipeline.cli.opening import Json, acting
from pipeline.cli.printing import emit, say, working


def migrate(json: Json = False) -> None:
    """Bring the database to this release's revision."""
    from resources.database.migrate import head
    from resources.database.migrate import migrate as bring_up

    settings = acting()
    with working("migrating …", quiet=json):
        before = bring_up(settings.database)
    if json:
        emit({"before": before, "after": head(), "changed": before != head()})
    else:
        say(f"database: {before} to {head()}" if before != head() else f"database: {head()}, nothing to do")
