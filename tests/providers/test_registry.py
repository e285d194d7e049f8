"""Adapters are found by name or path, and a wrong one is refused by name (G1, R4)."""

from __future__ import annotations

import pytest

from pipeline.domain.errors import BadSettings, UrlRefused
from resources.providers.local import LocalProvider
from resources.providers.protocol import ProviderTerms, Reconciliation
from resources.providers.registry import adapter, adapters, guard_for
from tests.faults.renderer.adapters import ListingProvider


def terms(name: str, **more: object) -> ProviderTerms:
    return ProviderTerms("some", name, "http://127.0.0.1:8791", **more)  # type: ignore[arg-type]


def test_an_installed_adapter_is_found_by_its_name() -> None:
    assert isinstance(adapter(terms("local")), LocalProvider)


def test_an_adapter_outside_of_packages_is_found_by_its_path() -> None:
    made = adapter(terms("tests.faults.renderer.adapters:ListingProvider", options={"lag_seconds": 7}))

    assert isinstance(made, ListingProvider)
    assert (made.reconciliation, made.lookup_lag_seconds) == (Reconciliation.LISTING, 7)


def test_each_provider_of_a_list_gets_its_own_adapter() -> None:
    made = adapters([terms("local"), ProviderTerms("other", "local", "http://127.0.0.1:1")])

    assert list(made) == ["some", "other"]
    assert made["some"] is not made["other"]


@pytest.mark.parametrize(
    "name",
    ["nobody", "no.such.module:Class", "resources.providers.local:Nobody", "pathlib:Path", "os:", ":x"],
)
def test_what_is_no_adapter_is_refused_with_the_providers_name(name: str) -> None:
    with pytest.raises(BadSettings) as error:
        adapter(terms(name))

    assert error.value.setting == "provider some"
    assert error.value.remedy


def test_an_unknown_name_comes_with_those_that_are_installed() -> None:
    with pytest.raises(BadSettings, match="nobody") as error:
        adapter(terms("nobody"))

    assert "local" in error.value.remedy


def test_the_guard_allows_the_own_host_and_the_listed_ones() -> None:
    guard = guard_for(ProviderTerms("p", "p", "https://api.example.com/v1", allowed_hosts=("*.cdn.example",)))

    assert not guard.check("https://api.example.com/out.mp4").is_exact_origin
    assert not guard.check("https://eu.cdn.example/out.mp4").is_exact_origin
    with pytest.raises(UrlRefused):
        guard.check("http://api.example.com/out.mp4")


def test_only_the_exact_origin_may_be_private_and_only_when_the_list_says_so() -> None:
    private, public = (guard_for(terms("local", allow_private_origin=allowed)) for allowed in (True, False))

    assert private.check("http://127.0.0.1:8791/outputs/1.mp4").is_exact_origin
    for guard, url in (
        (private, "http://127.0.0.1:8792/"),
        (private, "http://localhost:8791/"),
        (public, "http://127.0.0.1:8791/"),
    ):
        with pytest.raises(UrlRefused):
            guard.check(url)
