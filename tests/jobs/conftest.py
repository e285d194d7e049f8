"""Fixtures of this room's tests."""

from tests.jobs.window import adapters, dropped, home, instance, sandbox

__all__ = ["adapters", "dropped", "home", "instance", "sandbox"]
