"""Take up the images that a revision names: checked, owned by hash, cleaned, until the set is whole (I1, I2).

Belongs here: from a stable file to a source asset, and from the last one to a submitted set. Does not belong
here: when a file is stable (`intake`), or what is thought of the pictures (`moderate`).

Bytes are durable in the store before a row names them. A picture that is refused holds its revision back
until the file is replaced, and is not looked at again before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import MediaRefused, SandboxFailed, StoreConflict, UnknownSubject
from pipeline.domain.lifecycle import SourceSetState
from pipeline.domain.media import ImageFacts
from pipeline.domain.provider_terms import ProviderTerms
from pipeline.domain.renditions import derivative_key, source_key
from pipeline.steps.produce.private_folder import private_folder
from pipeline.steps.produce.source_set import CHANGED_AFTER, record_sources
from resources import media
from resources.database.database import Database
from resources.database.intake import files_beside, version_of
from resources.database.objects import SERVING_STATES, NewObject, plain, purges_before_put
from resources.database.revisions import revision_by_id, sources_of
from resources.database.settings import in_force
from resources.database.source_sets import (
    GROWING,
    MISSING,
    PRESENT,
    REFUSED,
    Judged,
    OwnedSource,
    asset_by_sha256,
    asset_id,
)
from resources.database.upright import UPRIGHT, upright_pictures
from resources.object_store.protocol import ObjectStore

#: The transform that cleans a source picture: upright, sRGB, flat, without metadata, at most 4096 long.
UPRIGHT_VERSION = "upright-1"
UPRIGHT_FORMAT, UPRIGHT_EXTENSION, UPRIGHT_QUALITY, UPRIGHT_MAX_SIDE = "jpeg", "jpg", 95, 4096

_S = SourceSetState


@dataclass(frozen=True, slots=True)
class Intake:
    """What intake works with. `spool` is a private folder on local disk."""

    database: Database
    store: ObjectStore
    sandbox: media.Sandbox
    providers: Mapping[str, ProviderTerms]
    spool: Path
    actor: str = "intake"


def settle_sources(intake: Intake, revision_id: str) -> bool:
    """Look at every source of *revision_id* that changed since it was judged; True when something did.

    Raises StoreUnavailable; what was judged before it stays in the store and is found again next time.
    """
    with intake.database.reading() as connection:
        revision = revision_by_id(connection, revision_id)
        if revision is None or revision.intake_folder is None:
            return False
        sources = sources_of(connection, revision_id)
        files = files_beside(connection, revision.intake_folder)
        settings = in_force(connection, revision.campaign, intake.database.clock(connection))
    assert settings is not None, "written in the transaction of its revision"  # noqa: S101
    judge = _Judge(intake, revision, settings.retention_class)
    judged = [one for source in sources if (one := judge.look(source, files.get(source.name))) is not None]
    return intake.database.run(lambda tx: record_sources(tx, revision_id, sources, judged, intake.actor))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Looks at the files of one revision."""

    intake: Intake
    revision: sa.Row[Any]
    retention_class: str

    def look(self, source: sa.Row[Any], file: sa.Row[Any] | None) -> Judged | None:
        """None when nothing is to be said that was not said before."""
        is_open = self.revision.state == _S.UPLOADED
        if file is None or file.stable_at is None:
            standing = MISSING if file is None else GROWING
            return (
                None if source.standing in (PRESENT, standing) or not is_open else _waiting(source, standing)
            )
        if (source.seen_size, source.seen_modified_at) == version_of(file):
            return None
        with private_folder(self.intake.spool) as folder:
            return (self._take_up if is_open else self._compare)(source, file, folder)

    def _take_up(self, source: sa.Row[Any], file: sa.Row[Any], folder: Path) -> Judged:
        path = folder / "original"
        try:
            copied = self.intake.store.get_to(file.path, path)
        except UnknownSubject:
            return _waiting(source, MISSING)
        if copied.size != file.size_bytes:
            return _waiting(source, GROWING)
        try:
            asset, owned = self._own(path, copied.sha256)
        except MediaRefused as refused:
            return _refused(source, file, refused.reason, f"{refused}; {refused.remedy}".rstrip("; "))
        except SandboxFailed as failed:
            return _refused(source, file, f"parser_{failed.reason}", str(failed))
        return Judged(source.position, PRESENT, None, None, *version_of(file), asset=asset, owned=owned)

    def _compare(self, source: sa.Row[Any], file: sa.Row[Any], folder: Path) -> Judged | None:
        """After the submission the set is fixed: other bytes under the name are told, and not taken."""
        try:
            copied = self.intake.store.get_to(file.path, folder / "other")
        except UnknownSubject:
            return None
        if source.source_asset is None:
            return None
        is_same = asset_id(self.revision.tenant, copied.sha256) == source.source_asset
        return Judged(
            source.position,
            source.standing,
            None if is_same else CHANGED_AFTER,
            None if is_same else "the file was changed after the submission; raise `revision` to use it",
            *version_of(file),
            asset=source.source_asset,
        )

    def _own(self, path: Path, sha256: str) -> tuple[str | None, OwnedSource | None]:
        tenant = self.revision.tenant
        with self.intake.database.reading() as connection:
            known = asset_by_sha256(connection, tenant, sha256)
            is_owned = known is not None and known.object_state in SERVING_STATES
            if known is not None and is_owned and upright_pictures(connection, tenant, [sha256]):
                return known.id, None
            keys = source_key(tenant, sha256), _upright_key(tenant, sha256)
            purges = purges_before_put(connection, keys)
        facts = media.examine_image(self.intake.sandbox, path, sha256=sha256)
        picture = media.upright_image(
            self.intake.sandbox,
            path,
            path.with_name("upright"),
            format=UPRIGHT_FORMAT,
            quality=UPRIGHT_QUALITY,
            max_side=UPRIGHT_MAX_SIDE,
        )
        original, upright = (
            replace(one, purges_before=purges.get(one.key, 0))
            for one in (
                self._new_object("source", source_key(tenant, sha256), facts),
                self._new_upright(picture, sha256),
            )
        )
        self.intake.store.put_if_absent(
            original.key, path, sha256=sha256, size=facts.size_bytes, media_type=facts.content_type
        )
        upright = self._put_upright(upright, picture.path)
        return None, OwnedSource(
            original, upright, UPRIGHT_VERSION, UPRIGHT, picture.width, picture.height, UPRIGHT_FORMAT
        )

    def _new_object(self, kind: str, key: str, facts: ImageFacts) -> NewObject:
        return NewObject(
            self.revision.tenant, None, kind, self.retention_class, key, facts.sha256, facts.size_bytes,
            facts.content_type, plain(facts),
        )  # fmt: skip

    def _new_upright(self, picture: media.UprightPicture, sha256: str) -> NewObject:
        tenant = self.revision.tenant
        key = _upright_key(tenant, sha256)
        facts = {"width": picture.width, "height": picture.height}
        return NewObject(
            tenant, None, "derivative", self.retention_class, key, picture.sha256, picture.size_bytes,
            "image/jpeg", facts,
        )  # fmt: skip

    def _put_upright(self, wanted: NewObject, path: Path) -> NewObject:
        """What a killed worker left under the key is adopted, also when another encoder made it."""
        try:
            self.intake.store.put_if_absent(
                wanted.key,
                path,
                sha256=wanted.sha256,
                size=wanted.size_bytes,
                media_type=wanted.media_type,
            )
        except StoreConflict:
            return self._adopted(wanted, path)
        return wanted

    def _adopted(self, wanted: NewObject, path: Path) -> NewObject:
        copied = self.intake.store.get_to(wanted.key, path)
        facts = media.examine_image(self.intake.sandbox, path, sha256=copied.sha256)
        size = {"width": facts.display_width, "height": facts.display_height}
        return replace(wanted, sha256=copied.sha256, size_bytes=copied.size, facts=size)


def _upright_key(tenant: str, sha256: str) -> str:
    return derivative_key(tenant, sha256, UPRIGHT_VERSION, UPRIGHT, UPRIGHT_EXTENSION)


def _waiting(source: sa.Row[Any], standing: str) -> Judged:
    return Judged(source.position, standing)


def _refused(source: sa.Row[Any], file: sa.Row[Any], reason: str, problem: str) -> Judged:
    return Judged(source.position, REFUSED, reason, problem, *version_of(file))
