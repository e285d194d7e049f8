"""Fixtures of the steps' tests."""

from tests.steps.author import author
from tests.steps.remote import remote
from tests.steps.viewer_fixtures import sandbox, site, viewer

__all__ = ["author", "remote", "sandbox", "site", "viewer"]
