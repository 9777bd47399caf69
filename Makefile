# Everything a developer types. `make check` before a commit; `make test` is what CI runs.

SHELL := /bin/bash
.PHONY: help binary dist plugins web serve-web book check test test-all cluster bless bench mutants deny
.DEFAULT_GOAL := help
stages := format docs layers shell lint library msrv rust blocks runtime preflight image package output guard deny

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

binary: ## Build the binary to ship, static, and print its path
	@. tests/tools.sh && shipped && echo

dist: ## Build every package into target/dist: archive, .deb, image, plugins of kubectl and Helm, SHA256SUMS
	@. tests/tools.sh && binary=$$(shipped) && dist/build.sh target/dist "$$binary"

plugins: ## Build the Helm plugins into target/plugins; packages them where there is a Helm 4, signed with KEY
	@. tests/tools.sh && KHOROVOD=$$(shipped) plugin/build.sh target/plugins

web: ## Build the preview page into web/dist, a folder for any web server
	@web/build.sh

serve-web: web ## Build the preview page and serve it here
	@cd web && npm run --silent serve

book: ## Build the docs as a book into target/book/html, with the preview page where it is built
	@. tests/tools.sh && FEATURES=search cargo_tool mdbook 0.5.4 && book/build.py

check: ## Format, lints, unit and snapshot tests
	@PROPTEST_CASES=$${PROPTEST_CASES:-32} tests/run.sh format docs lint rust

test: ## All that CI runs; installs what it needs
	@WITHIN=40 tests/run.sh $(stages) cluster

test-all: ## `test` with many more cases for each property, real Helms, Kustomize and Flux, operators, a real browser, Horovod under Open MPI 4, TensorFlow and MXNet, Slurm, faults, older and later Kubernetes, those with IPv6, and 5,000 workers; two hours more
	@PROPTEST_CASES=$${PROPTEST_CASES:-4096} tests/run.sh $(stages) fuzz advisories reproducible workflows dist editor book start cluster targets gitops helm plugin identity web worker horovod slurm faults versions ipv6 scale

cluster: ## A Kubernetes of four nodes to play with, for as long as its shell is open; needs root
	@. tests/tools.sh && IMAGES="$${IMAGES:-$$(worker_image)}" tests/cluster/up.sh

bless: ## Write the snapshots and rendered examples anew; then read the diff
	KHOROVOD_BLESS=1 INSTA_UPDATE=always cargo test --locked

bench: ## Measure speed, memory and size
	@bench/run.sh

mutants: ## Change the plan and the rules a little, one place at a time, and see which test notices; hours. MUTANTS='--shard 0/20' is a part
	@. tests/tools.sh && cargo_tool cargo-mutants 27.1.0 && CARGO_PROFILE_DEV_DEBUG=0 cargo mutants --package khorovod --output target $(MUTANTS)

deny: ## Licences, duplicates and sources of what we link
	@tests/run.sh deny
