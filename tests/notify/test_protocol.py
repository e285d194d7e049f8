"""A4: an alert holds ids, counts and codes of ours; it cannot be built around anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resources.notify.protocol import Alert, Link, Notice, Outlet, Severity, Window, document, text

PRIVATE = [
    "https://cdn.provider.example/out/1.mp4?X-Amz-Signature=abc",
    "//cdn.provider.example/out/1.mp4",
    "cdn.provider.example/out/1.mp4?token=abc",
    "Your parcel, on time.",
    "Ihr Paket, pünktlich",
    "two words",
    "line\nbreak",
    "",
    "<b>",
    "x" * 201,
]


def alert(**changes: Any) -> Alert:
    whole: dict[str, Any] = {
        "id": "run-failed:submit-12",
        "severity": Severity.CRITICAL,
        "title": "A lot's run failed",
        "facts": {"stage": "submit", "items": 12, "slot": "northwind.spring/en-GB/16x9/6s"},
        "link": Link(Window.DAGSTER, "/runs/0d1f"),
        "tenant": "northwind",
    }
    return Alert(**(whole | changes))


@pytest.mark.parametrize("value", PRIVATE)
@pytest.mark.parametrize("place", ["id", "tenant", "fact"])
def test_nothing_but_ids_and_codes_can_be_said(place: str, value: str) -> None:
    changes: dict[str, Any] = {"facts": {"reason": value}} if place == "fact" else {place: value}

    with pytest.raises(ValueError, match="neither a count nor an id nor a code") as caught:
        alert(**changes)
    assert not value or value not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "r-0123456789abcdef-a2",
        "northwind.spring",
        "northwind.spring/r3/en-GB/16x9/6s",
        "over_budget",
        "*",
        "1.2@3",
    ],
)
def test_ids_and_codes_of_the_house_can_be_said(value: str) -> None:
    assert alert(facts={"what": value}).facts == {"what": value}


@pytest.mark.parametrize("title", ["see https://there", "a\nb", "", "x" * 121, "<script>"])
def test_a_title_is_one_short_line_without_an_address(title: str) -> None:
    with pytest.raises(ValueError, match="title"):
        alert(title=title)


@pytest.mark.parametrize(
    "path", ["https://elsewhere/", "//elsewhere/x", "runs/1", "/a b", "/x#y", "/\\evil", "", "/" + "x" * 500]
)
def test_a_link_is_a_path_of_our_own(path: str) -> None:
    with pytest.raises(ValueError, match="path of our own"):
        Link(Window.API, path)


def test_facts_cannot_be_changed_afterwards() -> None:
    facts: dict[str, str | int] = {"items": 1}
    made = alert(facts=facts)
    facts["items"] = 2

    assert made.facts == {"items": 1}
    with pytest.raises(TypeError):
        made.facts["items"] = 3  # type: ignore[index]


def test_a_link_is_made_whole_from_the_window_it_names() -> None:
    outlet = Outlet(None, {Window.DAGSTER: "https://ops.example/dagster"})  # type: ignore[arg-type]

    assert outlet.notice(alert(), 3) == Notice(alert(), 3, "https://ops.example/dagster/runs/0d1f")
    assert outlet.notice(alert(link=Link(Window.API, "/status")), 1).link == ""
    assert outlet.notice(alert(link=None), 1).link == ""


def test_both_forms_say_the_same() -> None:
    notice = Notice(alert(), 3, "http://127.0.0.1:3000/runs/0d1f")
    said = document(notice)

    assert json.loads(json.dumps(said)) == {
        "id": "run-failed:submit-12",
        "severity": "critical",
        "title": "A lot's run failed",
        "tenant": "northwind",
        "facts": {"stage": "submit", "items": 12, "slot": "northwind.spring/en-GB/16x9/6s"},
        "count": 3,
        "link": "http://127.0.0.1:3000/runs/0d1f",
        "text": text(notice),
    }
    assert text(notice).splitlines() == [
        "[critical] A lot's run failed (raised 3 times)",
        "stage: submit",
        "items: 12",
        "slot: northwind.spring/en-GB/16x9/6s",
        "http://127.0.0.1:3000/runs/0d1f",
    ]
