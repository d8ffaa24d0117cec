"""Errors of the daemon as exceptions, with the reason codes of the service."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

#: Trailer with the details of an error.
_DETAILS = "grpc-status-details-bin"


class NoteweftError(Exception):
    """A call failed.

    Subclasses follow the codes of gRPC; `reason` tells the causes of one code apart.
    """

    #: Explanation, as a sentence for people. Its wording may change.
    message: str
    #: Code of gRPC, such as `NOT_FOUND`.
    code: str
    #: Stable reason, such as `UNKNOWN_NOTE`; empty if the error does not come from the daemon.
    reason: str
    #: Values that belong to the reason, such as `actual_hash` or `path`.
    metadata: Mapping[str, str]
    #: Field of the request that is invalid.
    field: str | None
    #: URIs with names similar to an unknown one, most similar first.
    similar: tuple[str, ...]
    #: Time in seconds after which a repeated call may succeed.
    retry_after: float | None

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        field: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.field = field
        self.similar = _similar(self.metadata)
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.reason or self.code}: {self.message}"


class InvalidArgument(NoteweftError):
    """The request is invalid; `field` names the part."""


class NotFound(NoteweftError):
    """The note, vault or generation does not exist; `similar` suggests notes."""


class AlreadyExists(NoteweftError):
    """The file exists but was expected not to."""


class Aborted(NoteweftError):
    """The file differs from the expected one; `metadata["actual_hash"]` is its hash."""


class FailedPrecondition(NoteweftError):
    """The state of the index does not allow the call."""


class DeadlineExceeded(NoteweftError):
    """The deadline passed."""


class Cancelled(NoteweftError):
    """The call was cancelled."""


class Unavailable(NoteweftError):
    """The daemon cannot be reached, is starting, or is stopping. Try again later."""


class Unauthenticated(NoteweftError):
    """The daemon requires a token or certificate, or does not know it."""


class PermissionDenied(NoteweftError):
    """The token or certificate does not permit the call."""


class ResourceExhausted(NoteweftError):
    """A limit was exceeded; `reason` names it, and `retry_after` says when to try again."""


_BY_CODE: dict[grpc.StatusCode, type[NoteweftError]] = {
    grpc.StatusCode.ABORTED: Aborted,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExists,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPrecondition,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgument,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhausted,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
}


def from_status(
    address: str,
    code: grpc.StatusCode,
    message: str | None,
    trailers: Iterable[tuple[str, str | bytes]] | None,
) -> NoteweftError:
    """Returns the exception for a failed call to the daemon at `address`."""
    reason, metadata, field, retry_after = "", {}, None, None
    for detail in _details(trailers or ()):
        info = error_details_pb2.ErrorInfo()
        request = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(request) and request.field_violations:
            field = request.field_violations[0].field
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    text = message or code.name.lower().replace("_", " ")
    if code is grpc.StatusCode.UNAVAILABLE and not reason:
        cause = text.rpartition("last error: UNKNOWN: ")[2] or text
        text = f"no daemon responds at {address}: {cause}; start one with `weft serve FOLDER`, or pass its address"
    kind = _BY_CODE.get(code, NoteweftError)
    return kind(
        text, code=code.name, reason=reason, metadata=metadata, field=field, retry_after=retry_after
    )


def _details(trailers: Iterable[tuple[str, str | bytes]]) -> list[Any]:
    """Returns the details of an error; none if they are unreadable, so that the error itself is still reported."""
    for key, value in trailers:
        if key == _DETAILS and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []


def _similar(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the values of `near_1`, `near_2`, … in this order."""
    numbered = ((re.fullmatch(r"near_(\d+)", key), uri) for key, uri in metadata.items())
    return tuple(uri for _, uri in sorted((int(key[1]), uri) for key, uri in numbered if key))
