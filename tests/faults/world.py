"""One installation of the sweep: a small campaign in its intake, its workers, and what must be true.

Belongs here: making it, running workers on it, asserting. Does not belong here: which deaths are tried
(`scenarios`).
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml

from pipeline.steps.operate.check import check
from pipeline.steps.produce.spool import sweep_spool
from resources.adapters import Adapters
from resources.database import schema
from resources.database.invariants import Phase, SeenJob
from tests.faults.nursery import Ended, Nursery
from tests.faults.places import Places
from tests.faults.renderer.process import ADAPTERS, RendererProcess
from tests.faults.worker import BEHIND_SECONDS, Order, SharedClock, opened
from tests.steps.author import picture

LOCALES = {"en-GB": "Your parcel, on time.", "de-DE": "Ihr Paket, pünktlich."}
PICTURES = 4  #: of each video, by the shipped transform set
LIFE = ["queued", "submitting", "generating", "retrieving", "stored", "indexed"]
LOST = ["queued", "submitting"]
#: Leases of the dead are over after this.
LEASE_SECONDS = 61
#: Classes whose remote jobs are found again, whatever is lost.
FINDS = frozenset({"k", "l"})


@dataclass
class World:
    """One tenant with one campaign of two videos, in a folder and a database of its own."""

    home: Path
    places: Places
    mode: str
    renderer: RendererProcess
    nursery: Nursery
    tenant: str
    through: Places  #: the same places as workers reach them, maybe by way of a relay
    seen_outputs: int = field(init=False)
    _before_its_death: int = 0

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.providers = self.home / "providers.yaml"
        self.providers.write_text(yaml.safe_dump(_providers(self.mode, self.renderer.url)))
        self.drop("spring")
        self.seen_outputs = self._outputs_served()

    def drop(self, folder: str) -> None:
        """Deliver the brief with its image, in a folder of its own."""
        place = self.home / "objects" / "intake" / self.tenant / folder
        picture(place / "depot.png", "navy")
        (place / "brief.yaml").write_text(yaml.safe_dump(_brief(self.tenant), allow_unicode=True))
        self.places.deliver(self.home / "objects")

    # Workers

    def order(self, **changes: Any) -> Order:
        return Order(
            home=str(self.home), providers=str(self.providers), clock=str(self.home / "clock"),
            log=str(self.home / "points"), **{**self.through.urls, **changes},
        )  # fmt: skip

    def start(self, **changes: Any) -> int:
        return self.nursery.fork(self.order(**changes).dump())

    def run(self, **changes: Any) -> Ended:
        """A worker until it ends, is killed or stops itself."""
        return self.nursery.wait(self.start(**changes))

    def finish(self, **changes: Any) -> None:
        """A worker that is let live, and must come to the end."""
        ended = self.run(**changes)
        assert ended.is_well, f"status {ended.status}: {self.nursery.errors.read_text()[-2000:]}"

    def wake(self, stopped: int) -> None:
        os.kill(stopped, signal.SIGCONT)

    def go_on(self, stopped: int) -> Ended:
        self.wake(stopped)
        return self.nursery.wait(stopped)

    def leases_end(self) -> None:
        self.clock.pass_seconds(LEASE_SECONDS)

    def forget_spool(self) -> None:
        shutil.rmtree(self.home / "spool", ignore_errors=True)

    @property
    def points(self) -> list[str]:
        """Every point that any worker reached, in order."""
        log = self.home / "points"
        return log.read_text().split() if log.exists() else []

    # What is there

    @cached_property
    def _opened(self) -> tuple[Adapters, SharedClock]:
        return opened(self.order(**self.places.urls))

    @property
    def adapters(self) -> Adapters:
        return self._opened[0]

    @property
    def clock(self) -> SharedClock:
        return self._opened[1]

    def close(self) -> None:
        self.adapters.close()
        self.clock.close()

    def rows(self, table: sa.Table) -> Sequence[sa.Row[Any]]:
        with self.adapters.database.reading() as connection:
            return connection.execute(sa.select(table)).all()

    def bill(self) -> list[SeenJob]:
        """What the provider charges this tenant for, lost or not."""
        ours = {row.id for row in self.rows(schema.attempts)}
        return [
            SeenJob("fault", line.id, line.reference, line.key)
            for line in self.renderer.bill()
            if line.reference in ours
        ]

    def _outputs_served(self) -> int:
        return self.renderer.seen().get("GET /outputs/{id}.mp4", 0)

    def renderer_returns(self) -> None:
        """It was killed, and forgot what it counted."""
        self.seen_outputs = -self._before_its_death
        self.renderer.start()

    def renderer_dies(self) -> None:
        self._before_its_death = self.outputs_served()
        self.renderer.kill()

    def outputs_served(self) -> int:
        """Downloads of this installation's outputs; installations of one renderer take turns."""
        return self._outputs_served() - self.seen_outputs

    # What must be true

    def holds_up(self) -> None:
        """Right after a fault, before anything repairs it."""
        found = check(self.adapters, phases=[Phase.ALWAYS], reads_bytes=True, jobs=self.bill())

        assert not found, "\n".join(map(str, found))

    def has_converged(self, *, deaths: int = 1) -> None:
        """Everything that can be made was made once; everything else is named."""
        found = check(
            self.adapters, settle_seconds=-BEHIND_SECONDS, reads_bytes=True, jobs=self.bill()
        )  # nothing at all may be due any more, however late

        assert not found, "\n".join(map(str, found))
        assert check(self.adapters) == []  # as an installation checks itself: it asks its provider, no bill
        self._is_paid_once()
        self._moved_once()
        self._bytes_add_up(deaths)
        self._shows_everything()
        sweep_spool(self.adapters.database, self.adapters.spool)
        assert list(self.adapters.spool.glob("*.*")) == []

    def _is_paid_once(self) -> None:
        bill = Counter(job.reference for job in self.bill())
        attempts = self.rows(schema.attempts)
        sends = self.rows(schema.sends)
        taken = Counter(row.attempt for row in sends if row.result != "not_sent")  # or maybe taken

        assert len(attempts) == len(LOCALES)
        for row in attempts:
            is_lost = row.submission == "unknown"
            if self.mode in FINDS:
                assert (bill[row.id], is_lost) == (1, False)
            else:
                # What was lost may not have been sent; its sender may even have said so, too late.
                assert bill[row.id] <= taken[row.id] <= 1 if is_lost else bill[row.id] == taken[row.id] == 1
            if is_lost:
                assert row.parked_reason == "awaiting_verdict"

    def _moved_once(self) -> None:
        """The event sequences: one life an attempt, one move of a slot, one decision of the revision."""
        chains: dict[tuple[str, str], list[str]] = {}
        for row in sorted(self.rows(schema.audit), key=lambda row: (row.subject_id, row.version or 0)):
            if row.version is not None:
                chains.setdefault((row.subject_kind, row.subject_id), []).append(row.to_state)
        lost = {row.id for row in self.rows(schema.attempts) if row.submission == "unknown"}
        for (kind, subject), states in chains.items():
            if kind == "attempt":
                assert states == (LOST if subject in lost else LIFE)
            elif kind == "slot":
                assert states == [f"{subject}@1"]
            else:
                assert (kind, states) == ("revision", ["uploaded", "moderating", "approved"])

    def _bytes_add_up(self, deaths: int) -> None:
        """Retrieved, stored and downloaded again, by the meters and by what the provider served."""
        objects = {row.id: row for row in self.rows(schema.objects)}
        facts = Counter[tuple[str, str]]()
        for fact in self.rows(schema.usage_facts):
            facts[fact.attempt, fact.meter] += fact.quantity
        owned = [row for row in self.rows(schema.attempts) if row.state == "indexed"]
        for row in owned:
            size = objects[row.object].size_bytes
            assert facts[row.id, "retrieved_bytes"] in (size, 0)  # 0: the commit died, the bytes were adopted
            repeated = facts[row.id, "repeated_download_bytes"]
            assert repeated in (0, size)
            assert bool(repeated) <= (row.downloads > 1)
            assert 1 <= row.downloads <= 1 + deaths
        assert len(owned) <= self.outputs_served() <= sum(row.downloads for row in owned)
        kinds = Counter(row.kind for row in objects.values())
        assert kinds == {"source": 1, "rendition": len(owned), "derivative": 1 + PICTURES * len(owned)} or (
            not owned and kinds == {"source": 1, "derivative": 1}
        )

    def _shows_everything(self) -> None:
        owned = {row.rendition for row in self.rows(schema.attempts) if row.state == "indexed"}
        shown = [row.published_rendition for row in self.rows(schema.slots) if row.publication]
        current = [row.rendition for row in self.rows(schema.index_entries) if row.standing == "current"]

        assert sorted(shown) == sorted(current) == sorted(owned)


