//! What tests read from the sources, the headers and the finished files: symbols of an ELF file,
//! arrows between source files, the headers that cbindgen writes. It is apart from `tests/support`
//! because cbindgen and object take longer to compile than all that a C program needs to be run on
//! both libraries.

pub mod elf;
pub mod generated;
pub mod headers;
pub mod imports;
