# Everything builds into build/. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BUILD := build
# the tests install there and use what they find
COMPILE := tools/compile $(BUILD) --prefix=$(CURDIR)/build/prefix
DEPS := tools/install-deps
export HR_VENV := $(CURDIR)/build/venv

# ---- build

.PHONY: build
build: ## build the library, plugins and tools into build/
	@$(DEPS) build
	@$(COMPILE)

.PHONY: install
install: ## install an optimized build into PREFIX (/usr/local); DESTDIR is honoured
	@$(DEPS) build
	@tools/compile build/release --buildtype=release
	@meson configure build/release -Dprefix=$(abspath $(PREFIX))
	@tools/compile build/release
	@meson install -C build/release --no-rebuild --quiet
	@echo "installed into $(DESTDIR)$(abspath $(PREFIX))"

.PHONY: uninstall
uninstall: ## take back what `make install` has put there last
	@tools/uninstall build/release

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

# ---- tests

# A sanitized program is many times slower: its time-outs are ten times as long.
.PHONY: test
test: ## all tests but the long ones, core and parsers under ASan, 60 s of fuzzing; ends with "N passed, N failed"
	@$(DEPS) build test fuzz
	@tools/venv
	@HR_VENV=$(CURDIR)/build/venv-ray tools/venv tests/ray-requirements.txt
	@tools/fetch-vocab
	@$(COMPILE)
	@tools/test-all short

.PHONY: build-asan
build-asan:
	@$(DEPS) build test
	@tools/compile build/asan -Db_sanitize=address,undefined -Db_lundef=false

.PHONY: test-asan
test-asan: build-asan ## the tests under address, leak and undefined-behaviour sanitizer
	@tools/venv
	@tools/run-tests build/asan --no-suite long --no-suite unsanitized -t 10

.PHONY: build-tsan
build-tsan:
	@$(DEPS) build test
	@tools/compile build/tsan -Db_sanitize=thread -Db_lundef=false

.PHONY: test-tsan
test-tsan: build-tsan ## the tests under thread sanitizer
	@tools/venv
	@tools/run-tests build/tsan --no-suite long --no-suite unsanitized -t 10

.PHONY: test-valgrind
test-valgrind: ## the tests of the core under valgrind's memcheck
	@$(DEPS) build test long
	@tools/venv
	@$(COMPILE)
	@tools/run-tests $(BUILD) --suite core --suite elements --suite json --no-suite io --no-suite long --no-suite unsanitized \
	  -t 20 --wrap 'valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --suppressions=$(CURDIR)/tests/sanitizer/valgrind.supp --suppressions=/usr/share/glib-2.0/valgrind/glib.supp'

.PHONY: test-long
test-long: ## everything: long stress, second compiler, all sanitizers, fuzzing, coverage
	@$(DEPS) build test long fuzz coverage format deb packaging
	@tools/venv
	@tools/venv tests/long-requirements.txt
	@HR_VENV=$(CURDIR)/build/venv-ray tools/venv tests/ray-requirements.txt
	@HR_VENV=$(CURDIR)/build/venv-ray-train tools/venv tests/ray-train-requirements.txt
	@tools/fetch-vocab --templates
	@$(COMPILE)
	@tools/test-all long

# what the parts of `make test-long` need, in their order
.PHONY: ahead
ahead: build-coverage build-asan build-tsan build-fuzz

.PHONY: build-coverage
build-coverage:
	@$(DEPS) build test coverage
	@CC=clang CXX=clang++ tools/compile build/coverage -Dwerror=true -Db_coverage=true

.PHONY: coverage
coverage: build-coverage ## the tests, compiled by clang with warnings as errors: lines of core and plugins that they reach; fails below 85 %
	@tools/venv
	@tools/coverage build/coverage 85

.PHONY: build-fuzz
build-fuzz:
	@$(DEPS) build fuzz
	@CC=clang CXX=clang++ tools/compile build/fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false

# the fuzzers' build is one with address sanitizer, and serves twice
.PHONY: test-fuzzed
test-fuzzed: build-fuzz ## core, parsers and formats under address sanitizer, in the fuzzers' build
	@tools/run-tests build/fuzz --suite core --suite parser --suite json --suite image --suite io --no-suite long \
	  --no-suite unsanitized --no-suite s3 -t 10

.PHONY: fuzz
fuzz: build-fuzz ## 60 s of fuzzing, shared by all targets of tests/fuzz
	@tools/fuzz build/fuzz $${FUZZ_SECONDS:-60}

# ---- demo and benchmarks

.PHONY: demo ladder
demo: ladder ## the ladder on a real S3 server 30 ms away, rungs 1 to 4, and a page that shows them side by side
ladder: ## the same
	@$(DEPS) build demo
	@tools/venv demo/requirements.txt
	@$(COMPILE)
	@pipelines/ladder

.PHONY: demo-spread
demo-spread: ## two ranks that train from producers on Ray, one of which is killed; on this machine, two minutes
	@$(DEPS) build demo
	@tools/venv demo/requirements.txt
	@HR_VENV=$(CURDIR)/build/venv-ray tools/venv tests/ray-requirements.txt
	@$(COMPILE)
	@demo/dataset
	@PYTHONPATH=$(CURDIR)/build/python build/venv-ray/bin/python3 demo/spread.py build/demo/s3/demo/train/

.PHONY: ladder-full
ladder-full: ## as root: all five rungs at small and at large scale, on Ray nodes in network namespaces; a quarter of an hour
	@$(DEPS) build demo net
	@tools/venv demo/requirements.txt
	@HR_VENV=$(CURDIR)/build/venv-ray tools/venv tests/ray-requirements.txt
	@$(COMPILE)
	@demo/dataset
	@build/venv-ray/bin/python3 demo/full/ladder.py

