"""The campaign-partitioned assets, from source set to tag index (E1).

Belongs here: what each asset is, in words that a person reads in Dagster's window. Does not belong here: the
work; each is a thin cover of a step. A partition is green when its campaign's newest revision has met its
policy; until then it shows observations with counts.

No backfill policy is named, which means a run a campaign: an undecided one must be able to leave its own
partition, and what follows from it, untouched.
"""

from collections.abc import Iterator

import dagster as dg

from pipeline.assets.bring_forward import bring_forward
from pipeline.assets.partitions import campaigns
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from resources.dagster_resources import Adapters

OWNERS = ["team:media-platform"]

Results = Iterator[dg.MaterializeResult[None]]


@dg.asset(
    partitions_def=campaigns,
    group_name="intake",
    owners=OWNERS,
    kinds={"image"},
    pool=str(Stage.INGEST),
    output_required=False,
)
def source_set(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """The images and copy of the newest revision, as Reelwright owns them.

    Complete when every named image is there, whole, and checked. The metadata counts sources by standing
    (present, growing, missing, refused). Materializing it takes up images that arrived since.
    """
    yield from bring_forward(context, adapters, Stage.INGEST, Part.SOURCE_SET)


@dg.asset(
    deps=[source_set],
    partitions_def=campaigns,
    group_name="intake",
    owners=OWNERS,
    kinds={"image"},
    pool=str(Stage.INGEST),
    output_required=False,
)
def moderated_source_set(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """The source set after moderation, with policy version, reason and actor of the decision.

    Complete when it is approved. A rejected set stays as it is until a new revision or a review.
    """
    yield from bring_forward(context, adapters, Stage.INGEST, Part.MODERATED_SOURCE_SET)


@dg.asset(
    deps=[moderated_source_set],
    partitions_def=campaigns,
    group_name="generation",
    owners=OWNERS,
    kinds={"api"},
    pool=str(Stage.SUBMIT),
    output_required=False,
)
def generation_attempts(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """The tries at producing each wanted video, by state, over all providers.

    Complete when the campaign's completion policy is met. Materializing it sends what is queued and was
    never sent; it makes no attempt where one exists and sends nothing again.
    """
    yield from bring_forward(context, adapters, Stage.SUBMIT, Part.GENERATION_ATTEMPTS)


@dg.asset(
    deps=[generation_attempts],
    partitions_def=campaigns,
    group_name="media",
    owners=OWNERS,
    kinds={"video"},
    pool=str(Stage.RETRIEVE),
    output_required=False,
)
def renditions(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """The videos that Reelwright owns: fetched, proven whole against the target profile, immutable.

    Complete when the campaign's completion policy is met. Materializing it fetches outputs that are due.
    """
    yield from bring_forward(context, adapters, Stage.RETRIEVE, Part.RENDITIONS)


@dg.asset(
    deps=[renditions],
    partitions_def=campaigns,
    group_name="media",
    owners=OWNERS,
    kinds={"image"},
    pool=str(Stage.DERIVE),
    output_required=False,
)
def thumbnails(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """Thumbnails and poster of every owned video, once per bytes and transform version.

    Complete when the campaign's completion policy is met. Stale when pictures were made under another
    version of the transform set.
    """
    yield from bring_forward(context, adapters, Stage.DERIVE, Part.THUMBNAILS)


@dg.asset(
    deps=[thumbnails],
    partitions_def=campaigns,
    group_name="publication",
    owners=OWNERS,
    kinds={"search"},
    pool=str(Stage.PUBLISH),
    output_required=False,
)
def tag_index(context: dg.AssetExecutionContext, adapters: dg.ResourceParam[Adapters]) -> Results:
    """What searches find and slots show: index entries by standing, and how many wishes are ready.

    Complete when the campaign's completion policy is met: no wish active, waiting or unresolved
    (`all_terminal`), or every wish ready (`all_usable`).
    """
    yield from bring_forward(context, adapters, Stage.PUBLISH, Part.TAG_INDEX)


CAMPAIGN_ASSETS = [
    source_set,
    moderated_source_set,
    generation_attempts,
    renditions,
    thumbnails,
    tag_index,
]
