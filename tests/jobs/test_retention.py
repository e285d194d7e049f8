"""The window plans and runs what is approved, and cannot approve anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipeline.assets.retention import retention_plan
from pipeline.jobs.retention import retention_run_job
from pipeline.steps.operate.checks import Name, run_check
from pipeline.steps.retain.approve import approve
from resources.dagster_resources import RetentionTerms
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from tests.conftest import Clock
from tests.database import rows
from tests.jobs.window import OPERATING
from tests.steps.retain.vault import Vault, policy_of


@pytest.fixture
def vault(database_url: str, tmp_path: Path) -> Any:
    """Due things under the database's own clock, made by one that was behind."""
    database = Database.at(database_url)
    now = database.now()
    database.clock = clock = Clock(now - 90 * 86_400 * 1_000_000)
    made = Vault(database, clock, LocalStore(tmp_path / "objects"), tmp_path)
    made.video()
    made.publish("r-1")
    clock.at = now
    yield made
    database.close()


def resources(vault: Vault) -> Mapping[str, Any]:
    terms = RetentionTerms(vault.policy, vault.retaining().price)
    return {"adapters": vault.adapters, "operating": OPERATING, "retention_terms": terms}


def planned(vault: Vault) -> Mapping[str, Any]:
    done = dg.materialize([retention_plan], resources=resources(vault))
    [event] = done.asset_materializations_for_node("retention_plan")
    return {name: value.value for name, value in event.metadata.items()}


def ran(vault: Vault) -> Mapping[str, Any]:
    done = retention_run_job.execute_in_process(resources=resources(vault))
    [event] = [one for one in done.all_node_events if one.is_step_success]
    output = done.all_node_events[[one.event_type_value for one in done.all_node_events].index("STEP_OUTPUT")]
    assert event
    return {name: value.value for name, value in output.step_output_data.metadata.items()}


def test_only_an_approved_plan_runs_and_a_grace_later_it_is_gone(vault: Vault) -> None:
    vault.policy = policy_of(rows={"approved": {"after": "stored"}})
    told = planned(vault)

    assert told["things"] == 2
    assert [record.data["what"] for record in told["goes"].records] == ["approved_rendition", "derivative"]
    assert ran(vault) == {"not_begun": 0}
    approve(vault.retaining(), str(told["plan"]))
    assert ran(vault) == {"marked": 2, "not_begun": 0}
    vault.grace_is_over()
    assert ran(vault) == {"purged": 2, "not_begun": 0}
    assert vault.keys() == set()
    assert run_check(vault.adapters, Name.PURGES).passed


def test_a_policy_that_matches_too_much_is_suspended_and_somebody_is_told(vault: Vault) -> None:
    vault.policy = policy_of(
        rows={"approved": {"after": "stored"}}, guards={"limits": {"objects": 1, "bytes": "1 GiB"}}
    )
    told = planned(vault)

    assert "1 may" in told["refused"]
    [alert] = rows.rows(vault.database, schema.alerts)
    assert (alert.id, alert.cleared_at) == ("retention/suspended", None)
    vault.policy = policy_of(rows={"approved": {"after": "stored"}})
    planned(vault)
    [alert] = rows.rows(vault.database, schema.alerts)
    assert alert.cleared_at is not None


def test_the_check_turns_red_for_purged_bytes_that_can_be_read_and_for_a_missing_receipt(
    vault: Vault,
) -> None:
    vault.policy = policy_of(rows={"approved": {"after": "stored"}})
    approve(vault.retaining(), str(planned(vault)["plan"]))
    ran(vault)
    vault.grace_is_over()
    ran(vault)
    first = vault.receipts()[0]
    key = rows.read(vault.database, schema.objects, first.subject).key
    vault.put(key, b"back again")
    vault.run(lambda tx: tx.connection.execute(schema.retention_receipts.delete().where(
        schema.retention_receipts.c.number == 2
    )))  # fmt: skip
    found = run_check(vault.adapters, Name.PURGES)

    assert {row.reason for row in found.rows} >= {
        "purged, and still_readable", "purged_has_its_receipt: purged without a receipt",
    }  # fmt: skip