.PHONY: example-train
example-train: ## train a tiny vision-language model on the demo's data, kill it, go on, compare each batch and loss; torch, 3 GB
	@$(DEPS) build demo
	@tools/venv demo/requirements.txt
	@tools/venv examples/requirements.txt
	@$(COMPILE)
	@demo/dataset
	@PYTHONPATH=$(CURDIR)/build/python $(HR_VENV)/bin/python3 examples/train-tiny-vlm.py prove build/demo/s3/demo/train/ build/example-train

.PHONY: bench-hop
bench-hop: ## cost of a hop and start-up time beside GStreamer
	@$(DEPS) build bench
	@tools/compile build/release --buildtype=release
	@bench/hop build/release

.PHONY: bench-tokenize
bench-tokenize: ## CPU time per token beside other tokenizers
	@$(DEPS) build bench
	@tools/venv bench/tokenize-requirements.txt
	@tools/fetch-vocab
	@tools/compile build/release --buildtype=release
	@$(HR_VENV)/bin/python3 bench/tokenize build/release

.PHONY: bench-pack
bench-pack: ## how full packed rows are, beside other ways to fill them
	@$(DEPS) build bench demo
	@tools/venv demo/requirements.txt
	@tools/fetch-vocab
	@tools/compile build/release --buildtype=release
	@$(HR_VENV)/bin/python3 bench/pack build/release

.PHONY: bench-image
bench-image: ## CPU time of JPEG files to pixels and patches beside other loaders; 3 GB of them, some minutes
	@$(DEPS) build bench demo
	@HR_VENV=$(CURDIR)/build/venv-pillow tools/venv bench/pillow-requirements.txt
	@tools/compile build/release --buildtype=release
	@build/venv-pillow/bin/python3 bench/image build/release

.PHONY: bench-s3
bench-s3: ## CPU time and latency of objects from an S3 server beside other clients, plain, TLS, and far away; some minutes
	@$(DEPS) build bench
	@HR_VENV=$(CURDIR)/build/venv-s3 tools/venv bench/s3-requirements.txt
	@tools/compile build/release --buildtype=release
	@build/venv-s3/bin/python3 bench/s3 build/release

.PHONY: bench-plan
bench-plan: ## finding the lines of a text beside wc -l, their memory, and restarts beside other loaders; 3 GB of them
	@$(DEPS) build
	@tools/compile build/release --buildtype=release
	@bench/plan build/release

.PHONY: bench-python
bench-python: ## batches in a trainer in Python, and what loaders beside it cost it; 3 GB of them, some minutes
	@$(DEPS) build bench demo
	@HR_VENV=$(CURDIR)/build/venv-python tools/venv bench/python-requirements.txt
	@tools/compile build/release --buildtype=release
	@build/venv-python/bin/python3 bench/python build/release

.PHONY: bench-ray
bench-ray: ## as root: headrace.ray beside Ray Data on nodes in network namespaces, and what a lost node costs; 3 GB, some minutes
	@$(DEPS) build bench demo net
	@tools/venv demo/requirements.txt
	@HR_VENV=$(CURDIR)/build/venv-ray-data tools/venv bench/ray-requirements.txt
	@tools/compile build/release --buildtype=release
	@demo/dataset
	@build/venv-ray-data/bin/python3 bench/ray build/release

.PHONY: bench-balance
bench-balance: ## how evenly steps are dealt to ranks, with balance=pixels and without
	@$(DEPS) build bench demo
	@tools/venv demo/requirements.txt
	@tools/fetch-vocab
	@tools/compile build/release --buildtype=release
	@$(HR_VENV)/bin/python3 bench/balance build/release

.PHONY: bench-heavy
bench-heavy: ## throughput with the costliest image of a step first, against the order in which images come
	@$(DEPS) build demo
	@tools/venv demo/requirements.txt
	@tools/compile build/release --buildtype=release
	@$(HR_VENV)/bin/python3 bench/heavy build/release

.PHONY: bench-auto
bench-auto: ## automatic settings beside the best of fixed ones, on four loads; some 25 minutes
	@$(DEPS) build
	@tools/compile build/release --buildtype=release
	@bench/auto build/release

.PHONY: bench-overhead
bench-overhead: ## processor time of a run with dashboard, trace and record, beside one with none of the three; some minutes
	@$(DEPS) build
	@tools/compile build/release --buildtype=release
	@bench/overhead build/release

.PHONY: bench-verdict
bench-verdict: ## what the verdict predicts beside what happens, in twelve runs that wait for something
	@$(DEPS) build
	@tools/compile build/release --buildtype=release
	@bench/verdict build/release

# ---- house

# clang-format's output differs between versions: this one is Debian 12's
.PHONY: format check-format
format: ## format all C files
	@$(DEPS) format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 -i
check-format: ## fail if a C file is not formatted
	@$(DEPS) format
	@git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 --dry-run -Werror

.PHONY: docs
docs: build ## write docs/elements and the manual's options from the programs' own tables; a test fails if they differ
	@tools/make-docs $(BUILD) docs/elements
	@tools/make-man $(BUILD) docs/man

.PHONY: api-docs
api-docs: build ## the reference of the C library, as HTML in build/docs/reference/reference; what has no comment is an error
	@$(DEPS) docs
	@ninja -C $(BUILD) docs/reference/reference

.PHONY: deb
deb: ## Debian packages in build/deb
	@$(DEPS) build deb
	@tools/deb build/deb

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16
