#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each target uses one function")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::agent_session(data));
