"""Python clients for the daemon's services, generated from `proto/` on import.

    from weft import Weft, search
    with Weft() as weft:
        answer = weft.search.Search(search.SearchRequest(query="leap second"), timeout=5)

`WEFT_ADDR` is the daemon's address (`127.0.0.1:9338`, `unix:PATH`, `https://HOST:PORT`), and `WEFT_TOKEN` the token if the daemon requires one.
"""

import os
import sys
from pathlib import Path

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

# If you move this file, copy `proto/` as well and set WEFT_PROTO to its path.
sys.path.insert(0, os.environ.get("WEFT_PROTO", str(Path(__file__).resolve().parents[2] / "proto")))

admin, admin_services = grpc.protos_and_services("noteweft/v1/admin.proto")
context, context_services = grpc.protos_and_services("noteweft/v1/context.proto")
graph, graph_services = grpc.protos_and_services("noteweft/v1/graph.proto")
note, note_services = grpc.protos_and_services("noteweft/v1/note.proto")
search, search_services = grpc.protos_and_services("noteweft/v1/search.proto")
common = grpc.protos("noteweft/v1/common.proto")


class Weft:
    """Connection to a daemon, with a client for each service."""

    def __init__(self, address=None, token=None):
        address = address or os.environ.get("WEFT_ADDR", "127.0.0.1:9338")
        token = token or os.environ.get("WEFT_TOKEN")
        if address.startswith("https://"):
            credentials = grpc.ssl_channel_credentials()
            channel = grpc.secure_channel(address.removeprefix("https://"), credentials)
        else:
            channel = grpc.insecure_channel(address.removeprefix("http://"))
        self.channel = channel
        if token:
            channel = grpc.intercept_channel(channel, _Token(token))
        self.admin = admin_services.AdminServiceStub(channel)
        self.context = context_services.ContextServiceStub(channel)
        self.graph = graph_services.GraphServiceStub(channel)
        self.note = note_services.NoteServiceStub(channel)
        self.search = search_services.SearchServiceStub(channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


class _Token(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Sends the token with every RPC."""

    def __init__(self, token):
        self.header = ("authorization", f"Bearer {token}")

    def _call(self, proceed, details, request):
        metadata = [*(details.metadata or ()), self.header]
        return proceed(details._replace(metadata=metadata), request)

    intercept_unary_unary = _call
    intercept_unary_stream = _call


def explain(error):
    """Describes a failed RPC, with similar names if a note was not found."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            near = [info.metadata[key] for key in sorted(info.metadata) if key.startswith("near_")]
            if near:
                return f"{error.details()}; similar names: {', '.join(near)}"
    return f"{error.code().name}: {error.details()}"
