"""Guards have teeth: a few mutants in the suite itself; `make mutants` runs them all."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.mutant_list import MUTANTS, QUICK, Edit, Mutant
from tests.faults.mutants import ROOT, StaleList, copy_of_the_product, run_all, try_out

_CHOSEN = [one for one in MUTANTS if one.guard in QUICK]


def test_every_edit_fits_the_product_once() -> None:
    unfit = [
        (one.guard, edit.file)
        for one in MUTANTS
        for edit in one.edits
        if (ROOT / edit.file).read_text("utf-8").count(edit.before) != 1
    ]

    assert unfit == []
    assert max(Counter(one.guard for one in MUTANTS).values()) == 1


def test_without_its_guard_each_named_test_fails() -> None:
    results = list(run_all(_CHOSEN))

    assert sorted(result.mutant.guard for result in results) == sorted(QUICK)
    assert [(result.mutant.guard, result.survived) for result in results if result.survived] == []


def test_a_mutant_that_harms_nothing_survives_by_name() -> None:
    harmless = Mutant(
        "a comment",
        (
            Edit(
                "pipeline/domain/fairness.py", "What cannot be shared evenly", "What can not be shared evenly"
            ),
        ),
        ("tests/domain/test_fairness.py::test_what_is_left_over_goes_to_those_served_longest_ago",),
    )
    with copy_of_the_product() as tree:
        result = try_out(tree, harmless)

        assert result.survived == harmless.tests
        with pytest.raises(StaleList, match="0 times"):
            try_out(tree, Mutant("gone", (Edit("pipeline/domain/fairness.py", "no such text", ""),), ()))
