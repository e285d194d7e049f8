"""How long from a complete brief to the first send, under the real `reelwright dev` on an idle machine.

    .venv/bin/python -m benchmarks.latency [DROPS]

Belongs here: dropping briefs one after the other and reading when their first attempt was sent. Does not
belong here: how long a provider takes. The promise: of 20 drops the median below 30 s, the worst below 45 s.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa
import yaml
from PIL import Image

from pipeline.cli.processes import running
from pipeline.documents.settings import Settings
from resources.database.database import Database
from resources.database.schema import attempts, sends

DROPS = 20
TENANT = "acme"
MEDIAN_SECONDS, WORST_SECONDS = 30.0, 45.0
GIVE_UP_SECONDS = 180.0
#: Drops do not fall on the same moment between two ticks.
PAUSES = (1.0, 2.7, 4.4, 0.3, 3.6)

BRIEF = {
    "tenant": TENANT, "revision": 1, "cost_center": "MKT-1", "sources": ["depot.jpg"],
    "copy": {"en-GB": "Your parcel, on time."},
    "variants": {"locales": ["en-GB"], "aspect_ratios": ["1:1"], "duration_seconds": [1]},
    "generation": {"provider": "local", "model": "kenburns-1", "settings": {"fps": 12, "short_side": 240}},
    "tags": {"asset_type": "marketing-video", "visibility": "public"},
    "budget": {"cap": "5.00", "currency": "EUR"}, "retention_class": "standard",
}  # fmt: skip


def measure(home: Path, drops: int) -> list[float]:
    """Seconds from brief to send, drop by drop."""
    settings = Settings(home=home)
    found = []
    with running(settings, dagster_port=0, renderer_port=0, say=print):
        database = Database.at(settings.database)
        try:
            for number in range(drops):
                found.append(_one(settings, database, f"campaign-{number}"))
                print(f"  drop {number + 1}: {found[-1]:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
                _settle(database)
                time.sleep(PAUSES[number % len(PAUSES)])
        finally:
            database.close()
    return found


def _one(settings: Settings, database: Database, name: str) -> float:
    folder = settings.objects / "intake" / TENANT / name
    folder.mkdir(parents=True)
    Image.new("RGB", (320, 240), "navy").save(folder / "depot.jpg")
    (folder / "brief.yaml").write_text(yaml.safe_dump(BRIEF | {"campaign": name}))
    dropped = time.time()
    while True:
        with database.reading() as connection:
            wanted = sa.select(sa.func.min(sends.c.at)).join(attempts, attempts.c.id == sends.c.attempt)
            sent = connection.scalar(wanted.where(attempts.c.campaign == f"{TENANT}.{name}"))
        if sent is not None:
            return float(sent) / 1e6 - dropped
        if time.time() - dropped > GIVE_UP_SECONDS:
            raise SystemExit(f"{name} was not sent in {GIVE_UP_SECONDS:.0f} s; see {settings.home / 'logs'}")
        time.sleep(0.2)


def _settle(database: Database) -> None:
    """Wait until nothing moves: the machine is idle again."""
    moving = sa.select(sa.func.count()).where(attempts.c.state != "indexed")
    until = time.time() + GIVE_UP_SECONDS
    while time.time() < until:
        with database.reading() as connection:
            if not connection.scalar(moving):
                return
        time.sleep(0.5)


def main() -> None:
    drops = int(sys.argv[1]) if len(sys.argv) > 1 else DROPS
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder) / "home", drops)
    median, worst = statistics.median(found), max(found)
    kept = median < MEDIAN_SECONDS and worst < WORST_SECONDS
    print(f"{drops} drops: median {median:.1f} s, worst {worst:.1f} s: {'kept' if kept else 'NOT kept'}")
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()
