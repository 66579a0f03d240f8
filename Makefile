# Thin: each recipe is a few lines; the work is done by cargo and the scripts that are named here.

# Where `make install` puts things. The library lies in a directory of its own, beside the C library: `pcp-pmda-rust enable` puts it in front.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib/pcp-pmda-rust
INCLUDEDIR ?= $(PREFIX)/include/pcp-pmda-rust
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/pcp-pmda-rust
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

.PHONY: all setup demo check try bench bench-agents bench-in-rust bench-openmetrics headers lint doc spell abi mutants requirements compatibility hostile memcheck threads races fuzz fuzz-corpus asan install install-built uninstall install-openmetrics uninstall-openmetrics licences deny dist crates deb deb-test deb-test-bookworm deb-test-trixie deb-test-sid openmetrics-test-bookworm openmetrics-test-trixie openmetrics-test-sid reproducible rpm rpm-test docs-test check-rust check-beside-pcp check-as-user check-trixie check-sid check-arm64 check-i386 check-ppc64el check-s390x check-armhf check-riscv64 pairs pairs-amd64 pairs-i386 pairs-armhf clean

all:
	packaging/build.sh

# What the tests and the benchmarks need: packages by apt, PCP's tools and agents below target/pcp.
setup:
	tests/support/setup.sh

# PCP's own simple agent on this library, under dbpmda and under a private pmcd: seconds, and a few MB of packages.
demo: all
	tests/support/setup.sh demo
	tests/support/demo.sh

# Format, lints, build, all tests. The last line is "N passed, N failed".
check: setup
	tests/support/check.sh

# After an edit: the C programs of tests/c with such a name, on both libraries: make try C=cache_files.
try:
	cargo build --quiet --lib
	cargo run --quiet -p pcp-pmda-test -- differential $(C)

# This library against the C library, in time and in instructions: docs/performance.csv, what docs/PERFORMANCE.md shows of it, and
# the picture. With ROWS="WORD … SIZE …" only those are measured, and nothing is written: make bench ROWS="'lookup by id' 10".
bench: setup all
	cargo run --quiet --package pmda-compare -- $(ROWS)

# Whole agents below a pmcd, on both libraries. Minutes.
bench-agents: setup all
	cargo run --quiet --package pmda-compare -- --agents

# An agent in Rust beside the same one in C on both libraries: docs/PERFORMANCE.md.
bench-in-rust: setup all
	cargo run --quiet --package pmda-compare -- --in-rust $(ROWS)

# PCP's agent openmetrics in Python beside the one in Rust: the table of docs/PERFORMANCE.md. Some ten minutes; with MOST=100000
# rows with more samples are left out, and it takes two.
MOST ?= 1000000
bench-openmetrics: setup
	cargo bench --quiet --package pmda-openmetrics --bench figures -- --update --most $(MOST)

# Writes include/pcp anew from src and capi; a test fails when it is stale.
headers:
	cargo run --quiet -p pcp-pmda-sources -- headers

# Lints of everything, the shell scripts among them: warnings are errors. Needs shellcheck.
lint:
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	tests/support/scripts.sh

# The documentation of the sources, without a warning.
doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

# Spelling, with the words that are right in .codespell-words. Needs codespell.
spell:
	codespell

# Symbols, versions, SONAME (and types, where there is debug information) against the C library's. Needs abidiff (abigail-tools).
abi: all
	abidiff "$$(pkg-config --variable=libdir libpcp_pmda)/libpcp_pmda.so.3" $(BUILT)/libpcp_pmda.so

# Changes the safe code, one place at a time; unit tests should notice, else the differential tests. Needs cargo-mutants.
SHARD ?= 0/29
mutants:
	nice cargo mutants --shard $(SHARD) --sharding round-robin -o target \
	    -f 'core/src/**' -f 'src/**' -e 'src/view/**' -e 'src/sys/**' -e 'src/**/exports.rs' -- --lib --test differential

# Facts of docs/spec that no test cites, and cited numbers that docs/spec does not have.
requirements:
	cargo test --quiet --test spec

