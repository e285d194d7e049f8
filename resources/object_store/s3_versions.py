"""What a versioned bucket keeps behind its objects, and uploads that nobody finished.

Belongs here: listing and removing what no read shows. Does not belong here: when it is removed.

An unversioned bucket lists each object as its only version, `null`: one way serves both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any
from urllib.parse import quote, unquote

from pipeline.domain.errors import BadKey
from resources.object_store.protocol import INTAKE_PREFIX, READABLE, UPLOADS, VERSIONS, Stored
from resources.object_store.s3_client import Answered, Client
from resources.object_store.s3_errors import ABSENT, NO_UPLOAD
from resources.object_store.s3_upload import abort

#: Slashes in the name of a folder that holds one thing's files alone.
DEEP = 2


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


def together(keys: Collection[str]) -> Iterator[Sequence[str]]:
    """Keys that one listing shows: those of a folder of one video, or of one set of pictures.

    A tenant's sources lie in one folder, however many they are: each is listed by itself.
    """
    folders: dict[str, list[str]] = {}
    for key in keys:
        folder = key.rpartition("/")[0]
        folders.setdefault(folder if folder.count("/") >= DEEP else key, []).append(key)
    yield from folders.values()


def purge_together(client: Client, keys: Sequence[str]) -> dict[str, bool]:
    """Remove every version and marker of *keys*, which one listing shows; by key whether there was any."""
    found = dict.fromkeys(keys, False)
    for key, version in list(_of_keys(client, keys)):
        found[key] = True
        _drop(client, version["Key"], version["VersionId"])
    return found


def left_together(client: Client, keys: Sequence[str]) -> dict[str, str]:
    """What is left of *keys*, which one listing shows: bytes that can be read, or what lies behind."""
    left: dict[str, str] = {}
    for key, version in _of_keys(client, keys):
        is_readable = version["IsLatest"] and "Size" in version
        left[key] = READABLE if is_readable else left.get(key, VERSIONS)
    return left


def _of_keys(client: Client, keys: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Versions and markers of exactly these keys."""
    wanted = {client.full(key): key for key in keys}
    prefix = client.full(keys[0]) if len(keys) == 1 else client.full(keys[0]).rpartition("/")[0] + "/"
    for version in _versions(client, prefix):
        if version["Key"] in wanted:
            yield wanted[version["Key"]], version


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
