# The whole set of commands. On Windows, or without make, see "Without make" in README.md.
PYTHON ?= python3
PY = .venv/bin/python

.PHONY: lab test release grade bench

lab: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde lab $(if $(PORT),--port $(PORT)) $(LAB_ARGS)

# `make test LESSON=07` tests what concerns one lesson, by its number, key or folder name.
test release: export KVLAB_PLAN = smallest
test:
	@$(PYTHON) bootstrap.py
	$(PY) -m ruff check
	$(PY) -m autograde verify
	$(PY) -m autograde mutants $(LESSON)
	$(PY) -m pytest -n 2 --nbval tests solutions $(if $(LESSON),--lesson $(LESSON))

release: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde release $(LESSON)

grade: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde grade $(LESSON) $(GRADE_ARGS)

bench: ; @$(PYTHON) bootstrap.py && $(PY) -m tests.bench
