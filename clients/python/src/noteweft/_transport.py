"""Sends requests over a channel, and turns its errors into exceptions."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from noteweft._target import Target
from noteweft.errors import NoteweftError, from_status

Request = TypeVar("Request", bound=Message)
Answer = TypeVar("Answer", bound=Message)


def build(kind: type[Request], fields: Mapping[str, object]) -> Request:
    """Builds a request from the fields that are set. A text stands for a list of it, and an enum may be named."""
    given: dict[str, Any] = {}
    for name, value in fields.items():
        if value is not None:
            given[name] = _field_value(kind.DESCRIPTOR.fields_by_name[name], value)
    return kind(**given)


def _field_value(field: Any, value: object) -> object:
    """Returns the value of a field as protobuf expects it."""
    if field.enum_type is not None and isinstance(value, str):
        return _enum_value(field.enum_type, field.name, value)
    if field.is_repeated and isinstance(value, str):
        return [value]
    return value


def _enum_value(enum: Any, field: str, name: str) -> int:
    """Returns the number of an enum's value from its name without the prefix, in lower case."""
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    value = enum.values_by_name.get(prefix + name.upper())
    if value is None:
        known = [value.name.removeprefix(prefix).lower() for value in enum.values[1:]]
        raise ValueError(f"{field}: unknown value {name!r}; known values: {', '.join(known)}")
    return int(value.number)


class Stream(Iterator[Answer]):
    """Responses of a stream as they arrive. Leaving the loop, `close`, or the end of a `with` block ends it."""

    def __init__(self, call: Any, address: str) -> None:
        self._call = call
        self._address = address
        self._is_closed = False

    def __next__(self) -> Answer:
        if self._is_closed:
            raise StopIteration
        try:
            answer: Answer = next(self._call)
        except grpc.RpcError as error:
            self._is_closed = True
            raise _exception(self._address, error) from None
        except StopIteration:
            self._is_closed = True
            raise
        return answer

    def close(self) -> None:
        """Ends the stream."""
        self._is_closed = True
        self._call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # An abandoned stream would otherwise occupy one of the daemon's places until the process ends.
        if not self._is_closed:
            self.close()


class AsyncStream(AsyncIterator[Answer]):
    """Responses of a stream as they arrive. Leaving the loop, `close`, or the end of an `async with` block ends it."""

    def __init__(self, call: Any, address: str) -> None:
        self._call = call
        self._address = address
        self._is_closed = False

    async def __anext__(self) -> Answer:
        if self._is_closed:
            raise StopAsyncIteration
        try:
            answer: Answer | Any = await self._call.read()
        except grpc.RpcError as error:
            self._is_closed = True
            raise _exception(self._address, error) from None
        if answer is grpc.aio.EOF:
            self._is_closed = True
            raise StopAsyncIteration
        return answer

    def close(self) -> None:
        """Ends the stream."""
        self._is_closed = True
        self._call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._is_closed:
            # The event loop may be closed already.
            with contextlib.suppress(RuntimeError):
                self.close()


def _exception(address: str, error: Any) -> NoteweftError:
    """Returns the exception for an error of grpcio, synchronous or asynchronous."""
    return from_status(address, error.code(), error.details(), error.trailing_metadata())


class Transport:
    """Sends requests over a channel and waits for the responses."""

    def __init__(self, target: Target, timeout: float | None) -> None:
        self._channel = target.channel()
        self._metadata = target.metadata()
        self._timeout = timeout
        #: Address of the daemon.
        self.address = target.address

    def _call(
        self, path: str, request: Message, answer: type[Answer], timeout: float | None
    ) -> Answer:
        """Sends a request and returns its response."""
        call = self._channel.unary_unary(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        deadline = self._timeout if timeout is None else timeout
        try:
            response: Answer = call(request, timeout=deadline, metadata=self._metadata)
        except grpc.RpcError as error:
            raise _exception(self.address, error) from None
        return response

    def _stream(
        self, path: str, request: Message, answer: type[Answer], timeout: float | None
    ) -> Stream[Answer]:
        """Sends a request and returns its responses as they arrive. Streams have no deadline of their own."""
        call = self._channel.unary_stream(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return Stream(call(request, timeout=timeout, metadata=self._metadata), self.address)

    def _pages(
        self,
        path: str,
        request: Message,
        answer: type[Answer],
        timeout: float | None,
        token: str,
        next_token: str,
    ) -> Iterator[Answer]:
        """Yields the pages of a response; requests each when it is needed."""
        while True:
            page = self._call(path, request, answer, timeout)
            yield page
            following = getattr(page, next_token)
            if not following:
                return
            setattr(request, token, following)

    def close(self) -> None:
        """Closes the connection and ends all calls."""
        self._channel.close()


class AsyncTransport:
    """Sends requests over a channel; the responses are to be awaited."""

    def __init__(self, target: Target, timeout: float | None) -> None:
        self._target = target
        self._metadata = target.metadata()
        self._timeout = timeout
        self._opened: grpc.aio.Channel | None = None
        #: Address of the daemon.
        self.address = target.address

    @property
    def _channel(self) -> grpc.aio.Channel:
        """The channel; opened by the first call, because a channel belongs to the event loop that runs then."""
        if self._opened is None:
            self._opened = self._target.async_channel()
        return self._opened

    async def _call(
        self, path: str, request: Message, answer: type[Answer], timeout: float | None
    ) -> Answer:
        """Sends a request and returns its response."""
        call = self._channel.unary_unary(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        deadline = self._timeout if timeout is None else timeout
        try:
            response: Answer = await call(request, timeout=deadline, metadata=self._metadata)
        except grpc.RpcError as error:
            raise _exception(self.address, error) from None
        return response

    def _stream(
        self, path: str, request: Message, answer: type[Answer], timeout: float | None
    ) -> AsyncStream[Answer]:
        """Sends a request and returns its responses as they arrive. Streams have no deadline of their own."""
        call = self._channel.unary_stream(
            path,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return AsyncStream(call(request, timeout=timeout, metadata=self._metadata), self.address)

    async def _pages(
        self,
        path: str,
        request: Message,
        answer: type[Answer],
        timeout: float | None,
        token: str,
        next_token: str,
    ) -> AsyncIterator[Answer]:
        """Yields the pages of a response; requests each when it is needed."""
        while True:
            page = await self._call(path, request, answer, timeout)
            yield page
            following = getattr(page, next_token)
            if not following:
                return
            setattr(request, token, following)

    async def close(self) -> None:
        """Closes the connection and ends all calls."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None
