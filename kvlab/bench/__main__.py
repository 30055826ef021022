"""`python -m kvlab.bench --record FILE`: measure this machine and write every trial to a file."""

import typer

from kvlab.bench.record import main

typer.run(main)
