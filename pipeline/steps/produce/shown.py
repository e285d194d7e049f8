"""An output as it is to be found and shown: its candidate entry, and what its slot says of it (T1, T2).

Belongs here: building those values from rows. Does not belong here: writing them (`resources.database`).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from pipeline.domain.renditions import entry_id
from resources.database.index_entries import Candidate
from resources.database.publications import Shown


def candidate(output: sa.Row[Any], settings: sa.Row[Any]) -> Candidate:
    return Candidate(
        entry=entry_id(output.tenant, output.rendition, output.object),
        tenant=output.tenant,
        campaign=output.campaign,
        slot=output.id,
        rendition=output.rendition,
        attempt=output.attempt,
        object=output.object,
        tags_version=settings.tags_version,
    )


def shown(output: sa.Row[Any], settings: sa.Row[Any]) -> Shown:
    """What the slot shows when it shows this output, under the required tags that hold now."""
    return Shown(
        rendition=output.rendition,
        attempt=output.attempt,
        object=output.object,
        entry=entry_id(output.tenant, output.rendition, output.object),
        tags_version=settings.tags_version,
        tags={
            "tenant": output.tenant,
            "campaign": output.campaign,
            "locale": output.locale,
            "asset_type": settings.asset_type,
            "visibility": settings.visibility,
            "retention_class": settings.retention_class,
        },
    )
