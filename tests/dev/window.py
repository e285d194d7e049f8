"""Dagster's window, asked as its pages ask: a backfill, the preview of a tick, a reload of the code.

Belongs here: queries and what they must answer. Does not belong here: when they are asked.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

LOCATION = "reelwright"
LAUNCH = """
mutation Launch($of: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $of) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}
"""
PREVIEW = """
mutation Preview($of: SensorSelector!) {
  sensorDryRun(selectorData: $of, cursor: null) {
    __typename
    ... on DryRunInstigationTick { evaluationResult { runRequests { runKey } skipReason error { message } } }
    ... on PythonError { message }
  }
}
"""
RELOAD = """
mutation Reload($name: String!) {
  reloadRepositoryLocation(repositoryLocationName: $name) {
    __typename
    ... on WorkspaceLocationEntry { loadStatus locationOrLoadError { __typename } }
  }
}
"""


def launch_backfill(url: str, campaign: str) -> str:
    """Materialize a campaign's pictures and index entries again, as the window's button does; its id."""
    wanted = {
        "assetSelection": [{"path": ["thumbnails"]}, {"path": ["tag_index"]}],
        "partitionNames": [campaign],
    }
    answer = _ask(url, LAUNCH, {"of": wanted})["launchPartitionBackfill"]
    assert answer["__typename"] == "LaunchBackfillSuccess", answer
    return str(answer["backfillId"])


def preview_tick(url: str, sensor: str) -> dict[str, Any]:
    """Run one tick of *sensor* without any effect of Dagster's: what it would have said."""
    selector = {
        "repositoryName": "__repository__", "repositoryLocationName": LOCATION, "sensorName": sensor,
    }  # fmt: skip
    answer = _ask(url, PREVIEW, {"of": selector})["sensorDryRun"]
    assert answer["__typename"] == "DryRunInstigationTick", answer
    told: dict[str, Any] = answer["evaluationResult"]
    assert told["error"] is None, told
    return told


def reload_code(url: str) -> None:
    """Load the code again, as the button of the deployment page does."""
    answer = _ask(url, RELOAD, {"name": LOCATION})["reloadRepositoryLocation"]
    assert answer["locationOrLoadError"]["__typename"] == "RepositoryLocation", answer


def _ask(url: str, query: str, variables: Mapping[str, object]) -> dict[str, Any]:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own loopback server
        f"{url}/graphql", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
        told: dict[str, Any] = json.load(answer)
    assert "errors" not in told, told
    return dict(told["data"])
