"""A person at a terminal: a home of its own, briefs and pictures in a folder, and the real command.

Belongs here: running commands and the lots beside them. Does not belong here: what a test expects.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from PIL import Image
from typer.testing import CliRunner, Result

from pipeline.cli.main import app
from pipeline.documents.settings import read_settings
from pipeline.domain.follow_ons import Stage
from pipeline.steps.operate.relay_outbox import relay_outbox
from pipeline.steps.produce.stages import poll_tick, run_lot
from resources.connect import connected

CAMPAIGN = "northwind.spring-depot"
SLOT = f"{CAMPAIGN}/en-GB/16x9/1s"
COMMAND = Path(sys.executable).with_name("reelwright")
#: From a delivered brief to what its publication waits for; videos of a second take the renderer none.
SETTLED_SECONDS = 60


def brief(**changes: Any) -> dict[str, Any]:
    """A brief of one small video; `changes` replace whole fields, None removes one."""
    whole = {
        "tenant": "northwind",
        "campaign": "spring-depot",
        "revision": 1,
        "cost_center": "MKT-4410",
        "sources": ["depot.jpg"],
        "copy": {"en-GB": "Your parcel, on time."},
        "variants": {"locales": ["en-GB"], "aspect_ratios": ["16:9"], "duration_seconds": [1]},
        "generation": {"provider": "local", "model": "kenburns-1", "settings": {"short_side": 180}},
        "tags": {"asset_type": "marketing-video", "visibility": "public", "product": ["parcel"]},
        "budget": {"cap": "50.00", "currency": "EUR"},
        "retention_class": "standard",
    } | changes
    return {name: value for name, value in whole.items() if value is not None}


@dataclass
class Desk:
    folder: Path
    database_url: str
    renderer_url: str = "http://127.0.0.1:9"
    runner: CliRunner = field(default_factory=CliRunner)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "REELWRIGHT_HOME": str(self.folder / "home"),
            "REELWRIGHT_DATABASE_URL": self.database_url,
            "REELWRIGHT_RENDERER_URL": self.renderer_url,
            "REELWRIGHT_ACTOR": "anna",
        }

    def run(self, *arguments: object) -> Result:
        """The command in this process; standard output and error apart."""
        done = self.runner.invoke(app, [str(one) for one in arguments], env=self.environment)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    def json(self, *arguments: object) -> Any:
        """What a command answers with `--json`: one document and nothing else; it must succeed."""
        done = self.run(*arguments, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    def process(
        self, *arguments: object, before: Any = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """The installed command as a process of its own."""
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            env={**os.environ, **self.environment, **environment},
            cwd=self.folder,
            preexec_fn=before,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def write(self, name: str = "brief.yaml", **changes: Any) -> Path:
        path = self.folder / name
        path.write_text(yaml.safe_dump(brief(**changes), allow_unicode=True), "utf-8")
        return path

    def picture(self, name: str = "depot.jpg", size: tuple[int, int] = (64, 48)) -> Path:
        path = self.folder / name
        Image.new("RGB", size, "navy").save(path)
        return path

    def deliver(self, **changes: Any) -> Any:
        """A whole delivery: the picture, the brief, `submit`."""
        self.picture()
        return self.json("submit", self.write(**changes))

    def settings(self) -> Any:
        return read_settings({**os.environ, **self.environment})

    def moderate(self) -> None:
        """What an ingest lot does."""
        with connected(self.settings()) as adapters:
            relay_outbox(adapters.database)
            run_lot(adapters, Stage.INGEST)

    def work(self, until: str = "ready") -> Mapping[str, Any]:
        """Run every stage's lot until every wish says *until*; the last status document."""
        end = time.monotonic() + SETTLED_SECONDS
        with connected(self.settings()) as adapters:
            while True:
                for stage in Stage:
                    relay_outbox(adapters.database)
                    run_lot(adapters, stage)
                poll_tick(adapters)
                found: Mapping[str, Any] = self.json("status", CAMPAIGN)
                words = {wish["word"] for wish in found["wishes"]}
                if words == {until}:
                    return found
                assert time.monotonic() < end, f"still {words}: {found['wishes']}"
                time.sleep(0.2)

    def words(self) -> set[str]:
        return {wish["word"] for wish in self.json("status")["wishes"]}
