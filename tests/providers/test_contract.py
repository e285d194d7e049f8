"""Every adapter there is passes the conformance kit (G8)."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from resources.providers.protocol import ProviderTerms
from tests.contracts.provider import ProviderContract
from tests.contracts.provider_bench import Subject
from tests.faults.renderer.process import ADAPTERS, RendererProcess

LAG_SECONDS = 1


class TestLocalRenderer(ProviderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
        store = tmp_path_factory.mktemp("local")
        with RendererProcess(store, program="resources.local_renderer.main") as renderer:
            yield Subject(
                ProviderTerms("local", "local", renderer.url, allow_private_origin=True),
                restart=renderer.restart,
                paid_jobs=lambda reference: _listed(renderer, reference),
            )


def _listed(renderer: RendererProcess, reference: str) -> int:
    """The local renderer charges nobody; each job that it knows stands for a paid one."""
    with urllib.request.urlopen(f"{renderer.url}/jobs?reference={reference}", timeout=10) as answer:  # noqa: S310
        return len(json.load(answer)["jobs"])


class TestFaultRenderer(ProviderContract):
    @pytest.fixture(scope="class", params=sorted(ADAPTERS))
    @classmethod
    def subject(
        cls, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Subject]:
        store: Path = tmp_path_factory.mktemp(f"mode-{request.param}")
        options = ("--mode", request.param, "--lag-seconds", str(LAG_SECONDS), "--work-seconds", "0.3")
        with RendererProcess(store, options=options) as renderer:
            yield Subject(
                ProviderTerms(
                    f"mode-{request.param}",
                    ADAPTERS[request.param],
                    renderer.url,
                    allow_private_origin=True,
                    options={"lag_seconds": LAG_SECONDS},
                ),
                restart=renderer.restart,
                paid_jobs=lambda reference: sum(line.reference == reference for line in renderer.bill()),
            )
