"""The transform set: which pictures are made of every object (D1). A changed rule is a new version.

Belongs here: its fields and what each may hold. How a picture is made is `resources.media`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictInt

from pipeline.documents.reading import Document, read_document, refusal, shipped
from pipeline.documents.written import Slug
from pipeline.domain.media import Derivative, TransformSet

DEFAULT = "transform_set.yaml"
MAX_DERIVATIVES = 20


def read_transform_set(text: str | bytes, *, name: str) -> TransformSet:
    """The set in *text*, checked as a whole; BadDocument names every fault."""
    return read_document(TransformSetDocument, text, name=name).transforms()


def default_transform_set() -> TransformSet:
    """The set that comes with Reelwright: three thumbnails and a poster."""
    return read_transform_set(shipped(DEFAULT), name=DEFAULT)


class DerivativePart(Document):
    name: Slug
    width: Annotated[StrictInt, Field(ge=16, le=4096)]
    format: Literal["webp", "jpeg"]
    quality: Annotated[StrictInt, Field(ge=1, le=100)]


def _set_of(parts: tuple[DerivativePart, ...]) -> tuple[DerivativePart, ...]:
    if not 1 <= len(parts) <= MAX_DERIVATIVES:
        raise refusal(f"has {len(parts)} items", f"1 to {MAX_DERIVATIVES} items")
    names = [part.name for part in parts]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise refusal(f"names {', '.join(sorted(repeated))} more than once", "each name once")
    return parts


Shade = Annotated[StrictInt, Field(ge=0, le=255)]


class TransformSetDocument(Document):
    version: Slug
    background: tuple[Shade, Shade, Shade]
    derivatives: Annotated[tuple[DerivativePart, ...], AfterValidator(_set_of)]

    def transforms(self) -> TransformSet:
        """The plain value that adapters see."""
        parts = self.derivatives
        return TransformSet(
            version=self.version,
            derivatives=tuple(Derivative(part.name, part.width, part.format, part.quality) for part in parts),
            background=self.background,
        )
