"""Databases that several modules of the grader's tests record in."""

import random

import pytest
from sqlalchemy import create_engine, text

from tests.grading import postgresql


@pytest.fixture(scope="session")
def server():
    with postgresql.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'gradebook.db'}"
    first = request.getfixturevalue("server")
    name = f"book{random.randrange(10**12)}"
    engine = create_engine(first, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return first.replace("/postgres?", f"/{name}?")