# Writes the list of agents in docs/COMPATIBILITY.md anew: every agent run on both libraries.
compatibility: setup
	UPDATE_COMPATIBILITY=1 cargo test --test consumers agents::

# tests/hostile.rs in full length: hostile calls, PDUs, faults, threads. Minutes, not seconds.
hostile: setup
	HOSTILE=full cargo test --test hostile -- --nocapture --test-threads=1
	PMDA_CASES=10000 INDOM_CASES=1000 cargo test --release --package pmda --lib -- random many_instances

# The C programs and every DSO agent under valgrind, on both libraries: ours loses no block more than the C library.
memcheck: setup
	cargo build --quiet --lib
	cargo run --quiet -p pcp-pmda-test -- memcheck $(PROGRAMS)

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
	cargo run --quiet -p pcp-pmda-test -- asan $(PROGRAMS)

# Writes THIRD-PARTY.txt and debian/copyright anew from the crates that Cargo.lock names.
licences:
	packaging/licences.sh

# Known vulnerabilities, licences and sources of all crates (deny.toml). Needs cargo-deny, and a network for the vulnerabilities.
deny:
	cargo deny --locked check

# The sources as archives, with all crates (vendor), and the bill of materials (SPDX), in target/dist.
dist:
	packaging/dist.sh
	packaging/sbom.sh

# The crates for agents in Rust as packages, and a build of what is in them. REPOSITORY=URL names their repository.
crates:
	packaging/crates.sh

# Debian packages that lie beside Debian's own, in target/deb.
deb:
	packaging/deb.sh

# The packages in fresh systems, Debian 12 and 13: installed, updated, PCP updated below them, purged. Needs root.
deb-test: deb-test-bookworm deb-test-trixie

# The same in one system; sid has PCP 7, whose package is built there.
deb-test-bookworm deb-test-trixie deb-test-sid: deb-test-%:
	packaging/deb-test.sh $*

# PCP's own tests of its agent openmetrics, with that agent and with ours, in a fresh system. Some ten minutes. Needs root.
openmetrics-test-bookworm openmetrics-test-trixie openmetrics-test-sid: openmetrics-test-%:
	packaging/openmetrics-test.sh $*

# The Debian packages twice, in two directories and by two users: the same bytes. Needs root.
reproducible:
	packaging/reproducible.sh

# RPM packages in target/rpm. Needs rpmbuild.
rpm:
	packaging/rpm.sh

# The RPM packages installed, updated and erased in a system of their own. Needs root.
rpm-test:
	packaging/rpm-test.sh

# Every command of README, RELEASING and the other guides, as written, in a fresh Debian 12 system (SUITE=trixie: Debian 13). Needs root.
docs-test:
	packaging/docs-test.sh

# A build with the oldest Rust that Cargo.toml allows, Debian trixie's own. Needs root.
check-rust:
	RUST=debian packaging/check-suite.sh trixie cargo build --release --locked --workspace

# All tests where PCP is installed and pmcd runs, as on most machines of those who try it, and as an ordinary user in a directory with a
# blank, with another time zone, language and umask, and without standard input. Each in a Debian 12 of its own. Needs root.
check-beside-pcp:
	PCP=running packaging/check-suite.sh bookworm

check-as-user:
	AS=user PLACE="/src/a user's place/pcp-pmda" packaging/check-suite.sh bookworm env TZ=Asia/Kolkata LANG=de_DE.UTF-8 \
	    sh -c 'umask 077; exec make check <&-'

# All tests against PCP 6.3 (Debian trixie) and PCP 7.2 (Debian sid), each in a system of its own. Needs root.
check-trixie check-sid: check-%:
	packaging/check-suite.sh $*

# The tests on another architecture, cross-built in a Debian trixie of its own, under qemu-user but for i386.
# The last line sums up. Needs root.
check-arm64 check-armhf check-i386 check-ppc64el check-riscv64 check-s390x: check-%:
	packaging/check-arch.sh $*

