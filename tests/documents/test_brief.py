"""The brief: what it may hold, and how each fault is named (I1)."""

from __future__ import annotations

import json
import tarfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.documents.brief import read_brief
from pipeline.documents.written import canonical_locale
from pipeline.domain.brief import Brief, BudgetCap, Publish, Submit
from pipeline.domain.completion import CompletionPolicy
from pipeline.domain.errors import BadDocument, Fault
from pipeline.domain.renditions import creative_sha256, matrix
from pipeline.domain.tags import Visibility

DATA = Path(__file__).parent.parent / "data"

BRIEF = """\
tenant: northwind
campaign: spring-depot
title: Spring depot opening   # optional, for people
revision: 3
cost_center: MKT-4410
sources: [depot.jpg, van.png]
copy: {en-GB: "Your parcel, on time.", de-DE: "Ihr Paket, pünktlich."}
variants: {locales: [en-GB, de-DE], aspect_ratios: ["16:9", "9:16", "1:1"], duration_seconds: [6]}
generation: {provider: local, model: kenburns-1, settings: {fps: 25}}
tags: {asset_type: marketing-video, visibility: public, product: [parcel]}
publish: auto                 # or on_approval
submit: when_complete         # or manual
budget: {cap: "50.00", currency: EUR}
retention_class: standard
ends_on: 2027-03-31
completion: all_terminal      # or all_usable
"""
FIELDS: dict[str, Any] = yaml.safe_load(BRIEF) | {"ends_on": "2027-03-31"}


def brief(**changes: Any) -> Brief:
    """The brief above with fields changed; a value of None leaves the field out."""
    fields = {name: value for name, value in (FIELDS | changes).items() if value is not None}
    return read_brief(json.dumps(fields), name="brief.yaml")


def variants(**changes: Any) -> dict[str, Any]:
    return {**FIELDS["variants"], **changes}


def faults(**changes: Any) -> list[Fault]:
    with pytest.raises(BadDocument) as caught:
        brief(**changes)
    return list(caught.value.faults)


def test_the_whole_brief_becomes_one_value() -> None:
    wish = read_brief(BRIEF, name="brief.yaml")

    assert (wish.tenant, wish.campaign, wish.revision) == ("northwind", "spring-depot", 3)
    assert wish.creative.sources == ("depot.jpg", "van.png")
    assert wish.creative.copy == {"en-GB": "Your parcel, on time.", "de-DE": "Ihr Paket, pünktlich."}
    assert len(matrix(wish.creative.variants)) == 6
    assert wish.creative.generation.settings == {"fps": 25}
    rest = wish.administrative
    assert rest.title == "Spring depot opening"
    assert rest.cost_center == "MKT-4410"
    assert (rest.asset_type, rest.visibility) == ("marketing-video", Visibility.PUBLIC)
    assert rest.tags == {"product": ("parcel",)}
    assert (rest.publish, rest.submit) == (Publish.AUTO, Submit.WHEN_COMPLETE)
    assert rest.budget == BudgetCap(50_000_000, "EUR")
    assert rest.retention_class == "standard"
    assert rest.ends_on == date(2027, 3, 31)
    assert rest.completion is CompletionPolicy.ALL_TERMINAL


def test_what_may_be_left_out_has_its_default() -> None:
    wish = brief(title=None, publish=None, submit=None, ends_on=None, completion=None)

    assert wish.administrative.title == "spring-depot"
    assert wish.administrative.ends_on is None
    assert wish.administrative.publish is Publish.AUTO
    assert wish.administrative.submit is Submit.WHEN_COMPLETE
    assert wish.administrative.completion is CompletionPolicy.ALL_TERMINAL


@pytest.mark.parametrize(
    "field",
    [
        "tenant",
        "campaign",
        "revision",
        "cost_center",
        "sources",
        "copy",
        "variants",
        "generation",
        "tags",
        "budget",
        "retention_class",
    ],
)
def test_a_missing_field_is_named(field: str) -> None:
    assert [(fault.field, fault.problem) for fault in faults(**{field: None})] == [(field, "is missing")]


def test_formatting_order_and_plain_ratios_make_no_other_brief() -> None:
    rewritten = BRIEF.replace('"16:9"', "16:9").replace('"50.00"', "50.0")
    rewritten = "\n".join(reversed(rewritten.splitlines()))

    assert read_brief(rewritten, name="b") == read_brief(BRIEF, name="a")


