"""A PostgreSQL that cannot be used: one clear line from doctor and from any command, and no secret in it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.desk import Desk
from tests.database.strict import NAME, PASSWORD, ROLE, Strict, running_strict
from tests.postgres import Server


@pytest.fixture(scope="module")
def strict() -> Iterator[Strict]:
    with running_strict() as server:
        yield server


@pytest.fixture
def outside(strict: Strict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REELWRIGHT_ALLOW_UNSAFE_DATABASE", raising=False)
    return Desk(tmp_path, strict.url())


#: What is wrong with the URL, and what must be said: of the problem, and of its remedy.
WRONG = {
    "password": ({"password": "wr0ng"}, "does not take the user and password", "role's password"),
    "role": ({"user": "nobody"}, "does not take the user and password", "REELWRIGHT_DATABASE_URL"),
    "database": ({"name": "elsewhere"}, "does not let this machine in", "pg_hba.conf"),
    "host": ({"host": "nowhere.invalid"}, "host has no address", "name resolution"),
    "certificate": ({"query": "?sslmode=verify-full&sslrootcert=/nowhere.pem"}, "TLS", "sslrootcert"),
    "authority": ({"query": "?sslmode=verify-full&sslrootcert=system"}, "TLS", "certificate"),
    "name": ({"query": "?sslmode=verify-full&sslrootcert={certificate}"}, "TLS", "name"),
}


def _checked(desk: Desk, name: str = "database") -> dict[str, str]:
    done = desk.run("doctor", "--json")
    assert done.exit_code == 1
    return next(one for one in json.loads(done.stdout)["checks"] if one["name"] == name)


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line_from_doctor_and_from_a_command(
    outside: Desk, strict: Strict, case: str
) -> None:
    changed, problem, remedy = WRONG[case]
    changed = {name: value.format(certificate=strict.certificate) for name, value in changed.items()}
    outside.database_url = strict.url(**changed)
    _is_told(outside, problem, remedy)


def _is_told(desk: Desk, problem: str, remedy: str) -> None:
    found, told = _checked(desk), desk.run("status")

    assert found["level"] == "fail"
    assert problem in found["detail"]
    assert remedy in found["remedy"]
    assert told.exit_code in (1, 3)
    assert problem in told.stderr
    assert remedy in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    everything = told.stderr + told.stdout + json.dumps(found) + desk.run("doctor").stdout
    assert not re.search(f"{PASSWORD}|wr0ng|Traceback", everything)


def test_a_missing_database_is_named_with_how_to_make_it(outside: Desk, strict: Strict) -> None:
    hba = strict.server.data / "pg_hba.conf"
    hba.write_text(hba.read_text().replace("host app,postgres", "host all"))
    strict.administer("SELECT pg_reload_conf()")
    outside.database_url = strict.url(name="elsewhere")

    _is_told(outside, "no such database", "createdb")


def test_an_unreachable_host_is_named(outside: Desk) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outside.database_url = f"postgresql://app:{PASSWORD}@127.0.0.1:{free.getsockname()[1]}/app"

        _is_told(outside, "does not answer", "start the server")


def test_tls_asked_of_a_server_that_speaks_none_is_named(outside: Desk, strict: Strict) -> None:
    outside.database_url = strict.url(query="?sslmode=require")

    _is_told(outside, "speaks no TLS", "ssl = on")


def test_an_expired_password_is_named(outside: Desk, strict: Strict) -> None:
    strict.administer(
        f"DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}' VALID UNTIL '2001-01-01'"
    )
    outside.database_url = strict.url(user="guest")

    _is_told(outside, "does not take the user and password", "VALID UNTIL")


def test_a_full_house_is_named(outside: Desk, strict: Strict) -> None:
    strict.administer("ALTER ROLE reelwright_app CONNECTION LIMIT 0")
    try:
        _is_told(outside, "all its connections are taken", "max_connections")
    finally:
        strict.administer("ALTER ROLE reelwright_app CONNECTION LIMIT -1")


def test_a_role_that_may_not_read_is_named(outside: Desk, strict: Strict) -> None:
    strict.administer(f"DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")
    outside.database_url = strict.url(user="guest")

    _is_told(outside, "may not do this", "owner")


def test_a_right_url_over_trusted_tls_is_fine(outside: Desk, strict: Strict) -> None:
    query = f"?sslmode=verify-full&sslrootcert={strict.certificate}"
    outside.database_url = strict.url(host="localhost", query=query)
    found = {one["name"]: one for one in json.loads(outside.run("doctor", "--json").stdout)["checks"]}

    assert found["database"]["level"] == "ok", found["database"]
    assert found["clock"]["level"] == "ok"
    assert outside.run("status").exit_code == 0


def test_a_server_that_does_not_sync_is_a_failed_check(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REELWRIGHT_ALLOW_UNSAFE_DATABASE", "false")
    found = _checked(Desk(tmp_path, postgres.url("template_reelwright")))

    assert "fsync = off" in found["detail"]
    assert "postgresql.conf" in found["remedy"]


def _dagster(
    desk: Desk, strict: Strict, monkeypatch: pytest.MonkeyPatch, *, password: str = PASSWORD, name: str = NAME
) -> dict[str, str]:
    """What doctor finds of an instance whose storage is a database of this server."""
    home = desk.folder / "dagster"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(
        "telemetry: {enabled: false}\nstorage:\n  postgres:\n    postgres_db:\n      hostname: 127.0.0.1\n"
        f"      port: {strict.port}\n      username: {ROLE}\n      password: {password}\n"
        f"      db_name: {name}\n      scheme: postgresql+psycopg2\n"
    )
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    checks = json.loads(desk.run("doctor", "--json").stdout)["checks"]
    return next(one for one in checks if one["name"] == "dagster")


def test_dagsters_own_storage_is_looked_at_too(
    outside: Desk, strict: Strict, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict.administer(f"CREATE DATABASE dagsters OWNER {ROLE}")
    hba = strict.server.data / "pg_hba.conf"
    hba.write_text(hba.read_text().replace(f"host {NAME},postgres", "host all"))
    strict.administer("SELECT pg_reload_conf()")
    refused = _dagster(outside, strict, monkeypatch, password="wr0ng", name="dagsters")
    shared = _dagster(outside, strict, monkeypatch)
    found = _dagster(outside, strict, monkeypatch, name="dagsters")

    assert refused["level"] == shared["level"] == "fail"
    assert "does not take the user and password" in refused["detail"]
    assert "dagster.yaml" in refused["remedy"]
    assert "wr0ng" not in json.dumps(refused)
    assert "a database of its own" in shared["remedy"]
    assert found["level"] == "ok", found
    assert "PostgresRunStorage" in found["detail"]


def test_a_dagster_yaml_that_cannot_be_read_is_named(outside: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (outside.folder / "dagster.yaml").write_text("storage: {custom: {module: nowhere, class: Nothing}}")
    monkeypatch.setenv("DAGSTER_HOME", str(outside.folder))
    found = _checked(outside, "dagster")

    assert found["level"] == "fail"
    assert "dagster.yaml" in found["remedy"]
    assert len(found["detail"].splitlines()) == 1


def test_a_provider_that_does_not_answer_is_named_and_one_that_does_is_not(
    outside: Desk, null_renderer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {"version": "1", "providers": {"there": _provider(null_renderer), "away": _provider(GONE)}}
    (outside.folder / "providers.yaml").write_text(yaml.safe_dump(listed))
    monkeypatch.setenv("REELWRIGHT_PROVIDERS", str(outside.folder / "providers.yaml"))
    found = _checked(outside, "providers")

    assert found["level"] == "fail"
    assert "away does not answer" in found["detail"]
    assert "there" not in found["detail"]
    assert "base_url" in found["remedy"]


#: Nobody listens on the port of `discard`.
GONE = "http://127.0.0.1:9"


def _provider(url: str) -> dict[str, Any]:
    return {
        "adapter": "local", "base_url": url, "private_origin": True, "spend": "live", "currency": "EUR",
        "models": {"kenburns-1": {"price_per_second": "0.05"}},
        "in_flight": {"total": 2, "per_tenant": 2},
        "waiting": {"deadline_seconds": 60, "purge_horizon_seconds": 60},
    }  # fmt: skip
