"""Every hard case of video and pictures comes out as the expectations say (D2, R3, I2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.documents.target_profile import default_target_profile
from pipeline.documents.transform_set import default_transform_set
from pipeline.steps.answer.inspect import Inspection, inspect_file
from resources.media import Sandbox, upright_image
from tests.media.cases import DATA, Case, read_cases, within, wrong_pixels

CASES = read_cases()
ACCEPTED = [case for case in CASES if case.accepted]
PICTURES = [case for case in ACCEPTED if case.kind in ("image", "animated") and case.pixels]


def inspected(case: Case, sandbox: Sandbox, folder: Path | None = None) -> Inspection:
    return inspect_file(case.path, sandbox, default_target_profile(), default_transform_set(), folder)


def test_every_file_of_the_collection_has_its_expectation() -> None:
    files = {path.name for path in DATA.iterdir()} - {"expectations.tsv", "names_traps.tar"}

    assert files == {case.file for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kind_verdict_and_reason(case: Case, sandbox: Sandbox) -> None:
    found = inspected(case, sandbox)

    assert (found.kind, found.verdict, found.reason or "") == (case.kind, case.verdict, case.reason)


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_size_time_and_alpha(case: Case, sandbox: Sandbox) -> None:
    found = inspected(case, sandbox)

    assert case.display_size in ("", f"{found.display_width}x{found.display_height}")
    assert not case.duration_seconds or within(case.duration_seconds, found.duration_seconds)
    assert not case.frame_rate or within(case.frame_rate, found.frame_rate)
    assert found.has_alpha is (case.has_alpha == "true") or case.file == "anim.webp"


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_the_whole_set_of_pictures_shows_the_right_thing(
    case: Case, sandbox: Sandbox, tmp_path: Path
) -> None:
    found = inspected(case, sandbox, tmp_path)
    folder = Path(found.thumbnails_dir or "")
    wrong = {
        row.filename: wrong_pixels(case.pixels, folder / row.filename)
        for row in found.thumbnails
        if case.pixels and row.width > 30
    }

    assert [row.name for row in found.thumbnails] == ["w320", "w640", "w960", "poster"]
    assert not {name: pixels for name, pixels in wrong.items() if pixels}
    assert {path.name for path in folder.iterdir()} == {row.filename for row in found.thumbnails}


@pytest.mark.parametrize("case", PICTURES, ids=str)
def test_what_is_sent_on_shows_the_same_as_the_pictures(case: Case, sandbox: Sandbox, tmp_path: Path) -> None:
    picture = upright_image(sandbox, case.path, tmp_path / "sent.png", format="png")

    assert case.display_size in ("", f"{picture.width}x{picture.height}")
    assert not wrong_pixels(case.pixels, picture.path)


@pytest.mark.parametrize("file", ["html_inside.mp4", "json_error_inside.mp4"])
def test_a_refused_text_keeps_what_the_provider_wrote(file: str, sandbox: Sandbox) -> None:
    case = next(case for case in CASES if case.file == file)

    problem = inspected(case, sandbox).problem or ""

    said = {"html_inside.mp4": ("text/html", "Link expired"), "json_error_inside.mp4": ("json", "withheld")}
    assert all(words in problem for words in said[file])


def test_a_bomb_is_refused_with_the_limit_in_the_sentence(sandbox: Sandbox) -> None:
    case = next(case for case in CASES if case.file == "bomb_header_60000x60000.png")

    problem = inspected(case, sandbox).problem or ""

    assert "3600000000" in problem
    assert "120000000" in problem


@pytest.mark.parametrize("case", [case for case in CASES if case.verdict == "refused"], ids=str)
def test_no_refusal_speaks_of_the_library_that_met_it(case: Case, sandbox: Sandbox) -> None:
    problem = inspected(case, sandbox).problem or ""

    assert problem
    assert not [word for word in ("Errno", "avcodec", "()", "FFmpeg") if word in problem]
