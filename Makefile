# What a contributor and a user of the sources need: `make help`. Packages, releases and other systems: packaging/Makefile; longer
# tests: tests/Makefile.

# Where `make install` puts things. The library lies in a directory of its own, beside the C library: `pcp-pmda-rust enable` puts it in front.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib/pcp-pmda-rust
INCLUDEDIR ?= $(PREFIX)/include/pcp-pmda-rust
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/pcp-pmda-rust
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
SYSCONFDIR ?= /etc
# The file of ldconfig's that `pcp-pmda-rust enable` writes; packages have another one, so that neither touches the other's.
CONF ?= 00-pcp-pmda-rust-local.conf
# The extension of manual pages about functions; packages take one that PCP's own pages do not have.
MANEXT ?= 3
# Where `make` has put the libraries.
BUILT ?= $(shell cat target/built 2>/dev/null)
# The folder of the agent openmetrics: beside that of PCP's own, below $$PCP_PMDAS_DIR.
OPENMETRICSDIR ?= /var/lib/pcp/rust/pmdas/openmetrics
STRIP ?= strip
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p;T;q' Cargo.toml)

.PHONY: all help setup demo check try lint headers licences bench deb install uninstall install-openmetrics uninstall-openmetrics clean

all: ## the library and pcp-pmda-rust, for make install (in target)
	packaging/build.sh

help: ## these lines
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 24
	@echo 'Longer tests: make -C tests help. Packages, releases, other systems: make -C packaging help.'

# Packages by apt, PCP's tools and agents below target/pcp.
setup: ## what the tests and the benchmarks need
	tests/support/setup.sh

demo: all ## PCP's agent simple on this library, under dbpmda and a private pmcd: seconds
	tests/support/setup.sh demo
	tests/support/demo.sh

check: setup ## format, lints, build, all tests; the last line is "N passed, N failed, N skipped"
	tests/support/check.sh

# On a debug build, which is there in seconds; the tests of make check run on the library as `make` builds it: make try C=… TEST_LIBRARY=made
TEST_LIBRARY ?= debug
try: ## after an edit: the programs of tests/c named C on both libraries: make try C=cache_files; M=1: under valgrind, for memory that they lose
	@[ -n "$(C)" ] || { echo "make try: C= is missing, the name of a program of tests/c or a part of some: make try C=cache_files" >&2; exit 2; }
	@echo "make try: compiling what has changed (the first time takes a minute or two), then running $(C) on the $(TEST_LIBRARY) library" >&2
	@TEST_LIBRARY=$(TEST_LIBRARY) cargo run --quiet -p pcp-pmda-test -- $(if $(M),memcheck,differential) $(C)

# Warnings are errors. Needs shellcheck.
lint: ## format, lints, shell scripts, the documentation of the sources
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	tests/support/scripts.sh
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps --document-private-items

headers: ## writes include/pcp anew from src and capi
	cargo run --quiet -p pcp-pmda-sources -- headers

licences: ## after a change of Cargo.lock: writes THIRD-PARTY.txt and debian/copyright anew
	packaging/licences.sh

# Without ROWS it writes docs/performance.csv, what docs/PERFORMANCE.md shows of it, and the picture. ROWS="WORD … SIZE …" prints
# those rows, and writes nothing: ROWS="'lookup by id' 10". ROWS=--agents: whole agents below a pmcd. ROWS=--in-rust: an agent in Rust
# beside the same one in C. ROWS=--ports: examples beside PCP's agents.
bench: setup all ## this library against the C library, in time and instructions
	cargo run --quiet --package pmda-compare -- $(ROWS)

deb: ## Debian packages that lie beside Debian's own, in target/deb
	packaging/deb.sh

# The variables above, for packaging/install.sh, which does nothing by halves.
OPENMETRICS ?= $(or $(BUILT),target/release)/pmdaopenmetrics
INSTALL = @DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BINDIR="$(BINDIR)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" MANDIR="$(MANDIR)" \
    DOCDIR="$(DOCDIR)" COMPLETIONDIR="$(COMPLETIONDIR)" SYSCONFDIR="$(SYSCONFDIR)" CONF="$(CONF)" MANEXT="$(MANEXT)" BUILT="$(BUILT)" \
    OPENMETRICS="$(OPENMETRICS)" OPENMETRICSDIR="$(OPENMETRICSDIR)" STRIP="$(STRIP)" VERSION="$(VERSION)" \
    packaging/install.sh

# Root needs no cargo. From another directory: make install BUILT=DIRECTORY.
install: ## what make has built, below PREFIX (/usr/local)
	@[ -n "$(DESTDIR)" ] || [ ! -e "$(BUILT)/libpcp_pmda.so" ] || sh packaging/pcp-pmda-rust.in fits "$(BUILT)/libpcp_pmda.so"
	$(INSTALL) install

# The file that `pcp-pmda-rust enable` has written goes as well, and so do directories that the installation has made, if they are
# empty; run ldconfig afterwards.
uninstall: ## removes it
	$(INSTALL) uninstall

# Run Install in its folder then (docs/OPENMETRICS.md). Build it before, not as root: cargo build --release -p pmda-openmetrics
install-openmetrics: ## the agent openmetrics in Rust, beside PCP's
	$(INSTALL) install-openmetrics

# Run Remove in its folder before.
uninstall-openmetrics: ## removes it
	$(INSTALL) uninstall-openmetrics

clean: ## removes target
	cargo clean
