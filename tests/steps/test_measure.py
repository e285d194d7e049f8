"""E8: every metric comes from rows, its name and form keep Prometheus' rules, its labels stay bounded."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.domain.lifecycle import AttemptState, Move
from pipeline.domain.outcomes import HoldFate
from pipeline.steps.answer import metrics as names
from pipeline.steps.answer.exposition import as_numbers, prometheus_text
from pipeline.steps.answer.measure import measure, percentile
from pipeline.steps.answer.metrics import CATALOGUE, Distribution, Metric, MetricKind, Metrics, Sample
from pipeline.steps.produce.retrieved import tries_used_up
from resources.database import schema
from resources.database.budgets import close_hold, hold
from resources.database.counters import count_up
from resources.database.database import Database, Transaction
from resources.database.transitions import Transition, Usage, apply
from tests.conftest import NOON, SECOND, Clock
from tests.database import rows
from tests.steps.author import Author
from tests.steps.viewer import CAMPAIGN as SPRING
from tests.steps.viewer import Viewer

CAMPAIGN = "northwind.spring"
DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"

_A = AttemptState


@pytest.fixture
def campaign(database: Database) -> str:
    return rows.campaign(database, CAMPAIGN)


def found(database: Database, metric: Metric) -> dict[tuple[str, ...], Any]:
    """The metric's samples by their label values."""
    return {one.labels: one.value for one in measure(database).samples.get(metric, ())}


def made(database: Database, name: str, campaign_id: str = CAMPAIGN, **columns: Any) -> str:
    rows.rendition(database, campaign_id, name)
    return rows.attempt(database, campaign_id, name, **columns)


def move(database: Database, attempt: str, source: _A, target: _A, **other: Any) -> None:
    row = rows.read(database, schema.attempts, attempt)
    wanted = Transition("attempt", row, Move(source, target), "test", other.pop("reason", "moved"), **other)
    database.run(lambda tx: apply(tx, [wanted]))


def note(database: Database, attempt: str, reason: str, **other: Any) -> None:
    """A fact of an attempt with its reason code, as a failed fetch leaves it."""
    row = rows.read(database, schema.attempts, attempt)
    wanted = Transition("attempt", row, None, "test", reason, facts={"fetch_tries": 1}, **other)
    database.run(lambda tx: apply(tx, [wanted]))


def test_moves_are_counted_by_kind_and_both_states(database: Database, campaign: str) -> None:
    for name in ("r-1", "r-2"):
        attempt = made(database, name)
        move(database, attempt, _A.QUEUED, _A.SUBMITTING)
    move(database, "r-1-a1", _A.SUBMITTING, _A.CANCELLED)

    assert found(database, names.TRANSITIONS) == {
        ("attempt", "queued", "submitting"): 2,
        ("attempt", "submitting", "cancelled"): 1,
    }


