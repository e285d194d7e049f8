"""Our gate refuses what the public validator lets through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from resources.reports.flat_files import write_csv
from resources.reports.focus import COLUMNS, focus_rows
from resources.reports.focus_check import Expected, FocusRefused, read, refusals_of, require
from tests.reports.ledgers import NOVEMBER, OCTOBER, november

COSTS = ("ListCost", "ContractedCost", "BilledCost", "EffectiveCost")
Row = dict[str, str]
Rows = list[Row]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    books = november()
    path = tmp_path_factory.mktemp("focus") / "focus.csv"
    write_csv(path, COLUMNS, focus_rows(books.ledger, books.lines))
    return path


def expected(**changes: object) -> Expected:
    books = november()
    live = [
        one.amount for one in books.lines if one.amount is not None and one.measured.account.spend == "live"
    ]
    given: dict[str, object] = {
        "month": NOVEMBER, "closed": {OCTOBER}, "currency": "USD", "billed": sum(live, Decimal(0)),
        "tier_sizes": books.proof.tier_sizes, "is_settled": True,
    }  # fmt: skip
    return Expected(**(given | changes))  # type: ignore[arg-type]


def _changed(name: str, change: Callable[[str], str]) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, name: change(row[name])} if row[name] else row for row in rows]


def _last(**changes: str) -> Callable[[Rows], Rows]:
    return lambda rows: [*rows[:-1], {**rows[-1], **changes}]


def _times(*names: str) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        return [{**row, **{name: format(Decimal(row[name]) * 100, "f") for name in names}} for row in rows]

    return change


#: What somebody, or a mistake, could make of a sound file, and the rule that it breaks.
BROKEN: Mapping[str, tuple[Callable[[Rows], Rows], str]] = {
    "doubled": (lambda rows: rows + rows, "row key is unique"),
    "doubled sum": (lambda rows: rows + rows, "sum is the ledger's"),
    "a row left out": (lambda rows: rows[1:], "sum is the ledger's"),
    "list cost x 100": (_times("ListCost"), "quantity x price = cost"),
    "all costs and prices x 100": (
        _times(*COSTS, "ListUnitPrice", "ContractedUnitPrice"),
        "sum is the ledger's",
    ),
    "billed apart from effective": (_times("BilledCost"), "one cost"),
    "rounded to cents": (
        lambda rows: [
            {**row, "ContractedCost": f"{Decimal(row['ContractedCost']):.2f}"} for row in rows
        ],
        "quantity x price = cost",
    ),
    "reversed day": (
        lambda rows: [
            {**row, "ChargePeriodStart": row["ChargePeriodEnd"], "ChargePeriodEnd": row["ChargePeriodStart"]}
            for row in rows
        ],
        "charge period is one UTC day",
    ),
    "two days in one": (_last(ChargePeriodEnd="2026-11-30T00:00:00Z"), "charge period is one UTC day"),
    "a day of another month": (
        _last(ChargePeriodStart="2026-12-02T00:00:00Z", ChargePeriodEnd="2026-12-03T00:00:00Z"),
        "charge period lies in its month",
    ),
    "milliseconds": (_last(ChargePeriodStart="2026-11-01T00:00:00.000Z"), "charge period is one UTC day"),
    "another billing period": (
        _changed("BillingPeriodStart", lambda _: "2026-10-01T00:00:00Z"), "billing period is the month"
    ),
    "a correction of the open month": (
        lambda rows: [{**row, "ChargeClass": "Correction", "x_Corrects": "2026-11"} for row in rows],
        "corrections of closed months",
    ),
    "a correction that names nothing": (_last(ChargeClass="Correction"), "corrections of closed months"),
    "another currency": (_last(BillingCurrency="EUR"), "currency"),
    "a price id with two prices": (
        lambda rows: [
            {**row, "SkuPriceId": "one", "SkuId": "one", "SkuMeter": "one"} for row in rows
        ],
        "one decides the other",
    ),
    "nested tags": (_last(Tags='{"a": {"b": "c"}}'), "flat tags"),
    "no number": (_last(ListCost="1e3"), "numbers"),
    "nothing where something must be": (_last(ServiceName=""), "filled"),
    "a column of nobody": (lambda rows: [{**row, "Colour": "red"} for row in rows], "columns"),
    "a column less": (
        lambda rows: [{name: row[name] for name in row if name != "Tags"} for row in rows],
        "columns",
    ),
    "beyond ASCII": (_last(SubAccountName="nörthwind"), "ASCII"),
    "negative usage": (_last(PricingQuantity="-1.0"), "no negative usage"),
    "a tier that the card has not": (_changed("x_Tier", lambda _: "7"), "tiers hold what is in them"),
}  # fmt: skip


def test_the_file_as_it_is_written_passes(sound: Path) -> None:
    assert require(sound, expected()) == len(list(read(sound)))


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_is_not_the_ledger_is_refused(sound: Path, what: str) -> None:
    change, rule = BROKEN[what]
    found = refusals_of(change([dict(row) for row in read(sound)]), expected())

    assert rule in {refusal.rule for refusal in found}


def test_a_tier_that_holds_more_than_it_has_is_refused(sound: Path) -> None:
    sizes = {
        key: Decimal("0.5") if size is not None else None for key, size in november().proof.tier_sizes.items()
    }
    found = refusals_of(read(sound), expected(tier_sizes=sizes))

    assert [refusal.rule for refusal in found] == ["tiers hold what is in them"]
    assert refusals_of(read(sound), expected(tier_sizes=sizes, is_settled=False)) == ()


def test_a_correction_of_a_month_that_is_open_is_refused(sound: Path) -> None:
    found = refusals_of(read(sound), expected(closed=frozenset()))

    assert {refusal.rule for refusal in found} == {"corrections of closed months"}


def test_a_refusal_names_rule_rows_and_what_to_do(sound: Path) -> None:
    with pytest.raises(FocusRefused, match=r"currency \(\d+\): row 1: USD") as refused:
        require(sound, expected(currency="EUR"))

    assert refused.value.remedy
