# SPDX-License-Identifier: BSD-3-Clause
# Every target does its own set-up (scripts/setup) and can be repeated cheaply. `make` alone lists them.

# By the shell, because make's own functions split a path at spaces.
ROOT := $(shell cd "$$(dirname '$(strip $(MAKEFILE_LIST))')" && pwd)
SCRIPTS := $(ROOT)/scripts
SUITE ?= bookworm
ARCH ?=
PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run quick test test-all test-fresh test-hw test-packages soak bench-core bench-clock bench-tcp bench-costs bench-sim bench-kernel bench-cards bench-planner check format types fields schemas manual packages release install uninstall clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' "$(ROOT)/Makefile"

run: ## set up, build, simulate a cell with Keepon and an ordinary driver: table, result folder out/plain-cell
	@"$(SCRIPTS)/run"

quick: ## tests without a guest and nothing marked slow
	@"$(SCRIPTS)/run_tests" --quick

test: ## each claim once: C under sanitizers, fuzz smoke, pytest, guests, scripts/check
	@"$(SCRIPTS)/run_tests"

test-all: ## every test: each kernel, long and repeated forms, every file checked
	@"$(SCRIPTS)/run_tests" --all

test-fresh: ## prove `make run` and `make test` in a minimal Debian chroot (root; SUITE=bookworm|trixie)
	@"$(SCRIPTS)/test_fresh" --suite $(SUITE)

test-hw: ## drivers of real cards on models whose wire is paced; builds QEMU once (5 to 15 minutes)
	@"$(SCRIPTS)/run_tests" --hw

test-packages: ## packages installed, upgraded, removed in chroots; modules loaded in guests (root)
	@"$(SCRIPTS)/run_tests" --packages

soak: ## long campaigns: fifty times the fuzzing of `make test`, bounded proofs, the tests marked soak
	@"$(SCRIPTS)/run_tests" --soak

bench-core: ## cost of the core in instructions -> out/bench/core.json
	@"$(SCRIPTS)/bench" core

bench-clock: ## cost of reading and feeding the clock, per mode -> out/bench/clock.json
	@"$(SCRIPTS)/bench" clock

bench-tcp: ## cost of the simulator's TCP in instructions a segment -> out/bench/tcp.json
	@"$(SCRIPTS)/bench" tcp

bench-costs: ## the three above again -> bench/costs.json, to be committed; `make test` holds it
	@"$(SCRIPTS)/bench" costs

bench-sim: ## speed and memory of the simulator, beside ns-3 where it can be had -> out/bench/sim.json
	@"$(SCRIPTS)/bench" sim

bench-kernel: ## cost of the modules in instructions, in a guest -> out/bench/kernel.json
	@"$(SCRIPTS)/bench" kernel

bench-cards: ## cost of cards whose ring is lent, on models with a paced wire -> out/bench/cards.json
	@"$(SCRIPTS)/bench" cards

bench-planner: ## partition planner beside Z3 and CP-SAT alone, some minutes -> out/bench/planner.json
	@"$(SCRIPTS)/bench" planner

check: ## formatters, linters, types, include arrows, symbols, kbuild
	@"$(SCRIPTS)/setup" test lint kernel
	@"$(SCRIPTS)/check"

format: ## let clang-format and ruff rewrite the sources
	@"$(SCRIPTS)/setup" lint
	@"$(SCRIPTS)/check" --fix

types: ## write python/src/keepon/_sim.pyi from the built extension
	@"$(SCRIPTS)/setup" run
	@"$(ROOT)/.venv/bin/python" -m nanobind.stubgen -q -m keepon._sim -o "$(ROOT)/python/src/keepon/_sim.pyi"

fields: ## write python/src/keepon_host/link/fields.py from the rows of config_fields.h and keepon_options.h
	@python3 "$(SCRIPTS)/make_fields.py"

schemas: ## write the JSON Schemas and docs/scenario.md from the types and models
	@"$(SCRIPTS)/setup" run
	@"$(ROOT)/.venv/bin/python" -m keepon.model.schemafiles "$(ROOT)"
	@"$(ROOT)/.venv/bin/python" -m keepon.model.document_schemas
	@"$(ROOT)/.venv/bin/python" -m keepon_papers.schema_files

manual: ## write man pages and completion of shells into out/manual
	@"$(SCRIPTS)/setup" run
	@"$(ROOT)/.venv/bin/python" "$(ROOT)/devtools/manual/keepon_manual.py" "$(ROOT)/out/manual" "$(ROOT)/out/build/python/tools"

packages: ## Debian packages and wheel into out/packages (SUITE=bookworm|trixie, ARCH=arm64)
	@"$(SCRIPTS)/packages" --suite "$(if $(filter file,$(origin SUITE)),,$(SUITE))" --arch "$(ARCH)"

release: ## packages for both releases, keepon-tools for arm64, wheels, SBOM, checksums into out/release (root)
	@"$(SCRIPTS)/release"

install: ## command, tools, plugin, pages, units, sources of modules into PREFIX (/usr/local), DESTDIR
	@"$(SCRIPTS)/setup" run
	@"$(ROOT)/kernel/plugin/build" > /dev/null
	@"$(ROOT)/.venv/bin/python" "$(ROOT)/devtools/manual/keepon_manual.py" "$(ROOT)/out/manual" "$(ROOT)/out/build/python/tools"
	@"$(SCRIPTS)/install" --prefix "$(PREFIX)" --destdir "$(DESTDIR)/"

uninstall: ## take away what `make install` has put there
	@"$(SCRIPTS)/install" --uninstall --prefix "$(PREFIX)" --destdir "$(DESTDIR)/"

clean: ## remove build results and reports, keep the environment
	@rm -rf "$(ROOT)/out"

distclean: clean ## remove the environment too
	@rm -rf "$(ROOT)/.venv"
