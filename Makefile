# Thin: each recipe is a few lines; the work is done by cargo and the scripts that are named here.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/pcp-pmda
BUILT = $(or $(CARGO_TARGET_DIR),target)/release

.PHONY: all setup demo check bench bench-instructions bench-growth headers lint doc spell abi mutants requirements compatibility hostile memcheck threads races fuzz fuzz-corpus asan install install-built uninstall deb deb-test rpm check-rust check-trixie check-sid clean

all:
	cargo build --release

# What the demo, the tests and the benchmarks need: packages by apt, PCP's tools and agents below target/pcp.
setup:
	tests/support/setup.sh

# PCP's own simple agent on this library, under dbpmda and under a private pmcd.
demo: setup all
	tests/support/demo.sh

# Format, lints, build, all tests. The last line is "N passed, N failed".
check: setup
	tests/support/check.sh

# This library against the C library, as ratios.
bench: setup all
	cargo bench --bench compare

# The same in instructions, counted by callgrind.
bench-instructions: setup all
	cargo bench --bench compare -- --instructions

# This library alone at growing sizes.
bench-growth: setup all
	cargo bench --bench compare -- --growth

# Writes include/pcp anew from src/ffi and capi; a test fails when it is stale.
headers:
	cargo run --quiet -p pcp-pmda-test -- headers

# Lints of everything, warnings are errors.
lint:
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings

# The documentation of the sources, without a warning.
doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

# Spelling, with the words that are right in .codespell-words. Needs codespell.
spell:
	codespell

# Symbols, versions, SONAME (and types, where there is debug information) against the C library's. Needs abidiff (abigail-tools).
abi: all
	abidiff "$$(pkg-config --variable=libdir libpcp_pmda)/libpcp_pmda.so.3" $(BUILT)/libpcp_pmda.so

# Changes the safe core, one place at a time; unit tests should notice. Needs cargo-mutants.
SHARD ?= 0/40
mutants:
	nice cargo mutants --shard $(SHARD) --sharding round-robin --timeout 120 -o target \
	    $(foreach room,cache events fetch help labels metrics namespace profile queue root wire,-f 'src/$(room)/**') -- --lib

# Facts of docs/spec that no test cites, and cited numbers that docs/spec does not have.
requirements:
	cargo test --quiet --test spec

# Writes the tables in docs/COMPATIBILITY.md anew: every agent run on both libraries, and the functions.
compatibility: setup
	UPDATE_COMPATIBILITY=1 cargo test --test consumers agents::
	cargo run --quiet -p pcp-pmda-test -- functions

# tests/hostile.rs in full length: hostile calls, PDUs, faults, threads. Minutes, not seconds.
hostile: setup
	HOSTILE=full cargo test --test hostile -- --nocapture --test-threads=1

# The C programs and three agents under valgrind: memory errors and leaks.
memcheck: setup
	tests/support/memcheck.sh

# Eight threads for a minute.
threads: setup
	HOSTILE=full cargo test --test hostile eight_threads -- --nocapture

# Eight threads for ten seconds under ThreadSanitizer: no data race. Needs the nightly toolchain.
races: setup
	cargo run --quiet -p pcp-pmda-test -- races

# Each fuzz target for SECONDS, JOBS at a time. Needs the nightly toolchain and cargo-fuzz (cargo install cargo-fuzz --locked).
SECONDS ?= 600
JOBS ?= 1
fuzz:
	FUZZ_SECONDS=$(SECONDS) FUZZ_JOBS=$(JOBS) fuzz/run.sh

# Takes over into fuzz/corpus what make fuzz has found, as few and as small files as cover the same.
fuzz-corpus:
	fuzz/run.sh --corpus

# The C programs and three agents on a library with AddressSanitizer. Needs the nightly toolchain.
asan: setup
	cargo run --quiet -p pcp-pmda-test -- asan

# Debian packages that take the place of libpcp-pmda3 and libpcp-pmda3-dev, in target/deb.
deb:
	packaging/deb.sh

# Installs and removes the packages in a fresh Debian 12 system. Needs root.
deb-test: deb
	packaging/deb-test.sh

# RPM packages from the last commit, in target/rpm. Needs rpmbuild.
rpm:
	packaging/rpm.sh

# A build with the oldest Rust that Cargo.toml allows, Debian trixie's own. Needs root.
check-rust:
	RUST=debian packaging/check-suite.sh trixie cargo build --release --locked

# All tests against PCP 6.3 (Debian trixie) and PCP 7.2 (Debian sid), each in a system of its own. Needs root.
check-trixie check-sid: check-%:
	packaging/check-suite.sh $*

install: all install-built

# What install does after the build; BUILT is the directory of the library that it takes.
install-built:
	install -D -m 644 $(BUILT)/libpcp_pmda.so $(DESTDIR)$(LIBDIR)/libpcp_pmda.so.3
	ln -sf libpcp_pmda.so.3 $(DESTDIR)$(LIBDIR)/libpcp_pmda.so
	install -D -m 644 $(BUILT)/libpcp_pmda.a $(DESTDIR)$(LIBDIR)/libpcp_pmda.a
	install -D -m 644 -t $(DESTDIR)$(INCLUDEDIR)/pcp include/pcp/pmda.h include/pcp/pmdaroot.h
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's:^prefix=.*:prefix=$(PREFIX):; s:^libdir=.*:libdir=$(LIBDIR):; s:^includedir=.*:includedir=$(INCLUDEDIR):' \
	    $(BUILT)/libpcp_pmda.pc > $(DESTDIR)$(LIBDIR)/pkgconfig/libpcp_pmda.pc
	packaging/man-links.sh $(DESTDIR)$(MANDIR)/man3
	install -D -m 644 -t $(DESTDIR)$(DOCDIR) LICENSE README.md CHANGELOG.md SECURITY.md docs/*.md

uninstall:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libpcp_pmda.so.3 libpcp_pmda.so libpcp_pmda.a pkgconfig/libpcp_pmda.pc)
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/pcp/,pmda.h pmdaroot.h)
	packaging/man-links.sh --remove $(DESTDIR)$(MANDIR)/man3
	rm -rf $(DESTDIR)$(DOCDIR)

clean:
	cargo clean
