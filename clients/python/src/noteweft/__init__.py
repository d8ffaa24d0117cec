"""Client of Noteweft, a search engine for Markdown notes.

    from noteweft import Noteweft

    with Noteweft.connect() as notes:
        for hit in notes.search("leap second", limit=3).hits:
            print(f"{hit.score:.2f}  {hit.title}")

`Noteweft` blocks, `AsyncNoteweft` is to be awaited; both have one method for each RPC.
`noteweft.v1` contains the messages, and `noteweft.errors` the exceptions.
"""

from noteweft._transport import AsyncStream, Stream
from noteweft.client import AsyncNoteweft, Noteweft
from noteweft.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    NoteweftError,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from noteweft.v1 import Filter

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "AlreadyExists",
    "AsyncNoteweft",
    "AsyncStream",
    "Cancelled",
    "DeadlineExceeded",
    "FailedPrecondition",
    "Filter",
    "InvalidArgument",
    "NotFound",
    "Noteweft",
    "NoteweftError",
    "PermissionDenied",
    "ResourceExhausted",
    "Stream",
    "Unauthenticated",
    "Unavailable",
    "__version__",
]
