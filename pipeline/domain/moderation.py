"""What may be turned into a video: rules over image facts and copy, and what a person decides (I3).

Belongs here: the policy as a value, and its judgement. Does not belong here: how a policy is written
(`pipeline.documents.moderation_policy`), how facts are found (`resources.media`), or the decision's record.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from pipeline.domain.errors import NotAllowed
from pipeline.domain.media import ImageFacts
from pipeline.domain.tags import words

EVERY_LOCALE = "*"
NO_OBJECTION = "no_objection"  #: the reason when no rule matched


class Decision(enum.StrEnum):
    APPROVED = "approved"
    REJECTED = "rejected"
    UNDECIDED = "undecided"  #: A person must look; waits without holding a slot, run or claim.


class Effect(enum.StrEnum):
    """What a rule does that matches."""

    REJECT = "reject"
    REVIEW = "review"  #: Leaves it to a person, unless another rule rejects.


class ImageFact(enum.StrEnum):
    """What a rule may measure on a picture as it is displayed."""

    WIDTH = "width"
    HEIGHT = "height"
    SHORT_SIDE = "short_side"
    LONG_SIDE = "long_side"
    PIXELS = "pixels"
    ASPECT_RATIO = "aspect_ratio"  #: width to height
    FRAMES = "frames"  #: more than one means animated
    SIZE_BYTES = "size_bytes"


_MEASURES: Mapping[ImageFact, Callable[[ImageFacts], int | Fraction]] = MappingProxyType(
    {
        ImageFact.WIDTH: lambda image: image.display_width,
        ImageFact.HEIGHT: lambda image: image.display_height,
        ImageFact.SHORT_SIDE: lambda image: min(image.display_width, image.display_height),
        ImageFact.LONG_SIDE: lambda image: max(image.display_width, image.display_height),
        ImageFact.PIXELS: lambda image: image.display_width * image.display_height,
        ImageFact.ASPECT_RATIO: lambda image: Fraction(image.display_width, image.display_height),
        ImageFact.FRAMES: lambda image: image.frame_count,
        ImageFact.SIZE_BYTES: lambda image: image.size_bytes,
    }
)


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Matches a picture whose *fact* lies outside the bounds; a bound of None is open."""

    id: str
    effect: Effect
    fact: ImageFact
    at_least: Fraction | None = None
    at_most: Fraction | None = None


@dataclass(frozen=True, slots=True)
class CopyRule:
    """Matches copy that holds a phrase, or is longer than allowed.

    Phrases are kept as folded words, by locale: `*` for all, `de` for de-DE and de-AT too. A phrase
    matches whole words in a row, whatever their case, accents and punctuation.
    """

    id: str
    effect: Effect
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    max_characters: int | None = None


@dataclass(frozen=True, slots=True)
class ModerationPolicy:
    version: str
    image_rules: tuple[ImageRule, ...]
    copy_rules: tuple[CopyRule, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that matched, and what it matched on."""

    rule: str
    effect: Effect
    subject: str  #: a source's name or a locale; never the text itself (A4)


@dataclass(frozen=True, slots=True)
class Verdict:
    decision: Decision
    reason: str  #: the rule that decided, or NO_OBJECTION, or a person's reason code
    policy_version: str
    findings: tuple[Finding, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that matched, once, in the policy's order."""
        return tuple(dict.fromkeys(finding.rule for finding in self.findings))


def judge(policy: ModerationPolicy, images: Mapping[str, ImageFacts], copy: Mapping[str, str]) -> Verdict:
    """The policy's verdict on the pictures by source name and the copy by locale.

    A rule that rejects outweighs any that asks for a review; the first in the policy's order is the reason.
    """
    findings = (*_on_images(policy.image_rules, images), *_on_copy(policy.copy_rules, copy))
    for effect, decision in ((Effect.REJECT, Decision.REJECTED), (Effect.REVIEW, Decision.UNDECIDED)):
        reason = next((finding.rule for finding in findings if finding.effect is effect), None)
        if reason is not None:
            return Verdict(decision, reason, policy.version, findings)
    return Verdict(Decision.APPROVED, NO_OBJECTION, policy.version)


def by_hand(policy: ModerationPolicy, decision: Decision, reason: str) -> Verdict:
    """What a person decided under *policy*; NotAllowed when it decides nothing or gives no reason."""
    if decision is Decision.UNDECIDED or not reason.strip():
        raise NotAllowed("moderation", "a decision approves or rejects, and has a reason", "name both")
    return Verdict(decision, reason.strip(), policy.version)


def _on_images(rules: Sequence[ImageRule], images: Mapping[str, ImageFacts]) -> Iterator[Finding]:
    for rule in rules:
        for name, image in images.items():
            if not _within(rule, _MEASURES[rule.fact](image)):
                yield Finding(rule.id, rule.effect, name)


def _within(rule: ImageRule, measured: int | Fraction) -> bool:
    above = rule.at_least is None or measured >= rule.at_least
    below = rule.at_most is None or measured <= rule.at_most
    return above and below


def _on_copy(rules: Sequence[CopyRule], copy: Mapping[str, str]) -> Iterator[Finding]:
    for rule in rules:
        for locale, text in copy.items():
            too_long = rule.max_characters is not None and len(text) > rule.max_characters
            if too_long or _holds_phrase(rule, locale, words(text)):
                yield Finding(rule.id, rule.effect, locale)


def _holds_phrase(rule: CopyRule, locale: str, said: tuple[str, ...]) -> bool:
    return any(
        phrase == said[start : start + len(phrase)]
        for scope, phrases in rule.phrases.items()
        if scope == EVERY_LOCALE or f"{locale}-".startswith(f"{scope}-")
        for phrase in phrases
        for start in range(len(said) - len(phrase) + 1)
    )