def test_a_slots_moves_never_become_labels(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()

    assert found(viewer.database, names.PUBLICATION_MOVES) == {("publish",): 1}
    assert SPRING not in prometheus_text(measure(viewer.database))


def test_the_oldest_in_a_state_ages_from_its_move_and_not_from_its_creation(
    database: Database, campaign: str, clock: Clock
) -> None:
    for name in ("r-1", "r-2"):
        made(database, name, created_at=NOON - 900 * SECOND)
    move(database, "r-1-a1", _A.QUEUED, _A.SUBMITTING)
    clock.pass_seconds(30)

    ages = found(database, names.UNFINISHED_AGE)

    assert (ages["attempt", "submitting"], ages["attempt", "queued"]) == (30.0, 930.0)
    assert ages["attempt", "generating"] == 0.0
    assert found(database, names.UNFINISHED)["attempt", "queued"] == 1


def test_a_deselected_stored_attempt_rests_and_is_not_unfinished(database: Database, campaign: str) -> None:
    made(database, "r-1", state="stored")
    made(database, "r-2", state="stored", deselected_at=1)

    assert found(database, names.UNFINISHED)["attempt", "stored"] == 1


def test_lost_races_and_duplicates_are_told_apart(database: Database, campaign: str) -> None:
    attempt = made(database, "r-1")
    row = rows.read(database, schema.attempts, attempt)
    wanted = Transition("attempt", row, Move(_A.QUEUED, _A.SUBMITTING), "test", "claimed")
    other = replace(wanted, move=Move(_A.QUEUED, _A.CANCELLED))
    for one in (wanted, wanted, other):
        database.run(lambda tx, one=one: apply(tx, [one]))  # type: ignore[misc]
    database.run(lambda tx: count_up(tx, "observation_unchanged", "*", 7))

    assert found(database, names.DUPLICATES) == {("attempt",): 1}
    assert found(database, names.CONFLICTS) == {("attempt", "stale"): 1}
    assert found(database, names.OTHER_EVENTS) == {("observation_unchanged",): 7}


def test_attempts_are_distributed_over_renditions(database: Database, campaign: str) -> None:
    for name, attempts_made in (("r-1", 1), ("r-2", 1), ("r-3", 4), ("r-4", 12)):
        rows.rendition(database, CAMPAIGN, name, attempts_made=attempts_made)

    assert found(database, names.RENDITION_ATTEMPTS)[()] == Distribution(
        18, 4, ((1, 2), (2, 2), (3, 2), (5, 3), (10, 3))
    )


def test_usage_is_summed_by_tenant_and_a_cleared_start_leaves_the_unconfirmed(
    database: Database, campaign: str
) -> None:
    attempt = made(database, "r-1")
    usage = (
        Usage("generation_starts", 1), Usage("starts_unconfirmed", 1, key="1"),
        Usage("starts_unconfirmed", -1, key="settled-1"), Usage("retrieved_bytes", 900),
        Usage("repeated_download_bytes", 400),
    )  # fmt: skip
    move(database, attempt, _A.QUEUED, _A.SUBMITTING, usage=usage)

    assert found(database, names.STARTS) == {("northwind", "live"): 1}
    assert found(database, names.UNCONFIRMED_STARTS) == {("northwind", "live"): 0}
    assert found(database, names.RETRIEVED) == {("northwind",): 900}
    assert found(database, names.REPEATED) == {("northwind",): 400}


def test_starts_stand_beside_the_uploads_that_were_accepted(author: Author) -> None:
    author.deliver()

    [(_, starts)] = found(author.database, names.STARTS_PER_UPLOAD).items()

    assert starts == Distribution(0, 1)
    assert found(author.database, names.DECISIONS) == {("moderation", "approved"): 1}
    assert found(author.database, names.TRANSITIONS)["revision", "moderating", "approved"] == 1


def test_polls_are_those_of_jobs_that_ended(database: Database, campaign: str) -> None:
    made(database, "r-1", state="generating", handle="h-1", poll_count=50)
    made(database, "r-2", state="stored", handle="h-2", poll_count=3)
    made(database, "r-3", state="failed", handle="h-3", poll_count=5)
    made(database, "r-4", state="failed", poll_count=0)

    assert found(database, names.POLLS_PER_JOB)[()] == Distribution(8, 2)


def test_what_waits_is_counted_by_its_reason(database: Database, campaign: str, clock: Clock) -> None:
    made(database, "r-1", parked_reason="over_budget")
    made(database, "r-2", state="stored", parked_reason="moon_phase")
    made(database, "r-3", state="submitting", submission="unknown")
    made(database, "r-4", state="submitting", submission="unknown", lease_until=clock.at + 1)
    made(database, "r-5", state="generating", submission="accepted", overdue_at=1)
    made(database, "r-6", state="failed", submission="accepted", overdue_at=1)

    parked = found(database, names.PARKED)

    assert (parked["over_budget",], parked["moon_phase",], parked["underivable",]) == (1, 1, 0)
    assert found(database, names.UNRESOLVED) == {(): 1}
    assert found(database, names.OVERDUE) == {(): 1}


def test_owned_bytes_leave_when_they_are_purged(viewer: Viewer) -> None:
    viewer.derived("r-1")
    viewer.derived("r-2")
    viewer.change(schema.objects, "o-r-2-a1", state="purged")

    assert found(viewer.database, names.STORED) == {("rendition", "live"): 9}
    assert found(viewer.database, names.STORED_OBJECTS) == {("rendition", "live"): 1}


def test_bodies_with_another_hash_are_counted_by_reason(database: Database, campaign: str) -> None:
    made(database, "r-1", state="retrieving")
    for reason in ("wrong_hash", "wrong_hash", "checksum_mismatch", "timed_out"):
        note(database, "r-1-a1", reason)

    failures = found(database, names.CHECKSUM_FAILURES)

    assert (failures["wrong_hash",], failures["checksum_mismatch",], failures["wrong_size",]) == (2, 1, 0)
    assert ("timed_out",) not in failures


def test_the_last_try_counts_for_what_it_found(database: Database, campaign: str) -> None:
    row = rows.read(database, schema.attempts, made(database, "r-1", state="retrieving"))
    database.run(lambda tx: apply(tx, [tries_used_up(tx, row, "wrong_hash", "test")]))

    assert found(database, names.CHECKSUM_FAILURES)["wrong_hash",] == 1


def test_the_delay_from_stored_to_indexed_is_that_of_each_attempt(
    database: Database, campaign: str, clock: Clock
) -> None:
    for seconds in range(1, 21):
        attempt = made(database, f"r-{seconds}", state="retrieving")
        move(database, attempt, _A.RETRIEVING, _A.STORED)
        clock.pass_seconds(seconds)
        move(database, attempt, _A.STORED, _A.INDEXED)

    assert found(database, names.INDEXING_DELAY) == {("50",): 10.0, ("95",): 19.0}


@pytest.mark.parametrize(("share", "expected"), [(50, 2), (95, 3), (0, 1), (100, 3)])
def test_a_percentile_is_a_value_that_occurred(share: int, expected: int) -> None:
    assert percentile([1, 2, 3], share) == expected


def test_messages_wait_or_are_dead(database: Database, campaign: str, clock: Clock) -> None:
    message = {"tenant": "northwind", "topic": "approved", "subject_id": "r-1-a1", "next_try_at": 0}
    rows.insert(
        database, schema.outbox,
        message | {"id": "1", "created_at": clock.at - 40 * SECOND, "delivered_at": None, "dead_at": None},
        message | {"id": "2", "created_at": clock.at - 90 * SECOND, "delivered_at": 1, "dead_at": None},
        message | {"id": "3", "created_at": clock.at - 99 * SECOND, "delivered_at": None, "dead_at": 1},
    )  # fmt: skip

    assert found(database, names.OUTBOX_WAITING) == {(): 1}
    assert found(database, names.OUTBOX_AGE) == {(): 40.0}
    assert found(database, names.DEAD_LETTERS) == {(): 1}


def test_lanes_and_their_gate_are_different_metrics(database: Database, campaign: str) -> None:
    lane = {"provider": "local", "served_at": 0}
    rows.insert(
        database, schema.lanes,
        lane | {"tenant": "*", "in_flight": 5, "cap": 8},
        lane | {"tenant": "northwind", "in_flight": 3, "cap": 4},
        lane | {"tenant": "southwind", "in_flight": 2, "cap": 4},
    )  # fmt: skip
    rows.rendition(database, CAMPAIGN, "r-1")

    assert found(database, names.PROVIDER_IN_FLIGHT) == {("local",): 5}
    assert found(database, names.PROVIDER_CAP) == {("local",): 8}
    assert found(database, names.LANE_IN_FLIGHT) == {("local", "northwind"): 3, ("local", "_other"): 2}


def test_budgets_add_up_exactly_by_currency(database: Database, campaign: str) -> None:
    rows.campaign(database, "northwind.autumn", cap=100_000)
    for name in ("r-1", "r-2"):
        made(database, name, quote=100_001)

    def work(tx: Transaction) -> None:
        for name in ("r-1-a1", "r-2-a1"):
            hold(tx, rows_of(tx, name))
        close_hold(tx, "r-2-a1", HoldFate.SETTLE)

    database.run(work)

    assert found(database, names.BUDGET_CAP) == {("EUR",): Decimal("50.1")}
    assert found(database, names.BUDGET_HELD) == {("EUR",): Decimal("0.100001")}
    assert found(database, names.BUDGET_SETTLED) == {("EUR",): Decimal("0.100001")}


def rows_of(tx: Transaction, attempt: str) -> sa.Row[Any]:
    return tx.connection.execute(sa.select(schema.attempts).where(schema.attempts.c.id == attempt)).one()


def test_a_lot_whose_run_never_came_is_lost(database: Database, clock: Clock) -> None:
    lot = {"stage": "submit", "started_at": None, "ended_at": None, "requested_at": clock.at}
    rows.insert(
        database, schema.lots,
        lot | {"number": 1},
        lot | {"number": 2, "requested_at": clock.at - 121 * SECOND},
        lot | {"number": 3, "started_at": clock.at},
        lot | {"number": 4, "started_at": clock.at - 721 * SECOND},
        lot | {"number": 5, "ended_at": clock.at},
    )  # fmt: skip

    lots = found(database, names.LOTS)

    assert {standing: lots["submit", standing] for standing in ("waiting", "running", "ended", "lost")} == {
        "waiting": 1, "running": 1, "ended": 1, "lost": 2,
    }  # fmt: skip
    assert lots["derive", "running"] == 0


def test_only_the_largest_tenants_have_labels_of_their_own(database: Database) -> None:
    for number, tenant in enumerate(("large", "small", "tiny")):
        campaign_id = rows.campaign(database, f"{tenant}.spring")
        for n in range(3 - number):
            attempt = made(database, f"r-{tenant}-{n}", campaign_id)
            move(database, attempt, _A.QUEUED, _A.SUBMITTING, usage=(Usage("generation_starts", 1),))

    samples = measure(database, top_tenants=1).samples[names.STARTS]

    assert {one.labels: one.value for one in samples} == {("_other", "live"): 3, ("large", "live"): 3}


def test_an_empty_installation_says_zero_where_zero_is_known(database: Database) -> None:
    numbers = as_numbers(measure(database))

    assert numbers["unfinished.attempt.queued"] == numbers["outbox_undelivered"] == 0.0
    assert numbers["lots.submit.running"] == numbers["checksum_failures_total.wrong_hash"] == 0.0
    assert "rendition_attempts" not in numbers
    assert "stored_to_indexed_seconds.95" not in numbers


def test_numbers_for_plots_are_flat_and_means_are_means(database: Database, campaign: str) -> None:
    rows.rendition(database, CAMPAIGN, "r-1", attempts_made=1)
    rows.rendition(database, CAMPAIGN, "r-2", attempts_made=2)

    numbers = as_numbers(measure(database))

    assert numbers["rendition_attempts"] == 1.5
    assert numbers["budget_cap.EUR"] == 50.0
    assert all(type(value) is float for value in numbers.values())


def test_the_measurement_is_timed_by_the_databases_clock(database: Database, clock: Clock) -> None:
    assert measure(database).at == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_ten_thousand_moves_are_measured_well_within_a_second(database: Database, campaign: str) -> None:
    link = {
        "tenant": "northwind", "subject_kind": "attempt", "from_state": "queued", "to_state": "submitting",
        "operation_id": "o", "actor": "test", "reason": "claimed", "entity_version": 1, "at": NOON,
    }  # fmt: skip
    links = [link | {"subject_id": f"r-{number}-a1", "version": 1} for number in range(10_000)]
    rows.insert(database, schema.audit, *links)
    began = time.process_time()

    counted = found(database, names.TRANSITIONS)

    assert counted["attempt", "queued", "submitting"] == 10_000
    assert time.process_time() - began < 1.0


# The text format, read by rules of its own.

_HELP = re.compile(r"# HELP ([a-z_:][a-z0-9_:]*) (.+)")
_TYPE = re.compile(r"# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram|summary)")
_LINE = re.compile(r"([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|NaN)")
_PAIR = re.compile(r'([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)')
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "counter": ("",), "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count"),
}  # fmt: skip

