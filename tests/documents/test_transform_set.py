"""The transform set: the shipped one is what the specification names, and each fault is named (D1)."""

from __future__ import annotations

import pytest

from pipeline.documents.reading import shipped
from pipeline.documents.transform_set import default_transform_set, read_transform_set
from pipeline.domain.errors import BadDocument

TEXT = shipped("transform_set.yaml")


def test_the_shipped_set_has_three_thumbnails_and_a_poster() -> None:
    transforms = default_transform_set()

    made = [(part.name, part.width, part.format) for part in transforms.derivatives]

    assert made == [
        ("w320", 320, "webp"),
        ("w640", 640, "webp"),
        ("w960", 960, "webp"),
        ("poster", 1280, "jpeg"),
    ]
    assert transforms.background == (255, 255, 255)


@pytest.mark.parametrize(
    ("line", "instead", "field"),
    [
        ("width: 320", "width: 0", "derivatives[0].width"),
        ("width: 960", "width: 100000", "derivatives[2].width"),
        ("name: w640", "name: w320", "derivatives"),
        ("name: w640", "name: ../w640", "derivatives[1].name"),
        ("format: jpeg", "format: tiff", "derivatives[3].format"),
        ("quality: 85", "quality: 101", "derivatives[3].quality"),
        ("[255, 255, 255]", "[255, 255]", "background"),
        ("[255, 255, 255]", "[255, 255, 256]", "background[2]"),
    ],
)
def test_a_fault_is_named_with_its_field(line: str, instead: str, field: str) -> None:
    assert line in TEXT
    with pytest.raises(BadDocument) as caught:
        read_transform_set(TEXT.replace(line, instead), name="set.yaml")

    assert any(fault.field.startswith(field) for fault in caught.value.faults)
