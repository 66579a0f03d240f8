# Thin: each recipe is a few lines; the work is done by cargo and the scripts that are named here.

.PHONY: all check fmt lint test
all:
	cargo build --release

check: fmt lint test

fmt:
	cargo fmt --check

lint:
	cargo clippy --all-targets -- -D warnings

test:
	cargo test
