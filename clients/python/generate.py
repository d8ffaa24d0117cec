"""Generates the messages and the calls of the package from the contract, in PROTO: `python generate.py [PROTO]`.

Writes `src/noteweft/v1` (messages with types and comments) and `src/noteweft/_calls.py` (one method for each RPC).
The build of the package runs it; run it by hand to type-check or test the sources in place.
"""

from __future__ import annotations

import keyword
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc_tools
from google.protobuf import descriptor_pb2
from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
)
from grpc_tools import protoc

PACKAGE = "noteweft.v1"

#: Fields without presence that a request may omit although they are texts.
OPTIONAL_TEXTS = {"AssembleRequest.query"}

#: Fields of requests that name the next page, and the fields of responses that they come from.
PAGE_TOKENS = {"page_token": "next_page_token", "resume_token": "resume_token"}

#: Types of scalar fields.
SCALARS = {
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_DOUBLE: "float",
    FieldDescriptorProto.TYPE_FLOAT: "float",
    FieldDescriptorProto.TYPE_INT32: "int",
    FieldDescriptorProto.TYPE_INT64: "int",
    FieldDescriptorProto.TYPE_STRING: "str",
    FieldDescriptorProto.TYPE_UINT32: "int",
    FieldDescriptorProto.TYPE_UINT64: "int",
}

HEADER = '''\
"""{summary}

Generated from the contract in `proto/noteweft/v1` by `generate.py`.
"""
'''


def generate(proto: Path, package: Path) -> None:
    """Generates code from the contract below `proto` into the folder `package`."""
    files = sorted(
        path.relative_to(proto).as_posix() for path in (proto / "noteweft" / "v1").glob("*.proto")
    )
    described = compile_contract(proto, files, package)
    contract = Contract(described)
    (package / "v1" / "__init__.py").write_text(contract.exports(), encoding="utf-8")
    (package / "_calls.py").write_text(contract.calls(), encoding="utf-8")


