#![no_main]

#[path = "../exposition.rs"]
mod exposition;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exposition::exposition(data));
