"""Fixtures of the acceptance tests."""

from tests.acceptance.studios import media, studio

__all__ = ["media", "studio"]
