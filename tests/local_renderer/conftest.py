"""One renderer a module for tests that leave it as they find it, and the shipped fonts in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from resources.local_renderer import fonts
from tests.local_renderer.renderer_process import Renderer, picture


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Renderer]:
    running = Renderer(tmp_path_factory.mktemp("renderer"))
    yield running
    assert running.end() == 0


@pytest.fixture(scope="module")
def red(renderer: Renderer) -> str:
    return renderer.upload(picture((190, 40, 40)))


@pytest.fixture(scope="module")
def blue(renderer: Renderer) -> str:
    return renderer.upload(picture((40, 60, 190), kind="JPEG"))


@pytest.fixture(scope="session")
def shipped_fonts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("FONTCONFIG_FILE")
    fonts.use_shipped_fonts(tmp_path_factory.mktemp("fonts"))
    yield
    os.environ.pop("FONTCONFIG_FILE")
    if before is not None:
        os.environ["FONTCONFIG_FILE"] = before
