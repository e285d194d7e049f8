"""Many asset events in one write: what Dagster's window learns of campaigns.

Belongs here: storing materializations and observations. Does not belong here: which ones (`mark_partitions`).

Dagster's public calls store one event at a time, 25 ms each on PostgreSQL; a batch costs 0.5 ms an event. It
uses private names, so the release is pinned and a test fails when they move.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.events import (
    AssetObservationData,
    DagsterEvent,
    DagsterEventType,
    StepMaterializationData,
)
from dagster._core.events.log import EventLogEntry

from pipeline.assets.events import UPSTREAM, metadata_of, observation_of
from pipeline.steps.answer.standing import Part, Standing
from pipeline.steps.operate.mark_partitions import Say, Saying

#: Dagster's log level of an asset event.
_DEBUG = 10
_UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Teller:
    """Stores events, as part of a run or (without a run id) on its own."""

    instance: dg.DagsterInstance
    api: str = ""  #: the base of links to the HTTP API
    run_id: str = ""
    job_name: str = ""
    step_key: str | None = None

    def __call__(self, sayings: Sequence[Saying]) -> None:
        """Store them part by part: a batch holds one asset, and a part names the events it came from."""
        by_part: dict[Part, list[Saying]] = defaultdict(list)
        for saying in sayings:
            by_part[saying.standing.part].append(saying)
        at = time.time()
        for part in Part:
            if part in by_part:
                self.instance.event_log_storage.store_event_batch(
                    list(self._entries(part, by_part[part], at))
                )

    def _entries(self, part: Part, sayings: Sequence[Saying], at: float) -> Iterator[EventLogEntry]:
        pointers = self._pointers(part, sayings)
        for saying in sayings:
            if saying.say is Say.MATERIALIZED:
                event = self._materialized(saying.standing, pointers.get(saying.standing.campaign))
            else:
                event = self._observed(saying.standing)
            yield EventLogEntry(  # type: ignore[no-untyped-call]
                error_info=None,
                level=_DEBUG,
                user_message="",
                run_id=self.run_id,
                timestamp=at,
                step_key=self.step_key,
                job_name=self.job_name,
                dagster_event=event,
            )

    def _pointers(self, part: Part, sayings: Sequence[Saying]) -> Mapping[str, int]:
        """By campaign: the newest materialization of the part before, from which Dagster tells staleness."""
        green = {one.standing.campaign for one in sayings if one.say is Say.MATERIALIZED}
        if part not in UPSTREAM or not green:
            return {}
        return self.instance.event_log_storage.get_latest_storage_id_by_partition(
            dg.AssetKey(str(UPSTREAM[part])), DagsterEventType.ASSET_MATERIALIZATION, green
        )

    def _materialized(self, standing: Standing, pointer: int | None) -> DagsterEvent:
        one = dg.AssetMaterialization(
            asset_key=str(standing.part),
            partition=standing.campaign,
            metadata=metadata_of(standing, self.api),
            tags=_provenance(standing, pointer),
        )
        return self._event(
            DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(one), "Complete", standing
        )

    def _observed(self, standing: Standing) -> DagsterEvent:
        one = AssetObservationData(observation_of(standing, self.api))
        return self._event(DagsterEventType.ASSET_OBSERVATION, one, "Not complete", standing)

    def _event(
        self,
        kind: DagsterEventType,
        data: StepMaterializationData | AssetObservationData,
        how: str,
        standing: Standing,
    ) -> DagsterEvent:
        return DagsterEvent(
            event_type_value=kind.value,
            job_name=self.job_name,
            step_key=self.step_key,
            event_specific_data=data,
            message=f"{how}: {standing.part} of {standing.campaign}, revision {standing.revision}",
        )


def _provenance(standing: Standing, pointer: int | None) -> dict[str, str]:
    """The tags that a materialization made by a run would have: from them Dagster tells what is stale."""
    tags = {
        CODE_VERSION_TAG: standing.version,
        DATA_VERSION_TAG: standing.fingerprint,
        DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
    }
    if standing.part in UPSTREAM:
        above = dg.AssetKey(str(UPSTREAM[standing.part]))
        tags[get_input_data_version_tag(above)] = _UNKNOWN
        tags[get_input_event_pointer_tag(above)] = "NULL" if pointer is None else str(pointer)
    return tags
