"""Where an installation of the sweep keeps what it keeps.

Belongs here: the three addresses, and how a brief gets into the intake. Does not belong here: servers
(`tests.services.faults`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """As settings name them; the defaults are a folder, and the database's own index."""

    database_url: str
    store_url: str = ""
    index_url: str = "sql"

    @property
    def urls(self) -> dict[str, str]:
        return {
            "database_url": self.database_url,
            "store_url": self.store_url,
            "index_url": self.index_url,
        }

    def deliver(self, objects: Path) -> None:
        """Bring what lies in the intake below *objects* to where the product looks: here it looks there."""
