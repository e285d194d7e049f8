"""`reelwright inspect` answers for every file, by the rules of intake and retrieval."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pipeline.cli.inspect import inspect
from pipeline.documents.target_profile import default_target_profile
from pipeline.documents.transform_set import default_transform_set
from pipeline.steps.answer.inspect import inspect_file
from resources.media import Sandbox

MEDIA = Path(__file__).parent.parent / "data" / "media"

COMMAND = typer.Typer()
COMMAND.command()(inspect)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as warm:
        yield warm


def answers(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    done = CliRunner().invoke(COMMAND, ["--json", *arguments])
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


def test_one_object_a_line_in_the_order_given() -> None:
    files = [str(MEDIA / name) for name in ("fps_60_02.mp4", "two_frames_1s.gif", "exif_6.jpg")]

    status, lines = answers(*files)

    assert status == 0
    assert [line["file"] for line in lines] == files
    assert [line["kind"] for line in lines] == ["video", "animated", "image"]
    assert (lines[0]["frame_rate"], lines[0]["frame_rate_ratio"]) == (60.02, "3001/50")
    assert lines[1]["duration_seconds"] == 2.0
    assert (lines[2]["display_width"], lines[2]["display_height"]) == (64, 96)
    assert lines[2]["duration_seconds"] is None


def test_one_refused_file_makes_the_exit_status_one_and_stops_nobody() -> None:
    files = [
        MEDIA / "bad_crc.png",
        MEDIA / "zero_bytes.mp4",
        MEDIA / "missing.mp4",
        MEDIA,
        MEDIA / "exif_6.jpg",
    ]

    status, lines = answers(*map(str, files))

    assert status == 1
    assert [line["reason"] for line in lines] == ["damaged", "empty", "unreadable", "unreadable", None]
    assert [line["verdict"] for line in lines] == ["refused"] * 4 + ["accepted"]


def test_what_a_refused_file_was_is_still_said(tmp_path: Path) -> None:
    _, (line,) = answers(str(MEDIA / "html_inside.mp4"))

    assert line["content_type"] == "text/html"
    assert line["size_bytes"] == 98
    assert len(line["sha256"]) == 64


def test_without_json_a_person_reads_one_line_a_file() -> None:
    done = CliRunner().invoke(COMMAND, [str(MEDIA / "one_frame.mp4"), str(MEDIA / "bad_crc.png")])

    accepted, refused = done.stdout.splitlines()

    assert accepted.startswith("accepted  video 160x96 mp4 0.040 s 25.000 frames/s")
    assert refused.startswith("refused   damaged: ")


def test_every_trap_of_a_name_gets_its_set_and_no_other_file_appears(tmp_path: Path) -> None:
    with tarfile.open(MEDIA / "names_traps.tar") as archive:
        archive.extractall(tmp_path / "in", filter="data")
    files = sorted((tmp_path / "in").iterdir())

    status, lines = answers("--thumbnails", str(tmp_path / "out"), *map(str, files))
    named = {thumbnail["path"] for line in lines for thumbnail in line["thumbnails"]}
    made = {str(path) for path in (tmp_path / "out").rglob("*") if path.is_file()}

    assert status == 0
    assert len(files) == 20
    assert len(made) == 80
    assert made == named
    assert sorted((tmp_path / "in").iterdir()) == files


def test_doing_it_again_makes_the_same_files(tmp_path: Path) -> None:
    arguments = ["--thumbnails", str(tmp_path), str(MEDIA / "rot_cw90.mp4")]

    _, first = answers(*arguments)
    _, second = answers(*arguments)

    assert first == second
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 4


def test_a_refused_file_leaves_no_folder(tmp_path: Path) -> None:
    answers("--thumbnails", str(tmp_path), str(MEDIA / "truncated_60pct.jpg"))

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    done = CliRunner().invoke(COMMAND, ["--thumbnails", str(tmp_path / "file"), str(MEDIA / "exif_6.jpg")])

    assert done.exit_code == 2
    assert "name a folder that can be written" in done.stderr


def test_the_profile_decides_about_a_whole_video(sandbox: Sandbox) -> None:
    strict = replace(default_target_profile(), containers=frozenset({"webm"}), max_bytes=10)

    found = inspect_file(MEDIA / "one_frame.mp4", sandbox, strict, default_transform_set())

    assert (found.verdict, found.reason) == ("refused", "container_not_allowed")
    assert "too_many_bytes" in (found.problem or "")
    assert found.duration_seconds is not None
