"""From provider terms to adapters: entry points first, `module:Class` for adapters outside of packages.

Belongs here: finding and checking an adapter class, and the guard that its terms ask for. Does not
belong here: reading the provider list or secrets (connect), or anything that one provider does.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import urlsplit

from pipeline.domain.errors import BadSettings
from resources.http.url_guard import UrlGuard
from resources.providers.protocol import Provider, ProviderTerms, Reconciliation

GROUP = "reelwright.providers"
_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_DECLARED: Mapping[str, type] = {
    "reconciliation": Reconciliation,
    "key_window_seconds": int,
    "lookup_lag_seconds": int,
    "not_found_window_seconds": int,
}
_CALLS = ("submit", "look_up", "find", "cancel", "purge")


def adapters(providers: Iterable[ProviderTerms]) -> Mapping[str, Provider]:
    """One adapter a provider, by the provider's name; BadSettings names what cannot be found."""
    return {terms.name: adapter(terms) for terms in providers}


def adapter(terms: ProviderTerms) -> Provider:
    """The adapter that *terms* name, made with them."""
    kind = _adapter_class(terms)
    _require_protocol(terms, kind)
    made: Provider = kind(terms)
    return made


def guard_for(terms: ProviderTerms) -> UrlGuard:
    """What this provider's output URLs may name (R4): its own host, those listed, else nothing."""
    base = urlsplit(terms.base_url)
    own = (base.hostname or "") + (f":{base.port}" if base.port else "")
    exact = frozenset({f"{base.scheme}://{base.netloc}"}) if terms.allow_private_origin else frozenset()
    return UrlGuard(allowed_hosts=frozenset({own, *terms.allowed_hosts}), exact_origins=exact)


def _adapter_class(terms: ProviderTerms) -> Any:
    if _PATH.fullmatch(terms.adapter):
        return _imported(terms)
    named = entry_points(group=GROUP, name=terms.adapter)
    if not named:
        known = ", ".join(sorted(entry_points(group=GROUP).names)) or "none"
        raise _bad(terms, f"no adapter {terms.adapter!r} is installed", f"name one of: {known}")
    return next(iter(named)).load()


def _imported(terms: ProviderTerms) -> Any:
    module, _, name = terms.adapter.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise _bad(terms, f"cannot import {terms.adapter!r}", "check the path `module:Class`") from error


def _require_protocol(terms: ProviderTerms, kind: Any) -> None:
    missing = [name for name, type_ in _DECLARED.items() if not isinstance(getattr(kind, name, None), type_)]
    missing += [name for name in _CALLS if not callable(getattr(kind, name, None))]
    if missing:
        raise _bad(
            terms,
            f"{terms.adapter!r} is no provider adapter: it lacks {', '.join(missing)}",
            "run the conformance kit over the adapter",
        )


def _bad(terms: ProviderTerms, problem: str, remedy: str) -> BadSettings:
    return BadSettings(f"provider {terms.name}", problem, remedy)
