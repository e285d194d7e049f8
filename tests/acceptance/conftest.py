"""Fixtures of the acceptance tests."""

from tests.acceptance.studios import fast_folder, media, postgresql_studios, sqlite_studios, studio

__all__ = ["fast_folder", "media", "postgresql_studios", "sqlite_studios", "studio"]
