# `make demo` and `make test` do all the set-up they need, in a virtual environment of their own.
PYTHON ?= python3
BIN := .venv/bin
DEMO := out/demo.jsonl

# Compiled tests are kept: several processes read them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo discover serve page test certify coq faults docs benchmark bench-check clean

# A release without a wheel for this processor is passed over for the newest that has one.
# Python compiles what is imported, when it is: all of torch beforehand takes a minute.
INSTALL := $(BIN)/pip install --quiet --no-compile --prefer-binary --constraint constraints.txt --editable

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) .
	@touch $@

.venv/.installed-dev: .venv/.installed
	$(INSTALL) '.[dev]'
	@touch $@

.venv/.installed-serve: .venv/.installed
	$(INSTALL) '.[serve]'
	@touch $@

demo: .venv/.installed
	@rm -f $(DEMO)
	@echo "The paper's example, step by step:"
	@$(BIN)/gridsum solve --show 523+102+9416
	@echo; echo "The paper's eight worked examples, and small samples of its test problems, by two of its systems:"
	@$(BIN)/gridsum evaluate --model base noGroups --suite examples --out $(DEMO) >/dev/null
	@$(BIN)/gridsum evaluate --model base noGroups --samples 64 --out $(DEMO) \
		--suite '2x15' '[1,4]x[1,10]' '[1,5]x[1,5]' '[5,6]x[1,10]' >/dev/null
	@$(BIN)/gridsum table examples --records $(DEMO)
	@echo
	@$(BIN)/gridsum table comparison --records $(DEMO)
	@echo; echo "What exact has learned, and the proof that it always adds:"
	@$(BIN)/gridsum rule
	@$(BIN)/gridsum prove
	@echo; echo "Yours: $(BIN)/gridsum solve --show 99999+1"

# From nothing to a proved rule on a CPU. Stopped, it goes on where it was. TASK=add:base=2 has the smaller table.
TASK ?= add
FOUND = out/discover-$(subst :,-,$(subst =,-,$(TASK)))
discover: .venv/.installed
	$(BIN)/gridsum train --out $(FOUND) --device cpu $(if $(wildcard $(FOUND)/config.json),--resume,--variant exact --task $(TASK) --setting small)
	$(BIN)/gridsum rule --model $(FOUND)/seed-0
	$(BIN)/gridsum prove --model $(FOUND)/seed-0

serve: .venv/.installed-serve
	$(BIN)/gridsum serve

page: .venv/.installed
	$(BIN)/gridsum page --out out/site

test: .venv/.installed-dev
	@tests/serve/chromium.sh
	@mkdir -p out  # types are checked beside the rest, and told after it
	$(BIN)/pyright >out/types.txt 2>&1 & types=$$!; \
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports && \
	$(BIN)/pytest --numprocesses 2 --dist worksteal; tests=$$?; \
	wait $$types; types=$$?; cat out/types.txt; exit $$((tests || types))

# The theorem and the rule of exact, checked by Coq.
certify: coq .venv/.installed
	$(BIN)/gridsum prove --certify

# Installed where that is allowed: on Debian, by root.
coq:
	@command -v coqc >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends coq >/dev/null; } \
		|| echo "Coq is not installed, and only root can install it, on Debian: its theorem is not checked here"

# Faults injected on purpose, for about half an hour, each kind for three minutes.
faults: .venv/.installed-dev
	FAULTS_SECONDS=180 $(BIN)/pytest tests/faults --timeout 0 -rP
	$(BIN)/pytest -m slow -k killed tests/study/test_workers.py

docs: .venv/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

benchmark: .venv/.installed
	$(BIN)/python benchmarks/cpu.py

# Ratios of processor time against the bounds of benchmarks/bounds.json: ends with 1 and names what has become slower.
bench-check: .venv/.installed
	$(BIN)/python benchmarks/check.py

clean:
	rm -rf .venv out
