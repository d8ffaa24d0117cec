"""Starts daemons for tests: `WEFT` is the program, else the debug build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
PROGRAM = os.environ.get("WEFT", str(TARGET / "debug" / "weft"))
EXAMPLE = REPOSITORY / "examples" / "timekeeping"

READ_TOKEN = "token-that-may-only-read"
WRITE_TOKEN = "token-that-may-also-write"

#: Maximum number of open streams of a daemon that is to notice streams that are not closed.
MAX_STREAMS = 4

#: Number of those streams that one client can open.
CLIENT_STREAMS = 3

#: Time in seconds within which a daemon must be ready.
START = 60


@dataclass
class Daemon:
    """A running daemon over its own copy of the example vault."""

    folder: Path
    settings: tuple[str, ...] = ()
    address: str = ""
    child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def vault(self) -> Path:
        """The folder of notes."""
        return self.folder / "notes"

    @property
    def socket(self) -> Path:
        """The path of the Unix socket."""
        return self.folder / "weft.sock"

    @property
    def certificate(self) -> Path:
        """The path of the certificate, which signs itself."""
        return self.folder / "certificate.pem"

    def environment(self) -> dict[str, str]:
        """Returns an environment without settings of the user."""
        others = {key: value for key, value in os.environ.items() if not key.startswith("WEFT")}
        xdg = {
            f"XDG_{name}": str(self.folder) for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME")
        }
        return others | xdg | {"HOME": str(self.folder)}

    def start(self, *, model: str = "none") -> None:
        """Starts the daemon and waits until it serves."""
        if not self.vault.exists():
            shutil.copytree(EXAMPLE, self.vault)
        log = self.folder / "log"
        settings = [f"embedding.model={model}", *self.settings]
        arguments = [
            "serve",
            str(self.vault),
            "--addr",
            "127.0.0.1:0",
            "--socket",
            str(self.socket),
        ]
        arguments += ["--store", str(self.folder / "store")]
        for setting in settings:
            arguments += ["--set", setting]
        with log.open("wb") as output:
            self.child = subprocess.Popen(
                [PROGRAM, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment(),
            )
        end = time.monotonic() + START
        while not self.address:
            text = log.read_text(encoding="utf-8", errors="replace")
            if self.child.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"the daemon does not start:\n{text}")
            if found := re.search(r" at (?:https://)?(127\.0\.0\.1:\d+)", text):
                self.address = found[1]
            time.sleep(0.02)

    def stop(self) -> None:
        """Stops the daemon."""
        if self.child is not None:
            self.child.terminate()
            self.child.wait(timeout=30)


def with_credentials(folder: Path) -> Daemon:
    """Returns a daemon with tokens, and a certificate that signs itself."""
    tokens = []
    for permission, secret in (("read", READ_TOKEN), ("write", WRITE_TOKEN)):
        file = folder / permission
        file.write_text(f"# the token\n{secret}\n", encoding="utf-8")
        tokens.append(f'{{ name = "{permission}", permission = "{permission}", file = "{file}" }}')
    key = folder / "key.pem"
    daemon = Daemon(
        folder,
        settings=(
            f"access.tokens=[{', '.join(tokens)}]",
            f"tls.certificate={folder / 'certificate.pem'}",
            f"tls.key={key}",
        ),
    )
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=notes.example"]
    names += ["-addext", "subjectAltName=DNS:notes.example,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(daemon.certificate)]
    make = ["openssl", "req", "-x509", *kind, *names, *files]
    subprocess.run(make, check=True, capture_output=True)
    return daemon
