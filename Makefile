# The whole set of commands. On Windows, or without make, see "Without make" in README.md.
PYTHON ?= python3
PY = .venv/bin/python

.PHONY: lab test release grade bench

lab: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde lab $(if $(PORT),--port $(PORT)) $(LAB_ARGS)

test: export KVLAB_PLAN = smallest
test:
	@$(PYTHON) bootstrap.py
	$(PY) -m ruff check
	$(PY) -m autograde verify
	$(PY) -m autograde mutants
	$(PY) -m pytest -n 2 --dist loadscope
	$(PY) -m pytest --nbval solutions

release: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde release

grade: ; @$(PYTHON) bootstrap.py && $(PY) -m autograde grade $(LESSON) $(GRADE_ARGS)

bench: ; @$(PYTHON) bootstrap.py && $(PY) -m tests.bench