def test_an_administrative_change_leaves_the_creative_hash() -> None:
    amended = brief(
        budget={"cap": 80, "currency": "EUR"}, ends_on=None, cost_center="MKT-1", publish="on_approval"
    )

    assert creative_sha256(amended.creative) == creative_sha256(brief().creative)
    assert amended != brief()


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"tenant": "North Wind"}, "tenant", "not a slug"),
        ({"tenant": "intake"}, "tenant", "is kept for the place"),
        ({"campaign": "a" * 64}, "campaign", "not a slug"),
        ({"campaign": "a--b"}, "campaign", "not a slug"),
        ({"campaign": "-a"}, "campaign", "not a slug"),
        ({"campaign": "a."}, "campaign", "not a slug"),
        ({"campaign": "spring\n"}, "campaign", "not a slug"),
        ({"campaign": 2027}, "campaign", "is not text"),
        ({"revision": 0}, "revision", "too small"),
        ({"revision": True}, "revision", "whole number"),
        ({"revision": "3"}, "revision", "whole number"),
        ({"revision": 3.5}, "revision", "whole number"),
        ({"title": "line\nbreak"}, "title", "line break"),
        ({"cost_center": "=SUM(A1)"}, "cost_center", "another form"),
        ({"sources": []}, "sources", "0 items"),
        ({"sources": ["a.jpg"] * 2}, "sources", "a.jpg more than once"),
        ({"sources": ["Café.jpg", "Cafe\u0301.jpg"]}, "sources", "more than once"),
        ({"sources": [f"{n}.jpg" for n in range(21)]}, "sources", "21 items"),
        ({"sources": ["a.jpg", "brief.receipt.json"]}, "sources[1]", "name of a receipt"),
        ({"copy": {"en-GB": "a"}}, "copy", "no text for de-DE"),
        ({"copy": {"en-GB": "a", "de-DE": "b", "fr": "c"}}, "copy", "text for fr"),
        ({"copy": {"en-GB": "a", "en_gb": "b", "de-DE": "c"}}, "copy", "en-GB more than once"),
        ({"copy": {"en-GB": "a", "de-DE": "  "}}, "copy.de-DE", "blank"),
        ({"copy": {"en-GB": "a", "de-DE": "x" * 501}}, "copy.de-DE", "too long (501"),
        ({"copy": {"en-GB": "a", "de-DE": "b", "nonsense": "c"}}, "copy.nonsense", "not a language"),
        ({"variants": variants(locales=["en-GB", "de-DE", "de_de"])}, "variants.locales", "de-DE more than"),
        ({"variants": variants(locales=[])}, "variants.locales", "0 items"),
        ({"variants": variants(aspect_ratios=[])}, "variants.aspect_ratios", "0 items"),
        ({"variants": variants(duration_seconds=[])}, "variants.duration_seconds", "0 items"),
        ({"variants": variants(aspect_ratios=["16:9", "32:18"])}, "variants.aspect_ratios", "16:9 more than"),
        ({"variants": variants(aspect_ratios=["2:1"])}, "variants.aspect_ratios[0]", "not an aspect ratio"),
        ({"variants": variants(aspect_ratios=["16:0"])}, "variants.aspect_ratios[0]", "not an aspect ratio"),
        ({"variants": variants(aspect_ratios=["1.0:1"])}, "variants.aspect_ratios[0]", "not an aspect ratio"),
        ({"variants": variants(duration_seconds=[121])}, "variants.duration_seconds[0]", "too large"),
        ({"variants": variants(duration_seconds=list(range(1, 121)))}, "variants", "wants 720 videos"),
        ({"generation": {"provider": "local", "model": "a b"}}, "generation.model", "another form"),
        ({"generation": FIELDS["generation"] | {"settings": {"x": "y" * 99999}}}, "generation.settings", ""),
        ({"tags": {"visibility": "public"}}, "tags.asset_type", "is missing"),
        ({"tags": {"asset_type": "v", "visibility": "secret"}}, "tags.visibility", "not one of"),
        ({"tags": FIELDS["tags"] | {"locale": "en"}}, "tags.locale", "required field"),
        ({"tags": FIELDS["tags"] | {"Product": "x"}}, "tags.Product", "not of the form"),
        ({"tags": FIELDS["tags"] | {"*": "x"}}, "tags.*", "not of the form"),
        ({"tags": FIELDS["tags"] | {"size": 5}}, "tags.size", "which is not text"),
        ({"tags": FIELDS["tags"] | {"product": ["t" * 257]}}, "tags.product", "longer than 256"),
        ({"tags": FIELDS["tags"] | {"product": []}}, "tags.product", "no value"),
        ({"publish": "yes"}, "publish", "not one of"),
        ({"budget": {"cap": "0", "currency": "EUR"}}, "budget.cap", "not an amount"),
        ({"budget": {"cap": "1e3", "currency": "EUR"}}, "budget.cap", "not an amount"),
        ({"budget": {"cap": "0.0000001", "currency": "EUR"}}, "budget.cap", "not an amount"),
        ({"budget": {"cap": True, "currency": "EUR"}}, "budget.cap", "not an amount"),
        ({"budget": {"cap": "5", "currency": "EURO"}}, "budget.currency", "not a currency"),
        ({"retention_class": "Standard"}, "retention_class", "not a slug"),
        ({"ends_on": "2027-02-31"}, "ends_on", "not a date"),
        ({"ends_on": 20270331}, "ends_on", "not a date"),
        ({"completion": "all"}, "completion", "not one of"),
        ({"colour": "red"}, "colour", "not a field here"),
    ],
)  # fmt: skip
def test_each_fault_is_named_where_it_is(changes: dict[str, Any], field: str, problem: str) -> None:
    found = faults(**changes)

    assert [fault.field for fault in found] == [field]
    assert problem in found[0].problem
    assert found[0].line == 1
    assert found[0].allowed or problem == "is missing"


