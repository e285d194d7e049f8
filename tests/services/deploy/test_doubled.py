"""Two daemons and two code locations at once on one PostgreSQL pay for nothing twice, and everything ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
import yaml

from resources.database.schema import attempts, sends
from tests.services.deploy.installation import Installation, free_port, installation
from tests.services.deploy.null_renderer import NAME, billing

LOCALES = ("de-DE", "en-GB", "fr-FR", "it-IT")
RATIOS = ("16:9", "9:16", "1:1")
#: Two names of one machine: of the first the daemons know that it is theirs, the second one they ask.
HOSTS = {"first": "127.0.0.1", "second": "127.0.0.2"}


def two_locations(house: Installation) -> Path:
    """Each code server started under its own name, and the workspace of both."""
    servers = {name: (host, free_port()) for name, host in HOSTS.items()}
    for name, (host, port) in servers.items():
        argv = house.command("code-server")[:-3]
        house.start(f"code-{name}", [*argv, host, "-p", str(port)])
    entries = [
        {"grpc_server": {"host": host, "port": port, "location_name": name}}
        for name, (host, port) in servers.items()
    ]
    workspace = house.folder / "both.yaml"
    workspace.write_text(yaml.safe_dump({"load_from": entries}))
    for host, port in servers.values():
        house.until_serving(host, port)
    return workspace


def ticked(instance: dg.DagsterInstance) -> list[str]:
    """Locations whose sensor of lots was evaluated."""
    states = instance.all_instigator_state(instigator_type=None)
    return sorted(
        one.origin.repository_origin.code_location_origin.location_name
        for one in states
        if one.instigator_name == "lifecycle"
        and instance.get_ticks(one.instigator_origin_id, one.selector_id)
    )


def test_two_daemons_with_two_code_locations_pay_once(tmp_path: Path) -> None:
    with (
        billing(tmp_path) as (renderer, providers),
        installation(tmp_path, REELWRIGHT_PROVIDERS=str(providers)) as house,
    ):
        house.drop("spring", NAME, LOCALES, RATIOS)
        workspace = two_locations(house)
        for name in ("daemon-1", "daemon-2"):
            house.start(name, [*house.command("daemon")[:-1], str(workspace)])
        house.until_published("spring", len(LOCALES) * len(RATIOS))
        with house.instance() as instance, house.database() as database:
            house.until(lambda: all(run.is_finished for run in instance.get_runs()), 60)
            both = ticked(instance)
            with database.reading() as connection:
                states = Counter(connection.scalars(sa.select(attempts.c.state)))
                sent = connection.scalar(sa.select(sa.func.count()).select_from(sends))
        said = [house.log(name).read_text() for name in ("daemon-1", "daemon-2")]

        assert both == ["first", "second"]
        assert all("Checking for new runs for sensor: lifecycle" in text for text in said)
        assert [len(set(renderer.bill())), len(renderer.bill()), sent] == [len(LOCALES) * len(RATIOS)] * 3
        assert states == {"indexed": len(LOCALES) * len(RATIOS)}
