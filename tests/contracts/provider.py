"""The conformance kit (G8): what every provider adapter must do, whatever its provider.

A subclass gives a fixture `subject` (see `provider_bench.Subject`), its server running. Time is real: give
the server a short lag. Each test works with references of its own, so one server may serve them all.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import av
import pytest

from pipeline.domain.errors import RemoteUnavailable
from pipeline.domain.outcomes import Outcome, Reconciliation
from resources.providers.protocol import (
    Accepted,
    Job,
    NotSent,
    Provider,
    Standing,
    SubmissionUnknown,
)
from tests.contracts.provider_bench import CountingClient, ProviderBench, Subject, talk

_K, _N = Reconciliation.KEY, Reconciliation.NONE


class ProviderContract(ProviderBench):
    # What it declares

    def test_it_declares_a_class_and_the_windows_that_go_with_it(self, subject: Subject) -> None:
        provider = subject.adapter()

        assert (provider.key_window_seconds > 0) == (provider.reconciliation is _K)
        assert provider.lookup_lag_seconds >= 0
        assert provider.not_found_window_seconds >= 0

    # Start

    def test_a_submission_is_one_post_and_one_paid_job(self, subject: Subject, job: Job) -> None:
        async def scene(client: CountingClient) -> int:
            await subject.adapter().submit(client, job)
            return client.posts

        assert talk(scene) == 1
        assert subject.paid_jobs(job.reference) == 1

    def test_a_lost_answer_is_unknown_and_not_sent_again(self, subject: Subject, job: Job) -> None:
        async def scene(client: CountingClient) -> int:
            client.loses_answers = True
            await subject.adapter().submit(client, job)
            return client.posts

        assert talk(scene) == 1

    def test_where_nobody_listens_nothing_was_sent(self, gone: Provider, job: Job) -> None:
        answer = talk(lambda client: gone.submit(client, job))

        assert isinstance(answer, NotSent)

    def test_inputs_that_cannot_be_read_are_not_sent(self, subject: Subject, job: Job) -> None:
        missing = replace(job.images[0], path=Path("/nonexistent/still.jpg"), sha256="0" * 64)
        answer = talk(lambda client: subject.adapter().submit(client, replace(job, images=(missing,))))

        assert isinstance(answer, NotSent)
        assert subject.paid_jobs(job.reference) == 0

    # Look-up

    def test_each_handle_gets_its_observation_in_order(self, subject: Subject, job: Job) -> None:
        handle = self.accept(subject, job)
        seen = self.look(subject, handle, "nobody-knows-this", handle)

        assert [one.handle for one in seen] == [handle, "nobody-knows-this", handle]
        assert seen[1].standing is Standing.NOT_FOUND
        assert seen[0].reference in ("", job.reference)

    def test_no_handle_gets_no_observation(self, subject: Subject) -> None:
        assert self.look(subject) == []

    def test_a_silent_provider_is_unreachable_and_never_an_error(self, gone: Provider) -> None:
        now = datetime.now(UTC)
        (seen,) = talk(lambda client: gone.look_up(client, ["a-handle"]))
        found = talk(lambda client: gone.find(client, ["a-reference"], since=now))

        assert (seen.standing, seen.outcome) == (Standing.UNREACHABLE, Outcome.NETWORK)
        assert (found.found, found.complete) == ((), False)
        assert talk(lambda client: gone.cancel(client, "a-handle")) is False
        assert talk(lambda client: gone.purge(client, "a-handle")) is False

    def test_a_handle_survives_the_providers_restart(self, subject: Subject, job: Job) -> None:
        handle = self.accept(subject, job)
        subject.restart()
        seen = self.follow(subject, handle)

        assert all(one.standing is not Standing.NOT_FOUND for one in seen)
        assert seen[-1].standing is Standing.OUTPUT
        assert subject.paid_jobs(job.reference) == 1

    def test_every_word_of_a_jobs_life_is_mapped(self, subject: Subject, job: Job) -> None:
        seen = self.follow(subject, self.accept(subject, job))
        order = [Standing.WAITING, Standing.RUNNING, Standing.OUTPUT]
        ranks = [order.index(one.standing) for one in seen]

        assert ranks == sorted(ranks)
        assert seen[-1].standing is Standing.OUTPUT
        assert all(one.word and len(one.word) <= 100 for one in seen)

    # Result

    def test_the_result_can_be_claimed_and_every_byte_is_accounted_for(
        self, subject: Subject, job: Job, tmp_path: Path
    ) -> None:
        end = self.follow(subject, self.accept(subject, job))[-1]
        output, into = self.output(end), tmp_path / "body"
        got = self.fetch(subject, output, into)

        assert got.size_bytes == into.stat().st_size == output.size_bytes
        assert got.sha256 == hashlib.sha256(into.read_bytes()).hexdigest() == output.sha256
        assert output.expires_at is None or output.expires_at > datetime.now(UTC) + timedelta(seconds=30)
        assert end.billed_units is None or end.billed_units >= 0
        with av.open(str(into)) as container:
            video = container.streams.video[0]

            assert (video.width, video.height) == (job.width, job.height)
            assert sum(1 for _ in container.decode(video)) == 25

    def test_a_second_look_brings_the_same_bytes_again(
        self, subject: Subject, job: Job, tmp_path: Path
    ) -> None:
        handle = self.accept(subject, job)
        fetched = [
            self.fetch(subject, self.output(self.follow(subject, handle)[-1]), tmp_path / name)
            for name in ("first", "second")
        ]

        assert fetched[0] == fetched[1]

    def test_two_jobs_have_two_results(self, subject: Subject, job: Job) -> None:
        other = replace(job, reference=job.reference + "-b", idempotency_key=job.idempotency_key + "-b")
        handles = [self.accept(subject, one) for one in (job, replace(other, copy="Another line."))]
        ends = [self.follow(subject, handle)[-1] for handle in handles]

        assert handles[0] != handles[1]
        assert self.output(ends[0]).sha256 != self.output(ends[1]).sha256

    # Cancel and purge

    def test_a_cancelled_job_ends_as_cancelled_or_comes_anyhow(self, subject: Subject, job: Job) -> None:
        handle = self.accept(subject, job)
        talk(lambda client: subject.adapter().cancel(client, handle))
        end = self.follow(subject, handle)[-1]

        assert end.standing is Standing.OUTPUT or end.outcome is Outcome.CANCELLED_BY_US

    def test_a_purged_output_is_gone_and_purging_again_is_no_fault(
        self, subject: Subject, job: Job, tmp_path: Path
    ) -> None:
        handle = self.accept(subject, job)
        output = self.output(self.follow(subject, handle)[-1])
        purged = [talk(lambda client: subject.adapter().purge(client, handle)) for _ in range(2)]

        assert purged == [True, True]
        with pytest.raises(RemoteUnavailable) as error:
            self.fetch(subject, output, tmp_path / "body")

        assert error.value.reason == "url_expired"

    # Conduct for its class (G9)

    def test_the_same_key_again_is_the_same_job_and_elsewhere_is_not_promised(
        self, subject: Subject, job: Job
    ) -> None:
        self.lose(subject, job)
        if subject.adapter().reconciliation is not _K:
            assert subject.adapter().key_window_seconds == 0
            return
        handles = {self.accept(subject, job) for _ in range(2)}
        subject.restart()
        handles.add(self.accept(subject, job))

        assert len(handles) == 1
        assert subject.paid_jobs(job.reference) == 1

    def test_two_at_once_with_one_key_are_one_job(self, subject: Subject, job: Job) -> None:
        if subject.adapter().reconciliation is not _K:
            assert subject.adapter().key_window_seconds == 0
            return

        async def scene(client: CountingClient) -> list[object]:
            return list(await asyncio.gather(*(subject.adapter().submit(client, job) for _ in range(5))))

        answers = talk(scene)

        assert len({answer.handle for answer in answers if isinstance(answer, Accepted)}) == 1
        assert subject.paid_jobs(job.reference) == 1

    def test_a_key_with_another_request_never_counts_as_refused(self, subject: Subject, job: Job) -> None:
        """Something was taken under that key: the hold must not be given back."""
        if subject.adapter().reconciliation is not _K:
            assert subject.adapter().key_window_seconds == 0
            return
        self.accept(subject, job)
        answer = talk(lambda client: subject.adapter().submit(client, replace(job, copy="Something else.")))

        assert isinstance(answer, SubmissionUnknown)
        assert subject.paid_jobs(job.reference) == 1

    def test_a_lost_job_is_found_after_the_lag_as_far_as_its_class_promises(
        self, subject: Subject, job: Job
    ) -> None:
        self.lose(subject, job)
        handles, complete = self.find(subject, job.reference)
        promises = subject.adapter().reconciliation is not _N

        assert len(handles) == (1 if promises else 0)
        assert complete is promises
        if promises:
            assert self.look(subject, *handles)[0].standing is not Standing.NOT_FOUND

    def test_what_was_never_sent_is_not_found(self, subject: Subject, job: Job) -> None:
        handles, complete = self.find(subject, job.reference, f"{job.reference}-never")

        assert handles == []
        assert complete is (subject.adapter().reconciliation is not _N)

    def test_many_references_are_found_at_once(self, subject: Subject, job: Job) -> None:
        jobs = [
            replace(job, reference=f"{job.reference}-{n}", idempotency_key=f"{job.idempotency_key}-{n}")
            for n in range(3)
        ]
        handles = {self.accept(subject, one) for one in jobs}
        found, _ = self.find(subject, *(one.reference for one in jobs))

        assert set(found) == (handles if subject.adapter().reconciliation is not _N else set())
