"""How a campaign's standing reads in Dagster: metadata, versions, where it came from.

Belongs here: turning plain facts into Dagster's values. Does not belong here: the facts
(`steps.answer.standing`), or storing events (`pipeline.jobs.bulk_events`).

Event metadata outlives a purge: it holds counts, names and states, never media, prompts or addresses (A4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from pipeline.steps.answer.standing import Part, Standing

#: Each part is made from the one before.
UPSTREAM: Mapping[Part, Part] = dict(zip(list(Part)[1:], list(Part)[:-1], strict=True))

_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("variant", description="locale, aspect ratio, duration"),
        dg.TableColumn("state", description="the word that clients see"),
        dg.TableColumn("why", description="what it waits for, or how it ended"),
        dg.TableColumn("attempt", description="the selected attempt"),
    ]
)


def metadata_of(standing: Standing) -> dict[str, dg.MetadataValue[Any]]:
    """Numbers first: the window plots them over time, so their names stay."""
    metadata: dict[str, dg.MetadataValue[Any]] = {
        "revision": dg.MetadataValue.int(standing.revision),
        "complete": dg.MetadataValue.bool(standing.is_complete),
    }
    metadata |= {name: dg.MetadataValue.int(number) for name, number in standing.numbers.items()}
    metadata |= {name: dg.MetadataValue.text(word) for name, word in standing.words.items()}
    if standing.table:
        records = [dg.TableRecord(dict(row)) for row in standing.table]
        metadata["items"] = dg.MetadataValue.table(records=records, schema=_COLUMNS)
    return metadata


def result_of(standing: Standing) -> dg.MaterializeResult[None]:
    """What an asset yields for a complete partition."""
    return dg.MaterializeResult(
        metadata=metadata_of(standing), data_version=dg.DataVersion(standing.fingerprint)
    )


def observation_of(standing: Standing) -> dg.AssetObservation:
    return dg.AssetObservation(
        asset_key=str(standing.part), partition=standing.campaign, metadata=metadata_of(standing)
    )
