//! Prints the public interface of a crate, an item a line, from the JSON that rustdoc has written.

use std::process::ExitCode;

use public_api::Builder;

fn main() -> ExitCode {
    let Some(json) = std::env::args_os().nth(1) else {
        eprintln!("usage: interface JSON");
        return ExitCode::FAILURE;
    };
    // What the compiler gives each type says nothing about this crate.
    let builder = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .include_function_parameter_names(true);
    match builder.build() {
        Ok(interface) => {
            print!("{interface}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", json.display());
            ExitCode::FAILURE
        }
    }
}
