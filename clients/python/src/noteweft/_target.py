"""Finds the daemon as `weft` does: from arguments, the environment, and the settings."""

from __future__ import annotations

import ipaddress
import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

#: Default of the setting `server.address`.
DEFAULT_ADDRESS = "127.0.0.1:9338"

#: Options of a channel: no limit on the size of a response, and pings while one is computed.
OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)

#: Beginnings of addresses that gRPC resolves, and that stand for the nodes of a collection.
NODES = ("dns:", "ipv4:", "ipv6:")

#: Calls that only read, so that another node may answer a repeated one.
READS = (
    {"service": "noteweft.v1.SearchService"},
    {"service": "noteweft.v1.ContextService"},
    {"service": "noteweft.v1.GraphService"},
    {"service": "noteweft.v1.HygieneService"},
    {"service": "noteweft.v1.NoteService", "method": "GetNote"},
    {"service": "noteweft.v1.NoteService", "method": "ListNotes"},
    {"service": "noteweft.v1.NoteService", "method": "ResolveLink"},
)

#: Distributes calls over nodes in turn, and repeats a read that a node could not answer.
BALANCING = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": READS,
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "0.5s",
                    "backoffMultiplier": 3,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
    }
)


@dataclass(frozen=True)
class Target:
    """Address of a daemon, or of the nodes of a collection, and the credentials for it."""

    #: `HOST:PORT`, `https://HOST:PORT`, `unix:PATH`, or nodes as gRPC names them: `dns:///HOST:PORT`, `ipv4:HOST:PORT,HOST:PORT`.
    address: str
    token: str | None = field(default=None, repr=False)
    #: Certificate authority in PEM format; the usual ones of the system if absent.
    authority: bytes | None = field(default=None, repr=False)
    #: Certificate and key of the client in PEM format.
    identity: tuple[bytes, bytes] | None = field(default=None, repr=False)
    #: Name in the daemon's certificate, if it differs from the host.
    name: str | None = None

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Returns the headers of each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self) -> grpc.Channel:
        """Opens a channel, which connects with the first call."""
        place, credentials, options = self._parts()
        if credentials is None:
            return grpc.insecure_channel(place, options)
        return grpc.secure_channel(place, credentials, options)

    def async_channel(self) -> grpc.aio.Channel:
        """Opens a channel of the running event loop, which connects with the first call."""
        place, credentials, options = self._parts()
        if credentials is None:
            return grpc.aio.insecure_channel(place, options)
        return grpc.aio.secure_channel(place, credentials, options)

    def _parts(
        self,
    ) -> tuple[str, grpc.ChannelCredentials | None, tuple[tuple[str, Any], ...]]:
        """Returns place, credentials and options of a channel. An address without a scheme uses TLS if an authority or a name is given."""
        scheme, separator, rest = self.address.partition("://")
        options = OPTIONS
        if self.address.startswith(NODES):
            scheme = separator = ""
            options += (("grpc.service_config", BALANCING),)
            if not self.address.startswith("dns:"):
                # gRPC would send the whole list as the name of the host.
                first = self.address.partition(":")[2].partition(",")[0]
                options += (("grpc.default_authority", first),)
        place = rest.rstrip("/") if separator else self.address
        if self.address.startswith("unix:"):
            return self.address, None, OPTIONS
        if separator and scheme not in ("http", "https"):
            raise ValueError(
                f"{self.address!r} is not an address; expected HOST:PORT, https://HOST:PORT, unix:PATH or dns:///HOST:PORT"
            )
        if scheme == "http" or not (separator or self.authority or self.name):
            return place, None, options
        certificate, key = self.identity or (None, None)
        credentials = grpc.ssl_channel_credentials(self.authority, key, certificate)
        named = (("grpc.ssl_target_name_override", self.name),) if self.name else ()
        return place, credentials, options + named


