"""A learner's JupyterLab, started as `autograde lab` starts it, in a course folder of its own, and a browser on it."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from autograde import lab
from autograde.course import ROOT
from tests.jupyterlab import PATIENCE_MS, TOKEN, open_lesson, run_all

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Nothing here may reach the network, and the tests may run as root in a container.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEW = {"viewport": {"width": 1280, "height": 1000}}


@pytest.fixture(scope="session")
def browser():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        message = f"NO BROWSER: none of {', '.join(BROWSERS)} is on the path, so no page was looked at"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def course(tmp_path_factory) -> Path:
    """A course folder with released lessons and fresh learner's copies."""
    root = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "lessons", root / "lessons")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


@pytest.fixture(scope="session")
def jupyterlab(course):
    """Base address of a running JupyterLab."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = [
        "--no-browser",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        "--LabApp.expose_app_in_browser=True",  # tests.jupyterlab asks the page what its kernel has not answered
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    environment = os.environ | {
        "AUTOGRADE_PROGRESS": str(course / "work" / ".progress.json"),
        "JUPYTER_CONFIG_DIR": str(course / "config"),  # not the settings of whoever runs the tests
    }
    lab.prepare(course)
    log = (course / "log").open("w")
    server = subprocess.Popen(
        lab.command(arguments, root=course), cwd=course, env=environment, stdout=log, stderr=subprocess.STDOUT
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(address, server, course / "log")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_MS / 1000)
        log.close()


def _wait_until_up(address: str, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while True:
        if server.poll() is not None:
            pytest.fail(f"JupyterLab ended:\n{log.read_text()}")
        try:
            urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                pytest.fail(f"JupyterLab did not answer:\n{log.read_text()}")
            time.sleep(0.1)  # between two polls; the loop ends when the server answers


@pytest.fixture(scope="session")
def window(browser):
    """A browser's window that keeps JupyterLab's scripts from one lesson to the next."""
    context = browser.new_context(**VIEW)
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def page(browser):
    """A page of a browser that has never been here."""
    stranger = browser.new_page(**VIEW)
    stranger.set_default_timeout(PATIENCE_MS)
    yield stranger
    stranger.close()


@pytest.fixture(scope="module")
def notebook(request, window, jupyterlab):
    """The learner's copy of the test module's LESSON after Run All: one page, on which the tests work in file order."""
    page = window.new_page()
    open_lesson(page, jupyterlab, request.module.LESSON)
    run_all(page, request.module.LESSON)
    yield page
    page.close()
    _end_kernels(jupyterlab)


def _end_kernels(address: str) -> None:
    asked = f"{address}/api/sessions"
    with urllib.request.urlopen(f"{asked}?token={TOKEN}") as answer:
        for session in json.load(answer):
            end = urllib.request.Request(f"{asked}/{session['id']}?token={TOKEN}", method="DELETE")
            urllib.request.urlopen(end).close()
