"""The upright, cleaned pictures that are sent on, brought from the store to the private spool.

Belongs here: fetching each picture once a process, proving it by its hash. Does not belong here: making
it (intake does, once), or sending it (adapters).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import ReelwrightError, StoreUnavailable, UnknownSubject
from resources.database.database import Database
from resources.database.upright import UprightPicture, upright_pictures
from resources.object_store.protocol import ObjectStore
from resources.providers.protocol import InputImage


class InputsGone(ReelwrightError):
    """A picture that this rendition needs is not in the store any more."""


@dataclass(slots=True)
class Inputs:
    """Pictures by the hash of their source asset; a picture is fetched once and then read from the spool."""

    database: Database
    store: ObjectStore
    spool: Path
    fetched: dict[str, InputImage] = field(default_factory=dict)

    def of(self, rendition: sa.Row[Any]) -> tuple[InputImage, ...]:
        """The pictures of *rendition* in scene order; InputsGone when one is not there any more."""
        missing = [sha256 for sha256 in rendition.sources if sha256 not in self.fetched]
        if missing:
            self._fetch(rendition.tenant, missing)
        return tuple(self.fetched[sha256] for sha256 in rendition.sources)

    def _fetch(self, tenant: str, sources: list[str]) -> None:
        with self.database.reading() as connection:
            known = upright_pictures(connection, tenant, sources)
        for source in sources:
            if source not in known:
                raise InputsGone(f"source {source[:12]} has no picture to send")
            self.fetched[source] = self._bring(known[source])

    def _bring(self, picture: UprightPicture) -> InputImage:
        folder = self.spool / "inputs"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / picture.sha256
        if not path.exists():
            partial = folder / f".{picture.sha256}.{os.getpid()}"
            try:
                read = self.store.get_to(picture.key, partial)
            except UnknownSubject as error:
                raise InputsGone(f"{picture.key} is gone") from error
            if read.sha256 != picture.sha256:
                partial.unlink()
                raise StoreUnavailable("checksum_mismatch", f"{picture.key} holds other bytes than recorded")
            partial.rename(path)
        return InputImage(picture.sha256, picture.media_type, path)
