# Each target sets up what it needs in .venv; PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
RUN := $(VENV)/bin/python
TEST := $(RUN) -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal --ignore tests/live_stores --ignore tests/ray --ignore app/tests/browser --ignore tests/house
MINUTES := 30

# The interpreters that tests start share what was compiled, whatever is set outside.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all fuzz test-stores test-ray test-browser wheels check docs format lock clean

demo: $(VENV)/demo.stamp
	$(RUN) examples/demo.py

# What a change is likely to break: no benchmarks, no long runs, no other processes, fewer examples of each property.
test: $(VENV)/test.stamp
	$(TEST) -m "not slow and not process and not model"

test-all: $(VENV)/test.stamp
	$(TEST) --hypothesis-profile all

# Other examples in each round; it ends at the first round that fails, or begins no other after MINUTES.
fuzz: $(VENV)/test.stamp
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); while seed=$$(date +%s) && [ $$seed -lt $$end ]; do \
		echo "seed $$seed" && $(TEST) -m hypothesis --hypothesis-profile fuzz --hypothesis-seed $$seed || exit; \
	done

# Other vector stores, among them a PostgreSQL, a Redis and a MariaDB that are started and stopped.
test-stores: $(VENV)/stores.stamp
	$(RUN) -m pytest tests/live_stores

# Ingest by many workers on Ray into a PostgreSQL, whose processes are killed.
test-ray: $(VENV)/ray.stamp
	$(RUN) -m pytest tests/ray

# The page in a real browser. SHOTS=FOLDER keeps pictures of it.
test-browser: $(VENV)/browser.stamp
	STUDIO_SHOTS=$(SHOTS) $(RUN) -m pytest app/tests/browser

# The built package in new environments, with each extra, at the lowest versions allowed and the newest.
# WHEELS="--extra agents" uses one extra alone.
wheels: $(VENV)/release.stamp
	$(RUN) -m tests.wheels $(WHEELS)

check: $(VENV)/test.stamp
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	MYPYPATH=app $(RUN) -m mypy --package sentence_window
	$(VENV)/bin/lint-imports --no-logo
	$(RUN) -m pytest tests/house

# Into site/; without a network. To read it: python -m http.server, then http://localhost:8000/site/
docs: $(VENV)/docs.stamp
	$(VENV)/bin/zensical build --strict --clean
	$(RUN) docs/check_site.py site

format: $(VENV)/test.stamp
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

# The versions that tests and demo install, for every Python and platform the package supports.
lock: $(VENV)/test.stamp
	$(PIP) uv
	$(RUN) -m uv pip compile pyproject.toml app/pyproject.toml --universal --python-version 3.11 \
		--all-extras --group demo --group test --group check --group stores --group ray --group browser --group docs --group release \
		--no-annotate --no-header --output-file constraints.txt

$(VENV)/stores.stamp: $(VENV)/test.stamp
	@echo "Installing the other vector stores."
	$(PIP) --group stores
	$(RUN) tests/live_stores/debian.py
	@touch $@

$(VENV)/ray.stamp: $(VENV)/stores.stamp
	@echo "Installing Ray."
	$(PIP) --group ray
	@touch $@

$(VENV)/browser.stamp: $(VENV)/test.stamp
	@echo "Installing what tests in a browser need."
	$(PIP) --group browser
	$(RUN) app/tests/browser/chromium.py
	@touch $@

$(VENV)/release.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing what a release needs."
	$(PIP) --group release
	@touch $@

$(VENV)/docs.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing what the documentation needs."
	$(PIP) --group docs
	@touch $@

clean:
	rm -rf $(VENV) .cache site examples/.index

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; $(PYTHON) is older. Try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade 'pip>=25.1'

$(VENV)/demo.stamp: pyproject.toml app/pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing what the demo needs into $(VENV); this takes a few minutes the first time."
	$(PIP) --group demo --editable '.[local,openai,agents]' --editable app
	@touch $@

$(VENV)/test.stamp: $(VENV)/demo.stamp
	@echo "Installing what the tests need."
	$(PIP) --group test --group check
	@touch $@
