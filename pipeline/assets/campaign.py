"""The campaign-partitioned assets, from source set to tag index (E1).

Belongs here: what each asset is, in words that a person reads in Dagster's window. Does not belong here: the
work; each is a thin cover of a step. A partition is green when its campaign's newest revision has met its
policy; until then it shows observations with counts.

No backfill policy is named, which means a run a campaign: an undecided one must be able to leave its own
partition, and what follows from it, untouched. Runs of assets share a pool of their own, so that a backfill
neither waits for a lot nor keeps one waiting.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import dagster as dg

from pipeline.assets.bring_forward import bring_forward
from pipeline.assets.events import UPSTREAM, column_schema
from pipeline.assets.partitions import campaigns
from pipeline.domain.follow_ons import Stage
from pipeline.steps.answer.standing import Part
from resources.dagster_resources import Adapters, Operating

OWNERS = ["team:media-platform"]
POOL = "backfill"

_POLICY = """A partition turns green when the campaign's completion policy is met for its newest revision:
`all_terminal`, no wanted video is active, waiting or unresolved; `all_usable`, every one is ready. Until then
it shows observations."""
_ROW = """**A row of `items`** is one wanted video: its state, why, what happens next, whose turn it is, what
may have been paid for and is not owned, and the id of its attempt. What failed or waits for a person stands
first. `reelwright plan CAMPAIGN --all` says the same in a terminal."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One asset as the window shows it."""

    group: str
    kinds: set[str]
    stage: Stage  #: whose due work a materialization takes on
    about: str


SHOWN: Mapping[Part, Shown] = MappingProxyType(
    {
        Part.SOURCE_SET: Shown(
            "intake",
            {"image", "yaml"},
            Stage.INGEST,
            """The images and copy of the newest revision, as Reelwright owns them.

Green when every image that the brief names is there, whole and checked. The metadata counts images by
standing: present, growing, missing, refused; the receipt beside the brief names them.

**Materializing it** takes up images that arrived since.""",
        ),
        Part.MODERATED_SOURCE_SET: Shown(
            "intake",
            {"image"},
            Stage.INGEST,
            """The source set after moderation: verdict, policy version, reason code, and who decided.

Green when it is approved; stale when it was decided under another version of the moderation policy. A
rejected set stays as it is until a new revision or a review; an undecided one waits for
`reelwright moderate CAMPAIGN`.

**Materializing it** judges what was never judged, and nothing twice.""",
        ),
        Part.GENERATION_ATTEMPTS: Shown(
            "generation",
            {"api"},
            Stage.SUBMIT,
            f"""The tries at producing each wanted video, counted by state, over all providers.

{_POLICY}

{_ROW}

**Materializing it** sends what is queued and was never sent. It makes no attempt where one exists and sends
nothing again.""",
        ),
        Part.RENDITIONS: Shown(
            "media",
            {"video"},
            Stage.RETRIEVE,
            f"""The videos that Reelwright owns: fetched, proven whole against the target profile, immutable.

{_POLICY} Stale when a video was proven against another version of the profile.

{_ROW} `video …` leads to each owned video; after its purge the page answers 410.

**Materializing it** fetches outputs that are due. No video is generated again.""",
        ),
        Part.THUMBNAILS: Shown(
            "media",
            {"image"},
            Stage.DERIVE,
            f"""Thumbnails and poster of every owned video, once per bytes and transform version.

{_POLICY} Stale when pictures were made under another version of the transform set.

{_ROW} **A row of `backfill_thumbnails_left`** is a video whose pictures stayed as they were, and why: leased
by a running lot, paused, or failed.

**Materializing it** makes pictures that are due, and makes anew those of an older version or that were lost;
the older ones stay beside them.""",
        ),
        Part.TAG_INDEX: Shown(
            "publication",
            {"search"},
            Stage.PUBLISH,
            f"""What searches find and slots show: index entries by standing, and how many videos are ready.

{_POLICY}

{_ROW} `published …` leads to what each slot shows. **A row of `backfill_tags_left` or `backfill_index_left`**
is a slot or entry that stayed as it was, and why.

**Materializing it** publishes what is due, retags what is shown under older required tags, and tells the
index everything about the campaign again.""",
        ),
    }
)


def _asset(part: Part, shown: Shown) -> dg.AssetsDefinition:
    @dg.asset(
        name=str(part),
        description=shown.about,
        deps=[dg.AssetKey(str(UPSTREAM[part]))] if part in UPSTREAM else [],
        partitions_def=campaigns,
        group_name=shown.group,
        owners=OWNERS,
        kinds=shown.kinds,
        metadata={"dagster/column_schema": column_schema(part)},
        tags={"stage": str(shown.stage)},
        pool=POOL,
        output_required=False,
    )
    def campaign_part(
        context: dg.AssetExecutionContext,
        adapters: dg.ResourceParam[Adapters],
        operating: dg.ResourceParam[Operating],
    ) -> Iterator[dg.MaterializeResult[None]]:
        yield from bring_forward(context, adapters, operating, shown.stage, part)

    return campaign_part


CAMPAIGN_ASSETS = [_asset(part, shown) for part, shown in SHOWN.items()]
