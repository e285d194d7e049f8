"""The provider list is read as a whole, and its faults are named (G1, G10)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from pipeline.documents.provider_list import DEFAULT, default_provider_list, read_provider_list
from pipeline.documents.reading import shipped
from pipeline.domain.errors import BadDocument
from pipeline.domain.provider_terms import ModelTerms, OnOverdue, Spend
from resources.local_renderer.wanted import MAX_SIDE
from resources.providers.local import LocalProvider
from resources.providers.registry import adapter


def faults(text: str) -> dict[str, str]:
    with pytest.raises(BadDocument) as error:
        read_provider_list(text, name="providers.yaml")
    return {fault.field: fault.allowed for fault in error.value.faults}


def changed(old: str, new: str) -> str:
    text = shipped(DEFAULT)

    assert old in text
    return text.replace(old, new)


def test_the_shipped_list_names_the_local_renderer_without_price_or_secret() -> None:
    listed = default_provider_list()
    local = listed.providers["local"]

    assert list(listed.providers) == ["local"]
    assert (local.spend, local.models["kenburns-1"].quote_micros(6)) == (Spend.TEST, 0)
    assert (local.secret, local.secret_env) == ("", "")
    assert local.on_overdue is OnOverdue.WAIT
    assert isinstance(adapter(local), LocalProvider)


def test_every_term_reaches_the_value() -> None:
    local = read_provider_list(
        changed("polls_per_second: 500", "polls_per_second: 2.5").replace(
            "first_seconds: 1 ", "first_seconds: 0.5 "
        ),
        name="providers.yaml",
    ).providers["local"]

    assert (local.polls_per_second, local.submit_concurrency, local.in_flight_per_tenant) == (2.5, 8, 100)
    assert (local.pace.first_seconds, local.pace.ceiling_seconds, local.pace.looks_until_gone) == (0.5, 15, 3)
    assert (local.deadline_seconds, local.send_tries, local.max_attempts) == (1800, 20, 3)


def test_what_a_model_takes_is_what_the_renderer_says_of_itself() -> None:
    model = default_provider_list().providers["local"].models["kenburns-1"]
    assert model.settings is not None

    assert model.longest_side == MAX_SIDE
    assert set(model.settings) == {"fps", "zoom"}
    assert [model.settings["fps"].holds(value) for value in (1, 60, 0, 61, 2.5, True, "25")] == [
        True, True, False, False, False, False, False,
    ]  # fmt: skip
    assert [model.settings["zoom"].holds(value) for value in (1, 1.5, 0.9, 1.6)] == [True, True, False, False]


def test_a_list_that_does_not_say_what_a_model_takes_leaves_it_to_the_provider() -> None:
    text = shipped(DEFAULT)
    before, rest = text.split("        longest_side", 1)
    model = read_provider_list(before + rest[rest.index("    rates:") :], name="providers.yaml")

    assert model.providers["local"].models["kenburns-1"] == ModelTerms(Decimal(0))


def test_a_quote_is_exact_and_rounded_up_to_the_micro_unit() -> None:
    assert ModelTerms(Decimal("0.05")).quote_micros(6) == 300_000
    assert ModelTerms(Decimal("0.000000001")).quote_micros(1) == 1


def test_a_secret_never_shows() -> None:
    terms = replace(default_provider_list().providers["local"], secret="hush")

    assert "hush" not in repr(terms)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("adapter: local", "adapter: 'os; rm'", "providers.local.adapter"),
        ("http://127.0.0.1:8791", "ftp://127.0.0.1", "providers.local.base_url"),
        ("http://127.0.0.1:8791", "https://me:pw@example.com", "providers.local.base_url"),
        ("private_origin: true", "private_origin: false", "providers.local"),
        ("spend: test", "spend: maybe", "providers.local.spend"),
        ("currency: EUR", "currency: XXY", "providers.local.currency"),
        ('second: "0"', "second: 0.1", "providers.local.models.kenburns-1.price_per_second"),
        ('second: "0"', 'second: "-1"', "providers.local.models.kenburns-1.price_per_second"),
        ("longest_side: 1920", "longest_side: wide", "providers.local.models.kenburns-1.longest_side"),
        ("to: 60", "to: 0", "providers.local.models.kenburns-1.settings.fps"),
        ("to: 1.5", "to: much", "providers.local.models.kenburns-1.settings.zoom.to"),
        ("fps: {from: 1, to", "fps: {from: 1, too", "providers.local.models.kenburns-1.settings.fps.too"),
        ("polls_per_second: 500", "polls_per_second: 0", "providers.local.rates.polls_per_second"),
        ("polls_per_second: 500", "polls_per_second: soon", "providers.local.rates.polls_per_second"),
        ("per_tenant: 100", "per_tenant: 300", "providers.local.in_flight"),
        ("deadline_seconds: 1800", "deadline_seconds: 90000", "providers.local.waiting"),
        ("first_seconds: 1 ", "first_seconds: 99 ", "providers.local.polling"),
        ("on_overdue: wait", "on_overdue: shout", "providers.local.waiting.on_overdue"),
        ("attempts: 3", "attempts: 0", "providers.local.tries.attempts"),
        ("adapter: local", "adaptor: local", "providers.local.adaptor"),
        ("  local:  ", "  LOCAL:  ", "providers.LOCAL"),
    ],
)
def test_a_wrong_term_is_named_with_what_may_stand_there(old: str, new: str, field: str) -> None:
    named = faults(changed(old, new))

    assert field in named
    assert named[field]


def test_all_faults_are_named_at_once() -> None:
    text = changed("spend: test", "spend: maybe").replace("currency: EUR", "currency: XXY")

    assert set(faults(text)) == {"providers.local.spend", "providers.local.currency"}
