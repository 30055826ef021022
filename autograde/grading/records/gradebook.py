"""nbgrader's gradebook, opened so that several of its calls are one transaction of the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbgrader.dbutil
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from nbgrader.api import Base, Gradebook
from sqlalchemy import Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import scoped_session, sessionmaker


def open_gradebook(db_url: str, course_id: str, make: bool = True) -> Gradebook:
    """The gradebook at `db_url`, made if it is not there and `make` allows it.

    ValueError if `db_url` is no database that can be used, or one of another version of nbgrader.
    """
    try:
        url = make_url(db_url)
    except ArgumentError:
        raise ValueError(f"{db_url!r} is no database URL, such as sqlite:////home/me/course/gradebook.db") from None
    if not make and url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise ValueError(f"there is no gradebook {url} yet; `autograde grade` makes it")
    try:
        engine = create_engine(url)
        _begin_as_writer(engine)
        _make_tables(engine)
        engine.dispose()
        book = Gradebook(db_url, course_id)
    except (ImportError, SQLAlchemyError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"the gradebook {url} cannot be used: {reason}") from None  # `url` hides its password
    _begin_as_writer(book.engine)
    return book


@contextmanager
def transaction(book: Gradebook) -> Iterator[Gradebook]:
    """What is done with `book` meanwhile is kept whole when the block ends, or not at all.

    nbgrader commits in each of its calls. Here those commits send the changes to the database, which keeps them only
    when the one transaction around them ends.
    """
    outside = book.db
    with book.engine.begin() as connection:
        mode = {"join_transaction_mode": "rollback_only", "expire_on_commit": False, "autoflush": False}
        book.db = scoped_session(sessionmaker(bind=connection, **mode))
        try:
            yield book
            book.db.commit()
        finally:
            book.db.remove()
            book.db = outside


def _make_tables(engine: Engine) -> None:
    """nbgrader's tables and the mark of their version, in one transaction.

    nbgrader itself commits between the two, and starts the program `alembic`, which must then be on the path.
    """
    versions = ScriptDirectory(nbgrader.dbutil.ALEMBIC_DIR)
    with engine.begin() as connection:
        if not inspect(connection).get_table_names():
            Base.metadata.create_all(connection)
            MigrationContext.configure(connection).stamp(versions, "head")
        found = MigrationContext.configure(connection).get_current_revision()
    if found not in (None, versions.get_current_head()):
        raise ValueError(f"the gradebook {engine.url} is of another version of nbgrader; run `nbgrader db upgrade`")


def _begin_as_writer(engine: Engine) -> None:
    """Let a transaction in SQLite take its turn as a writer when it begins, not at its first change.

    A reader that turned writer later would be refused at once when the form grader had begun to write meanwhile.
    """
    if engine.dialect.name == "sqlite":
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
