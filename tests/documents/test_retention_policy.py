"""C1: a policy with a slip of the pen is refused, and says where; what is left out is guarded."""

from __future__ import annotations

import pytest

from pipeline.documents.reading import shipped
from pipeline.documents.retention_policy import DEFAULT, default_retention_policy, read_retention_policy
from pipeline.domain.errors import BadDocument
from pipeline.domain.retention import What

TEXT = shipped(DEFAULT)


def read(text: str):  # type: ignore[no-untyped-def]
    return read_retention_policy(text, name="policy.yaml")


def test_the_shipped_policy_has_a_row_for_every_kind() -> None:
    assert {row.what for row in default_retention_policy().rows} == set(What)


@pytest.mark.parametrize(
    ("was", "written", "field", "problem"),
    [
        ("keep_days: 400", "keep_days: 0", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: -1", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: null", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: .inf", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: infinite", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: true", "rows[0].keep_days", "is no duration"),
        ("keep_days: 400", "keep_days: 1.5", "rows[0].keep_days", "is no duration"),
        (
            "after: campaign_end, action: purge",
            "after: modified, action: purge",
            "rows[0].after",
            "not one of",
        ),
        (
            "after: campaign_end, action: purge",
            "after: declined, action: purge",
            "rows[0]",
            "counts source_asset",
        ),
        ("what: source_asset", "what: source_assets", "rows[0].what", "not one of the allowed"),
        ("class: standard, keep_days: 400", "keep_days: 400", "rows[0]", "names no class"),
        ("id: orphan, version: 1", "id: orphan, version: 1, class: standard", "rows[6]", "has a class"),
        ("keep_days: with_master", "keep_days: 5", "rows[4]", "mixes a duration"),
        ("keep_days: forever, after: stored", "keep_days: 9, after: stored", "rows[10]", "is the evidence"),
        ("id: declined-standard", "id: source-standard", "", "more than once"),
        ('"*/sources/"', '"*/source/"', "guards.roots[0]", "no place where objects lie"),
        ('"*/sources/"', '"/"', "guards.roots[0]", "no place where objects lie"),
        ("bytes: 200 GiB", "bytes: 200", "guards.limits.bytes", "no number of bytes"),
        ("objects: 10000", "objects: 0", "guards.limits.objects", "too small"),
        ("minimum_age_hours: 48", "minimum_age_hours: 1", "guards.minimum_age_hours", "too small"),
        ("grace_days: 7", "grace_days: 0", "grace_days", "too small"),
        (
            "approver: operator}\n  - {id: approved",
            "approver: legal}\n  - {id: approved",
            "",
            "without people",
        ),
        ('operator: ["*"]', "operator: []", "approvers.operator", "too few"),
    ],
)
def test_a_slip_of_the_pen_is_refused_with_its_field(
    was: str, written: str, field: str, problem: str
) -> None:
    assert was in TEXT
    with pytest.raises(BadDocument) as refused:
        read(TEXT.replace(was, written, 1))

    assert [(fault.field, problem in fault.problem) for fault in refused.value.faults] == [(field, True)]


def test_what_is_left_out_is_guarded() -> None:
    start, end = TEXT.index("guards:"), TEXT.index("approvers:")
    policy = read(TEXT[:start] + TEXT[end:])
    whole = default_retention_policy()

    assert (policy.limits, policy.roots) == (whole.limits, whole.roots)
    assert policy.minimum_age_hours == whole.minimum_age_hours


def test_a_comment_is_no_change_and_a_root_is_one() -> None:
    whole = default_retention_policy()

    assert read(TEXT + "\n# seen by legal\n").sha256 == whole.sha256
    assert read(TEXT.replace('    - "*/sources/"\n', "")).sha256 != whole.sha256
    assert read(TEXT.replace("objects: 10000", "objects: 10001")).sha256 != whole.sha256
    assert read(TEXT.replace('operator: ["*"]', "operator: [olive]")).sha256 != whole.sha256
