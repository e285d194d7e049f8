"""compose.yaml without Docker: its services' commands as processes, its names as loopback addresses.

Belongs here: reading a service, and moving it to this machine. Does not belong here: what is started when
(`installation`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return read


@dataclass(frozen=True, slots=True)
class Moved:
    """How a container's world lies on this machine: `host:port` and bare ports, folders, programs."""

    places: Mapping[str, int]  #: host:port of a container -> port here
    folders: Mapping[str, Path]

    def text(self, text: str) -> str:
        for folder, here in self.folders.items():
            if text == folder or text.startswith(f"{folder}/"):
                return str(here) + text[len(folder) :]
        for place, port in self.places.items():
            host, _, number = place.partition(":")
            text = re.sub(rf"(?<![\w.]){host}:{number}\b", f"127.0.0.1:{port}", text)
            if text in (host, number):
                text = "127.0.0.1" if text == host else str(port)
        return "127.0.0.1" if text == "0.0.0.0" else text  # noqa: S104 - compared, not bound

    def environment(self, service: str) -> dict[str, str]:
        written: Mapping[str, str] = compose()["services"][service]["environment"]
        return {name: self.text(value) for name, value in written.items()}

    def command(self, service: str) -> Sequence[str]:
        program, *words = compose()["services"][service]["command"]
        return [str(BIN / program), *map(self.text, words)]
