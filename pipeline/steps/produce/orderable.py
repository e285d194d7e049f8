"""Whether a brief can be ordered at all: provider, model, settings, sizes, currency; before anything is kept.

Belongs here: a brief against the provider list, every fault at once. Does not belong here: the brief's own
form (`pipeline.documents.brief`), what it costs (`planning`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.domain.brief import Brief, Generation
from pipeline.domain.errors import Fault
from pipeline.domain.provider_terms import ModelTerms, ProviderTerms
from pipeline.domain.renditions import pixel_size
from pipeline.steps.produce.making import DEFAULT_SHORT_SIDE, SHORT_SIDE

SHORT_SIDES = range(64, 2161)
MAX_SHOWN = 80
_SETTINGS = "generation.settings"
_SIDE = f"{_SETTINGS}.{SHORT_SIDE}"


def order_faults(brief: Brief, providers: Mapping[str, ProviderTerms]) -> list[Fault]:
    """Whoever is to make it is known, takes what is asked for, and is paid in the budget's currency."""
    wanted = brief.creative.generation
    side = wanted.settings.get(SHORT_SIDE, DEFAULT_SHORT_SIDE)
    is_size = type(side) is int and side in SHORT_SIDES
    faults = [] if is_size else [_no_size(side)]
    terms = providers.get(wanted.provider)
    model = terms.models.get(wanted.model) if terms else None
    if terms is None or model is None:
        return [_not_offered(wanted, providers, terms), *faults]
    faults += _setting_faults(wanted, model)
    if is_size:
        faults += _side_faults(brief, side, model)
    return [*faults, *_currency_faults(brief, terms, model)]


def _not_offered(
    wanted: Generation, providers: Mapping[str, ProviderTerms], terms: ProviderTerms | None
) -> Fault:
    if terms is None:
        known = ", ".join(sorted(providers))
        return Fault(
            "generation.provider", "is not in the provider list", value=wanted.provider, allowed=known
        )
    known = ", ".join(sorted(terms.models))
    return Fault("generation.model", f"is not offered by {terms.name}", value=wanted.model, allowed=known)


def _no_size(side: object) -> Fault:
    allowed = f"a whole number from {SHORT_SIDES.start} to {SHORT_SIDES.stop - 1} pixels"
    return Fault(_SIDE, "is not a size", value=str(side)[:MAX_SHOWN], allowed=allowed)


def _setting_faults(wanted: Generation, model: ModelTerms) -> Iterator[Fault]:
    """A model whose settings the list does not name judges them itself."""
    if model.settings is None:
        return
    for name, value in wanted.settings.items():
        span = model.settings.get(name)
        if span is None and name != SHORT_SIDE:
            known = ", ".join((*model.settings, SHORT_SIDE))
            yield Fault(f"{_SETTINGS}.{name}", f"is not a setting of {wanted.model}", allowed=known)
        elif span is not None and not span.holds(value):
            shown = str(value)[:MAX_SHOWN]
            yield Fault(
                f"{_SETTINGS}.{name}", f"is not what {wanted.model} takes", value=shown, allowed=str(span)
            )


def _side_faults(brief: Brief, side: int, model: ModelTerms) -> Iterator[Fault]:
    """The longest side of every wanted ratio."""
    if model.longest_side is None:
        return
    for ratio in brief.creative.variants.aspect_ratios:
        longest = max(pixel_size(ratio, side))
        if longest > model.longest_side:
            maker = brief.creative.generation.model
            problem = f"makes {ratio} {longest} pixels long, {maker} makes {model.longest_side}"
            fits = _fitting(ratio, model.longest_side)
            yield Fault(_SIDE, problem, value=str(side), allowed=f"up to {fits} for {ratio}")


def _fitting(ratio: str, longest_side: int) -> int:
    return max(side for side in SHORT_SIDES if max(pixel_size(ratio, side)) <= longest_side)


def _currency_faults(brief: Brief, terms: ProviderTerms, model: ModelTerms) -> Iterator[Fault]:
    named = brief.administrative.budget.currency
    if model.price_per_second and terms.currency != named:
        problem = f"is not what provider {terms.name} charges"
        yield Fault("budget.currency", problem, value=named, allowed=terms.currency)