def test_faults_of_several_fields_are_named_together_with_their_lines() -> None:
    broken = BRIEF.replace("revision: 3", "revision: three").replace("EUR", "Euro").replace("16:9", "2:1")

    with pytest.raises(BadDocument) as caught:
        read_brief(broken, name="brief.yaml")

    assert [(fault.line, fault.field) for fault in caught.value.faults] == [
        (4, "revision"),
        (8, "variants.aspect_ratios[0]"),
        (13, "budget.currency"),
    ]


def test_a_plain_no_is_the_norwegian_that_its_author_meant() -> None:
    text = BRIEF.replace("de-DE", "no")

    assert read_brief(text, name="b").creative.variants.locales == ("en-GB", "no")


@pytest.mark.parametrize(
    "case", json.loads((DATA / "search/os_locales.json").read_text()), ids=lambda case: case["in"]
)
def test_locales_meet_in_one_canonical_form_or_are_refused(case: dict[str, str]) -> None:
    try:
        got = canonical_locale(case["in"])
    except ValueError:
        got = "refuse"

    assert got in case["canonical"]


def test_a_copy_may_break_lines_and_is_kept_in_nfc_without_its_margin() -> None:
    wish = brief(copy={"en-GB": "Two\nlines\n", "de-DE": " Gru\u0308n "})

    assert wish.creative.copy == {"en-GB": "Two\nlines", "de-DE": "Grün"}


NAMES = json.loads((DATA / "names/names_campaigns.json").read_text())


@pytest.mark.parametrize("case", NAMES, ids=[case["why"] for case in NAMES])
def test_every_name_of_a_campaign_is_kept_as_people_wrote_it_or_refused(case: dict[str, Any]) -> None:
    if case["accept"]:
        assert brief(title=case["name"]).administrative.title == case["display"]
    else:
        assert [fault.field for fault in faults(title=case["name"])] == ["title"]


def trap_names() -> list[str]:
    with tarfile.open(DATA / "names/names_traps.tar") as archive:
        return archive.getnames()


@pytest.mark.parametrize("name", trap_names(), ids=ascii)
def test_every_awkward_file_name_is_a_source_unless_it_holds_a_control_character(name: str) -> None:
    if "\n" in name:
        assert [fault.field for fault in faults(sources=[name])] == ["sources[0]"]
    else:
        assert len(brief(sources=[name]).creative.sources) == 1


@pytest.mark.parametrize(
    "name", ["", " ", ".", "..", "/etc/passwd", "a/b.jpg", "..\\b.jpg", "x" * 256, "a\x7f.jpg"]
)
def test_a_path_or_an_impossible_name_is_no_source(name: str) -> None:
    assert [fault.field for fault in faults(sources=[name])] == ["sources[0]"]
