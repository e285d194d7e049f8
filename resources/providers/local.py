"""The local renderer as a provider of class K: the embedded default, no account, no key (E7).

Belongs here: the renderer's wire format and words. Does not belong here: how it renders
(`resources.local_renderer`, a program of its own) or what follows from an answer (pipeline.domain).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from pipeline.domain.errors import NeverConnected, RemoteUnavailable
from resources.http.client import Answer, HttpClient
from resources.providers.answers import (
    count_of,
    evidence,
    handle_of,
    read_object,
    sha256_of,
    time_of,
    word,
)
from resources.providers.asking import Pace, ask_each
from resources.providers.protocol import (
    Accepted,
    Found,
    InputImage,
    Job,
    LookUpAnswer,
    NotSent,
    Observation,
    Outcome,
    ProviderTerms,
    Reconciliation,
    Refused,
    Standing,
    SubmissionUnknown,
    SubmitAnswer,
    UrlOutput,
)

_STANDINGS: Mapping[str, Standing] = {
    "queued": Standing.WAITING,
    "pending": Standing.WAITING,
    "running": Standing.RUNNING,
    "processing": Standing.RUNNING,
    "succeeded": Standing.OUTPUT,
    "completed": Standing.OUTPUT,
    "failed": Standing.ENDED,
    "cancelled": Standing.ENDED,
}

#: Error codes of a job that did not succeed. A failure with another code is the renderer's fault.
_FAILURES: Mapping[str, Outcome] = {
    "moderation_blocked": Outcome.SOURCE_REJECTED,
    "invalid_request": Outcome.INVALID_REQUEST,
    "invalid_input": Outcome.INVALID_REQUEST,
    "unsupported_script": Outcome.INVALID_REQUEST,
    "unknown_model": Outcome.INVALID_REQUEST,
    "output_expired": Outcome.RESULT_EXPIRED,
}

#: Statuses that refuse a submission for good when the renderer's own error code stands in the answer.
_REFUSALS = frozenset({400, 401, 403, 404, 405, 413, 415})
_MAX_LISTING_PAGES = 200
_PLAIN_HANDLE = re.compile(r"[A-Za-z0-9_.~-]+")


class LocalProvider:
    """Speaks HTTP to one renderer process. Keys hold for a day, over restarts of the renderer too."""

    reconciliation = Reconciliation.KEY
    key_window_seconds = 86_400
    lookup_lag_seconds = 0
    not_found_window_seconds = 0

    def __init__(self, terms: ProviderTerms) -> None:
        self._terms = terms
        self._base = terms.base_url.rstrip("/")
        self._staged: set[str] = set()
        self._pace = Pace(terms.polls_per_second, terms.poll_concurrency)

    async def submit(self, client: HttpClient, job: Job) -> SubmitAnswer:
        try:
            await self._stage(client, job.images)
        except (RemoteUnavailable, OSError) as error:
            return NotSent(evidence(f"staging: {error}"))
        headers = {"Idempotency-Key": job.idempotency_key}
        try:
            answer = await client.request("POST", f"{self._base}/jobs", headers=headers, json=_wire(job))
        except NeverConnected as error:
            return NotSent(error.reason)
        except RemoteUnavailable as error:
            return SubmissionUnknown(error.reason)
        return self._read_submission(answer)

    async def look_up(self, client: HttpClient, handles: Sequence[str]) -> Sequence[Observation]:
        return await ask_each(handles, lambda handle: self._look(client, handle), self._pace)

    async def find(
        self,
        client: HttpClient,
        references: Sequence[str],
        *,
        since: datetime,  # noqa: ARG002 - a look-up by reference needs no window
    ) -> LookUpAnswer:
        answers = await ask_each(
            references, lambda reference: self.listing(client, {"reference": reference}), self._pace
        )
        wanted = frozenset(references)
        found = tuple(one for answer in answers for one in answer.found if one.reference in wanted)
        return LookUpAnswer(found, all(answer.complete for answer in answers))

    async def cancel(self, client: HttpClient, handle: str) -> bool:
        return await self._command(client, "POST", self._job_url(handle, "/cancel")) in (200, 202)

    async def purge(self, client: HttpClient, handle: str) -> bool:
        return await self._command(client, "DELETE", self._job_url(handle, "/output")) in (204, 404, 410)

    async def _command(self, client: HttpClient, method: str, url: str) -> int:
        try:
            return (await client.request(method, url)).status
        except RemoteUnavailable:
            return 0

    def _job_url(self, handle: str, tail: str = "") -> str:
        place = handle if _PLAIN_HANDLE.fullmatch(handle) else quote(handle, safe="")
        return f"{self._base}/jobs/{place}{tail}"

    async def _stage(self, client: HttpClient, images: Sequence[InputImage]) -> None:
        for image in images:
            if image.sha256 in self._staged:
                continue
            answer = await client.request(
                "PUT",
                f"{self._base}/assets/{image.sha256}",
                headers={"Content-Type": image.media_type},
                body=image.path.read_bytes(),
                timeout_seconds=120.0,
            )
            if answer.status not in (200, 201, 204):
                raise RemoteUnavailable("staging", f"input {image.sha256[:12]} answered {answer.status}")
            self._staged.add(image.sha256)

    def _read_submission(self, answer: Answer) -> SubmitAnswer:
        body = _body_or_empty(answer)
        handle = handle_of(body.get("id"))
        if answer.status in (200, 201, 202):
            return Accepted(handle) if handle else SubmissionUnknown("no_handle")
        code = word(_error(body).get("code"))
        if answer.status == 429:
            return NotSent(code or "rate_limit", Outcome.RATE_LIMIT, answer.retry_after_seconds)
        if answer.status == 409 and code == "missing_assets":
            self._staged.clear()
            return NotSent(code)
        if answer.status in _REFUSALS and code != "":
            return Refused(_FAILURES.get(code, Outcome.INVALID_REQUEST), code)
        # `key_reuse` too: something was taken under this key before; a look-up can say what.
        return SubmissionUnknown(code or f"http_{answer.status}")

    async def _look(self, client: HttpClient, handle: str) -> Observation:
        try:
            answer = await client.request("GET", self._job_url(handle))
        except RemoteUnavailable as error:
            return Observation(handle, Standing.UNREACHABLE, outcome=Outcome.NETWORK, reason=error.reason)
        if answer.status != 200:
            standing, outcome = _STATUS_OBSERVATIONS.get(answer.status) or _by_class(answer.status)
            return Observation(
                handle,
                standing,
                outcome=outcome,
                reason=f"http_{answer.status}",
                retry_after_seconds=answer.retry_after_seconds,
            )
        try:
            return self._read_job(handle, read_object(answer.body))
        except RemoteUnavailable as error:
            return _unreadable(handle, "", error.reason)

    def _read_job(self, handle: str, body: Mapping[str, Any]) -> Observation:
        if "id" in body and handle_of(body["id"]) != handle:
            return _unreadable(handle, "", "another_job")
        said = word(body.get("status"))
        code = word(_error(body).get("code"))
        standing = _STANDINGS.get(said)
        if not said and code in _FAILURES:
            standing = Standing.ENDED
        if standing is None:
            return _unreadable(handle, said, code or "unknown_word")
        return Observation(
            handle,
            standing,
            word=said,
            outcome=_outcome(standing, said, code),
            reason=code,
            outputs=self._outputs(body) if standing is Standing.OUTPUT else (),
            billed_units=count_of(body.get("units")),
            reference=evidence(body.get("reference")),
        )

    def _outputs(self, body: Mapping[str, Any]) -> tuple[UrlOutput, ...]:
        output = body.get("output")
        if isinstance(output, str):
            output = {"url": output}
        if not isinstance(output, dict) or not isinstance(output.get("url"), str):
            return ()
        url = output["url"]
        return (
            UrlOutput(
                url if url.startswith(("http://", "https://")) else urljoin(self._base + "/", url),
                expires_at=time_of(output.get("expires_at")),
                size_bytes=count_of(output.get("size_bytes")),
                sha256=sha256_of(output.get("sha256")),
            ),
        )

    async def listing(self, client: HttpClient, query: Mapping[str, str]) -> LookUpAnswer:
        """Every page of one listing; incomplete when a page is missing or cannot be read."""
        found: list[Found] = []
        asked = dict(query)
        for _ in range(_MAX_LISTING_PAGES):
            try:
                answer = await client.request("GET", f"{self._base}/jobs?{urlencode(asked)}")
                body = read_object(answer.body)
            except RemoteUnavailable:
                break
            if answer.status != 200 or not isinstance(body.get("jobs"), list):
                break
            found += _found(body["jobs"])
            cursor = body.get("cursor")
            if not isinstance(cursor, str) or not cursor:
                return LookUpAnswer(tuple(found), complete=True)
            asked["cursor"] = cursor
        return LookUpAnswer(tuple(found), complete=False)


_STATUS_OBSERVATIONS: Mapping[int, tuple[Standing, Outcome | None]] = {
    404: (Standing.NOT_FOUND, None),
    410: (Standing.NOT_FOUND, None),
    408: (Standing.UNREACHABLE, Outcome.NETWORK),
    429: (Standing.UNREACHABLE, Outcome.RATE_LIMIT),
}


def _by_class(status: int) -> tuple[Standing, Outcome]:
    if status >= 500:
        return Standing.UNREACHABLE, Outcome.NETWORK
    return Standing.UNREADABLE, Outcome.UNKNOWN


def _wire(job: Job) -> dict[str, Any]:
    return {
        "reference": job.reference,
        "model": job.model,
        "settings": dict(job.settings),
        "images": [image.sha256 for image in job.images],
        "caption": job.copy,
        "locale": job.locale,
        "width": job.width,
        "height": job.height,
        "duration_seconds": job.duration_seconds,
    }


def _body_or_empty(answer: Answer) -> Mapping[str, Any]:
    try:
        return read_object(answer.body)
    except RemoteUnavailable:
        return {}


def _error(body: Mapping[str, Any]) -> Mapping[str, Any]:
    error = body.get("error")
    return error if isinstance(error, dict) else {}


def _outcome(standing: Standing, said: str, code: str) -> Outcome | None:
    if standing is not Standing.ENDED:
        return None
    if said == "cancelled":
        return Outcome.CANCELLED_BY_US  # the renderer never cancels by itself
    return _FAILURES.get(code, Outcome.PROVIDER_FAULT)


def _unreadable(handle: str, said: str, reason: str) -> Observation:
    return Observation(handle, Standing.UNREADABLE, word=said, outcome=Outcome.UNKNOWN, reason=reason)


def _found(jobs: Sequence[Any]) -> list[Found]:
    rows = [job for job in jobs if isinstance(job, dict) and handle_of(job.get("id"))]
    return [Found(str(row["id"]), evidence(row.get("reference"))) for row in rows]
