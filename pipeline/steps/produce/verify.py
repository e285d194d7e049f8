"""Prove that bytes are the wanted video, and put them where they stay (R1, R2, R6).

Belongs here: examining in the sandbox, judging against the profile, the conditional upload, adopting what
already lies under the key. Does not belong here: fetching, or what follows from a refusal (`retrieve`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pipeline.domain.errors import MediaRefused, MediaUnproven, SandboxFailed, StoreConflict, StoreUnavailable
from pipeline.domain.media import VideoFacts
from pipeline.domain.quality import QualityReport, TargetProfile, Wanted, judge, quality_report
from pipeline.domain.renditions import ASPECT_RATIOS
from resources.media import Sandbox, examine_video
from resources.object_store.protocol import ObjectStore

#: A child that crashed by chance gets the same bytes once more before they are fetched again.
SANDBOX_TRIES = 2
#: Refusals of `resources.media` that speak of our disk and not of the media.
_OUR_TROUBLE = frozenset({"unreadable"})


@dataclass(frozen=True, slots=True)
class Verified:
    """A whole video that keeps every rule of the profile."""

    facts: VideoFacts
    report: QualityReport


@dataclass(frozen=True, slots=True)
class Verification:
    """What a video is verified with."""

    store: ObjectStore
    sandbox: Sandbox
    profile: TargetProfile

    def verify(self, path: Path, wanted: Wanted, *, sha256: str) -> Verified:
        """Raises MediaRefused (a broken rule; the code of the first), MediaUnproven, SandboxFailed."""
        facts = self._examined(path, sha256)
        verdict = judge(self.profile, wanted, facts)
        if not verdict.accepted:
            problems = "; ".join(breach.problem for breach in verdict.breaches)
            raise MediaRefused(str(verdict.breaches[0].reason), problems)
        return Verified(facts, quality_report(self.profile, wanted, facts))

    def _examined(self, path: Path, sha256: str) -> VideoFacts:
        for left in reversed(range(SANDBOX_TRIES)):
            try:
                return examine_video(self.sandbox, path, sha256=sha256)
            except SandboxFailed:
                if not left:
                    raise
            except MediaRefused as refusal:
                if refusal.reason in _OUR_TROUBLE:
                    raise StoreUnavailable("spool_unusable", str(refusal)) from refusal
                raise
        raise AssertionError("unreachable")

    def verify_owned(self, key: str, path: Path, wanted: Wanted) -> Verified:
        """Judge what already lies under *key*, copied to *path*; it is never overwritten.

        Bytes that do not verify leave as MediaRefused `key_holds_other_bytes`.
        """
        read = self.store.get_to(key, path)
        try:
            return self.verify(path, wanted, sha256=read.sha256)
        except (MediaRefused, MediaUnproven) as refusal:
            raise MediaRefused("key_holds_other_bytes", f"{key}: {refusal}") from refusal

    def keep(self, key: str, path: Path, wanted: Wanted, verified: Verified) -> Verified:
        """Put verified bytes under *key*, durably; the facts of what is then there.

        Other bytes that lie there already are adopted when they verify (`verify_owned`).
        """
        facts = verified.facts
        try:
            self.store.put_if_absent(
                key, path, sha256=facts.sha256, size=facts.size_bytes, media_type=facts.content_type
            )
        except StoreConflict:
            return self.verify_owned(key, path, wanted)
        return verified


def wanted_of(rendition: sa.Row[Any]) -> Wanted:
    """What the rendition's variant asks of its video."""
    return Wanted(ASPECT_RATIOS[rendition.aspect_ratio], Fraction(rendition.duration_seconds))