# The library built for one PCP, on a host with another one: each pair of three PCP, on three architectures. It works, or refuses in words:
# docs/OPERATING.md. Needs root.
pairs: pairs-amd64 pairs-i386 pairs-armhf

pairs-amd64 pairs-i386 pairs-armhf: pairs-%:
	packaging/pairs.sh $*

# Installs what `make` has built: root needs no cargo.
install: install-built

# The same from another directory: make install-built BUILT=DIRECTORY.
install-built:
	@[ -e "$(BUILT)/libpcp_pmda.so" ] || { echo "make install: nothing is built: run make first (not as root)" >&2; exit 1; }
	@[ -n "$(DESTDIR)" ] || sh packaging/pcp-pmda-rust.in fits "$(BUILT)/libpcp_pmda.so"
	packaging/directories.sh note "$(DESTDIR)" "$(LIBDIR)/directories" "$(LIBDIR)/pkgconfig" "$(BINDIR)" "$(INCLUDEDIR)/pcp" "$(MANDIR)/man1" \
	    "$(MANDIR)/man3" "$(DOCDIR)" "$(SYSCONFDIR)/ld.so.conf.d"
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
	packaging/man-links.sh "$(DESTDIR)$(MANDIR)" "$(MANEXT)"
	for file in LICENSE THIRD-PARTY.txt *.md tests/README.md agents/openmetrics/DIFFERENCES.md docs/*.md docs/*.csv docs/*.svg docs/spec/*.md $$(find c-examples pmda/examples -name target -prune -o -type f -print); do \
	    install -D -m 644 "$$file" "$(DESTDIR)$(DOCDIR)/$$file" || exit; done

# The file that `pcp-pmda-rust enable` has written goes as well, and so do directories that the installation has made, if they are
# empty; run ldconfig afterwards.
uninstall:
	for file in libpcp_pmda.so.3 libpcp_pmda.so libpcp_pmda.a compare pkgconfig/libpcp_pmda.pc; do rm -f "$(DESTDIR)$(LIBDIR)/$$file"; done
	for file in pmda.h pmdaroot.h; do rm -f "$(DESTDIR)$(INCLUDEDIR)/pcp/$$file"; done
	rm -f "$(DESTDIR)$(BINDIR)/pcp-pmda-rust" "$(DESTDIR)$(SYSCONFDIR)/ld.so.conf.d/$(CONF)"
	packaging/man-links.sh --remove "$(DESTDIR)$(MANDIR)" "$(MANEXT)"
	rm -rf "$(DESTDIR)$(DOCDIR)"
	packaging/directories.sh remove "$(DESTDIR)" "$(LIBDIR)/directories"

# The agent openmetrics in Rust, beside PCP's: run Install in its folder then (docs/OPENMETRICS.md). Build it before, not as root:
# cargo build --release -p pmda-openmetrics
OPENMETRICS ?= $(or $(BUILT),target/release)/pmdaopenmetrics
install-openmetrics:
	@[ -e "$(OPENMETRICS)" ] || { echo "make install-openmetrics: nothing is built: cargo build --release -p pmda-openmetrics" >&2; exit 1; }
	install -D -m 755 "$(OPENMETRICS)" "$(DESTDIR)$(OPENMETRICSDIR)/pmdaopenmetrics"
	$(STRIP) --strip-unneeded "$(DESTDIR)$(OPENMETRICSDIR)/pmdaopenmetrics"
	"$(OPENMETRICS)" --write "$(DESTDIR)$(OPENMETRICSDIR)"
	install -D -m 644 agents/openmetrics/man/pmdaopenmetrics-rust.1 "$(DESTDIR)$(MANDIR)/man1/pmdaopenmetrics-rust.1"

# Run Remove in its folder before.
uninstall-openmetrics:
	rm -rf "$(DESTDIR)$(OPENMETRICSDIR)"
	-cd "$(DESTDIR)$(abspath $(OPENMETRICSDIR)/../../..)" && rmdir -p rust/pmdas 2>/dev/null
	rm -f "$(DESTDIR)$(MANDIR)/man1/pmdaopenmetrics-rust.1"

clean:
	cargo clean