def _brief(tenant: str) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "campaign": "spring",
        "revision": 1,
        "cost_center": "MKT-1",
        "sources": ["depot.png"],
        "copy": LOCALES,
        "variants": {"locales": list(LOCALES), "aspect_ratios": ["16:9"], "duration_seconds": [1]},
        "generation": {"provider": "fault", "model": "kenburns-1", "settings": {"short_side": 180}},
        "tags": {"asset_type": "marketing-video", "visibility": "public", "product": ["parcel"]},
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
        "ends_on": "2035-03-31",
    }


def _providers(mode: str, url: str) -> dict[str, Any]:
    year = 31_536_000
    return {
        "version": "sweep-1",
        "providers": {
            "fault": {
                "adapter": ADAPTERS[mode],
                "base_url": url,
                "private_origin": True,
                "options": {"lag_seconds": 2},
                "spend": "live",
                "currency": "EUR",
                "models": {"kenburns-1": {"price_per_second": "0.05"}},
                "in_flight": {"total": 2, "per_tenant": 2},
                "waiting": {"deadline_seconds": year, "purge_horizon_seconds": year},
                "tries": {"attempts": 1, "sends": 50, "fetches": 20},
                "polling": {"first_seconds": 1, "ceiling_seconds": 10},
            }
        },
    }
