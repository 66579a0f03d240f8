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
# Strips the static library, of the bitcode in Rust's standard library as well: no linker takes it.
ARCHIVE_STRIP ?= strip
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

check: setup ## format, lints, build, all tests; the last line is "N passed, N failed"
	tests/support/check.sh

# On a debug build, which is there in seconds; the tests of make check run on the library as `make` builds it: make try C=… TEST_LIBRARY=made
TEST_LIBRARY ?= debug
try: ## after an edit: the programs of tests/c named C on both libraries: make try C=cache_files; M=1: their memory, below valgrind
	TEST_LIBRARY=$(TEST_LIBRARY) cargo run --quiet -p pcp-pmda-test -- $(if $(M),memcheck,differential) $(C)

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

# Root needs no cargo. From another directory: make install BUILT=DIRECTORY.
install: ## what make has built, below PREFIX (/usr/local)
	@[ -e "$(BUILT)/libpcp_pmda.so" ] || { echo "make install: nothing is built: run make first (not as root)" >&2; exit 1; }
	@[ -n "$(DESTDIR)" ] || sh packaging/pcp-pmda-rust.in fits "$(BUILT)/libpcp_pmda.so"
	packaging/directories.sh note "$(DESTDIR)" "$(LIBDIR)/directories" "$(LIBDIR)/pkgconfig" "$(BINDIR)" "$(INCLUDEDIR)/pcp" "$(MANDIR)/man1" \
	    "$(MANDIR)/man3" "$(DOCDIR)" "$(COMPLETIONDIR)" "$(SYSCONFDIR)/ld.so.conf.d"
	install -D -m 755 "$(BUILT)/libpcp_pmda.so" "$(DESTDIR)$(LIBDIR)/libpcp_pmda.so.3"
	$(STRIP) --strip-unneeded "$(DESTDIR)$(LIBDIR)/libpcp_pmda.so.3"
	ln -sf libpcp_pmda.so.3 "$(DESTDIR)$(LIBDIR)/libpcp_pmda.so"
	install -D -m 755 "$(BUILT)/pcp-pmda-rust-compare" "$(DESTDIR)$(LIBDIR)/compare"
	$(STRIP) --strip-unneeded "$(DESTDIR)$(LIBDIR)/compare"
	install -D -m 644 "$(BUILT)/libpcp_pmda.a" "$(DESTDIR)$(LIBDIR)/libpcp_pmda.a"
	$(ARCHIVE_STRIP) --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd "$(DESTDIR)$(LIBDIR)/libpcp_pmda.a"
	install -D -m 644 -t "$(DESTDIR)$(INCLUDEDIR)/pcp" include/pcp/pmda.h include/pcp/pmdaroot.h
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(BINDIR)"
	sed 's:^prefix=.*:prefix=$(PREFIX):; s:^libdir=.*:libdir=$(LIBDIR):; s:^includedir=.*:includedir=$(INCLUDEDIR):' \
	    "$(BUILT)/libpcp_pmda.pc" > "$(DESTDIR)$(LIBDIR)/pkgconfig/libpcp_pmda.pc"
	sed 's:@LIBDIR@:$(LIBDIR):; s:@SYSCONFDIR@:$(SYSCONFDIR):; s:@CONF@:$(CONF):; s:@VERSION@:$(VERSION):' \
	    packaging/pcp-pmda-rust.in > "$(DESTDIR)$(BINDIR)/pcp-pmda-rust"
	chmod 755 "$(DESTDIR)$(BINDIR)/pcp-pmda-rust"
	install -D -m 644 packaging/pcp-pmda-rust.bash "$(DESTDIR)$(COMPLETIONDIR)/pcp-pmda-rust"
	packaging/man-links.sh "$(DESTDIR)$(MANDIR)" "$(MANEXT)"
	for file in LICENSE THIRD-PARTY.txt *.md tests/README.md packaging/pairs.md agents/openmetrics/DIFFERENCES.md docs/*.md docs/*.csv docs/*.svg docs/spec/*.md pmda/interface.txt $$(find c-examples pmda/examples pmda/template -name target -prune -o -type f -print); do \
	    install -D -m 644 "$$file" "$(DESTDIR)$(DOCDIR)/$$file" || exit; done

# The file that `pcp-pmda-rust enable` has written goes as well, and so do directories that the installation has made, if they are
# empty; run ldconfig afterwards.
uninstall: ## removes it
	for file in libpcp_pmda.so.3 libpcp_pmda.so libpcp_pmda.a compare pkgconfig/libpcp_pmda.pc; do rm -f "$(DESTDIR)$(LIBDIR)/$$file"; done
	for file in pmda.h pmdaroot.h; do rm -f "$(DESTDIR)$(INCLUDEDIR)/pcp/$$file"; done
	rm -f "$(DESTDIR)$(BINDIR)/pcp-pmda-rust" "$(DESTDIR)$(COMPLETIONDIR)/pcp-pmda-rust" "$(DESTDIR)$(SYSCONFDIR)/ld.so.conf.d/$(CONF)"
	packaging/man-links.sh --remove "$(DESTDIR)$(MANDIR)" "$(MANEXT)"
	rm -rf "$(DESTDIR)$(DOCDIR)"
	packaging/directories.sh remove "$(DESTDIR)" "$(LIBDIR)/directories"

# Run Install in its folder then (docs/OPENMETRICS.md). Build it before, not as root: cargo build --release -p pmda-openmetrics
OPENMETRICS ?= $(or $(BUILT),target/release)/pmdaopenmetrics
install-openmetrics: ## the agent openmetrics in Rust, beside PCP's
	@[ -e "$(OPENMETRICS)" ] || { echo "make install-openmetrics: nothing is built: cargo build --release -p pmda-openmetrics" >&2; exit 1; }
	install -D -m 755 "$(OPENMETRICS)" "$(DESTDIR)$(OPENMETRICSDIR)/pmdaopenmetrics"
	$(STRIP) --strip-unneeded "$(DESTDIR)$(OPENMETRICSDIR)/pmdaopenmetrics"
	"$(OPENMETRICS)" --write "$(DESTDIR)$(OPENMETRICSDIR)"
	install -D -m 644 agents/openmetrics/man/pmdaopenmetrics-rust.1 "$(DESTDIR)$(MANDIR)/man1/pmdaopenmetrics-rust.1"

# Run Remove in its folder before.
uninstall-openmetrics: ## removes it
	rm -rf "$(DESTDIR)$(OPENMETRICSDIR)"
	-cd "$(DESTDIR)$(abspath $(OPENMETRICSDIR)/../../..)" && rmdir -p rust/pmdas 2>/dev/null
	rm -f "$(DESTDIR)$(MANDIR)/man1/pmdaopenmetrics-rust.1"

clean: ## removes target
	cargo clean
