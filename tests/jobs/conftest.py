"""Fixtures of this room's tests."""

from tests.jobs.window import adapters, dropped, home, instance, sandbox
from tests.steps.viewer_fixtures import site

__all__ = ["adapters", "dropped", "home", "instance", "sandbox", "site"]
