from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.errors import SandboxFailed, StoreUnavailable
from pipeline.domain.follow_ons import Stage
from pipeline.domain.renditions import rendition_key
from pipeline.steps.produce.spool import sweep_spool
from resources.database import schema
from resources.database.database import Database
from resources.object_store.local import LocalStore
from resources.object_store.protocol import Put
from tests.conftest import NOON, SECOND
from tests.steps.output_site import gone, unreachable, video
from tests.steps.viewer import Viewer

KEY = rendition_key("northwind", "r-1", 1)


def test_an_output_becomes_an_owned_object_with_its_facts(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    body = viewer.site.bodies["job-r-1-1"]

    results = viewer.retrieve()

    row, [owned] = viewer.attempt(attempt), viewer.rows(schema.objects)
    assert viewer.words(results) == ["stored"]
    assert (row.state, row.object, row.next_action_at, row.lease_until) == ("stored", owned.id, None, 0)
    assert (owned.key, owned.sha256, owned.size_bytes) == (KEY, hashlib.sha256(body).hexdigest(), len(body))
    assert (owned.kind, owned.retention_class, owned.state) == ("rendition", "standard", "live")
    assert (owned.facts["video"]["display_width"], owned.facts["video"]["duration_seconds"]) == (160, "1")
    assert owned.facts["quality"]["web-1"]["profile_version"] == "web-1"
    assert [(use.user_kind, use.user_id) for use in viewer.rows(schema.object_uses)] == [("attempt", attempt)]
    assert viewer.store.sha256(KEY) == owned.sha256
    assert {"owned"} <= viewer.topics()
    assert not list(viewer.spool.iterdir())


def test_bytes_and_looks_are_metered_once(viewer: Viewer) -> None:
    viewer.arrives()

    viewer.retrieve()

    assert viewer.usage("retrieved_bytes") == viewer.site.bytes_sent
    assert viewer.usage("status_requests") == 1
    assert viewer.usage("repeated_download_bytes") == 0


def test_a_group_is_retrieved_side_by_side(viewer: Viewer) -> None:
    for name in ("r-1", "r-2", "r-3"):
        viewer.arrives(name)

    results = viewer.retrieve()

    assert viewer.words(results) == ["stored"] * 3
    assert viewer.site.looks == 3


class DiesBeforeItsCommit(BaseException):
    """As a killed process: nothing catches it."""


def test_a_crash_between_put_and_commit_fetches_nothing_again(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = viewer.arrives()
    _die_after_the_put(viewer, monkeypatch)
    viewer.clock.pass_seconds(61)

    results = viewer.retrieve()

    assert viewer.words(results) == ["stored"]
    assert viewer.site.fetches["job-r-1-1"] == 1
    assert viewer.attempt(attempt).state == "stored"
    assert viewer.usage("retrieved_bytes") == 0
    assert viewer.usage("repeated_download_bytes") == 0
    assert len(viewer.rows(schema.objects)) == 1


def _die_after_the_put(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    put = LocalStore.put_if_absent

    def put_and_die(*args: Any, **words: Any) -> Put:
        put(*args, **words)
        raise DiesBeforeItsCommit

    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "put_if_absent", put_and_die)
        with pytest.raises(DiesBeforeItsCommit):
            viewer.retrieve()


def test_a_crash_while_fetching_is_a_repeated_download(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.arrives()
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.steps.produce.verify.examine_video", _dies)
        with pytest.raises(DiesBeforeItsCommit):
            viewer.retrieve()
    viewer.clock.pass_seconds(61)

    viewer.retrieve()

    assert viewer.usage("repeated_download_bytes") == len(viewer.site.bodies["job-r-1-1"])
    assert viewer.usage("retrieved_bytes") == len(viewer.site.bodies["job-r-1-1"])


def _dies(*_: Any, **__: Any) -> None:
    raise DiesBeforeItsCommit


def test_other_bytes_under_the_key_are_adopted_when_they_verify(viewer: Viewer) -> None:
    viewer.arrives()
    other = _put(viewer, video(viewer.folder, mark=99))

    results = viewer.retrieve()

    assert viewer.words(results) == ["stored"]
    assert viewer.rows(schema.objects)[0].sha256 == other
    assert viewer.site.fetches["job-r-1-1"] == 0


def test_other_bytes_that_do_not_verify_end_the_attempt_and_stay(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    other = _put(viewer, b"<html>no video at all</html>")

    results = viewer.retrieve()

    row = viewer.attempt(attempt)
    assert viewer.words(results) == ["failed"]
    assert (row.state, row.outcome_reason) == ("failed", "key_holds_other_bytes")
    assert viewer.store.sha256(KEY) == other
    assert not viewer.rows(schema.objects)


def _put(viewer: Viewer, content: bytes) -> str:
    path = viewer.folder / "other"
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    viewer.store.put_if_absent(KEY, path, sha256=digest, size=len(content), media_type="video/mp4")
    return digest


@pytest.mark.parametrize(
    ("shape", "reason"),
    [({"width": 90, "height": 160}, "wrong_ratio"), ({"frames": 75}, "wrong_duration")],
)
def test_a_whole_body_that_breaks_the_profile_fails_at_once(
    viewer: Viewer, shape: dict[str, int], reason: str
) -> None:
    attempt = viewer.arrives(body=video(viewer.folder, **shape))

    results = viewer.retrieve()

    row = viewer.attempt(attempt)
    assert viewer.words(results) == ["failed"]
    assert (row.outcome_class, row.outcome_reason) == ("output_rejected", reason)
    assert viewer.site.fetches["job-r-1-1"] == 1
    assert not viewer.store.exists(KEY)
    assert viewer.usage("retrieved_bytes") == viewer.site.bytes_sent


def test_a_provider_error_as_a_body_is_not_media(viewer: Viewer) -> None:
    attempt = viewer.arrives(body=b"<html>busy</html>")

    viewer.retrieve()

    assert viewer.attempt(attempt).outcome_reason == "not_media"


def test_the_same_truncated_bytes_twice_end_the_attempt(viewer: Viewer) -> None:
    whole = video(viewer.folder)
    attempt = viewer.arrives(body=whole[: len(whole) * 6 // 10])

    first = viewer.retrieve()
    waiting = viewer.attempt(attempt)
    viewer.clock.pass_seconds(60)
    second = viewer.retrieve()

    assert viewer.words(first + second) == ["postponed", "failed"]
    assert waiting.state == "retrieving"
    assert NOON < waiting.next_action_at < NOON + 60 * SECOND
    assert viewer.attempt(attempt).outcome_class == "output_rejected"
    assert viewer.site.fetches["job-r-1-1"] == 2
    assert not viewer.store.exists(KEY)


def test_a_short_body_is_fetched_again_and_then_owned(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    viewer.site.stated_sizes["job-r-1-1"] = 10_000_000

    first = viewer.retrieve()
    viewer.site.stated_sizes.clear()
    viewer.clock.pass_seconds(60)
    second = viewer.retrieve()

    assert viewer.words(first + second) == ["postponed", "stored"]
    assert viewer.attempt(attempt).fetch_tries == 2
    assert viewer.usage("repeated_download_bytes") == len(viewer.site.bodies["job-r-1-1"])


def test_fetch_tries_are_bounded(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    viewer.site.statuses["job-r-1-1"] = [500] * 9

    words = []
    for _ in range(3):
        words += viewer.words(viewer.retrieve())
        viewer.clock.pass_seconds(1_000)

    assert words == ["postponed", "postponed", "failed"]
    assert viewer.attempt(attempt).outcome_reason == "fetch_tries_used_up"
    assert viewer.usage("retrieved_bytes") == 0


def test_an_expired_url_is_refreshed_by_a_look_up(viewer: Viewer) -> None:
    viewer.arrives()
    viewer.site.statuses["job-r-1-1"] = [403]

    results = viewer.retrieve()

    assert viewer.words(results) == ["stored"]
    assert viewer.site.looks == 2


def test_a_result_that_is_gone_at_three_looks_over_ten_minutes_is_a_loss(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    viewer.site.silent["job-r-1-1"] = gone("job-r-1-1")

    words = []
    for _ in range(3):
        words += viewer.words(viewer.retrieve())
        viewer.clock.pass_seconds(301)

    row = viewer.attempt(attempt)
    assert words == ["postponed", "postponed", "failed"]
    assert (row.state, row.outcome_class) == ("failed", "result_expired")
    assert viewer.usage("status_requests") == 3


def test_a_result_that_was_only_missing_for_a_moment_is_owned(viewer: Viewer) -> None:
    viewer.arrives()
    viewer.site.silent["job-r-1-1"] = gone("job-r-1-1")
    viewer.retrieve()
    viewer.site.silent.clear()
    viewer.clock.pass_seconds(301)

    results = viewer.retrieve()

    assert viewer.words(results) == ["stored"]


def test_a_provider_that_is_down_spends_no_try(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    viewer.site.silent["job-r-1-1"] = unreachable("job-r-1-1")

    for _ in range(6):
        viewer.retrieve()
        viewer.clock.pass_seconds(1_000)

    assert viewer.attempt(attempt).state == "retrieving"
    assert viewer.attempt(attempt).fetch_tries == 0


def test_a_full_disk_waits_and_spends_no_try(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = viewer.arrives()
    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "put_if_absent", _full)
        results = viewer.retrieve()

    row = viewer.attempt(attempt)
    assert viewer.words(results) == ["postponed"]
    assert (row.state, row.fetch_tries, row.next_action_at) == ("retrieving", 0, NOON + 60 * SECOND)
    viewer.clock.pass_seconds(61)
    assert viewer.words(viewer.retrieve()) == ["stored"]


def _full(*_: Any, **__: Any) -> Put:
    raise StoreUnavailable("disk_full", "no space left")


def test_a_body_that_breaks_its_sandbox_twice_ends(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = viewer.arrives()
    monkeypatch.setattr("pipeline.steps.produce.verify.examine_video", _crashes)

    first = viewer.retrieve()
    viewer.clock.pass_seconds(60)
    second = viewer.retrieve()

    assert viewer.words(first + second) == ["postponed", "failed"]
    assert viewer.attempt(attempt).outcome_reason == "crashed"


def _crashes(*_: Any, **__: Any) -> None:
    raise SandboxFailed("crashed", "the child was ended by SIGSEGV")


def test_a_store_that_does_not_answer_lets_nothing_be_fetched(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = viewer.arrives()
    monkeypatch.setattr(LocalStore, "exists", _unreachable_store)

    results = viewer.retrieve()

    assert [(result.word, result.reason) for result in results] == [("postponed", "unreachable")]
    assert (viewer.site.looks, viewer.attempt(attempt).fetch_tries) == (0, 0)


def _unreachable_store(*_: Any) -> bool:
    raise StoreUnavailable("unreachable", "no answer")


def test_owned_bytes_that_break_the_sandbox_are_tried_a_bounded_number_of_times(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer.arrives()
    _put(viewer, video(viewer.folder, mark=99))
    monkeypatch.setattr("pipeline.steps.produce.verify.examine_video", _crashes)

    words = []
    for _ in range(3):
        words += viewer.words(viewer.retrieve())
        viewer.clock.pass_seconds(1_000)

    assert words == ["postponed", "postponed", "failed"]


def test_a_fault_of_ours_in_one_item_holds_up_no_other(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    viewer.arrives("r-1")
    viewer.arrives("r-2")
    put = LocalStore.put_if_absent

    def faulty(store: LocalStore, key: str, *args: Any, **words: Any) -> Put:
        if "r-1" in key:
            raise KeyError("a bug")
        return put(store, key, *args, **words)

    monkeypatch.setattr(LocalStore, "put_if_absent", faulty)
    results = {result.subject: (result.word, result.reason) for result in viewer.retrieve()}

    assert results == {"r-1-a1": ("postponed", "unexpected_KeyError"), "r-2-a1": ("stored", "verified")}
    assert "r-1-a1" in caplog.text


def test_of_two_workers_on_one_attempt_one_wins(viewer: Viewer) -> None:
    attempt = viewer.arrives()
    stale = viewer.claim(Stage.RETRIEVE, "slow")
    viewer.clock.pass_seconds(61)
    fresh = viewer.claim(Stage.RETRIEVE, "fast")

    first, second = viewer.retrieve(fresh), viewer.retrieve(stale)

    assert viewer.words(first + second) == ["stored", "lost"]
    assert viewer.attempt(attempt).version == 1
    assert len(viewer.rows(schema.objects)) == 1


def test_a_stale_worker_that_comes_first_changes_nothing_but_the_bytes(viewer: Viewer) -> None:
    viewer.arrives()
    stale = viewer.claim(Stage.RETRIEVE, "slow")
    viewer.clock.pass_seconds(61)
    fresh = viewer.claim(Stage.RETRIEVE, "fast")

    first = viewer.retrieve(stale)

    assert viewer.words(first) == ["lost"]
    assert not viewer.rows(schema.objects)
    assert viewer.words(viewer.retrieve(fresh)) == ["stored"]


def test_an_output_of_a_deselected_attempt_is_still_owned(viewer: Viewer) -> None:
    attempt = viewer.arrives(deselected_at=NOON)

    viewer.retrieve()

    assert viewer.attempt(attempt).state == "stored"


def test_spool_files_of_dead_workers_are_swept(viewer: Viewer, database: Database) -> None:
    attempt = viewer.arrives()
    [row] = viewer.claim(Stage.RETRIEVE)
    viewer.spool.mkdir()
    held = _spool_file(viewer.spool, f"{attempt}.{row.lease_token}.video")
    dead = _spool_file(viewer.spool, f"{attempt}.{row.lease_token - 1}.video")
    strange = _spool_file(viewer.spool, "keep-me.txt")

    swept = sweep_spool(database, viewer.spool)

    assert (swept, held.exists(), dead.exists(), strange.exists()) == (1, True, False, True)


def _spool_file(spool: Path, name: str) -> Path:
    path = spool / name
    path.write_bytes(b"left")
    return path
