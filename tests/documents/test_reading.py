"""Documents name every fault at once, with the line; YAML's traps are named or have no teeth."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import StrictInt

from pipeline.documents.reading import Document, read_document
from pipeline.documents.yaml_source import MAX_BYTES, read_source
from pipeline.domain.errors import BadDocument, Fault


class Inner(Document):
    height: StrictInt
    colour: str = "red"


class Outer(Document):
    name: str
    inner: Inner
    many: tuple[Inner, ...] = ()


def faults(text: str | bytes) -> tuple[Fault, ...]:
    with pytest.raises(BadDocument) as caught:
        read_document(Outer, text, name="outer.yaml")
    assert caught.value.name == "outer.yaml"
    return caught.value.faults


def test_a_good_document_becomes_its_model() -> None:
    document = read_document(Outer, "name: a\ninner: {height: 3}\n", name="outer.yaml")

    assert document == Outer(name="a", inner=Inner(height=3))


def test_every_fault_is_named_at_once_with_line_value_and_what_is_allowed() -> None:
    found = faults("nam: a\ninner:\n  height: tall\n  color: blue\nmany:\n  - height: 1\n  - {}\n")

    assert [(fault.field, fault.line) for fault in found] == [
        ("nam", 1),
        ("name", 1),
        ("inner.height", 3),
        ("inner.color", 4),
        ("many[1].height", 7),
    ]
    assert found[3].allowed == "did you mean `colour`? height, colour"
    assert found[2].value == "tall"


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", None, "is empty"),
        ("# nothing\n", None, "is empty"),
        ("- a\n- b\n", 1, "is not a mapping"),
        ("name: [a\ninner: b", 2, "is not YAML"),
        ("name: a\n\tinner: {}\n", 2, "a tab stands"),
        ("name: a\n---\nname: b\n", 2, "more than one document"),
        ("name: &a x\n", 1, "anchors and aliases"),
        ("name: a\ninner: *b\n", 2, "anchors and aliases"),
        ("name: a\ninner: {<<: {height: 1}, height: 2}\n", 2, "merge keys"),
        ("name: !!python/name:os.system a\ninner: {height: 1}\n", 1, "tags are not read"),
        ("name: a\nname: b\ninner: {height: 1}\n", 2, "written twice (first in line 1)"),
        ("name: a\ninner: {height: 1}\n? [a, b]\n: c\n", 3, "list or mapping as a field name"),
        ("name: a\x00b\n", 1, "control character"),
        (b"name: a\ninner: caf\xe9\n", 2, "is not UTF-8"),
        (b"name: a # " + b"x" * MAX_BYTES, None, "is too large"),
        ("name: " + "[" * 40, 1, "nested deeper"),
        ("name: " + "[" * 100_000, 1, "nested deeper"),
    ],
)
def test_what_is_not_plain_yaml_is_named_with_its_line(
    text: str | bytes, line: int | None, part: str
) -> None:
    found = faults(text)

    assert any(part in fault.problem and fault.line == line for fault in found), found


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{n}: &{n} [*a, *a]\n" for n in "bcdefgh")

    assert [fault.value for fault in faults(bomb)] == ["a: &a [x, x]"]


def test_plain_words_mean_what_they_say() -> None:
    source = read_source(
        "a: no\nb: 16:9\nc: 2027-03-31\nd: on\ne: 010\nf: 50.10\ng: true\nh:\ni: 1_000\n", name="x"
    )

    assert source.value == {
        "a": "no",
        "b": "16:9",
        "c": "2027-03-31",
        "d": "on",
        "e": 10,
        "f": Decimal("50.10"),
        "g": True,
        "h": None,
        "i": "1_000",
    }


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert read_document(Outer, b"\xef\xbb\xbfname: a\ninner: {height: 1}\n", name="x").name == "a"


def test_a_long_value_is_shown_shortened_on_one_line() -> None:
    (fault,) = faults("name: a\ninner:\n  height: " + "x" * 500)

    assert len(fault.value) == 80
    assert fault.value.endswith("…")


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="ascii"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc*&!<>: ", max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "inner", "many", "height", "x"]), json_like, max_size=4))
def test_any_structure_is_read_or_refused_by_name(value: Any) -> None:
    document, named = read_or_refused(json.dumps(value))

    assert named or (document is not None and document.name == value["name"])


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    document, named = read_or_refused(text)

    assert (document is None) == bool(named)


def read_or_refused(text: str) -> tuple[Outer | None, tuple[Fault, ...]]:
    try:
        return read_document(Outer, text, name="x"), ()
    except BadDocument as error:
        return None, error.faults


def test_a_character_that_json_wrote_as_two_escapes_is_one_character() -> None:
    text = json.dumps({"name": "\U0001f389", "inner": {"height": 1}})

    assert read_document(Outer, text, name="x").name == "\U0001f389"
