"""A wrong request is refused as a whole, every field by its name (house rule on bad input)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.local_renderer.refusals import Refused
from resources.local_renderer.wanted import as_json, fingerprint, from_json, parse_key, parse_wanted
from tests.local_renderer.renderer_process import wanted

_SHA = "0" * 64


def parse(**changes: Any) -> Any:
    return parse_wanted(json.dumps(wanted(_SHA, **changes)).encode())


def refusal(**changes: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        parse(**changes)
    return caught.value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 161),
        ("width", 0),
        ("height", 4000),
        ("height", True),
        ("duration_seconds", 0),
        ("duration_seconds", 1.5),
        ("images", []),
        ("images", ["../../etc/passwd"]),
        ("images", [_SHA.upper() + "A"]),
        ("caption", None),
        ("caption", "x" * 501),
        ("locale", "en_GB; rm"),
        ("reference", "a b"),
        ("settings", []),
        ("colour", "red"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: Any) -> None:
    refused = refusal(**{field: value})

    assert refused.code == "invalid_request"
    assert str(refused).startswith(f"{field}: ")


def test_every_wrong_field_is_named_at_once() -> None:
    said = str(refusal(width=1, height=3, settings={"fps": 0, "glitter": True}))

    assert all(
        name in said for name in ("width:", "height:", "settings.fps:", "settings.glitter: unknown setting")
    )


def test_a_missing_field_is_named() -> None:
    body = wanted(_SHA)
    del body["locale"]

    with pytest.raises(Refused, match="locale: missing"):
        parse_wanted(json.dumps(body).encode())


def test_an_unknown_model_is_refused_by_name() -> None:
    refused = refusal(model="kenburns-9")

    assert (refused.code, refused.status) == ("unknown_model", 400)
    assert "kenburns-9" in str(refused)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as caught:
        parse_wanted(body)

    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize("key", [None, "", "a b", "ключ", "k" * 201])
def test_a_key_that_is_none_is_refused(key: str | None) -> None:
    with pytest.raises(Refused, match="Idempotency-Key"):
        parse_key(key)


def test_spelt_out_defaults_are_the_same_request() -> None:
    assert fingerprint(parse(settings={})) == fingerprint(parse(settings={"zoom": 1.15, "fps": 25}))


@given(
    st.fixed_dictionaries(
        {
            "caption": st.text(max_size=40),
            "width": st.integers(32, 960).map(lambda n: 2 * n),
            "duration_seconds": st.integers(1, 120),
            "settings": st.fixed_dictionaries(
                {}, optional={"fps": st.integers(1, 60), "zoom": st.floats(1, 1.5)}
            ),
        }
    )
)
def test_what_is_stored_reads_back_as_the_same_request(changes: dict[str, Any]) -> None:
    parsed = parse(**changes)

    read = from_json(json.loads(json.dumps(as_json(parsed))))

    assert read == parsed
    assert fingerprint(read) == fingerprint(parsed)


@given(st.sampled_from(["caption", "locale", "reference"]), st.integers(0, 10**6))
def test_another_body_has_another_fingerprint(field: str, number: int) -> None:
    changed = parse(**{field: f"aa-{number:08}"})

    assert fingerprint(changed) != fingerprint(parse())
