"""Connections to a daemon, synchronous and asynchronous."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from noteweft._calls import AsyncCalls, Calls
from noteweft._target import find

#: Default deadline of a call in seconds: that of the daemon's setting `server.timeout_ms`.
TIMEOUT = 30.0


class Noteweft(Calls):
    """A connection to a daemon, with one method for each RPC. Threads may share it."""

    @classmethod
    def connect(
        cls,
        address: str | None = None,
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        tls_cert: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        tls_name: str | None = None,
        config: str | os.PathLike[str] | None = None,
        timeout: float | None = TIMEOUT,
    ) -> Self:
        """Returns a connection to the daemon that `weft` would use. It is made with the first call.

        Args:
            address: `HOST:PORT`, `https://HOST:PORT` or `unix:PATH`, or several nodes as `dns:///HOST:PORT` or `ipv4:HOST:PORT,HOST:PORT`; else `WEFT_ADDR`, else the address in the settings.
            token: Bearer token; else `WEFT_TOKEN`.
            token_file: File with the token in its last line; else `WEFT_TOKEN_FILE`.
            tls_ca: PEM file with the certificate authority to trust; else `WEFT_TLS_CA`, else the usual authorities.
            tls_cert: PEM file with the certificate of this client; else `WEFT_TLS_CERT`.
            tls_key: PEM file with the key of this client; else `WEFT_TLS_KEY`.
            tls_name: Name in the daemon's certificate, if it differs from the host; else `WEFT_TLS_NAME`.
            config: File with settings; that of the user if absent.
            timeout: Default deadline of a call in seconds; `None` for none. Streams have no deadline unless one is passed to them.
        """
        target = find(
            address,
            token=token,
            token_file=token_file,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            tls_name=tls_name,
            config=config,
        )
        return cls(target, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncNoteweft(AsyncCalls):
    """A connection to a daemon, with one method to await for each RPC. It belongs to the event loop of its first call."""

    @classmethod
    def connect(
        cls,
        address: str | None = None,
        *,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        tls_ca: str | os.PathLike[str] | None = None,
        tls_cert: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        tls_name: str | None = None,
        config: str | os.PathLike[str] | None = None,
        timeout: float | None = TIMEOUT,
    ) -> Self:
        """Returns a connection to the daemon that `weft` would use. For the arguments see `Noteweft.connect`."""
        target = find(
            address,
            token=token,
            token_file=token_file,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            tls_name=tls_name,
            config=config,
        )
        return cls(target, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
