//! Readers of sources, headers and finished files for tests: symbols of an ELF file, arrows between
//! source files, the headers that cbindgen writes. This crate is apart from `tests/support` because
//! cbindgen and object take longer to compile than everything that `make try` needs.

pub mod elf;
pub mod generated;
pub mod headers;
pub mod imports;
