//! The agent as a daemon.

fn main() -> std::process::ExitCode {
    pmda_@NAME@::main()
}
