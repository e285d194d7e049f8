"""Metrics, health, and what holds for every answer: stable refusals, no inside, no foreign name."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipeline.api import machine
from pipeline.domain.errors import StoreUnavailable
from resources.database.database import Database
from tests.api.desk import Api, adapters_of, served
from tests.database import rows
from tests.steps.viewer import CAMPAIGN, Viewer


def test_prometheus_reads_what_the_command_prints(viewer: Viewer, api: Api) -> None:
    reply = api.get("/metrics")

    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b'reelwright_unfinished{kind="attempt",state="queued"} 0\n' in reply.body


def test_many_scrapers_share_one_measurement_for_a_moment(
    viewer: Viewer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = api.get("/metrics").body
    rows.rendition(viewer.database, CAMPAIGN, "r-1")
    shared = api.get("/metrics").body
    monkeypatch.setattr(machine, "KEPT_SECONDS", 0.0)
    with served(adapters_of(viewer)) as fresh:
        fresh.get("/metrics")
        rows.rendition(viewer.database, CAMPAIGN, "r-2")
        renewed = fresh.get("/metrics").body

    assert before == shared
    assert b"reelwright_rendition_attempts_count 2\n" in renewed


def test_health_is_that_of_the_database(viewer: Viewer, api: Api) -> None:
    reply = api.get("/healthz")

    assert (reply.status, reply.json) == (200, {"status": "ok"})
    assert reply.headers["cache-control"] == "no-store"


def test_a_database_that_is_gone_is_a_503_without_its_address(viewer: Viewer) -> None:
    lost = Database.at("postgresql://reelwright:s3cret@127.0.0.1:1/nowhere")
    with served(replace(adapters_of(viewer), database=lost)) as api:
        replies = [api.get(path) for path in ("/healthz", f"/status?campaign={CAMPAIGN}", "/metrics")]
    lost.close()

    assert [reply.status for reply in replies] == [503] * 3
    for reply in replies:
        assert reply.json["error"] == "unavailable"
        assert reply.headers["retry-after"] == "5"
        assert b"127.0.0.1" not in reply.body
        assert b"s3cret" not in reply.body


@dataclass
class BrokenStore:
    """A store whose trouble names files of ours."""

    error: Exception

    def read_range(self, _key: str, _start: int, _length: int) -> bytes:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreUnavailable("denied", "/srv/secret: permission denied"), 503, "unavailable"),
        (RuntimeError("/srv/secret is on fire"), 500, "internal"),
    ],
)
def test_trouble_inside_tells_nothing_of_the_inside(
    viewer: Viewer, error: Exception, status: int, code: str
) -> None:
    viewer.derived()
    broken: Any = BrokenStore(error)
    with served(replace(adapters_of(viewer), store=broken)) as api:
        reply = api.get("/previews/o-r-1-a1")

    assert (reply.status, reply.json["error"]) == (status, code)
    assert b"secret" not in reply.body


def test_a_wrong_path_or_method_is_refused_in_the_same_form(viewer: Viewer, api: Api) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("POST", "/status", 405)):
        reply = api.get(path, method)

        assert reply.status == status
        assert set(reply.json) == {"error", "problem", "remedy"}


def test_a_foreign_name_that_resolves_to_this_machine_is_refused(viewer: Viewer, api: Api) -> None:
    foreign = ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:3001")

    assert [api.get("/healthz", Host=host).status for host in foreign] == [400, 400, 400]


def test_names_of_this_machine_and_of_its_proxy_are_answered(viewer: Viewer) -> None:
    with served(adapters_of(viewer), hosts=("ops.example.com",)) as api:
        found = [
            api.get("/healthz", Host=host).status for host in ("localhost:1", "[::1]:1", "ops.example.com")
        ]

    assert found == [200, 200, 200]


def test_the_interface_is_described_with_its_refusals(viewer: Viewer, api: Api) -> None:
    described = api.get("/openapi.json").json
    answers = described["paths"]["/status"]["get"]["responses"]

    assert set(described["paths"]) == {
        "/status", "/status/{rendition}", "/previews/{object_id}", "/previews/{object_id}/{name}",
        "/metrics", "/healthz",
    }  # fmt: skip
    assert {"200", "304", "404", "422", "503"} <= set(answers)
    assert "entity_version" in json.dumps(described["components"]["schemas"]["WishBody"])


def test_no_page_of_it_loads_anything_from_elsewhere(viewer: Viewer, api: Api) -> None:
    assert [api.get(path).status for path in ("/docs", "/redoc")] == [404, 404]
