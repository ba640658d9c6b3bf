# Each target builds what it needs. The first target that needs Python sets up .venv from the pinned requirements.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
READY := $(VENV)/.ready

FLEET ?= examples/cartpole.yaml
PYTEST ?=
TORCHRL ?=
SEED ?= 1

.PHONY: help
help: ## Show the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Pip would name one of the pinned packages that has no wheel for the system, such as cuda-bindings.
LINUX_ONLY := .venv needs Linux, because the pinned torch and its CUDA packages have no wheels for this system; use a Linux \
  machine. Here, use make dist, make docs, and the commands for clusters (docs/cli.md).

$(READY): requirements/dev.txt requirements/uv.txt pyproject.toml
	@[[ $$(uname -s) == Linux ]] || { echo "$(LINUX_ONLY)" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version)'
	@echo "setting up $(VENV) (about 6 GB with torch; once)"
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --require-hashes -r requirements/uv.txt
	$(UV) pip install --quiet --compile-bytecode --python $(PY) --require-hashes -r requirements/dev.txt
	$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	@# Pods of the tests read these folders and cannot write into them, so each would compile the modules itself.
	$(PY) -m compileall -q crds operator collector_image
	@touch $@

.PHONY: venv
venv: $(READY) ## Set up the environment in .venv

.PHONY: run
run: $(READY) ## Train the example (or FLEET=file) on this machine, without Kubernetes
	$(VENV)/bin/collectorfleet run $(FLEET)

