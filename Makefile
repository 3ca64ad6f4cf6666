# `make help` lists the targets.  Work is done by the programs in scripts/ and by the tools in .venv.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Compiling the same modules in each of the many programs that tests start would take longer than the tests.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv/bin
PYTEST := $(VENV)/pytest
# Which tests are in which run: tests/runs/parts.toml.
RUNS := $(VENV)/python -m tests.runs

.PHONY: help setup lint imports format protobuf-fresh test test-quick test-all conformance cluster cluster-env cluster-down e2e colocation colocation-short remote-shuffle pages bench mutants soak attacks kerberos simulate fuzz new-seeds records-fresh nightly demo lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

setup: ## .venv with Yodel and its tools; Java, kubectl, PostgreSQL, Maven and chromium found or fetched
	@scripts/setup

lint: setup ## ruff, mypy (strict), import contracts, generated protobuf fresh
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports
	$(MAKE) --no-print-directory protobuf-fresh

protobuf-fresh: ## fails when yodel/hadoop_pb is not what its generator makes
	scripts/protobuf-fresh

format: setup ## rewrite the sources in the house's format
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

test: setup ## what must pass before work leaves this machine: quick tests, contracts, faults, a core of real clients (ten minutes at most)
	scripts/spark-venv 4.x
	$(RUNS) test

test-quick: setup ## unit, playbook, property and simulation tests, stores without PostgreSQL: two minutes, no network
	$(RUNS) quick

test-all: export YODEL_CLASS_DATA := make
test-all: test ## everything: then every client (Spark 3.5 and 4.x, MapReduce, Tez, Flink), storms, fuzz, soaks, and e2e
	scripts/spark-venv 3.5.x
	$(RUNS) hadoop+clients,slow alone
	$(MAKE) --no-print-directory e2e

conformance: export YODEL_CLASS_DATA := make
conformance: setup ## every client script on a real Hadoop and on Yodel (an hour; FORM=recorded, what CI compares: 15 minutes); writes docs/compatibility.md, tests/conformance/recorded
	scripts/spark-venv 4.x
	scripts/spark-venv 3.5.x
	YODEL_CONFORMANCE=$(or $(FORM),full) $(PYTEST) tests/conformance/test_hadoop_clients.py tests/conformance/test_rest_differential.py

cluster: setup ## a real Kubernetes on this machine with Yodel and HDFS in it (as root; 12 minutes the first time)
	@$(VENV)/python -m tests.rigs.kubernetes up

cluster-env: ## what to export for kubectl, Hadoop and Spark: eval "$$(make -s cluster-env)"
	@$(VENV)/python -m tests.rigs.kubernetes env

cluster-down: ## end that cluster; nothing is left
	@$(VENV)/python -m tests.rigs.kubernetes down

e2e: setup ## the scenarios of tests/e2e on that cluster, brought up and down when it is not there (half an hour; YODEL_E2E=short: ten minutes)
	@tests/rigs/kubernetes/packages
	@tests/rigs/kubernetes/binaries etcd helm kubernetes >/dev/null
	scripts/spark-venv 4.x
	$(RUNS) e2e

colocation: setup ## what lent capacity gains and what a service feels of it, alone on the machine (as root; MINUTES=55): tables and charts in docs/colocation.md and README.md; goes on after an interruption, FRESH=1 begins a new one
	scripts/spark-venv 4.x >/dev/null
	$(VENV)/python -m bench.colocated --minutes $(or $(MINUTES),55) $(if $(FRESH),--fresh)

colocation-short: setup ## a service next to batch work on one node of a running cluster: what is written, how its latency changes (four minutes)
	$(PYTEST) -s tests/e2e/test_colocated_service.py

remote-shuffle: setup ## a Spark join and sort through real servers, a node killed in the middle, no map run again: CELEBORN_MASTER=host:port UNIFFLE_COORDINATOR=host:port SIZE=200 (MB)
	@$(VENV)/python -m tests.rigs.remote_shuffle --celeborn "$(CELEBORN_MASTER)" --uniffle "$(UNIFFLE_COORDINATOR)" \
	  --size "$(or $(SIZE),200)" $(foreach option,$(OPTIONS),--option "$(option)")

