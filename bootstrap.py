"""Build or refresh the course's Python environment, `.venv`, from requirements.lock.

    python3 bootstrap.py

Does nothing when `.venv` is already as the lock wants it. Standard library only, and written so that even an
old Python 3 can read this file far enough to say that it is too old.
"""

import hashlib
import os
import subprocess
import sys

OLDEST = (3, 11)
HERE = os.path.dirname(os.path.abspath(__file__))


def too_old(version):
    """A sentence for a Python that the course cannot run on, else None."""
    if tuple(version[:2]) >= OLDEST:
        return None
    return "Python 3.11 or newer is needed; this is {}.{}.".format(*version[:2])


def venv_python(root, windows=os.name == "nt"):
    parts = ("Scripts", "python.exe") if windows else ("bin", "python")
    return os.path.join(root, ".venv", *parts)


def python_version(python):
    """[major, minor] that the interpreter file `python` reports now; None when it does not run.

    Asked anew each time, because a system upgrade can swap or remove the Python behind an old `.venv`.
    """
    if not os.path.exists(python):
        return None
    ask = [python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [int(part) for part in answer.split()]


def stamp_path(root):
    return os.path.join(root, ".venv", "kv-cache-course.stamp")


def wanted_stamp(root, version):
    """What a finished `.venv` is made from: two files, its Python and the folder, which its scripts name."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        with open(os.path.join(root, name), "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    digest.update(repr((list(version), os.path.realpath(root))).encode())
    return digest.hexdigest()


def is_fresh(root, version):
    try:
        with open(stamp_path(root), encoding="ascii") as file:
            return version is not None and file.read() == wanted_stamp(root, version)
    except (OSError, UnicodeDecodeError):
        return False


def run(command, failure):
    """Run `command` with its output in view; on failure leave with one plain sentence below that output."""
    if subprocess.run(command, cwd=HERE).returncode:
        sys.exit("\nbootstrap: " + failure)


def has_pip(python):
    ask = [python, "-m", "pip", "--version"]
    return subprocess.run(ask, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def make_venv(root):
    """Create `.venv`, or repair one whose Python is gone; packages that lie in it are left alone."""
    scripts = os.path.dirname(venv_python(root))
    for name in os.listdir(scripts) if os.path.isdir(scripts) else ():
        path = os.path.join(scripts, name)
        if os.path.islink(path) and not os.path.exists(path):
            os.unlink(path)  # venv keeps an existing link, even one that leads nowhere
    run(
        [sys.executable, "-m", "venv", os.path.join(root, ".venv")],
        "Python's venv module could not make .venv. On Debian and Ubuntu `apt install python3-venv` adds it.",
    )


def build(root):
    python = venv_python(root)
    version = python_version(python)
    if version is None or not has_pip(python):
        print("bootstrap: making .venv with Python {}.{}".format(*sys.version_info[:2]), flush=True)
        make_venv(root)
        version = python_version(python)
    problem = "it does not start." if version is None else too_old(version)
    if problem:
        sys.exit("bootstrap: the Python in .venv is not usable: " + problem + " Delete .venv and run again.")

    print("bootstrap: installing requirements.lock (the first time takes minutes)", flush=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install"]
    run(
        [*pip, "-r", os.path.join(root, "requirements.lock")],
        "pip could not install the packages; its last lines above say why. Check the network and the free "
        "disk space, then run the same command again: what is already installed is kept.",
    )
    # Without build isolation nothing more is downloaded: the lock holds setuptools.
    run(
        [*pip, "--quiet", "--no-build-isolation", "--no-deps", "-e", root],
        "pip could not install the course itself; its last lines above say why.",
    )
    # Last of all, and in one step: an interrupted build has no stamp, so the next run takes it up again.
    with open(stamp_path(root) + ".new", "w", encoding="ascii") as file:
        file.write(wanted_stamp(root, version))
    os.replace(stamp_path(root) + ".new", stamp_path(root))
    print("bootstrap: .venv is ready", flush=True)


def main(root=HERE):
    problem = too_old(sys.version_info)
    if problem:
        sys.exit("bootstrap: " + problem)
    if not is_fresh(root, python_version(venv_python(root))):
        try:
            build(root)
        except KeyboardInterrupt:
            sys.exit("\nbootstrap: interrupted; run the same command again to go on.")


if __name__ == "__main__":
    main()
