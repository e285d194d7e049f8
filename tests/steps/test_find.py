"""Every name that people use leads to its row, on both databases; nothing is guessed."""

from __future__ import annotations

import pytest

from pipeline.domain.errors import AmbiguousName, UnknownSubject
from pipeline.domain.moderation import Decision
from pipeline.steps.answer.find import (
    find_attempt,
    find_campaign,
    find_rendition,
    find_revision,
    find_slot,
    find_tenant,
    is_slot_name,
    variant_key,
)
from pipeline.steps.produce.moderate import decide
from tests.steps.author import CAMPAIGN, Author

SLOT = f"{CAMPAIGN}/en-GB/16x9/6s"


@pytest.fixture
def approved(author: Author) -> Author:
    """A campaign whose four videos are planned."""
    author.deliver()
    if author.revision().state != "approved":
        revision = f"{CAMPAIGN}/r1"
        decide(
            author.database, author.policy, author.rules, revision, Decision.APPROVED,
            reason="seen", actor="anna",
        )  # fmt: skip
    return author


@pytest.mark.parametrize(
    "name",
    [SLOT, f"{CAMPAIGN}/en-GB/16:9/6s", f"{CAMPAIGN}/r1/en-GB/16x9/6s", "en-GB/16x9/6s", "en-GB/16:9/6s"],
)
def test_a_video_is_found_by_every_name_of_its_place(approved: Author, name: str) -> None:
    with approved.database.reading() as connection:
        found = find_rendition(connection, name)

    assert (found.slot, found.variant, found.tenant) == (SLOT, "en-GB/16x9/6s", "northwind")


def test_a_rendition_its_attempt_and_its_slot_lead_to_one_another(approved: Author) -> None:
    with approved.database.reading() as connection:
        by_slot = find_rendition(connection, SLOT)
        by_id = find_rendition(connection, by_slot.id)
        by_attempt = find_rendition(connection, by_slot.attempt)
        attempt = find_attempt(connection, SLOT)

    assert by_slot == by_id == by_attempt
    assert (attempt.id, attempt.number, attempt.provider) == (by_slot.attempt, 1, "local")


def test_a_revision_is_the_newest_unless_one_is_named(approved: Author) -> None:
    approved.drop(revision=2)
    approved.ingest()
    with approved.database.reading() as connection:
        numbers = [
            find_revision(connection, CAMPAIGN).number,
            find_revision(connection, f"{CAMPAIGN}/r1").number,
            find_revision(connection, CAMPAIGN, 1).number,
        ]

    assert numbers == [2, 1, 1]


@pytest.mark.parametrize("name", ["", "northwind", "northwind.", "NORTHWIND.spring-depot", f"{CAMPAIGN}%"])
def test_half_a_campaigns_name_is_no_name(approved: Author, name: str) -> None:
    with approved.database.reading() as connection, pytest.raises(UnknownSubject):
        find_campaign(connection, name)


@pytest.mark.parametrize(
    "name", ["en-GB", "en-GB/16x9", "en-GB/16x9/7s", f"{CAMPAIGN}/r1", "r-" + "0" * 32, "%/%/%"]
)
def test_what_names_no_video_finds_none(approved: Author, name: str) -> None:
    with approved.database.reading() as connection, pytest.raises(UnknownSubject):
        find_rendition(connection, name)


def test_a_variant_of_two_campaigns_is_refused_with_both_whole_names(approved: Author) -> None:
    approved.drop("other.yaml", campaign="autumn-depot")
    approved.ingest()
    with approved.database.reading() as connection, pytest.raises(AmbiguousName) as refused:
        find_slot(connection, "en-GB/16x9/6s")

    assert refused.value.meanings == ("northwind.autumn-depot/en-GB/16x9/6s", SLOT)


def test_the_only_tenant_needs_no_name(approved: Author) -> None:
    with approved.database.reading() as connection:
        assert find_tenant(connection) == find_tenant(connection, "northwind") == "northwind"
        with pytest.raises(UnknownSubject):
            find_tenant(connection, "acme")


@pytest.mark.parametrize(
    ("name", "is_slot"),
    [(SLOT, True), ("en-GB/16:9/6s", True), (CAMPAIGN, False), (f"{CAMPAIGN}/r2", False)],
)
def test_a_slot_is_told_from_a_campaign_by_its_spelling(name: str, is_slot: bool) -> None:
    assert is_slot_name(name) is is_slot


def test_a_variant_key_is_cut_out_of_whole_names_too() -> None:
    assert {variant_key(name) for name in (SLOT, "en-GB/16:9/6s", "en-GB/16x9/6s")} == {"en-GB/16x9/6s"}
