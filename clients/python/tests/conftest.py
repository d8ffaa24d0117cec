"""Daemons and connections that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from daemons import MAX_STREAMS, Daemon, with_credentials

from noteweft import Noteweft


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon without a model and without credentials."""
    running = Daemon(tmp_path_factory.mktemp("open"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with few places for streams."""
    running = Daemon(tmp_path_factory.mktemp("small"), (f"server.max_streams={MAX_STREAMS}",))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with tokens and TLS."""
    running = with_credentials(tmp_path_factory.mktemp("protected"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def notes(daemon: Daemon) -> Iterator[Noteweft]:
    """A connection to the daemon without credentials."""
    with Noteweft.connect(daemon.address) as connection:
        yield connection
