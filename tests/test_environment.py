"""requirements.lock, environment.yml, pyproject.toml and what is installed say the same."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from autograde.course import ROOT, lesson
from tests.notebooks import by_grade_id, read

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
LINES = [line for line in LOCK.splitlines() if line and not line.startswith("#")]
LOCKED = {canonicalize_name(Requirement(line).name): Requirement(line) for line in LINES}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked_version(name: str) -> Version:
    (pin,) = LOCKED[canonicalize_name(name)].specifier
    return Version(pin.version)


def installed_here() -> list[str]:
    return [name for name, pin in LOCKED.items() if pin.marker is None or pin.marker.evaluate()]


def test_every_line_of_the_lock_pins_one_package_to_one_public_version():
    assert len(LINES) == len(LOCKED)
    for line in LINES:
        (pin,) = Requirement(line).specifier
        assert pin.operator == "==" and "*" not in pin.version, line
        assert Version(pin.version).local is None, f"{line}: only one platform has this build"


def test_every_dependency_of_the_project_is_met_by_the_lock():
    for text in PROJECT["dependencies"]:
        wanted = Requirement(text)
        assert canonicalize_name(wanted.name) in LOCKED, f"{text} is not in requirements.lock"
        assert wanted.specifier.contains(locked_version(wanted.name)), text


def test_installed_versions_are_the_locked_ones():
    for name in installed_here():
        try:
            found = Version(distribution(name).version)
        except PackageNotFoundError:
            pytest.fail(f"{name} is locked but not installed; run `python3 bootstrap.py`")
        # A local part (+cpu) names the platform's build of the same version.
        assert Version(found.public) == locked_version(name), f"{name} {found} is installed"


def test_everything_that_a_locked_package_needs_is_locked_but_torchs_cuda_packages():
    for system in ({}, {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
                   {"sys_platform": "darwin", "platform_system": "Darwin"}):  # fmt: skip
        for name in installed_here():
            for text in distribution(name).requires or []:
                need = Requirement(text)
                if need.marker and not need.marker.evaluate({"extra": "", **system}):
                    continue
                if name == "torch" and re.match(r"nvidia-|cuda-|triton", need.name):
                    continue
                found = LOCKED.get(canonicalize_name(need.name))
                assert found, f"{name} needs {text}, which requirements.lock does not pin"
                assert need.specifier.contains(locked_version(need.name), prereleases=True), (name, text)


def test_every_locked_package_accepts_the_oldest_python_that_the_project_does():
    oldest = Version(PROJECT["requires-python"].removeprefix(">=") + ".0")
    for name in installed_here():
        wanted = distribution(name).metadata["Requires-Python"]
        assert wanted is None or SpecifierSet(wanted).contains(oldest), f"{name} needs Python {wanted}"


def test_extras_of_other_platforms_carry_their_marker():
    for name, platform in (("colorama", "win32"), ("appnope", "darwin")):
        assert LOCKED[name].marker == Marker(f'sys_platform == "{platform}"')
    assert LOCKED["pywinpty"].marker == Marker('os_name == "nt"')


def test_conda_and_binder_install_the_lock_and_the_project():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [each for each in environment["dependencies"] if isinstance(each, str)]
    (pip,) = (each["pip"] for each in environment["dependencies"] if isinstance(each, dict))
    assert "pip" in conda
    (python,) = (each.removeprefix("python=") for each in conda if each.startswith("python="))
    assert SpecifierSet(PROJECT["requires-python"]).contains(python)
    assert "-r requirements.lock" in pip and "-e ." in pip


def test_the_colab_cell_installs_the_course_there_and_does_nothing_elsewhere(monkeypatch):
    cell = by_grade_id(read(lesson("11_decode_timing").notebook("lessons")))["colab"].source
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command[5:]))
    monkeypatch.setattr("builtins.input", lambda _: "https://somewhere/course")
    exec(cell, {})
    assert ran == []
    monkeypatch.setitem(sys.modules, "google.colab", None)
    exec(cell, {})
    locked = f"transformers=={locked_version('transformers')}"
    assert ran == [[locked, "typer"], ["--no-deps", "git+https://somewhere/course"]]
