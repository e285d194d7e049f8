"""What a versioned bucket keeps behind its objects, and uploads that nobody finished.

Belongs here: listing and removing what no read shows. Does not belong here: when it is removed.

An unversioned bucket lists each object as its only version, `null`: one way serves both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any
from urllib.parse import quote, unquote

from pipeline.domain.errors import BadKey
from resources.object_store.protocol import INTAKE_PREFIX, UPLOADS, Stored
from resources.object_store.s3_client import Answered, Client
from resources.object_store.s3_errors import ABSENT, NO_UPLOAD
from resources.object_store.s3_upload import abort


def old_versions(client: Client, prefix: str) -> Iterator[Stored]:
    """Versions under another one, and delete markers, which hold no bytes."""
    for version in _versions(client, client.below(prefix)):
        key = client.key_of(version["Key"])
        is_marker = "Size" not in version
        if key is not None and (is_marker or not version["IsLatest"]):
            yield Stored(key, version.get("Size", 0), version["LastModified"], is_stable=True)


def purge(client: Client, key: str) -> bool:
    """Remove every version and marker; True when there was any. Ends when the bucket lists none."""
    full, found = client.full(key), False
    while versions := list(takewhile(lambda one: one["Key"] == full, _versions(client, full))):
        found = True
        for version in versions:
            _drop(client, full, version["VersionId"])
    return found


def _drop(client: Client, full: str, version: str) -> None:
    client.ask("delete_object", {"Key": full, "VersionId": version})


def _versions(client: Client, prefix: str) -> Iterator[Mapping[str, Any]]:
    """Versions and markers of all keys, key by key in byte order, the newest first."""
    asked = {"Prefix": prefix}
    while True:
        page = client.ask("list_object_versions", asked)
        both = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        # each list is in order by itself; the sort is stable, and order within a key does not matter here
        yield from sorted(both, key=lambda one: one["Key"].encode())
        if not page.get("IsTruncated"):
            return
        asked |= {"KeyMarker": page["NextKeyMarker"]}
        if page.get("NextVersionIdMarker"):
            asked |= {"VersionIdMarker": page["NextVersionIdMarker"]}


def unfinished(client: Client) -> Iterator[Stored]:
    """Uploads in parts that were neither completed nor aborted; those in the intake are other people's."""
    for upload in _uploads(client):
        key = client.key_of(upload["Key"])
        if key is not None and not key.startswith(INTAKE_PREFIX):
            names = {"Key": upload["Key"], "UploadId": upload["UploadId"]}
            temporary = f"{UPLOADS}/{quote(upload['UploadId'], safe='')}/{key}"
            yield Stored(temporary, _size(client, names), upload["Initiated"])


def _uploads(client: Client) -> Iterator[Mapping[str, Any]]:
    """By key marker alone, as one server refuses both markers: of a key with a thousand uploads the rest
    shows once some are gone."""
    asked = {"Prefix": client.below("")}
    while True:
        page = client.ask("list_multipart_uploads", asked)
        yield from page.get("Uploads", ())
        if not page.get("IsTruncated"):
            return
        asked |= {"KeyMarker": page["NextKeyMarker"]}


def _size(client: Client, names: Mapping[str, str]) -> int:
    """Bytes of the parts that came; 0 when the upload ended meanwhile."""
    size: int = 0
    asked: dict[str, Any] = dict(names)
    while True:
        try:
            page = client.ask("list_parts", asked, expects=ABSENT | {NO_UPLOAD})
        except Answered:
            return size
        size += sum(part["Size"] for part in page.get("Parts", ()))
        if not page.get("IsTruncated"):
            return size
        asked |= {"PartNumberMarker": page["NextPartNumberMarker"]}


def drop_unfinished(client: Client, temporary: str) -> bool:
    first, _, rest = temporary.partition("/")
    upload, _, key = rest.partition("/")
    if first != UPLOADS or not upload or not key:
        raise BadKey(temporary, "is not the key of a temporary object")
    return abort(client, {"Key": client.full(key), "UploadId": unquote(upload)})
