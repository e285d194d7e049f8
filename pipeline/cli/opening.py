"""Who acts, and what a command stands on: settings, the database, or the whole set of adapters.

Belongs here: opening and closing around one command. Does not belong here: what the command does. Imports
of what is heavy stand inside, so that `--help` and a mistyped command answer at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.domain.errors import BadSettings, SchemaMismatch

if TYPE_CHECKING:
    from pipeline.documents.settings import Settings
    from resources.adapters import Adapters
    from resources.database.database import Database

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
As = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Act as NAME instead of the settings' actor.")
]
_ACTOR = "REELWRIGHT_ACTOR"


def acting(name: str | None = None) -> Settings:
    """The settings, with *name* as the actor when one is given."""
    from pipeline.documents.settings import read_settings

    if name is None:
        return read_settings()
    try:
        return read_settings({**os.environ, _ACTOR: name or " "})
    except BadSettings as error:
        if error.setting != _ACTOR:
            raise
        raise BadSettings("--as", str(error).partition(": ")[2], "name a person or key") from error


def require_database(settings: Settings) -> None:
    """SchemaMismatch where no database is yet, or in another folder: looking must not create one."""
    from resources.database.engine import normalised

    url = normalised(settings.database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        error = SchemaMismatch(f"there is no database at {url.database}")
        error.remedy = (
            "go to the folder whose `.reelwright` you mean, or set REELWRIGHT_HOME; a new one begins with"
            " `make dev` or `reelwright migrate`"
        )
        raise error


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """The database alone, at this release's revision: all that a question needs."""
    from resources.database.database import Database
    from resources.database.migrate import require_current

    require_database(settings)
    database = Database.at(settings.database)
    try:
        require_current(database)
        yield database
    finally:
        database.close()


@contextmanager
def opened(settings: Settings) -> Iterator[Adapters]:
    from resources.connect import connected

    require_database(settings)
    with connected(settings) as adapters:
        yield adapters
