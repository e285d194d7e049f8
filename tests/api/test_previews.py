"""A4, D5: a preview is the bytes of one owned object, kept by its viewer, and gone after the purge."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from resources.database import schema
from tests.api.desk import Api
from tests.database import rows
from tests.steps.viewer import CAMPAIGN, Viewer


@pytest.fixture
def video(viewer: Viewer) -> str:
    """The object of a real video that was retrieved, with its real pictures."""
    viewer.arrives("r-1", body=viewer.clip)
    viewer.retrieve()
    viewer.derive()
    return str(viewer.attempt("r-1-a1").object)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_video_is_served_whole_for_ever_and_as_what_it_is(viewer: Viewer, video: str, api: Api) -> None:
    reply = api.get(f"/previews/{video}")

    assert (reply.status, reply.body) == (200, viewer.clip)
    assert reply.headers["content-type"] == "video/mp4"
    assert reply.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert reply.headers["etag"] == f'"{sha256(viewer.clip)}"'
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-length"] == str(len(viewer.clip))


def test_a_video_leads_to_its_pictures(viewer: Viewer, video: str, api: Api) -> None:
    for name, media_type in (("poster", "image/jpeg"), ("w640", "image/webp")):
        way = api.get(f"/previews/{video}/{name}")
        reply = api.get(f"/previews/{way.headers['location'].removeprefix('../')}")

        assert way.status == 307
        assert way.headers["cache-control"] == "private, max-age=2"
        assert (reply.status, reply.headers["content-type"]) == (200, media_type)
        assert reply.headers["etag"] == f'"{sha256(reply.body)}"'
        assert "immutable" in reply.headers["cache-control"]


def test_the_picture_of_the_transform_version_in_force_is_led_to_first(
    viewer: Viewer, video: str, api: Api
) -> None:
    poster = next(row for row in viewer.rows(schema.derivatives) if row.name == "poster")
    newer = rows.read(viewer.database, schema.objects, poster.object)._asdict()
    newer |= {"id": "o-new", "key": "northwind/derivatives/x", "created_at": newer["created_at"] + 1}
    rows.insert(viewer.database, schema.objects, newer)
    rows.insert(
        viewer.database, schema.derivatives,
        poster._asdict() | {"transform_version": "other-9", "object": "o-new"},
    )  # fmt: skip

    assert api.get(f"/previews/{video}/poster").headers["location"] == f"../{poster.object}"


def test_after_the_purge_it_is_gone_and_the_body_says_so(viewer: Viewer, video: str, api: Api) -> None:
    for state in ("purging", "purged"):
        viewer.change(schema.objects, video, state=state)
        for path in (f"/previews/{video}", f"/previews/{video}/poster"):
            reply = api.get(path)

            assert reply.status == 410
            assert reply.headers["cache-control"] == "no-store"
            assert reply.json == {
                "error": "purged",
                "problem": f"{video} was purged",
                "remedy": "its record remains, its bytes do not",
            }


def test_a_marked_one_still_serves(viewer: Viewer, video: str, api: Api) -> None:
    viewer.change(schema.objects, video, state="marked")

    assert api.get(f"/previews/{video}").status == 200


def test_a_purged_picture_of_a_living_video_is_gone(viewer: Viewer, video: str, api: Api) -> None:
    poster = next(row.object for row in viewer.rows(schema.derivatives) if row.name == "poster")
    viewer.change(schema.objects, poster, state="purged")

    assert api.get(f"/previews/{video}/poster").status == 410
    assert api.get(f"/previews/{poster}").status == 410


NO_OBJECTS = (
    "o-nothing", "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%2Fetc%2Fpasswd", "o-1%00", "../../etc/passwd",
    "northwind%2Frenditions%2Fr-1%2F1.mp4", "northwind/renditions/r-1/1.mp4", "", "o-1/poster", "o-1/%00",
    "o-r-1-a1/%2e%2e", "o-r-1-a1/poster",
)  # fmt: skip


def test_nothing_but_the_id_of_an_object_leads_to_bytes(viewer: Viewer, api: Api) -> None:
    viewer.derived()
    replies = {path: api.get(f"/previews/{path}") for path in NO_OBJECTS}

    assert {path: reply.status for path, reply in replies.items()} == dict.fromkeys(NO_OBJECTS, 404)
    assert all(set(reply.json) == {"error", "problem", "remedy"} for reply in replies.values())


def test_a_source_image_is_no_preview(viewer: Viewer, api: Api) -> None:
    row: dict[str, Any] = {
        "id": "o-source", "tenant": "northwind", "campaign": CAMPAIGN, "kind": "source",
        "retention_class": "-", "key": "northwind/sources/x", "sha256": "s", "size_bytes": 1,
        "media_type": "image/png", "state": "live", "facts": {}, "created_at": 0,
    }  # fmt: skip
    rows.insert(viewer.database, schema.objects, row)

    assert api.get("/previews/o-source").status == 404


def test_a_key_that_leads_nowhere_tells_nothing_of_itself(viewer: Viewer, api: Api) -> None:
    viewer.derived()
    (viewer.folder / "secret.txt").write_text("secret")
    for key in ("../../secret.txt", "/etc/passwd", "northwind/renditions/r-1/none.mp4"):
        viewer.change(schema.objects, "o-r-1-a1", key=key)
        reply = api.get("/previews/o-r-1-a1")

        assert (reply.status, reply.json["error"]) == (404, "bytes_missing")
        assert key.encode() not in reply.body


def test_what_a_browser_might_run_is_served_as_mere_bytes(viewer: Viewer, video: str, api: Api) -> None:
    for media_type in ("text/html", "image/svg+xml"):
        viewer.change(schema.objects, video, media_type=media_type)

        assert api.get(f"/previews/{video}").headers["content-type"] == "application/octet-stream"


def test_a_viewer_that_holds_it_is_told_so(viewer: Viewer, video: str, api: Api) -> None:
    tag = api.get(f"/previews/{video}").headers["etag"]
    held = api.get(f"/previews/{video}", If_None_Match=tag)

    assert (held.status, held.body, held.headers["etag"]) == (304, b"", tag)


def test_a_player_gets_the_part_it_asks_for(viewer: Viewer, video: str, api: Api) -> None:
    size = len(viewer.clip)
    first = api.get(f"/previews/{video}", Range="bytes=0-1")
    last = api.get(f"/previews/{video}", Range="bytes=-10")
    changed = api.get(f"/previews/{video}", Range="bytes=0-1", If_Range='"other"')

    assert (first.status, first.body) == (206, viewer.clip[:2])
    assert first.headers["content-range"] == f"bytes 0-1/{size}"
    assert (last.status, last.body) == (206, viewer.clip[-10:])
    assert (changed.status, changed.body) == (200, viewer.clip)


def test_a_part_behind_the_end_is_refused_with_the_size(viewer: Viewer, video: str, api: Api) -> None:
    reply = api.get(f"/previews/{video}", Range="bytes=99999999-")

    assert reply.status == 416
    assert reply.headers["content-range"] == f"bytes */{len(viewer.clip)}"
    assert reply.json["error"] == "unsatisfiable"


def test_a_body_of_several_pieces_comes_whole(viewer: Viewer, video: str, api: Api) -> None:
    content = bytes(range(256)) * 9_000
    path = viewer.folder / "large"
    path.write_bytes(content)
    viewer.store.put_if_absent(
        "northwind/large", path, sha256=sha256(content), size=len(content), media_type="video/mp4"
    )
    viewer.change(
        schema.objects, video, key="northwind/large", size_bytes=len(content), sha256=sha256(content)
    )

    assert sha256(api.get(f"/previews/{video}").body) == sha256(content)
    assert api.get(f"/previews/{video}", Range="bytes=1000000-2200000").body == content[1_000_000:2_200_001]
