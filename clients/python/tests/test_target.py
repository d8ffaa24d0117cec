"""The daemon is found as `weft` finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from daemons import PROGRAM, Daemon

from noteweft import Noteweft
from noteweft._target import Settings, find, reachable

HOME = {"HOME": "/h", "XDG_RUNTIME_DIR": "/run/u"}


@pytest.mark.parametrize(
    ("variables", "settings", "expected"),
    [
        ({}, "", "127.0.0.1:9338"),
        ({"WEFT_ADDR": "notes.example:1"}, "[server]\naddress = '127.0.0.1:7'", "notes.example:1"),
        ({}, "server.address = '0.0.0.0:7'", "127.0.0.1:7"),
        ({"WEFT__SERVER__ADDRESS": "127.0.0.1:8"}, "server.address = '127.0.0.1:7'", "127.0.0.1:8"),
        ({"WEFT__SERVER__ADDRESS": "'127.0.0.1:8'"}, "", "127.0.0.1:8"),
        ({}, "tls.certificate = 'c.pem'", "https://127.0.0.1:9338"),
        # No socket exists there, so the port is used.
        ({}, "[[access.tokens]]\nname = 'a'", "127.0.0.1:9338"),
    ],
)
def test_address_comes_from_environment_and_settings(
    tmp_path: Path, variables: dict[str, str], settings: str, expected: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(settings, encoding="utf-8")
    assert find(config=file, environment={"HOME": str(tmp_path)} | variables).address == expected


@pytest.mark.parametrize(
    ("address", "setting", "expected"),
    [
        ("127.0.0.1:9338", "auto", "/run/u/weft/9338.sock"),
        ("127.0.0.1:9338", "/own.sock", "/own.sock"),
        ("127.0.0.1:9338", "none", None),
        ("nonsense", "auto", None),
    ],
)
def test_address_determines_socket(address: str, setting: str, expected: str | None) -> None:
    found = Settings({"server": {"socket": setting}}, HOME).socket(address)
    assert found == (Path(expected) if expected else None)


def test_socket_without_runtime_folder_is_in_the_state_folder() -> None:
    settings = Settings({}, {"HOME": "/h", "XDG_STATE_HOME": "relative"})
    assert settings.socket("127.0.0.1:7") == Path("/h/.local/state/weft/7.sock")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("0.0.0.0:9338", "127.0.0.1:9338"),
        ("[::]:9338", "[::1]:9338"),
        ("192.0.2.1:9338", "192.0.2.1:9338"),
        ("localhost:9338", "localhost:9338"),
    ],
)
def test_wildcard_address_is_reached_at_loopback(address: str, expected: str) -> None:
    assert reachable(address) == expected


@pytest.mark.parametrize(
    "section", ["access.tokens = [{ name = 'a' }]", "tls.client_ca = 'ca.pem'"]
)
def test_socket_is_used_if_the_port_requires_credentials(tmp_path: Path, section: str) -> None:
    socket = tmp_path / "weft.sock"
    socket.touch()
    file = tmp_path / "config.toml"
    file.write_text(f"server.socket = '{socket}'\n{section}", encoding="utf-8")
    environment = {"HOME": str(tmp_path)}
    assert find(config=file, environment=environment).address == f"unix:{socket}"
    with_token = environment | {"WEFT_TOKEN": "secret"}
    assert find(config=file, environment=with_token).address == "127.0.0.1:9338"


def test_token_is_last_line_of_file_and_hidden(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old-token\n# newer\n new-token \n\n", encoding="utf-8")
    target = find("a:1", token_file=file, environment={"WEFT_TOKEN": "other"})
    assert target.metadata() == (("authorization", "Bearer new-token"),)
    assert "new-token" not in repr(target)
    assert find("a:1", environment={"WEFT_TOKEN_FILE": str(file)}).token == "new-token"
    file.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="token contains no token"):
        find("a:1", token_file=file)


def test_wrong_files_and_addresses_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("nothing = [", encoding="utf-8")
    with pytest.raises(ValueError, match="no PEM certificate"):
        find("a:1", tls_ca=file)
    with pytest.raises(ValueError, match="both tls_cert and tls_key"):
        find("a:1", tls_cert=file)
    with pytest.raises(ValueError, match=r"file: Invalid value"):
        find(config=file, environment={})
    with pytest.raises(FileNotFoundError):
        find(config=tmp_path / "missing", environment={})
    with pytest.raises(ValueError, match="'ftp://a' is not an address"):
        Noteweft.connect("ftp://a")


@pytest.mark.parametrize("kind", ["daemon", "protected"])
def test_client_and_program_find_the_same_daemon(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: Daemon = request.getfixturevalue(kind)
    settings = [f'[server]\naddress = "{running.address}"\nsocket = "{running.socket}"']
    if kind == "protected":
        settings.append(
            f'[tls]\ncertificate = "{running.certificate}"\nkey = "{running.folder / "key.pem"}"'
        )
    file = tmp_path / "weft" / "config.toml"
    file.parent.mkdir()
    file.write_text("\n".join(settings), encoding="utf-8")
    environment = running.environment() | {"XDG_CONFIG_HOME": str(tmp_path)}
    printed = subprocess.run(
        [PROGRAM, "status"], env=environment, capture_output=True, text=True, check=True
    )
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with Noteweft.connect() as notes:
        assert f"{notes.status().note_count} notes" in printed.stdout
        assert notes.address == (
            f"unix:{running.socket}" if kind == "protected" else running.address
        )
