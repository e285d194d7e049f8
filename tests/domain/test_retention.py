"""C1: precedence of the rules, and that nothing goes without a row, an anchor and its time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.grants import is_over
from pipeline.domain.retention import (
    DAY,
    HOUR,
    Claim,
    Facts,
    Held,
    Master,
    PolicyRow,
    Reason,
    What,
    judge,
)
from tests.steps.retain.vault import at, policy_of

POLICY = policy_of()
NOW = at("2026-06-01")
OLD = at("2026-01-01")


def facts(what: What | None = What.SUPERSEDED_RENDITION, **other: Any) -> Facts:
    """An object that goes."""
    whole: dict[str, Any] = {
        "id": "o-1", "tenant": "northwind", "campaign": "northwind.spring", "what": what,
        "key": "northwind/renditions/r-1/1.mp4", "size_bytes": 9, "state": "live", "version": 0,
        "created_at": OLD, "claims": (Claim("standard", OLD),), "superseded_at": OLD, "declined_at": OLD,
    }  # fmt: skip
    return Facts(**(whole | other))


def test_what_is_due_goes_by_its_row() -> None:
    verdict = judge(POLICY, facts(), NOW)

    assert (verdict.goes, verdict.reason) == (True, Reason.DUE)
    assert verdict.row is not None
    assert (verdict.row.id, verdict.due_at) == ("superseded", OLD + 15 * DAY)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "northwind/elsewhere/x"}, Reason.OUTSIDE_ROOTS),
        ({"key": "northwind"}, Reason.OUTSIDE_ROOTS),
        ({"matter": "H-12"}, Reason.HELD),
        ({"is_exempt": True}, Reason.EXEMPT),
        ({"needed_by": "r-1-a1"}, Reason.NEEDED),
        ({"what": None}, Reason.UNKNOWN_KIND),
        ({"created_at": NOW - 47 * HOUR}, Reason.TOO_YOUNG),
        ({"created_at": NOW + 365 * DAY}, Reason.TOO_YOUNG),
        ({"claims": (Claim("standrad", OLD),)}, Reason.UNKNOWN_CLASS),
        ({"claims": ()}, Reason.UNKNOWN_CLASS),
        ({"superseded_at": None}, Reason.UNKNOWN_ANCHOR),
        ({"superseded_at": NOW - 15 * DAY + 1}, Reason.NOT_DUE),
        ({"last_grant_at": NOW + 1}, Reason.GRANTED),
    ],
)
def test_it_stays_for_the_reason_that_holds(changes: dict[str, Any], reason: Reason) -> None:
    verdict = judge(POLICY, facts(**changes), NOW)

    assert (verdict.goes, verdict.reason) == (False, reason)


def test_a_grant_that_expires_at_exactly_now_is_over_for_both() -> None:
    assert judge(POLICY, facts(last_grant_at=NOW), NOW).goes
    assert is_over(NOW, NOW)
    assert not judge(POLICY, facts(last_grant_at=NOW + 1), NOW).goes
    assert not is_over(NOW + 1, NOW)


def test_what_is_shown_goes_only_by_a_row_that_withdraws() -> None:
    shown = facts(What.APPROVED_RENDITION, is_shown=True, last_grant_at=NOW + 1)
    keeping = policy_of(rows={"approved": {"action": "purge"}})

    assert judge(POLICY, shown, NOW).goes
    assert judge(keeping, shown, NOW).reason is Reason.SHOWN


def test_forever_is_a_word_that_keeps() -> None:
    forever = policy_of(rows={"superseded": {"keep_days": "forever"}})

    assert judge(forever, facts(), NOW).reason is Reason.FOREVER


def test_shared_bytes_stay_until_every_claim_is_due() -> None:
    ends = at("2026-05-20")
    shared = facts(
        What.SOURCE_ASSET, key="northwind/sources/x", claims=(Claim("standard", OLD), Claim("standard", ends))
    )
    verdict = judge(POLICY, shared, NOW)

    assert (verdict.reason, verdict.due_at) == (Reason.NOT_DUE, ends + 40 * DAY)
    open_end = shared._replace(claims=(Claim("standard", OLD), Claim("standard", None)))
    assert judge(POLICY, open_end, NOW).reason is Reason.UNKNOWN_ANCHOR
    assert judge(POLICY, shared, ends + 40 * DAY).goes


@pytest.mark.parametrize(
    ("masters", "going", "reason"),
    [
        ((), (), Reason.NO_MASTER),
        ((Master("o-v", "live"),), (), Reason.MASTER_STAYS),
        ((Master("o-v", "live"),), ("o-v",), Reason.WITH_ITS_MASTER),
        ((Master("o-v", "live"), Master("o-w", "live")), ("o-v",), Reason.MASTER_STAYS),
        ((Master("o-v", "purged"), Master("o-w", "marked")), (), Reason.WITH_ITS_MASTER),
    ],
)
def test_a_picture_goes_with_the_last_of_its_masters(
    masters: tuple[Master, ...], going: tuple[str, ...], reason: Reason
) -> None:
    picture = facts(What.DERIVATIVE, key="northwind/derivatives/x/v/t.webp", masters=masters)
    verdict = judge(POLICY, picture, NOW, going=going)

    assert (verdict.goes, verdict.reason) == (reason is Reason.WITH_ITS_MASTER, reason)


def test_an_erasure_waits_for_no_duration_and_for_every_hold() -> None:
    young = facts(superseded_at=NOW, is_exempt=True)

    assert judge(POLICY, young, NOW, erasing=True).reason is Reason.ERASURE
    assert not judge(POLICY, young._replace(matter="H-1"), NOW, erasing=True).goes
    assert not judge(POLICY, young._replace(needed_by="x"), NOW, erasing=True).goes
    assert not judge(POLICY, young._replace(created_at=NOW - HOUR), NOW, erasing=True).goes


def test_a_hold_reaches_tenant_campaign_and_named_objects() -> None:
    held = Held({"a": "M1"}, {"b.spring": "M2"}, {"o-1": "M3"})

    assert held.matter("a", (), ()) == "M1"
    assert held.matter("b", ("b.spring", None), ()) == "M2"
    assert held.matter("c", (None,), ("o-1",)) == "M3"
    assert held.matter("c", (None,), ("o-2",)) == ""


_TIMES = st.none() | st.integers(OLD - 100 * DAY, NOW + 400 * DAY)
_CLAIMS = st.builds(Claim, st.sampled_from(["standard", "other", ""]), _TIMES)
_MASTERS = st.builds(Master, st.sampled_from("ab"), st.sampled_from(["live", "marked", "purged"]))
_FACTS = st.builds(
    facts,
    what=st.sampled_from([None, *What]),
    key=st.sampled_from(["northwind/renditions/x", "northwind/sources/x", "northwind/x"]),
    created_at=st.integers(OLD - 100 * DAY, NOW + 400 * DAY),
    claims=st.lists(_CLAIMS, max_size=3).map(tuple),
    superseded_at=_TIMES, declined_at=_TIMES, replaced_at=_TIMES, last_grant_at=_TIMES, first_seen_at=_TIMES,
    is_shown=st.booleans(), needed_by=st.sampled_from(["", "a"]), matter=st.sampled_from(["", "H"]),
    is_exempt=st.booleans(),
    masters=st.lists(_MASTERS).map(tuple),
)  # fmt: skip


@given(_FACTS, st.integers(OLD, NOW + 400 * DAY), st.booleans())
def test_whatever_goes_is_free_old_known_and_approved_by_somebody(
    one: Facts, now: int, erasing: bool
) -> None:
    verdict = judge(POLICY, one, now, erasing=erasing)
    if verdict.goes:
        assert (one.matter, one.needed_by) == ("", "")
        assert one.created_at + POLICY.minimum_age_hours * HOUR <= now
        assert verdict.row in POLICY.rows
        assert one.is_shown or one.last_grant_at is None or one.last_grant_at <= now
        assert erasing or not one.is_exempt
        if not erasing and one.what is not What.DERIVATIVE:
            assert now >= (verdict.due_at or now + 1)


@given(_FACTS, st.integers(OLD, NOW + 400 * DAY), st.integers(1, 500))
def test_a_longer_duration_never_lets_more_go(one: Facts, now: int, more: int) -> None:
    def longer(row: PolicyRow) -> PolicyRow:
        return row if row.keep_days is None else replace(row, keep_days=row.keep_days + more)

    patient = replace(POLICY, rows=tuple(longer(row) for row in POLICY.rows), _by={})

    assert judge(POLICY, one, now).goes or not judge(patient, one, now).goes


@given(_FACTS, st.integers(OLD, NOW), st.integers(0, 400 * DAY))
def test_what_goes_by_time_goes_later_too(one: Facts, now: int, later: int) -> None:
    assert not judge(POLICY, one, now).goes or judge(POLICY, one, now + later).goes
