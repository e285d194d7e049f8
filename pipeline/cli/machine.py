"""What `reelwright doctor` looks at outside of the data: programs, fonts, walls, providers, the renderer."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.cli.findings import Finding, Level
from pipeline.documents.settings import Settings
from pipeline.domain.errors import RemoteUnavailable
from resources.connect import provider_terms
from resources.http.client import HttpClient
from resources.media import Sandbox
from resources.providers.registry import adapters

ANSWER_SECONDS = 5.0
#: The provider that runs on this machine, which has a check of its own.
LOCAL = "local"
#: What the local renderer asks of its FFmpeg.
ENCODERS = ("libx264", "aac")
#: The packages that captions are drawn with; the renderer's own list.
FONTS = (
    "fontpkg_noto_sans",
    "fontpkg_noto_sans_arabic",
    "fontpkg_noto_sans_devanagari",
    "noto_cjk_sans_jp_bold",
)
REINSTALL = "run `make setup` again"


def ffmpeg(settings: Settings) -> Finding:  # noqa: ARG001  a check is asked with the settings
    """The binary that came with the packages runs here and has the encoders that are used."""
    import imageio_ffmpeg

    program = imageio_ffmpeg.get_ffmpeg_exe()
    lines = _run(program, "-version").splitlines()
    listed = _run(program, "-encoders").split()
    missing = [name for name in ENCODERS if name not in listed]
    if missing:
        return Finding("ffmpeg", Level.FAIL, f"{program} lacks {', '.join(missing)}", REINSTALL)
    return Finding("ffmpeg", Level.OK, " ".join(lines[0].split()[:3]))


def _run(program: str, argument: str) -> str:
    done = subprocess.run(
        [program, "-hide_banner", argument], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def fonts(settings: Settings) -> Finding:  # noqa: ARG001
    missing = [name for name in FONTS if importlib.util.find_spec(name) is None]
    if missing:
        return Finding("fonts", Level.FAIL, f"not installed: {', '.join(missing)}", REINSTALL)
    return Finding("fonts", Level.OK, f"{len(FONTS)} font packages for captions")


def sandbox(settings: Settings) -> Finding:  # noqa: ARG001
    """Which walls stand around the child that opens untrusted media (R7)."""
    with Sandbox() as opened:
        walls = opened.wall_level()
    if walls.complete:
        return Finding("sandbox", Level.OK, str(walls))
    remedy = "allow unprivileged user namespaces, or run on Linux, before untrusted media comes in"
    return Finding("sandbox", Level.WARN, str(walls), remedy)


def providers(settings: Settings) -> Finding:
    """The list reads, every adapter is installed, every secret is set, every server far away answers."""
    terms = provider_terms(settings)
    made = adapters(terms.values())
    silent = {name: why for name in sorted(made) if name != LOCAL and (why := _silent(terms[name].base_url))}
    if silent:
        said = "; ".join(f"{name} does not answer: {why}" for name, why in silent.items())
        remedy = (
            "see that it is reached from here, or correct `base_url` in the provider list; its work waits"
        )
        return Finding("providers", Level.FAIL, said, remedy)
    return Finding("providers", Level.OK, ", ".join(sorted(made)))


def _silent(base_url: str) -> str:
    """Why no answer at all comes from there; empty when any does."""
    try:
        asyncio.run(_status(base_url))
    except RemoteUnavailable as error:
        return str(error)
    return ""


def renderer(settings: Settings) -> Finding:
    local = provider_terms(settings).get(LOCAL)
    if local is None:
        return Finding("renderer", Level.OK, "the provider list names no local renderer")
    place = f"{urlsplit(local.base_url).hostname}:{urlsplit(local.base_url).port}"
    try:
        answer = asyncio.run(_status(f"{local.base_url.rstrip('/')}/health"))
    except RemoteUnavailable as error:
        remedy = "start it with `make dev`; until then work for it waits"
        return Finding("renderer", Level.WARN, f"{place} does not answer: {error}", remedy)
    if answer != 200:
        remedy = "look who listens there, or set REELWRIGHT_RENDERER_URL"
        return Finding("renderer", Level.FAIL, f"{place} answers {answer}", remedy)
    return Finding("renderer", Level.OK, f"{place} answers")


async def _status(url: str) -> int:
    async with HttpClient() as client:
        answer = await client.request("GET", url, timeout_seconds=ANSWER_SECONDS)
        return answer.status


def dagster(settings: Settings) -> Finding:
    """Dagster's own storage answers, where it was set up."""
    from resources.dagster_check import FILE, storage_of

    folder = Path(os.environ.get("DAGSTER_HOME") or settings.home / "dagster")
    if not (folder / FILE).is_file():
        return Finding("dagster", Level.OK, f"no {FILE} in {folder} yet; `reelwright dev` makes one")
    return Finding("dagster", Level.OK, f"{storage_of(folder)} answers, as {folder / FILE} names it")
