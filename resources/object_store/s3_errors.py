"""What S3 and its client library say when something is wrong, in our words.

Belongs here: the table of codes and of botocore's errors, and what may be tried again. Does not belong here:
answers that a call expects (a taken key, a missing object): their callers know them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from pipeline.domain.bucket import Bucket
from pipeline.domain.errors import StoreUnavailable

#: The key is taken.
TAKEN = frozenset({"PreconditionFailed", "412"})
#: AWS alone: another write of the key was under way; nothing is said about who won.
CONFLICT = "ConditionalRequestConflict"
ABSENT = frozenset({"NoSuchKey", "404", "NoSuchVersion"})
NO_UPLOAD = "NoSuchUpload"
PAST_THE_END = frozenset({"InvalidRange", "416"})
#: The bytes that came are not those of the checksum or signature.
NOT_WHOLE = frozenset(
    {
        "BadDigest",
        "XAmzContentSHA256Mismatch",
        "XAmzContentChecksumMismatch",
        "InvalidDigest",
        "IncompleteBody",
    }
)
#: A file system beneath the server has a folder where the key wants a file, or the other way round.
IN_THE_WAY = frozenset(
    {"KeyTooLongError", "KeyTooLong", "ObjectParentIsFile", "ExistingObjectIsDirectory", "InvalidURI"}
)


class CutAnswer(sdk.BotoCoreError):  # type: ignore[misc]  # the library has no types
    """A success without what it must hold: the connection ended within its headers.

    Python's HTTP client takes what came of the headers for all of them. Without its length a body ends where
    the connection does, and a list without a body would read as an empty bucket.
    """

    fmt = "the answer to {call} was cut"


#: What the client library raises besides bugs.
TROUBLE = (sdk.ClientError, sdk.BotoCoreError, ResponseParserError)


#: The host of a URL, and what is nobody's business behind it (A4).
_URL = re.compile(r"(https?://[^/\s\"]+)[^\s\"]*")


@dataclass(frozen=True, slots=True)
class Meaning:
    reason: str
    remedy: str
    is_passing: bool = False  #: the same call again may be answered


_BUSY = Meaning("busy", "wait, or lower the number of workers", is_passing=True)
_LOST = Meaning("unreachable", "check that the endpoint in `store_url` answers from here", is_passing=True)
_NO_BUCKET = Meaning("no_bucket", "create the bucket, or correct its name in `store_url`")
_WRONG_KEY = Meaning(
    "wrong_credentials", "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile"
)
_EXPIRED = Meaning("expired_credentials", "renew the AWS credentials (sign in again) and run again")
_NO_KEY = Meaning("no_credentials", "give AWS credentials: environment, profile or role of the machine")
_DENIED = Meaning(
    "denied",
    "allow these credentials to list, read, write and delete in this bucket, versions too; check `owner`",
)
_REGION = Meaning("wrong_region", "put the bucket's own region into `store_url`")
_CLOCK = Meaning("clock_skew", "synchronise the clock of this machine (NTP)")
_TLS = Meaning(
    "tls", "check the certificate of the endpoint, AWS_CA_BUNDLE, and http or https in `store_url`"
)
_FULL = Meaning("disk_full", "free space on the disk of the object store, then run again")
_KMS = Meaning("encryption_key", "enable the key that `kms_key` of `store_url` names, and allow its use")
_LACKS = Meaning("unsupported", "use a store with conditional writes, checksums and multipart uploads")
_SPOILT = Meaning(
    "checksum_mismatch", "look for what changes bytes between here and the store", is_passing=True
)

_BY_MEANING: Mapping[Meaning, Iterable[str]] = {
    _BUSY: (
        "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "OperationAborted", CONFLICT,
        "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests",
        "BandwidthLimitExceeded", "409", "429", "500", "502", "503", "504",
    ),
    _NO_BUCKET: ("NoSuchBucket", "InvalidBucketName"),
    _WRONG_KEY: ("InvalidAccessKeyId", "SignatureDoesNotMatch", "XAdminUserNotFound", "InvalidSecurity"),
    _EXPIRED: (
        "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "RequestExpired",
    ),
    _DENIED: ("AccessDenied", "AllAccessDisabled", "AccountProblem", "401", "403"),
    _REGION: (
        "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IncorrectEndpoint",
        "IllegalLocationConstraintException", "301", "307",
    ),
    _CLOCK: ("RequestTimeTooSkewed", "RequestInTheFuture"),
    _FULL: ("QuotaExceeded", "InsufficientStorage", "StorageFull", "507"),
    _KMS: (
        "KMS.DisabledException", "KMS.NotFoundException", "KMS.KMSInvalidStateException",
        "KMS.InvalidStateException", "KMS.InvalidKeyUsageException",
    ),
    _LACKS: ("NotImplemented", "MethodNotAllowed", "501", "405"),
    _SPOILT: NOT_WHOLE,
}  # fmt: skip
CODES: Mapping[str, Meaning] = MappingProxyType(
    {code: meaning for meaning, codes in _BY_MEANING.items() for code in codes}
)

#: Errors of the client library, the narrow ones first; everything else of it is a bug and stays what it is.
SDK_ERRORS: tuple[tuple[type[Exception], Meaning], ...] = (
    (sdk.SSLError, _TLS),
    (sdk.UnauthorizedSSOTokenError, _EXPIRED),
    (sdk.SSOTokenLoadError, _EXPIRED),
    (sdk.TokenRetrievalError, _EXPIRED),
    (sdk.LoginTokenLoadError, _EXPIRED),
    (sdk.NoCredentialsError, _NO_KEY),
    (sdk.PartialCredentialsError, _NO_KEY),
    (sdk.CredentialRetrievalError, _NO_KEY),
    (sdk.NoAuthTokenError, _NO_KEY),
    (sdk.ProfileNotFound, _NO_KEY),
    (sdk.InvalidRegionError, _REGION),
    (sdk.NoRegionError, _REGION),
    (sdk.FlexibleChecksumError, _SPOILT),
    (sdk.ConnectionError, _LOST),  # its own, not Python's: refused, no such name, timed out, proxy
    (sdk.HTTPClientError, _LOST),
    (sdk.IncompleteReadError, _LOST),
    (CutAnswer, _LOST),
    (ResponseParserError, _LOST),  # XML that ends early, or a page of some gateway
)


def code_of(error: Exception) -> str:
    """The code of an answer; a HEAD has no body, so that its code is the status."""
    if isinstance(error, sdk.ClientError):
        return str(error.response.get("Error", {}).get("Code", ""))
    return ""


def meaning_of(error: Exception) -> Meaning | None:
    """None for what no running store says: a bug of ours."""
    if isinstance(error, sdk.ClientError):
        status = str(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
        return CODES.get(code_of(error)) or CODES.get(status) or _unknown(status)
    return next((meaning for kind, meaning in SDK_ERRORS if isinstance(error, kind)), None)


def _unknown(status: str) -> Meaning:
    return Meaning("unreachable", "", is_passing=status.startswith("5"))


def unavailable(error: Exception, bucket: Bucket, meaning: Meaning) -> StoreUnavailable:
    return StoreUnavailable(meaning.reason, f"object store {bucket}: {_said(error)}", meaning.remedy)


def _said(error: Exception) -> str:
    if not isinstance(error, sdk.ClientError):
        return _URL.sub(r"\1", str(error))[:200]
    said = error.response.get("Error", {})
    region = said.get("Region") or _header(error, "x-amz-bucket-region")
    where = f" (the bucket lies in {region})" if region else ""
    return f"{said.get('Code', 'no code')}: {str(said.get('Message', ''))[:160]}{where}"


def _header(error: sdk.ClientError, name: str) -> str:
    return str(error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get(name, ""))
