//! The tools that read the sources and the finished files:
//! `cargo run -p pcp-pmda-sources -- COMMAND`.

mod functions;

use std::env;
use std::fs;
use std::process::ExitCode;

use pcp_pmda_sources::generated;
use pcp_pmda_test::root;

const USAGE: &str = "usage: pcp-pmda-sources COMMAND

  functions  prints the exported functions, and how many tests and binaries of Debian's pcp name each
  headers    writes include/pcp anew";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["functions"] => functions::run(),
        ["headers"] => headers(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Writes include/pcp anew from src and capi.
fn headers() -> Result<(), String> {
    for (name, text) in generated::headers(&root().join("src"), &root().join("capi")) {
        let file = root().join("include/pcp").join(name);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
