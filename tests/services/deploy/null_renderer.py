"""A provider that bills every job, for installations: what was paid twice shows on its bill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.faults.renderer.process import RendererProcess

NAME = "null"


@contextmanager
def billing(folder: Path) -> Iterator[tuple[RendererProcess, Path]]:
    """The provider, and a list that names it."""
    with RendererProcess(folder / "null-renderer") as renderer:
        listed = folder / "providers.yaml"
        listed.write_text(yaml.safe_dump({"version": "deploy-1", "providers": {NAME: _terms(renderer.url)}}))
        yield renderer, listed


def _terms(url: str) -> dict[str, object]:
    return {
        "adapter": "tests.faults.renderer.adapters:KeyProvider",
        "base_url": url,
        "private_origin": True,
        "spend": "test",
        "currency": "EUR",
        "models": {"kenburns-1": {"price_per_second": "0.01"}},
        "in_flight": {"total": 100, "per_tenant": 100},
        "waiting": {"deadline_seconds": 1800, "purge_horizon_seconds": 86_400},
        "polling": {"first_seconds": 1, "ceiling_seconds": 5},
    }