def compile_contract(proto: Path, files: Sequence[str], package: Path) -> FileDescriptorSet:
    """Writes the modules of messages, and returns the contract with its comments."""
    google = Path(grpc_tools.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        arguments = [
            "protoc",
            f"-I{proto}",
            f"-I{google}",
            f"--python_out={out}",
            "--include_imports",
            "--include_source_info",
            f"--descriptor_set_out={out / 'contract'}",
            *files,
        ]
        if protoc.main(arguments) != 0:
            raise SystemExit("protoc cannot compile the contract; see its messages above")
        described = FileDescriptorSet.FromString((out / "contract").read_bytes())
        shutil.rmtree(package / "v1", ignore_errors=True)
        shutil.copytree(out / "noteweft" / "v1", package / "v1")
    for stub in message_types(files, described):
        (package.parent / stub.name).write_text(stub.content, encoding="utf-8")
    return described


def message_types(
    files: Sequence[str], described: FileDescriptorSet
) -> Iterable[CodeGeneratorResponse.File]:
    """Returns the types of the modules of messages, from a plugin of protoc.

    protoc itself would look for the plugin in PATH, which the folder of a build environment may not be in.
    """
    request = CodeGeneratorRequest(
        file_to_generate=files, proto_file=described.file, parameter="quiet"
    )
    plugin = [sys.executable, "-c", "from mypy_protobuf.main import main; main()"]
    done = subprocess.run(
        plugin, input=request.SerializeToString(), stdout=subprocess.PIPE, check=True
    )
    response = CodeGeneratorResponse.FromString(done.stdout)
    if response.error:
        raise SystemExit(f"mypy-protobuf: {response.error}")
    return response.file


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method: a field of its request."""

    name: str
    field: str
    type: str
    default: str | None
    positional: bool
    doc: str

    def declaration(self) -> str:
        """Returns the parameter as written in a signature."""
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.type}{default}"


class Contract:
    """The messages, enums and services of the contract."""

    def __init__(self, files: FileDescriptorSet) -> None:
        self.files = [file for file in files.file if file.package == PACKAGE]
        self.messages: dict[str, DescriptorProto] = {}
        self.enums: dict[str, EnumDescriptorProto] = {}
        self.comments: dict[str, str] = {}
        for file in self.files:
            self.messages |= {message.name: message for message in file.message_type}
            self.enums |= {enum.name: enum for enum in file.enum_type}
            self.comments |= dict(comments(file))

    def exports(self) -> str:
        """Returns the module that exports every message and enum."""
        lines = [HEADER.format(summary="Messages and enums of the contract, by name."), "\n"]
        names: list[str] = []
        for file in self.files:
            module = Path(file.name).stem + "_pb2"
            own = [message.name for message in file.message_type]
            own = sorted(own + [enum.name for enum in file.enum_type])
            if own:
                lines += [
                    f"from noteweft.v1.{module} import (\n",
                    *(f"    {name} as {name},\n" for name in own),
                    ")\n",
                ]
            names += own
        lines += ["\n__all__ = [\n", *(f'    "{name}",\n' for name in sorted(names)), "]\n"]
        return "".join(lines)

    def calls(self) -> str:
        """Returns the module with one method for each RPC, once synchronous and once asynchronous."""
        lines = [
            HEADER.format(summary="One method for each RPC of the contract."),
            "\nfrom __future__ import annotations\n\n",
            "from collections.abc import AsyncIterator, Iterable, Iterator\n",
            "from typing import Literal\n\n",
            "from noteweft import v1\n",
            "from noteweft._transport import AsyncStream, AsyncTransport, Stream, Transport, build\n",
        ]
        for name, base, summary in [
            ("Calls", "Transport", "Calls that block until the daemon responds."),
            ("AsyncCalls", "AsyncTransport", "Calls to await."),
        ]:
            lines += [f'\n\nclass {name}({base}):\n    """{summary}"""\n']
            for file in self.files:
                for service in file.service:
                    for method in service.method:
                        path = f"/{PACKAGE}.{service.name}/{method.name}"
                        doc = self.comments[f"{service.name}.{method.name}"]
                        lines += self.method(path, method, doc, asynchronous=name == "AsyncCalls")
        return "".join(lines)

    def method(
        self, path: str, method: MethodDescriptorProto, doc: str, *, asynchronous: bool
    ) -> Iterator[str]:
        """Yields the method of an RPC, and the one that requests all its pages if it has pages."""
        request = self.messages[local_name(method.input_type)]
        answer = local_name(method.output_type)
        parameters = list(self.parameters(request))
        # Required ones first; the order is otherwise that of the contract.
        parameters.sort(
            key=lambda parameter: (not parameter.positional, parameter.default is not None)
        )
        name = snake_case(method.name)
        prefix = "Async" if asynchronous else ""
        if method.server_streaming:
            yield from definition("def", name, parameters, f"{prefix}Stream[v1.{answer}]", doc)
            yield from body("return self._stream", path, request.name, answer, parameters)
            return
        keywords = (
            ("async def", "return await self._call")
            if asynchronous
            else ("def", "return self._call")
        )
        yield from definition(keywords[0], name, parameters, f"v1.{answer}", doc)
        yield from body(keywords[1], path, request.name, answer, parameters)
        token = next((field.name for field in request.field if field.name in PAGE_TOKENS), None)
        if token is None:
            return
        others = [parameter for parameter in parameters if parameter.name != token]
        doc = f"Requests all pages of `{name}`, each when it is needed. The deadline is that of one page.\n\n{doc}"
        yield from definition("def", f"{name}_pages", others, f"{prefix}Iterator[v1.{answer}]", doc)
        tokens = f', "{token}", "{PAGE_TOKENS[token]}"'
        yield from body("return self._pages", path, request.name, answer, others, tokens)

    def parameters(self, request: DescriptorProto) -> Iterator[Parameter]:
        """Yields the parameters of a method from the fields of its request."""
        for field in request.field:
            is_repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
            has_presence = field.proto3_optional
            is_text = field.type == FieldDescriptorProto.TYPE_STRING
            kind = self.kind(field)
            default: str | None = "None"
            if is_repeated:
                # One text stands for a list of it; otherwise its characters would be the items.
                kind = f"str | Iterable[{kind}] | None" if is_text else f"Iterable[{kind}] | None"
                positional = is_text and field.number == 1
            else:
                named = is_text and not has_presence and field.name not in PAGE_TOKENS
                positional = named or field.type_name == f".{PACKAGE}.SearchRequest"
                if positional and f"{request.name}.{field.name}" not in OPTIONAL_TEXTS:
                    default = None
                elif field.type == FieldDescriptorProto.TYPE_BOOL and not has_presence:
                    default = "False"
                else:
                    kind = f"{kind} | None"
            name = f"{field.name}_" if keyword.iskeyword(field.name) else field.name
            if name == "timeout":
                raise ValueError(
                    f"{request.name}.timeout hides the deadline of the call; rename the field"
                )
            doc = self.comments.get(f"{request.name}.{field.name}", "")
            yield Parameter(name, field.name, kind, default, positional, doc)

    def kind(self, field: FieldDescriptorProto) -> str:
        """Returns the type of one value of a field."""
        if field.type == FieldDescriptorProto.TYPE_ENUM:
            enum = local_name(field.type_name)
            names = ", ".join(f'"{name}"' for name in enum_names(self.enums[enum]))
            return f"v1.{enum}.ValueType | Literal[{names}]"
        if field.type == FieldDescriptorProto.TYPE_MESSAGE:
            return f"v1.{local_name(field.type_name)}"
        return SCALARS[field.type]


def enum_names(enum: EnumDescriptorProto) -> list[str]:
    """Returns the values of an enum without their common prefix, in lower case and without the unspecified one."""
    prefix = enum.value[0].name.removesuffix("UNSPECIFIED")
    return [value.name.removeprefix(prefix).lower() for value in enum.value[1:]]


def definition(
    keywords: str, name: str, parameters: Sequence[Parameter], result: str, doc: str
) -> Iterator[str]:
    """Yields a signature and its docstring."""
    yield f"\n    {keywords} {name}(\n        self,\n"
    positional = [parameter for parameter in parameters if parameter.positional]
    others = [parameter for parameter in parameters if not parameter.positional]
    yield from (f"        {parameter.declaration()},\n" for parameter in positional)
    yield "        *,\n"
    yield from (f"        {parameter.declaration()},\n" for parameter in others)
    yield f"        timeout: float | None = None,\n    ) -> {result}:\n"
    documented = [(each.name, " ".join(each.doc.split())) for each in parameters]
    documented.append(("timeout", "Deadline in seconds; that of the client if absent."))
    lines = [*doc.splitlines(), "", "Args:", *(f"    {name}: {doc}" for name, doc in documented)]
    text = "\n".join(f"        {line}".rstrip() for line in lines)
    yield '        r"""' + text.strip() + '\n        """\n'


def body(
    call: str, path: str, request: str, answer: str, parameters: Sequence[Parameter], more: str = ""
) -> Iterator[str]:
    """Yields the body of a method: builds the request and sends it."""
    yield "        request = build(\n"
    yield f"            v1.{request},\n            {{\n"
    for parameter in parameters:
        yield f'                "{parameter.field}": {parameter.name},\n'
    yield "            },\n        )\n"
    yield f'        {call}("{path}", request, v1.{answer}, timeout{more})\n'


def comments(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, str]]:
    """Yields the comments of methods and of fields by `Service.Method` and `Message.field`."""
    for location in file.source_code_info.location:
        match list(location.path):
            case [4, message, 2, field]:
                owner = file.message_type[message]
                name = f"{owner.name}.{owner.field[field].name}"
            case [6, service, 2, method]:
                name = f"{file.service[service].name}.{file.service[service].method[method].name}"
            case _:
                continue
        lines = location.leading_comments.splitlines()
        yield name, "\n".join(line.strip() for line in lines).strip()


def local_name(name: str) -> str:
    """Returns the name of a type of the contract without its package."""
    return name.removeprefix(f".{PACKAGE}.")


def snake_case(name: str) -> str:
    """Returns the name of a method in Python."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[1] / "proto"
    generate(source, here / "src" / "noteweft")
