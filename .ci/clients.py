"""Stock clients against a running daemon: python clients.py HOST:PORT SOCKET WEFT VAULT RECIPES

Each is a program or library of others, used as its users use it, so that what works here works for them.
"""

import asyncio
import re
import sys
import urllib.error
import urllib.request

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from mcp import Client, StdioServerParameters
from prometheus_client.parser import text_string_to_metric_families

SERVICES = [f"noteweft.v1.{name}Service" for name in ("Admin", "Context", "Graph", "Hygiene", "Note", "Search")]


def described(channel):
    """The contract as the daemon describes it, without a file of ours."""
    database = ProtoReflectionDescriptorDatabase(channel)
    assert set(SERVICES) <= set(database.get_services()), list(database.get_services())
    return DescriptorPool(database)


def ask(channel, method, request):
    """The answer to a call, or the first of its answers."""
    answer = GetMessageClass(method.output_type)
    kind = channel.unary_stream if method.server_streaming else channel.unary_unary
    call = kind(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=answer.FromString,
    )(request, timeout=10)
    if not method.server_streaming:
        return call
    first = next(call)
    call.cancel()
    return first


def reflection(channel):
    """Finds the contract, and asks a question with it."""
    pool = described(channel)
    methods = [method for name in SERVICES for method in pool.FindServiceByName(name).methods]
    assert len(methods) > 20, methods
    method = pool.FindMethodByName("noteweft.v1.SearchService.Search")
    found = ask(channel, method, GetMessageClass(method.input_type)(query="leap second", limit=1))
    assert found.hits[0].title == "Leap second", found
    return f"{len(methods)} methods; the best hit is {found.hits[0].title!r}"


def recipes(channel, page):
    """Asks what a page says to ask with grpcurl, read as strictly as there."""
    pool = described(channel)
    with open(page, encoding="utf-8") as text:
        found = re.findall(r"^ask (\S+)/(\S+) <<< '(.*)'$", text.read(), re.MULTILINE)
    assert len(found) > 5, found
    for service, name, message in found:
        method = pool.FindServiceByName(service).methods_by_name[name]
        request = json_format.Parse(message, GetMessageClass(method.input_type)())
        answer = ask(channel, method, request)
        said = [field.name for field, _ in answer.ListFields()]
        assert set(said) - {"generation"}, f"{service}/{name} {message} says nothing"
    return f"{len(found)} lines of {page}"


def health(channel):
    """Waits until the daemon serves; asks for it as a whole, for each service, and for one that is none."""
    probe = health_pb2_grpc.HealthStub(channel)
    watched = probe.Watch(health_pb2.HealthCheckRequest(service=SERVICES[0]), timeout=60)
    for state in watched:
        if state.status == health_pb2.HealthCheckResponse.SERVING:
            break
    watched.cancel()
    for service in ["", *SERVICES]:
        answer = probe.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING, service
    try:
        probe.Check(health_pb2.HealthCheckRequest(service="none"), timeout=10)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error
    else:
        raise AssertionError("an unknown service is healthy")
    return "SERVING"


def over_socket(path):
    """Asks over the Unix socket, with the authority that grpcio sends by itself."""
    with grpc.insecure_channel(f"unix:{path}") as channel:
        return reflection(channel)


def metrics(address):
    """Reads `/metrics` as Prometheus does."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as response:
        kind, text = response.headers["content-type"], response.read().decode()
    assert kind.startswith("text/plain; version=0.0.4"), kind
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families and all(name.startswith("weft_") for name in families), sorted(families)
    for family in families.values():
        assert family.documentation and family.type != "unknown", family
        series = [(sample.name, *sorted(sample.labels.items())) for sample in family.samples]
        assert len(series) == len(set(series)), f"{family.name} says something twice"
    asked = [
        sample
        for family in families.values()
        for sample in family.samples
        if sample.labels.get("method", sample.labels.get("call", "")).endswith("Search") and sample.value
    ]
    assert asked, "the search above is not counted"
    return f"{len(families)} families, {len(text.splitlines())} lines"


async def tools(server):
    """Calls every tool; the client checks each answer against the schema it was given."""
    async with Client(server) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in listed.values():
            assert tool.annotations.read_only_hint, tool
        for name, arguments in [
            ("search", {"query": "leap second", "limit": 3}),
            ("context", {"query": "leap second", "budget": 800}),
            ("get_note", {"note": "Leap second"}),
            ("list_notes", {"filter": {"paths": ["Agreed Time/"]}}),
            ("related", {"note": "Leap second"}),
            ("tree", {"notes": ["Leap second"], "max_hops": 1}),
            ("path", {"from": "Leap second", "to": "Sundial"}),
        ]:
            del listed[name]
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, (name, answer)
            assert "Leap second" in answer.content[0].text, (name, answer)
            assert answer.structured_content["generation"] > 0, (name, answer)
        assert not listed, f"never called: {list(listed)}"
        wrong = await client.call_tool("get_note", {"note": "Leap secnd"})
        assert wrong.is_error and "leap" in wrong.content[0].text.lower(), wrong
    return "6 tools"


def main(address, socket, weft, vault, page):
    stdio = StdioServerParameters(command=weft, args=["mcp", "--addr", address])
    alone = StdioServerParameters(
        command=weft,
        args=["mcp", "--vault", vault, "--store", f"{vault}-store", "--set", "embedding.model=none"],
    )
    with grpc.insecure_channel(address) as channel:
        for name, check in [
            ("health", lambda: health(channel)),
            ("reflection", lambda: reflection(channel)),
            ("recipes", lambda: recipes(channel, page)),
            ("unix socket", lambda: over_socket(socket)),
            ("metrics", lambda: metrics(address)),
            ("mcp over http", lambda: asyncio.run(tools(f"http://{address}/mcp"))),
            ("mcp over stdio, asking the daemon", lambda: asyncio.run(tools(stdio))),
            ("mcp over stdio, by itself", lambda: asyncio.run(tools(alone))),
        ]:
            print(f"{name}: {check()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
