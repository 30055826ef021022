"""Start JupyterLab on the learner's copies, or on the whole project for an instructor."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from autograde import progress, workspace
from autograde.course import ROOT

SETTINGS = Path(__file__).parent / "lab_settings"
WORKSPACES_NAME = ".workspaces"

# nbgrader's pages for instructors. A learner keeps Validate alone; page_config.json hides their menus.
INSTRUCTOR_PAGES = tuple(
    f"nbgrader.server_extensions.{name}" for name in ("assignment_list", "course_list", "formgrader")
)


def prepare(root: Path = ROOT) -> list[str]:
    """Make `work/` ready: lessons, the map, JupyterLab's first layout. Says what was copied or offered."""
    said = workspace.sync(root)
    workspace.write_map(progress.state(), root)
    layouts = root / "work" / WORKSPACES_NAME
    if not layouts.exists():
        # Imports a whole server, so only where it is needed: the first time.
        from jupyterlab_server.workspaces_handler import WorkspacesManager

        WorkspacesManager(str(layouts)).save("default", json.dumps(_first_layout()))
    return said


def command(arguments: Sequence[str], instructor: bool = False, root: Path = ROOT) -> list[str]:
    """The command line that starts JupyterLab; `arguments` come last, so that they win."""
    start = [sys.executable, "-m", "jupyterlab"]
    if instructor:
        return [*start, f"--ServerApp.root_dir={root}", *arguments]
    return [
        *start,
        f"--ServerApp.root_dir={root / 'work'}",
        f"--LabApp.app_settings_dir={SETTINGS}",
        # A layout of our own, as the user's default one may name files of other projects.
        f"--LabApp.workspaces_dir={root / 'work' / WORKSPACES_NAME}",
        f"--LabApp.default_url=/lab/tree/{workspace.MAP_NAME}",
        *_terminal(),
        *(f"--ServerApp.jpserver_extensions={page}=False" for page in INSTRUCTOR_PAGES),
        *arguments,
    ]


def _terminal() -> list[str]:
    """Options for terminals. Jupyter's default is a login shell, whose profile may set a PATH without `autograde`."""
    if os.name == "nt":
        return []
    shell = [os.environ.get("SHELL") or "sh"]
    return [f"--ServerApp.terminado_settings={{'shell_command': {shell!r}}}"]


def start(arguments: Sequence[str], instructor: bool = False, root: Path = ROOT) -> int:
    """Run JupyterLab until it ends; on POSIX in place of this process, so that signals reach it directly."""
    # nbgrader reads its configuration from the current folder; terminals find `autograde` on PATH.
    os.chdir(root)
    scripts = str(Path(sys.executable).parent)
    os.environ["PATH"] = scripts + os.pathsep + os.environ.get("PATH", "")
    line = command(arguments, instructor, root)
    if os.name != "nt":
        sys.stdout.flush()
        os.execv(line[0], line)
    return subprocess.call(line)


def _first_layout() -> dict:
    """JupyterLab's saved form of: course map in the middle, file browser on the left."""
    tab = f"markdownviewer-widget:{workspace.MAP_NAME}"
    return {
        "metadata": {"id": "default"},
        "data": {
            "layout-restorer:data": {
                "main": {"dock": {"type": "tab-area", "currentIndex": 0, "widgets": [tab]}, "current": tab},
                "left": {"collapsed": False, "current": "filebrowser", "widgets": ["filebrowser"]},
            },
            tab: {"data": {"path": workspace.MAP_NAME, "factory": "Markdown Preview"}},
        },
    }