def find(
    address: str | None = None,
    *,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    tls_ca: str | os.PathLike[str] | None = None,
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
    tls_name: str | None = None,
    config: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Target:
    """Returns the daemon that `weft` would use with the same flags, environment and settings.

    Raises:
        ValueError: A file that was named does not contain what it must, or the settings are not valid TOML.
        OSError: A file that was named cannot be read.
    """
    variables = os.environ if environment is None else environment
    token = token or _token(token_file, variables)
    tls_ca = tls_ca or variables.get("WEFT_TLS_CA") or None
    tls_cert = tls_cert or variables.get("WEFT_TLS_CERT") or None
    tls_key = tls_key or variables.get("WEFT_TLS_KEY") or None
    if (tls_cert is None) != (tls_key is None):
        raise ValueError("a certificate of the client needs both tls_cert and tls_key")
    target = Target(
        address or variables.get("WEFT_ADDR") or "",
        token=token,
        authority=_authority(Path(tls_ca)) if tls_ca else None,
        identity=(Path(tls_cert).read_bytes(), Path(tls_key).read_bytes())
        if tls_cert and tls_key
        else None,
        name=tls_name or variables.get("WEFT_TLS_NAME") or None,
    )
    if target.address:
        return target
    settings = Settings.load(config, variables)
    has_credentials = any((target.token, target.authority, target.identity, target.name))
    found = settings.address(has_credentials=has_credentials)
    return Target(found, target.token, target.authority, target.identity, target.name)


def _token(file: str | os.PathLike[str] | None, variables: Mapping[str, str]) -> str | None:
    """Returns the token of a file or of the environment: in a file, its last line that is not a comment."""
    if file is None:
        if token := variables.get("WEFT_TOKEN"):
            return token
        file = variables.get("WEFT_TOKEN_FILE") or None
    if file is None:
        return None
    lines = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise ValueError(f"{os.fspath(file)} contains no token")
    return tokens[-1]


def _authority(path: Path) -> bytes:
    """Returns a certificate authority in PEM format."""
    text = path.read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in text:
        raise ValueError(f"{path} contains no PEM certificate")
    return text


@dataclass(frozen=True)
class Settings:
    """Settings of the daemon that lead to it: those of the user's file, overridden by the environment."""

    values: Mapping[str, Any]
    variables: Mapping[str, str] = field(repr=False)

    @classmethod
    def load(cls, file: str | os.PathLike[str] | None, variables: Mapping[str, str]) -> Settings:
        """Reads the settings; the user's file may be missing, one that was named must exist."""
        path = Path(file) if file else _config_file(variables)
        values: dict[str, Any] = {}
        if path is not None and (file or path.exists()):
            try:
                values = tomllib.loads(path.read_text(encoding="utf-8"))
            except tomllib.TOMLDecodeError as error:
                raise ValueError(f"{path}: {error}") from None
        return cls(values, variables)

    def get(self, section: str, name: str) -> Any:
        """Returns the value of a setting; `None` if neither the environment nor the file sets it."""
        given = self.variables.get(f"WEFT__{section}__{name}".upper())
        if given is None:
            table = self.values.get(section)
            return table.get(name) if isinstance(table, dict) else None
        try:
            return tomllib.loads(f"value = {given}")["value"]
        except tomllib.TOMLDecodeError:
            return given

    def address(self, *, has_credentials: bool) -> str:
        """Returns the daemon's address: its Unix socket if the port requires credentials and there are none."""
        address = str(self.get("server", "address") or DEFAULT_ADDRESS)
        has_tls = self.get("tls", "certificate") is not None
        asks = has_tls or self.get("tls", "client_ca") is not None
        asks = asks or bool(self.get("access", "tokens"))
        if asks and not has_credentials:
            socket = self.socket(address)
            if socket is not None and socket.exists():
                return f"unix:{socket}"
        return f"https://{reachable(address)}" if has_tls else reachable(address)

    def socket(self, address: str) -> Path | None:
        """Returns the Unix socket of the daemon at `address`, if it has one."""
        setting = str(self.get("server", "socket") or "auto")
        if setting == "none":
            return None
        if setting != "auto":
            return Path(setting)
        port = address.rpartition(":")[2]
        return _socket_folder(self.variables) / f"{port}.sock" if port.isdecimal() else None


def reachable(address: str) -> str:
    """Returns the address at which this machine reaches a daemon that listens at `address`."""
    host, _, port = address.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return address
    if not ip.is_unspecified:
        return address
    return f"127.0.0.1:{port}" if ip.version == 4 else f"[::1]:{port}"


def _folder(variables: Mapping[str, str], name: str, below_home: str) -> Path | None:
    """Returns a folder of the XDG base directory specification; relative ones do not count."""
    if (given := variables.get(name)) and Path(given).is_absolute():
        return Path(given)
    homes = (variables.get("HOME"), variables.get("USERPROFILE"))
    home = next((home for home in homes if home and Path(home).is_absolute()), None)
    return Path(home) / below_home if home else None


def _config_file(variables: Mapping[str, str]) -> Path | None:
    """Returns the path of the user's settings, which may not exist."""
    folder = _folder(variables, "XDG_CONFIG_HOME", ".config")
    return folder / "weft" / "config.toml" if folder else None


def _socket_folder(variables: Mapping[str, str]) -> Path:
    """Returns the folder of the daemon's sockets."""
    runtime = variables.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_absolute():
        return Path(runtime) / "weft"
    state = _folder(variables, "XDG_STATE_HOME", ".local/state") or Path(tempfile.gettempdir())
    return state / "weft"
