"""Calls of both kinds of client to a real daemon."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import assert_type

import pytest
from daemons import CLIENT_STREAMS, MAX_STREAMS, READ_TOKEN, REPOSITORY, WRITE_TOKEN, Daemon
from google.protobuf.descriptor_pb2 import FileDescriptorProto

import noteweft
from noteweft import AsyncNoteweft, Filter, Noteweft, v1
from noteweft.v1 import admin_pb2, context_pb2, graph_pb2, note_pb2, search_pb2


def methods() -> list[str]:
    """Returns the names of all RPCs as methods of Python."""
    names = []
    for module in (admin_pb2, context_pb2, graph_pb2, note_pb2, search_pb2):
        described = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for service in described.service:
            names += [
                re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower() for method in service.method
            ]
    return names


@pytest.mark.parametrize("kind", [Noteweft, AsyncNoteweft])
def test_every_rpc_has_a_documented_method(kind: type) -> None:
    names = methods()
    assert len(names) >= 30
    for name in names:
        assert inspect.getdoc(getattr(kind, name)), name


def test_version_is_that_of_the_workspace_and_the_daemon(notes: Noteweft) -> None:
    manifest = (REPOSITORY / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.+)"$', manifest, re.MULTILINE)
    assert found is not None
    assert found[1] == noteweft.__version__ == notes.status().version


def test_search_returns_hits_with_passages(notes: Noteweft) -> None:
    answer = notes.search("leap second", limit=3, filter=Filter(paths=["Agreed Time"]))
    assert assert_type(answer.hits[0].title, str) == "Leap second"
    assert len(answer.hits) <= 3
    assert all(hit.path.startswith("Agreed Time/") for hit in answer.hits)
    assert answer.hits[0].snippets[0].heading_path == ["Leap second"]


def test_enum_is_named_or_numbered(notes: Noteweft) -> None:
    named = notes.search("leap second", mode="keyword", limit=2)
    numbered = notes.search("leap second", mode=v1.SearchMode.SEARCH_MODE_KEYWORD, limit=2)
    assert named == numbered
    with pytest.raises(
        ValueError, match="mode: unknown value 'words'; known values: hybrid, vector, keyword"
    ):
        notes.search("leap second", mode="words")  # type: ignore[arg-type]


def test_text_stands_for_a_list_of_it(notes: Noteweft) -> None:
    assert notes.tree("Leap second", max_hops=1) == notes.tree(["Leap second"], max_hops=1)


def test_parameter_named_by_a_keyword_gets_an_underscore(notes: Noteweft) -> None:
    assert notes.path("Leap second", "Sundial") == notes.path(from_="Leap second", to="Sundial")


def test_unix_socket_needs_no_credentials(protected: Daemon) -> None:
    with Noteweft.connect(f"unix:{protected.socket}") as notes:
        assert notes.get_note("Leap second").uri == "Agreed Time/Leap second"


def test_token_and_certificate_are_required(protected: Daemon) -> None:
    def connect(token: str | None = None, *, ca: bool = True) -> Noteweft:
        return Noteweft.connect(
            f"https://{protected.address}",
            token=token,
            tls_ca=protected.certificate if ca else None,
        )

    with connect() as notes, pytest.raises(noteweft.Unauthenticated) as caught:
        notes.search("leap second")
    assert caught.value.reason == "NO_TOKEN"
    with (
        connect("token-that-is-unknown") as notes,
        pytest.raises(noteweft.Unauthenticated) as caught,
    ):
        notes.search("leap second")
    assert (caught.value.code, caught.value.reason) == ("UNAUTHENTICATED", "UNKNOWN_TOKEN")
    with connect(READ_TOKEN) as notes:
        assert notes.search("leap second").hits
        with pytest.raises(noteweft.PermissionDenied) as denied:
            notes.flush()
        assert denied.value.reason == "READ_ONLY"
    with connect(WRITE_TOKEN) as notes:
        assert notes.flush().generation > 0
        with notes.watch_generations() as generations:
            assert next(generations).note_count > 0
    with connect(READ_TOKEN, ca=False) as notes, pytest.raises(noteweft.Unavailable):
        notes.search("leap second")


def test_certificate_may_have_another_name(protected: Daemon) -> None:
    port = protected.address.rpartition(":")[2]
    names = {"notes.example": True, "other.example": False}
    for name, is_accepted in names.items():
        # An address without a scheme is encrypted, because a certificate authority is given.
        with Noteweft.connect(
            f"127.0.0.1:{port}", token=READ_TOKEN, tls_ca=protected.certificate, tls_name=name
        ) as notes:
            if is_accepted:
                assert notes.search("leap second").hits
            else:
                with pytest.raises(noteweft.Unavailable):
                    notes.search("leap second")


def test_deadline_ends_a_call(notes: Noteweft) -> None:
    with pytest.raises(noteweft.DeadlineExceeded) as caught:
        notes.search("leap second", min_generation=1 << 40, timeout=0.2)
    assert caught.value.code == "DEADLINE_EXCEEDED"
    with pytest.raises(noteweft.DeadlineExceeded):
        list(notes.watch_query(v1.SearchRequest(query="leap second"), timeout=0.2))


def test_client_has_a_deadline_for_calls_without_one(daemon: Daemon) -> None:
    with Noteweft.connect(daemon.address, timeout=0.2) as notes:
        with pytest.raises(noteweft.DeadlineExceeded):
            notes.search("leap second", min_generation=1 << 40)
        assert notes.search("leap second", timeout=30).hits


def test_unknown_note_has_a_reason_and_similar_names(notes: Noteweft) -> None:
    with pytest.raises(noteweft.NotFound) as caught:
        notes.get_note("Leap secnd")
    assert caught.value.reason == "UNKNOWN_NOTE"
    assert caught.value.similar[0] == "Agreed Time/Leap second"
    assert caught.value.metadata["name"] == "Leap secnd"
    assert str(caught.value).startswith("UNKNOWN_NOTE: no note is named `Leap secnd`")


def test_invalid_argument_names_the_field(notes: Noteweft) -> None:
    with pytest.raises(noteweft.InvalidArgument) as caught:
        notes.search("leap second", limit=0)
    assert (caught.value.field, caught.value.reason) == ("limit", "INVALID_ARGUMENT")


def test_unreachable_daemon_is_named() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{place.getsockname()[1]}"
        with Noteweft.connect(address) as notes, pytest.raises(noteweft.Unavailable) as caught:
            notes.status()
    assert caught.value.message.startswith(f"no daemon responds at {address}: ")
    assert "last error" not in caught.value.message
    assert caught.value.reason == ""


def test_nodes_answer_in_turn_and_reads_skip_a_lost_one(daemon: Daemon, tmp_path: Path) -> None:
    other = Daemon(tmp_path)
    other.start()
    with Noteweft.connect(f"ipv4:{daemon.address},{other.address}") as notes:
        stores: set[str] = set()
        end = time.monotonic() + 30
        while len(stores) < 2 and time.monotonic() < end:
            stores.add(notes.status().store)
        assert stores == {str(each.folder / "store") for each in (daemon, other)}
        other.stop()
        for _ in range(20):
            assert notes.search("leap second", limit=1).hits[0].title == "Leap second"
        assert {notes.status().store for _ in range(20)} == {str(daemon.folder / "store")}


def test_pages_contain_each_note_once(notes: Noteweft) -> None:
    pages = list(notes.list_notes_pages(page_size=30))
    uris = [note.uri for page in pages for note in page.notes]
    assert [len(page.notes) for page in pages[:2]] == [30, 30]
    assert uris == sorted(uris)
    assert len(uris) == pages[0].total == notes.status().note_count
    related = list(notes.related_pages("Leap second", budget=200))
    assert len(related) > 1
    uris = [note.uri for page in related for note in page.related_notes]
    assert len(uris) == len(set(uris))


def test_streamed_context_equals_the_whole(notes: Noteweft) -> None:
    whole = notes.assemble("leap second", budget=800, rendering="markdown")
    joined = v1.AssembleResponse()
    n_parts = 0
    for part in notes.assemble_stream("leap second", budget=800, rendering="markdown"):
        joined.MergeFrom(part)
        n_parts += 1
    assert joined == whole
    assert n_parts > 3
    assert whole.used <= whole.budget == 800


def test_watched_query_reports_a_new_note(notes: Noteweft) -> None:
    search = v1.SearchRequest(query="quincunx gnomon", limit=5)
    with notes.watch_query(search, min_interval_ms=0, timeout=30) as updates:
        next(updates)
        written = notes.put_note("Quincunx.md", text="# Quincunx\n\nA quincunx gnomon.")
        update = next(update for update in updates if update.added)
    assert update.added[0] == written.uri
    assert update.answer.generation >= written.generation
    notes.delete_note("Quincunx", expected_hash=written.hash)


def test_generations_are_watched(notes: Noteweft) -> None:
    with notes.watch_generations(timeout=30) as generations:
        first = next(generations)
        written = notes.put_note("Watched.md", text="# Watched")
        later = next(each for each in generations if each.generation >= written.generation)
    assert later.note_count == first.note_count + 1
    assert notes.delete_note("Watched").path == "Watched.md"
    assert list(generations) == []


def test_put_respects_the_expected_content(notes: Noteweft) -> None:
    created = notes.put_note("Expected.md", text="# Expected\n\nOne.", expected_hash="")
    assert created.created
    with pytest.raises(noteweft.AlreadyExists) as exists:
        notes.put_note("Expected.md", text="# Expected\n\nOther.", expected_hash="")
    assert (exists.value.reason, exists.value.metadata["path"]) == ("PATH_TAKEN", "Expected.md")
    changed = notes.put_note("Expected.md", body="Two.", expected_hash=created.hash)
    with pytest.raises(noteweft.Aborted) as aborted:
        notes.put_note("Expected.md", body="Three.", expected_hash=created.hash)
    assert aborted.value.reason == "CONTENT_CHANGED"
    assert aborted.value.metadata["actual_hash"] == changed.hash
    read = notes.get_note("Expected", min_generation=changed.generation)
    assert (read.body, read.hash) == ("Two.", changed.hash)
    notes.delete_note("Expected")


def open_stream(notes: Noteweft) -> noteweft.Stream[v1.WatchGenerationsResponse]:
    """Opens a stream, as soon as the daemon has noticed that earlier ones are closed."""
    end = time.monotonic() + 5
    while True:
        stream = notes.watch_generations(timeout=30)
        try:
            next(stream)
        except noteweft.ResourceExhausted:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return stream


@pytest.mark.parametrize("leave", ["loop", "with", "close"])
def test_abandoned_streams_are_closed(small: Daemon, leave: str) -> None:
    with Noteweft.connect(small.address) as notes:
        for _ in range(3 * MAX_STREAMS):
            stream = open_stream(notes)
            if leave == "loop":
                del stream
            elif leave == "with":
                with stream:
                    pass
                assert next(stream, None) is None
            else:
                stream.close()
                assert next(stream, None) is None


def test_too_many_streams_are_refused(small: Daemon) -> None:
    with Noteweft.connect(small.address) as notes:
        streams = [open_stream(notes) for _ in range(CLIENT_STREAMS)]
        surplus = notes.watch_generations(timeout=30)
        with pytest.raises(noteweft.ResourceExhausted) as caught:
            next(surplus)
        assert caught.value.reason == "TOO_MANY_STREAMS"
        for stream in streams:
            stream.close()


def test_abandoned_async_streams_are_closed(small: Daemon) -> None:
    async def main() -> None:
        async with AsyncNoteweft.connect(small.address) as notes:
            for _ in range(3 * MAX_STREAMS):
                end = time.monotonic() + 5
                while True:
                    stream = notes.watch_generations(timeout=30)
                    try:
                        assert (await anext(stream)).generation > 0
                        break
                    except noteweft.ResourceExhausted:
                        assert time.monotonic() < end
                        await asyncio.sleep(0.01)
                del stream

    asyncio.run(main())


def run(daemon: Daemon, test: Callable[[AsyncNoteweft], Awaitable[None]]) -> None:
    """Runs a test with an asynchronous client."""

    async def main() -> None:
        async with AsyncNoteweft.connect(daemon.address) as notes:
            await test(notes)

    asyncio.run(main())


def test_async_calls_run_concurrently(daemon: Daemon) -> None:
    async def test(notes: AsyncNoteweft) -> None:
        queries = ["leap second", "pendulum", "sundial", "calendar"]
        answers = await asyncio.gather(*(notes.search(query, limit=1) for query in queries))
        with Noteweft.connect(daemon.address) as blocking:
            expected = [blocking.search(query, limit=1) for query in queries]
        assert [answer.hits for answer in answers] == [answer.hits for answer in expected]

    run(daemon, test)


def test_async_errors_have_reasons(daemon: Daemon) -> None:
    async def test(notes: AsyncNoteweft) -> None:
        with pytest.raises(noteweft.NotFound) as caught:
            await notes.get_note("Leap secnd")
        assert caught.value.reason == "UNKNOWN_NOTE"
        assert caught.value.similar[0] == "Agreed Time/Leap second"
        with pytest.raises(noteweft.DeadlineExceeded):
            await notes.search("leap second", min_generation=1 << 40, timeout=0.2)
        with pytest.raises(noteweft.InvalidArgument):
            async for _ in notes.watch_query(v1.SearchRequest()):
                pass

    run(daemon, test)


def test_async_pages_and_streams(daemon: Daemon) -> None:
    async def test(notes: AsyncNoteweft) -> None:
        uris = [
            note.uri async for page in notes.list_notes_pages(page_size=30) for note in page.notes
        ]
        assert len(uris) == len(set(uris)) == (await notes.status()).note_count
        joined = v1.AssembleResponse()
        async for part in notes.assemble_stream("leap second", budget=800):
            joined.MergeFrom(part)
        assert joined == await notes.assemble("leap second", budget=800)
        async with notes.watch_generations() as generations:
            assert (await anext(generations)).generation > 0
        with pytest.raises(StopAsyncIteration):
            await anext(generations)
        async with notes.watch_query(
            v1.SearchRequest(query="astrolabium"), min_interval_ms=0
        ) as updates:
            await anext(updates)
            written = await notes.put_note("Astrolabium.md", text="# Astrolabium")
            assert (await anext(updates)).added == [written.uri]
        await notes.delete_note("Astrolabium")

    run(daemon, test)


def test_async_token_over_tls(protected: Daemon) -> None:
    async def main() -> None:
        address = f"https://{protected.address}"
        async with AsyncNoteweft.connect(
            address, token=READ_TOKEN, tls_ca=protected.certificate
        ) as notes:
            assert (await notes.search("leap second")).hits
        async with AsyncNoteweft.connect(
            address, token="unknown-but-long", tls_ca=protected.certificate
        ) as notes:
            with pytest.raises(noteweft.Unauthenticated):
                await notes.search("leap second")
        async with AsyncNoteweft.connect(f"unix:{protected.socket}") as notes:
            assert (await notes.search("leap second")).hits

    asyncio.run(main())


def test_search_by_meaning_with_the_bundled_model(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.start(model="bundled-english")
    try:
        with Noteweft.connect(daemon.address, timeout=120) as notes:
            *_, last = notes.reindex(timeout=120)
            assert last.done
            while notes.status().pending_vector_count:
                time.sleep(0.1)
            # The note mentions summits and beaches only.
            answer = notes.search("Do people in the mountains age faster?", mode="vector", limit=5)
            assert "Time dilation" in [hit.title for hit in answer.hits]
            assert not answer.warnings
    finally:
        daemon.stop()
