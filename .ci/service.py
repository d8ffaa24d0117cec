"""Starts a systemd unit without systemd, asks the daemon a question and stops it.

    service.py UNIT VAULT        as root

The process gets the user, folders, variables and file mode mask of the unit, and a socket for notifications.
"""

import os
import pathlib
import pwd
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Folders that systemd makes for a service, by the setting that names them.
FOLDERS = {
    "StateDirectory": "/var/lib",
    "CacheDirectory": "/var/cache",
    "LogsDirectory": "/var/log",
    "RuntimeDirectory": "/run",
}


def read(unit: pathlib.Path) -> dict[str, list[str]]:
    """Returns the values of each setting of the section [Service]."""
    settings: dict[str, list[str]] = {}
    section = ""
    for line in unit.read_text().splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            settings.setdefault(key, []).append(value)
    return settings


def main(unit: str, vault: str) -> None:
    settings = read(pathlib.Path(unit))
    assert settings["Type"] == ["notify"], settings["Type"]
    user = pwd.getpwnam(settings["User"][0])
    for key, parent in FOLDERS.items():
        for name in settings.get(key, []):
            folder = pathlib.Path(parent, name)
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, user.pw_uid, user.pw_gid)
    config = pathlib.Path("/etc/weft/config.toml")
    config.write_text(f'[[vaults]]\nroot = "{vault}"\n')
    environment = {"PATH": "/usr/bin:/bin", "HOME": user.pw_dir}
    for line in settings["Environment"]:
        environment.update(pair.split("=", 1) for pair in shlex.split(line))

    with tempfile.TemporaryDirectory(dir="/run") as folder:
        os.chmod(folder, 0o755)
        notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notifications.bind(f"{folder}/notify")
        os.chmod(f"{folder}/notify", 0o666)
        notifications.settimeout(60)
        daemon = subprocess.Popen(
            shlex.split(settings["ExecStart"][0]),
            env={**environment, "NOTIFY_SOCKET": f"{folder}/notify"},
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            umask=int(settings["UMask"][0], 8),
        )
        try:
            wait_until_ready(daemon, notifications)
            question = ["weft", "search", "why do flowers open in the morning"]
            ask = subprocess.run(question, env=environment, capture_output=True, text=True, check=False)
            assert ask.returncode == 0 and "Living Clocks" in ask.stdout, ask
        finally:
            daemon.send_signal(signal.SIGTERM)
            status = daemon.wait(timeout=60)
    assert status == 0, f"the daemon ended with {status}"
    print("service: ready, answers, stops")


def wait_until_ready(daemon: subprocess.Popen, notifications: socket.socket) -> None:
    """Returns once the daemon reports that it is ready."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert daemon.poll() is None, f"the daemon ended with {daemon.returncode}"
        if "READY=1" in notifications.recv(4096).decode().splitlines():
            return
    raise TimeoutError("the daemon was not ready within a minute")


if __name__ == "__main__":
    main(*sys.argv[1:])