Labels = tuple[tuple[str, str], ...]


def parsed(text: str) -> dict[str, dict[tuple[str, Labels], float]]:
    """Metric to (sample name, labels) to value; an AssertionError for anything a scraper might refuse."""
    assert text.endswith("\n")

    families: dict[str, dict[tuple[str, Labels], float]] = {}
    lines = text.splitlines()
    while lines:
        told, typed = _HELP.fullmatch(lines.pop(0)), _TYPE.fullmatch(lines.pop(0))
        assert told, "HELP comes first"
        assert typed, "then TYPE"
        assert told[1] == typed[1], "both of one metric"
        assert told[1] not in families, "a metric's samples stand together"
        assert typed[2] != "counter" or told[1].endswith("_total")

        samples = families[told[1]] = {}
        while lines and not lines[0].startswith("#"):
            line = _LINE.fullmatch(lines.pop(0))
            assert line
            assert line[1] in {told[1] + suffix for suffix in _SUFFIXES[typed[2]]}

            key = (line[1], tuple(_pairs(line[2] or "")))
            assert key not in samples, "no sample twice"

            samples[key] = float(line[3])
        assert samples, "no metric without a sample"
    return families


def _pairs(inside: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(inside):
        pair = _PAIR.match(inside, at)
        assert pair, f"labels cannot be read: {inside}"

        yield pair[1], re.sub(r'\\(["\\n])', lambda one: {"n": "\n"}.get(one[1], one[1]), pair[2])
        at = pair.end()


def test_everything_that_is_measured_reads_as_prometheus_text(viewer: Viewer) -> None:
    viewer.derived()
    viewer.publish()
    metrics = measure(viewer.database)

    families = parsed(prometheus_text(metrics))

    assert set(families) == {metric.name for metric in metrics.samples}
    assert families["reelwright_stored_bytes"][
        "reelwright_stored_bytes", (("kind", "rendition"), ("state", "live"))
    ] == 9.0  # fmt: skip


def test_a_histograms_buckets_rise_to_its_count(database: Database, campaign: str) -> None:
    for name, attempts_made in (("r-1", 1), ("r-2", 7), ("r-3", 99)):
        rows.rendition(database, CAMPAIGN, name, attempts_made=attempts_made)

    samples = parsed(prometheus_text(measure(database)))["reelwright_rendition_attempts"]
    buckets = [(dict(labels)["le"], value) for (name, labels), value in samples.items() if "bucket" in name]

    assert buckets == [("1", 1), ("2", 1), ("3", 1), ("5", 1), ("10", 2), ("+Inf", 3)]
    assert samples["reelwright_rendition_attempts_sum", ()] == 107


def test_labels_and_help_are_escaped() -> None:
    metric = Metric("odd_total", MetricKind.COUNTER, "things", "one\ntwo \\ three", ("name",))
    strange = 'a"b\\c\nd,e="f"}'

    text = prometheus_text(Metrics(datetime.now(UTC), {metric: (Sample((strange,), 1),)}))

    assert parsed(text) == {"odd_total": {("odd_total", (("name", strange),)): 1.0}}
    assert "# HELP odd_total one\\ntwo \\\\ three\n" in text


def test_money_is_written_without_loss_or_exponent() -> None:
    metric = names.BUDGET_CAP

    text = prometheus_text(Metrics(datetime.now(UTC), {metric: (Sample(("EUR",), Decimal("1E+3")),)}))

    assert text.endswith('reelwright_budget_cap{currency="EUR"} 1000\n')


def test_names_carry_their_units() -> None:
    ends = {"seconds": ("_seconds",), "bytes": ("_bytes", "_bytes_total")}
    for metric in CATALOGUE:
        assert metric.name.endswith(ends.get(metric.unit, ("",))), metric.name
        assert (metric.kind is MetricKind.COUNTER) == metric.name.endswith("_total"), metric.name
    assert len({metric.name for metric in CATALOGUE}) == len(CATALOGUE)


def test_no_label_can_name_a_campaign_or_anything_in_it() -> None:
    unbounded = {"campaign", "rendition", "attempt", "object", "slot", "revision", "variant", "key", "url"}

    assert unbounded.isdisjoint(label for metric in CATALOGUE for label in metric.labels)


def test_the_document_lists_every_metric_as_it_is() -> None:
    listed = [
        line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| `reelwright_") and
        line.count("|") == 6
    ]  # fmt: skip

    assert listed == [
        f"| `{one.name}` | {one.kind} | {one.unit} | {', '.join(f'`{label}`' for label in one.labels) or '–'}"
        f" | {one.meaning} |"
        for one in CATALOGUE
    ]
