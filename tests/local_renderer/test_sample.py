"""The sample campaign reads as a brief, and its pictures are what the brief names."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from pipeline.cli.sample import write_sample
from pipeline.documents.brief import read_brief


def test_the_sample_is_a_valid_brief_of_two_locales_and_three_ratios(tmp_path: Path) -> None:
    path = write_sample(tmp_path)
    brief = read_brief(path.read_bytes(), name=path.name)

    assert (brief.tenant, brief.campaign) == ("northwind", "spring-depot")
    assert len(brief.creative.variants.locales) * len(brief.creative.variants.aspect_ratios) == 6
    assert all((tmp_path / name).is_file() for name in brief.creative.sources)


def test_its_pictures_have_640_pixels_on_the_long_side(tmp_path: Path) -> None:
    pictures = [path for path in write_sample(tmp_path).parent.iterdir() if path.suffix in (".jpg", ".png")]
    sizes = set()
    for path in pictures:
        with Image.open(path) as image:
            sizes.add(max(image.size))

    assert len(pictures) == 3
    assert sizes == {640}


def test_writing_it_again_touches_nothing(tmp_path: Path) -> None:
    write_sample(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    write_sample(tmp_path)

    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
