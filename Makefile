# The commands for contributors. Run `make check` before a commit; CI runs `make test`.

SHELL := /bin/bash
.PHONY: help binary dist plugins web serve-web book site vscode check test test-all cluster bless bench mutants deny
.DEFAULT_GOAL := help
stages := format docs prose layers shell web-code lint library msrv rust blocks web-quick python runtime local-runs preflight image package output guard deny

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

binary: ## Build the static release binary and print its path
	@. tests/tools.sh && shipped && echo

dist: ## Build every package for this machine into target/dist; KEY signs those for Helm
	@dist/target.sh target/dist && dist/assemble.py target/dist

plugins: ## Build the Helm plugins and the chart into target/plugins and their packages into target/plugins/packages; KEY signs them
	@plugin/build.sh target/plugins && dist/helm.py target/plugins target/plugins/packages

web: ## Build the preview page into web/dist, a folder for any web server
	@web/build.sh

serve-web: web ## Build the preview page and serve it on this machine
	@cd web && npm run --silent serve

book: ## Build the docs as a book into target/book/html, with the preview page if `make web` has built it
	@. tests/tools.sh && FEATURES=search cargo_tool mdbook 0.5.4 && book/build.py

vscode: web ## Build the extension for VS Code into target/vscode
	@dist/vscode.py target/vscode

site: web book ## Build the hosted site into target/site: book, preview, schemas, Helm repository and the packages of this machine
	@dist/target.sh target/dist && dist/site.py pack target/dist && dist/vscode.py target/dist && dist/assemble.py target/dist && dist/site.py target/site target/dist

check: ## Check format, lints and prose; run unit and snapshot tests, of the page too
	@PROPTEST_CASES=$${PROPTEST_CASES:-32} tests/run.sh format docs prose web-code lint rust

test: ## Run everything that CI runs; installs what it needs
	@QUICK=1 BESIDE=1 SECOND_TRIES=list WITHIN=40 tests/run.sh $(stages) cluster

test-all: ## Run `test` with many more cases per property, and all other stages (see CONTRIBUTING.md); takes two hours more
	@PROPTEST_CASES=$${PROPTEST_CASES:-4096} tests/run.sh $(stages) fuzz advisories alerts newest reproducible workflows systems arm64 dist editor vscode book site start cluster targets gitops helm plugin kueue identity web web-firefox worker horovod slurm faults versions ipv6 scale

cluster: ## Open a shell in a Kubernetes of four nodes, which ends with the shell; requires root
	@. tests/tools.sh && IMAGES="$${IMAGES:-$$(worker_image)}" tests/cluster/up.sh

bless: ## Rewrite the snapshots, rendered examples and the page's types; read the diff afterwards
	KHOROVOD_BLESS=1 INSTA_UPDATE=always cargo test --locked
	KHOROVOD_BLESS=1 cargo test --locked --package khorovod-web-wire

bench: ## Measure speed, memory and size
	@bench/run.sh

mutants: ## Run mutation tests of the plan and the rules; takes hours, MUTANTS='--shard 0/20' runs a part
	@. tests/tools.sh && cargo_tool cargo-mutants 27.1.0 && CARGO_PROFILE_DEV_DEBUG=0 cargo mutants --package khorovod --output target $(MUTANTS)

deny: ## Check licences, duplicates and sources of the dependencies
	@tests/run.sh deny