pages: setup ## every web page of real Spark and MapReduce jobs in a browser, its links, figures and readability (six minutes); pictures in .runs/pages
	scripts/spark-venv 4.x
	$(PYTEST) -s tests/conformance/test_pages.py

bench: setup ## compare with the real ResourceManager: one table, never judged (eighteen minutes at most; bench/README.md has more programs)
	@$(VENV)/python -m bench.side_by_side

mutants: setup ## small faults put into the code, one at a time, that tests have to find: what is kept, then changes since the last release (SINCE=commit: changes since then alone, 20 minutes at most)
	@$(VENV)/python -m tests.mutants $(if $(SINCE),--since "$(SINCE)") $(ONLY)

soak: setup ## a job of a million containers, and twice a thousand of the greatest submissions: what stays (hours)
	@$(VENV)/python -m tests.simulation.soak containers --count $(or $(COUNT),1000000)
	@$(VENV)/python -m tests.simulation.soak submissions --count 1000

kerberos: setup ## a KDC of its own and a secured cluster: unmodified yarn, MapReduce and Spark with tickets, keytabs and tokens, and the refusals (six minutes)
	tests/rigs/kerberos/packages >/dev/null
	$(PYTEST) tests/conformance/test_kerberos.py tests/conformance/test_kerberos_jobs.py

attacks: setup ## attacks next to legitimate users: repelled or not, and how long these users waited (ON=--rig: on make cluster's)
	@$(VENV)/python -m tests.attacks $(ON) $(ONLY)

simulate: setup ## storms of faults on simulated clusters until one breaks a law; SECONDS=600 ends them, a seed that found something is kept
	@$(VENV)/python -m tests.simulation.run --seconds $(or $(SECONDS),inf)

fuzz: setup ## damaged frames and requests, one seed after the other, until one finds something; SECONDS=600 ends it
	@$(VENV)/python -m tests.fuzz --seconds $(or $(SECONDS),inf)

new-seeds: setup ## the tests that draw at random with a new seed; what it finds is kept in tests/kept_seeds.json
	YODEL_SEED=$$($(VENV)/python -c 'import secrets; print(secrets.randbits(32))') $(RUNS) quick slow

# Each of them, whatever becomes of the others; at the end, those that failed.
NIGHTLY := test-all conformance records-fresh attacks mutants soak new-seeds
records-fresh: ## fails where the real Hadoop has just answered otherwise than recorded
	git diff --exit-code --stat -- tests/conformance/recorded

nightly: setup ## the long forms of all of it, one after the other (a night)
	@failed=(); \
	for name in $(NIGHTLY) "fuzz SECONDS=1800" "simulate SECONDS=1800"; do \
	  $(MAKE) --no-print-directory $$name || failed+=("$${name%% *}"); \
	done; \
	if [ $${#failed[@]} -gt 0 ]; then echo "nightly: failed: $${failed[*]}"; exit 1; fi; \
	echo "nightly: nothing failed"

demo: setup ## a cluster on this machine, two Spark jobs on it, their pods, and a clean end (KEEP=1: it stays up, in /tmp/yodel)
	@scripts/spark-venv 4.x >/dev/null
	@KEEP="$(KEEP)" DIR="$(DIR)" $(VENV)/python scripts/demo.py

lock: setup ## rewrite requirements.lock from pyproject.toml: exact versions with hashes, no registry named
	. scripts/lib.sh && uv=$$(find_uv) && "$$uv" lock --quiet && \
	"$$uv" export --quiet --frozen --all-extras --no-extra kerberos --all-groups --no-emit-project --no-header --format requirements-txt -o requirements.lock && \
	echo 'gssapi>=1.9' | "$$uv" pip compile --quiet --generate-hashes --no-header --no-annotate - -o requirements-kerberos.lock

clean: ## remove .venv and the tools' caches in the checkout (not ~/.cache/yodel); the next setup chooses an interpreter again
	rm -rf .venv .runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
