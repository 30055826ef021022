"""A PostgreSQL server of the tests' own: made in a temporary folder, reached by a socket there, stopped at the end."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NAME = "course"  # of the user and the first database


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, or where Debian keeps them, the newest version first."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((each.parent for each in installed), key=lambda each: float(each.parent.name), default=None)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a fresh server's first database. Skips without PostgreSQL; with CI set, that is a failure."""
    found = programs()
    if found is None:
        message = "NO POSTGRESQL: no initdb on the path or in /usr/lib/postgresql, so only SQLite was tried"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        who = _unprivileged(folder)

        def run(program: str, *arguments: str) -> None:
            # Output goes to a file, because the server that pg_ctl leaves running would hold a pipe open.
            with (folder / "log").open("a+") as log:
                command = [found / program, "-D", folder / "data", *arguments]
                if subprocess.run(command, cwd=folder, stdout=log, stderr=log, **who).returncode:
                    log.seek(0)
                    pytest.fail(f"{program} failed:\n{log.read()}")

        run("initdb", "-A", "trust", "-U", NAME, "-N", "--no-locale", "-E", "UTF8")
        options = f"-F -c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "-w", "-l", str(folder / "server.log"), "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user={NAME}"
        finally:
            run("pg_ctl", "-w", "-m", "fast", "stop")


def _unprivileged(folder: Path) -> dict[str, object]:
    """Arguments that run a program as somebody who may own `folder`: these programs refuse root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    import pwd  # not on Windows

    names = {each.pw_name for each in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
