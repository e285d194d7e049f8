"""`reelwright metrics`: one measurement, for Prometheus and for programs."""

from __future__ import annotations

from tests.cli.desk import Desk


def test_both_forms_tell_of_the_same_metrics(both: Desk) -> None:
    text = both.run("metrics").stdout
    document = both.json("metrics")
    named = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE ")}

    assert named == {metric["name"] for metric in document["metrics"]}
    assert 'reelwright_unfinished{kind="attempt",state="queued"} 0\n' in text


def test_a_program_gets_labels_and_exact_money(both: Desk) -> None:
    both.deliver()
    found = {metric["name"]: metric for metric in both.json("metrics")["metrics"]}

    assert found["reelwright_budget_cap"]["samples"] == [{"labels": {"currency": "EUR"}, "value": "50"}]
    assert found["reelwright_rendition_attempts"]["kind"] == "histogram"
    assert found["reelwright_lots"]["unit"] == "lots"
