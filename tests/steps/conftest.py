"""Fixtures of the steps' tests."""

from tests.steps.remote import remote
from tests.steps.viewer_fixtures import sandbox, site, viewer

__all__ = ["remote", "sandbox", "site", "viewer"]
