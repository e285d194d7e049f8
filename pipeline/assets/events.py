"""How a campaign's standing reads in Dagster: metadata, links, versions.

Belongs here: turning plain facts into Dagster's values. Does not belong here: the facts
(`steps.answer.standing`), or storing events (`pipeline.jobs.bulk_events`).

Event metadata outlives a purge: it holds counts, names, states and links to our own API, which answers 410
after it; never media, prompts or a provider's address (A4).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import CODE_VERSION_TAG

from pipeline.steps.answer.standing import Part, Standing

Metadata = dict[str, dg.MetadataValue[Any]]

#: Each part is made from the one before.
UPSTREAM: Mapping[Part, Part] = dict(zip(list(Part)[1:], list(Part)[:-1], strict=True))

#: A row of the table `items`: one wanted video of the campaign's newest revision.
ITEM_COLUMNS = dg.TableSchema(
    columns=[
        dg.TableColumn("variant", description="locale, aspect ratio and duration of the wanted video"),
        dg.TableColumn("state", description="the word that clients see: ready, failed, generating, …"),
        dg.TableColumn("why", description="what it waits for, or the code of how it ended"),
        dg.TableColumn("next", description="what happens next to it, and why"),
        dg.TableColumn("who", description="whose turn it is: a person, a stage's lot, or itself"),
        dg.TableColumn("at_risk", description="what may have been paid for and is not owned"),
        dg.TableColumn("attempt", description="id of the selected attempt"),
    ]
)
#: What the two parts before generation tell: no video exists yet, so they count and name no items.
FACT_COLUMNS: Mapping[Part, Mapping[str, str]] = MappingProxyType(
    {
        Part.SOURCE_SET: {
            "state": "of the revision: uploaded, moderating, approved, rejected, withdrawn",
            "asset_set_sha256": "fingerprint of the ordered set; `not complete` while a source is missing",
            "sources_present": "images that are there, whole and checked",
            "sources_missing": "images that the brief names and nobody delivered",
            "sources_growing": "images that still change",
            "sources_refused": "images that cannot be used; the receipt says why",
        },
        Part.MODERATED_SOURCE_SET: {
            "state": "of the revision: moderating, approved, rejected",
            "verdict": "of the newest decision: approved, rejected, undecided",
            "policy": "version of the moderation policy under which it was decided",
            "reason": "code of the rule or of the person's decision",
            "actor": "who decided: `moderation_policy` or a person",
        },
    }
)


def column_schema(part: Part) -> dg.TableSchema:
    """What the window shows as the asset's columns."""
    facts = FACT_COLUMNS.get(part)
    if facts is None:
        return ITEM_COLUMNS
    return dg.TableSchema(columns=[dg.TableColumn(name, description=what) for name, what in facts.items()])


def metadata_of(standing: Standing, api: str = "") -> Metadata:
    """Words and the table first, for who is looking; the window plots the numbers, so their names stay.

    *api* is the base of links.
    """
    metadata: Metadata = {
        "revision": dg.MetadataValue.int(standing.revision),
        "complete": dg.MetadataValue.bool(standing.is_complete),
    }
    metadata |= {name: dg.MetadataValue.text(word) for name, word in standing.words.items()}
    if standing.table:
        metadata["items"] = table_of(standing.table, ITEM_COLUMNS)
    if api:
        metadata |= {name: dg.MetadataValue.url(api + path) for name, path in standing.links.items()}
    return metadata | {name: dg.MetadataValue.int(number) for name, number in standing.numbers.items()}


def table_of(rows: tuple[Mapping[str, str], ...], schema: dg.TableSchema) -> dg.TableMetadataValue:
    return dg.MetadataValue.table(records=[dg.TableRecord(dict(row)) for row in rows], schema=schema)


def result_of(standing: Standing, api: str, more: Metadata) -> dg.MaterializeResult[None]:
    """What an asset yields for a complete partition.

    The version is the one under which the part was made. A run made it no newer where it only looked: what
    lies behind its policy or profile stays stale.
    """
    return dg.MaterializeResult(
        metadata=metadata_of(standing, api) | more,
        data_version=dg.DataVersion(standing.fingerprint),
        tags={CODE_VERSION_TAG: standing.version},
    )


def observation_of(standing: Standing, api: str = "", more: Metadata | None = None) -> dg.AssetObservation:
    return dg.AssetObservation(
        asset_key=str(standing.part),
        partition=standing.campaign,
        metadata=metadata_of(standing, api) | (more or {}),
    )
