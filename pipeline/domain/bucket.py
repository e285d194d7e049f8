"""Where an S3 store keeps its objects, as a value: settings write it, the object store reads it.

Belongs here: the value alone; it holds no secret. Does not belong here: how it is written (`store_url`), or
any call.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    name: str
    prefix: str = ""  #: every key lies below it; without a slash at its end; empty: the whole bucket is ours
    endpoint: str = ""  #: `https://HOST[:PORT]`; empty: AWS by its region
    region: str = ""  #: empty: the AWS environment says it
    sse: str = ""  #: `AES256` or `aws:kms`; empty: as the bucket encrypts by itself
    kms_key: str = ""  #: of `aws:kms`; empty: the account's own key
    owner: str = ""  #: account that must own the bucket: a name taken over by another one is refused

    def __str__(self) -> str:
        return f"s3://{self.name}/{self.prefix}".rstrip("/")
