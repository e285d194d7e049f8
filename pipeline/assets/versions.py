"""Which document's version stands behind each campaign asset, so that what lies behind shows as stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import dagster as dg

from pipeline.steps.answer.standing import STEP_VERSION, Part
from resources.dagster_resources import DocumentVersions

_OF_DOCUMENT: Mapping[Part, str] = MappingProxyType(
    {
        Part.MODERATED_SOURCE_SET: "moderation",
        Part.RENDITIONS: "profile",
        Part.THUMBNAILS: "transforms",
    }
)


def with_versions(
    assets: Sequence[dg.AssetsDefinition], versions: DocumentVersions
) -> Sequence[dg.AssetsDefinition]:
    """*assets* with their code version: the document's that shapes them, or the step's own."""

    def versioned(spec: dg.AssetSpec) -> dg.AssetSpec:
        document = _OF_DOCUMENT.get(Part(spec.key.to_user_string()))
        version = getattr(versions, document) if document else STEP_VERSION
        return spec.replace_attributes(code_version=version)

    return dg.map_asset_specs(versioned, assets)