.PHONY: validate
validate: $(READY) ## Check the manifests of the examples offline
	$(VENV)/bin/collectorfleet validate examples/*.yaml examples/own_image/fleet.yaml

# make runs two of these parts at the same time, one on each of two cores. The longest part comes first, and each further
# part starts when a part ends. The last parts are short, so no core is idle for long at the end.
.PHONY: test
test: $(READY) ## Run all tests: unit, local Ray, real API server and KubeRay, real nodes
ifeq ($(PYTEST),)
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-e2e test-processes test-integration \
		test-unit-data-plane test-unit-others test-contract
else
	$(PY) -m pytest $(PYTEST)
endif

.PHONY: test-variants
test-variants: $(READY) ## Run variants of the tests of `make test` (an hour)
	$(PY) -m pytest --variants only $(PYTEST)

.PHONY: test-examples
test-examples: $(READY) ## Run the property tests with ten times as many examples as `make test` (an hour)
	$(PY) -m pytest tests/unit --hypothesis-profile=nightly $(PYTEST)
	$(PY) -m pytest tests/integration/test_crd_agrees.py --odd-manifests=2000 $(PYTEST)

.PHONY: test-processes
test-processes: $(READY) ## Run the tests of the data plane and of `collectorfleet run`, on a local Ray
	$(PY) -m pytest tests/runtime tests/run $(PYTEST)

.PHONY: test-contract
test-contract: $(READY) ## Run the tests that every transport must pass
	$(PY) -m pytest tests/contract $(PYTEST)

.PHONY: test-integration
test-integration: $(READY) ## Run the tests on a real API server, in which the tests simulate the pods
	$(PY) -m pytest tests/integration $(PYTEST)

.PHONY: test-e2e
test-e2e: $(READY) ## Run the end-to-end tests on real nodes
	$(PY) -m pytest tests/e2e $(PYTEST)

.PHONY: test-unit
test-unit: $(READY) ## Run the unit tests
	$(PY) -m pytest tests/unit $(PYTEST)

.PHONY: test-unit-data-plane test-unit-others
test-unit-data-plane: $(READY)
	$(PY) -m pytest tests/unit/collectorfleet $(PYTEST)
test-unit-others: $(READY)
	$(PY) -m pytest tests/unit --ignore=tests/unit/collectorfleet $(PYTEST)

.PHONY: test-local
test-local: $(READY) ## Run the tests of the data plane and of the transports, on a local Ray
	$(PY) -m pytest tests/contract tests/runtime $(PYTEST)

.PHONY: check
check: $(READY) ## Check in three minutes: style, types, contracts, validate, and the unit tests that are not slow
	@begun=$$SECONDS; status=0; \
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-parts || status=$$?; \
	$(MAKE) --no-print-directory check-left-out; \
	echo "make check: $$((SECONDS - begun)) s"; \
	exit $$status

.PHONY: check-parts check-data-plane check-others check-left-out
check-parts: check-data-plane types lint contracts validate check-others
check-data-plane: $(READY)
	$(PY) -m pytest --quick -q --durations=0 --durations-min=2 tests/unit/collectorfleet $(PYTEST)
check-others: $(READY)
	$(PY) -m pytest --quick -q --durations=0 --durations-min=2 tests/unit --ignore=tests/unit/collectorfleet $(PYTEST)
	$(PY) -m pytest --quick -q --durations=0 --durations-min=2 tests/contract -k in_process $(PYTEST)
check-left-out: $(READY)
	@$(PY) -m tests.quick

.PHONY: test-faults
test-faults: $(READY) ## Test lost and drained nodes, and faults of the control plane, on a real cluster of two nodes (Linux, root, an hour)
	$(PY) -m pytest tests/faults -s $(PYTEST)

.PHONY: test-delivery
test-delivery: $(READY) ## Test charts, alerts, dashboard and workflows with Helm, Prometheus and similar tools (builds them: Go, 10 minutes)
	$(PY) -m pytest tests/delivery $(PYTEST)

.PHONY: test-gitops
test-gitops: $(READY) ## Run fleets from a git repository with Argo CD and Flux on a real cluster (builds both: Go, 10 minutes)
	$(PY) -m pytest tests/gitops $(PYTEST)

.PHONY: test-queues
test-queues: $(READY) ## Run fleets in a queue of Kueue on a real cluster (10 minutes, and 6 minutes to build Kueue with Go)
	$(PY) -m pytest tests/queues $(PYTEST)

.PHONY: test-versions
test-versions: $(READY) ## Run tests with the oldest and newest Kubernetes, KubeRay, Ray and Kueue (an hour, and 20 minutes to build them with Go)
	$(PY) -m pytest tests/versions -s $(PYTEST)

.PHONY: test-images
test-images: $(READY) ## Build both images, push them and the charts to a registry, install and train from there (40 GB of disk)
	$(PY) -m pytest tests/images $(PYTEST)

.PHONY: test-torchrl
test-torchrl: $(READY) ## Run TorchRL's own tests with FleetCollector in place of RayCollector (TORCHRL=a checkout; 10 minutes)
	$(PY) -m pytest tests/torchrl_own --torchrl "$(TORCHRL)" -s $(PYTEST)

build/envpool: requirements/envpool.txt $(READY)
	rm -rf $@
	$(UV) pip install --quiet --target $@ --python $(PY) --no-deps --require-hashes -r $<
	@touch $@

.PHONY: test-envpool
test-envpool: build/envpool ## Run tests with EnvPool's own environments (740 MB, a minute)
	PYTHONPATH=build/envpool $(PY) -m pytest tests/envpool $(PYTEST)

# These environments lack the packages that only a run needs, because the packages take 6 GB for each version of Python.
PYTHONS ?= 3.12 3.13 3.14
OF_A_RUN := export extras drive collect run

.PHONY: test-pythons
test-pythons: $(READY) ## Run the tests of client and commands with newer versions of Python (PYTHONS=3.13; 7 minutes)
	for version in $(PYTHONS); do \
		$(UV) venv --quiet --clear --python $$version build/python-$$version; \
		$(UV) pip install --quiet --python build/python-$$version --constraint requirements/dev.txt \
			--editable '.[client,operator,compare]' cryptography hypothesis promql-parser psutil pytest pytest-timeout; \
		build/python-$$version/bin/python -m pytest $(addprefix tests/unit/collectorfleet/,client cli display) \
			$(patsubst %,--ignore=tests/unit/collectorfleet/cli/test_%.py,$(OF_A_RUN)) $(PYTEST); \
	done

build/mutation: requirements/mutation.txt $(READY)
	rm -rf $@
	$(UV) pip install --quiet --target $@ --python $(PY) --require-hashes -r $<
	@touch $@

.PHONY: mutate
mutate: build/mutation ## Make 100 changes in PACKAGE, one at a time, and count those that its unit tests detect (SEED=1; 10 minutes)
	PYTHONPATH=build/mutation $(PY) -m pytest -q --no-header tests/mutation
	PYTHONPATH=build/mutation $(PY) -m tests.mutation $(PACKAGE) --seed $(SEED)

.PHONY: test-gpu
test-gpu: $(READY) ## Test collectors that share one GPU, on a local Ray: fractions, memory, frames and weights (10 minutes)
	timeout 600 $(PY) -m pytest tests/gpu -rs $(PYTEST)

.PHONY: cluster
cluster: $(READY) ## Start a real Kubernetes with KubeRay and the operator on this machine (Linux, root; installs Debian packages)
	$(PY) -m tests.cluster up $(CLUSTER)

.PHONY: cluster-down
cluster-down: $(READY) ## Stop the cluster of `make cluster`, and remove its files and volumes (keeps the installed packages)
	$(PY) -m tests.cluster down

.PHONY: lint
lint: $(READY) ## Check style
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .

.PHONY: types
types: $(READY) ## Check types, strictly
	$(VENV)/bin/mypy

.PHONY: contracts
contracts: $(READY) ## Check the import rules between packages
	$(VENV)/bin/lint-imports

.PHONY: prose
prose: $(READY) ## Check the wording of pages, help texts, docstrings and comments (builds vale: Go, gcc, a minute)
	$(PY) -m tests.prose

.PHONY: generate
generate: $(READY) ## Write the generated files: CRD, reference, schema, messages, manifest, values, code in examples
	$(PY) -m collectorfleet_api.schema.crd > crds/collectorfleets.yaml
	cp crds/collectorfleets.yaml charts/collectorfleet-operator/files/
	$(PY) -m collectorfleet_api.schema.reference > docs/reference.md
	$(PY) -m collectorfleet_api.schema.remedies docs/conditions.md
	$(PY) -m tests.messages
	$(PY) -m examples.embed
	$(PY) -m tests.delivery.plain_manifest
	$(PY) -m tests.delivery.chart_readme
	$(PY) -m collectorfleet_api.schema.chart_values > charts/collectorfleet/values.schema.json
	$(PY) -m examples.values

.PHONY: picture
picture: $(READY) ## Draw the picture of the README from a run of the example
	$(PY) -m tests.delivery.live_picture docs/live.svg

build/pod-types: requirements/pod-types.txt $(READY)
	rm -rf $@
	$(UV) pip install --quiet --target $@ --python $(PY) --no-deps --require-hashes -r $<
	@touch $@

.PHONY: pod-types
pod-types: build/pod-types ## Write the types of a pod's fields from Kubernetes' schemas (110 MB, a minute)
	$(PY) -m collectorfleet_api.schema.pod_types build/pod-types/kubernetes_validate/kubernetes-json-schema \
		> crds/collectorfleet_api/rules/pods/types.json

LOCK := $(UV) pip compile --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet
.PHONY: lock
lock: $(READY) ## Pin the requirements again, with hashes and without addresses of package indexes
	$(LOCK) pyproject.toml --extra operator --extra runtime --extra client --extra compare --extra mujoco --group dev --output-file requirements/dev.txt
	$(LOCK) pyproject.toml --extra operator --constraint requirements/dev.txt --output-file requirements/operator.txt
	$(LOCK) pyproject.toml --extra runtime --extra mujoco --constraint requirements/dev.txt --output-file requirements/runtime.txt
	$(LOCK) --group envpool --no-deps --constraint requirements/dev.txt --output-file requirements/envpool.txt
	$(LOCK) --group mutation --constraint requirements/dev.txt --output-file requirements/mutation.txt
	$(LOCK) --group pipx --constraint requirements/dev.txt --output-file requirements/pipx.txt
	$(LOCK) --group pod-types --no-deps --output-file requirements/pod-types.txt
	$(LOCK) --group build --constraint requirements/dev.txt --output-file requirements/build.txt
	$(LOCK) --group dist --constraint requirements/dev.txt --output-file requirements/dist.txt
	$(LOCK) --group docs --constraint requirements/dev.txt --output-file requirements/docs.txt

build/dist: requirements/uv.txt requirements/dist.txt
	rm -rf $@
	python3 -m venv $@
	$@/bin/pip install --quiet --require-hashes -r requirements/uv.txt -r requirements/dist.txt
	@touch $@

# The wheel is built from the sdist, so a file that the sdist lacks is also missing in the wheel.
.PHONY: dist
dist: build/dist ## Build the sdist and the wheel in dist, and check them (needs no .venv)
	build/dist/bin/uv build --quiet --no-build-isolation --python build/dist/bin/python --clear --no-create-gitignore --out-dir dist
	build/dist/bin/twine check --strict dist/*

build/docs: requirements/docs.txt
	rm -rf $@
	python3 -m venv $@
	$@/bin/pip install --quiet --require-hashes -r requirements/docs.txt
	@touch $@

.PHONY: docs
docs: build/docs ## Build the site in build/site, and refuse broken links (needs no .venv)
	build/docs/bin/zensical build --strict

.PHONY: clean
clean: ## Remove the environment and the files of tools
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .cache
