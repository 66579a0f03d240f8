//! Ours against the installed C library: `cargo bench` (or `make bench`) writes the table of
//! `docs/PERFORMANCE.md`.
//!
//! Each scenario of `benches/c` is run alternately on both libraries, pinned to one core; what
//! counts is the ratio of two runs that follow each other, so that a noisy machine disturbs both.
//! The checksums over all answers must agree, else the run fails.
//!
//! Arguments: words that select scenarios by a part of their name; `--instructions` counts
//! instructions with callgrind instead of time; `--growth` measures ours alone at growing sizes;
//! `--agents` measures whole agents below a pmcd; `--picture` draws `docs/growth.svg` from three
//! rows of both libraries; `--print` leaves the file alone.

mod agents;
mod picture;
mod report;
mod scenarios;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pcp_pmda_test::{Library, profile_dir, root};
use scenarios::{Kind, SCENARIOS, Scenario};

/// How many pairs of runs a scenario gets.
const PAIRS: usize = 5;

/// What one run printed.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Nanoseconds, instructions or bytes for one operation.
    pub cost: f64,
    /// Checksum over the answers.
    pub sum: String,
    /// Peak memory in KiB.
    pub peak: u64,
}

/// The runs of one scenario with one size, in pairs: the C library, ours.
pub struct Row {
    /// Name of the scenario.
    pub name: &'static str,
    /// Its size.
    pub size: u64,
    /// What was measured.
    pub pairs: Vec<(Sample, Sample)>,
}

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let wanted = |scenario: &Scenario| {
        let mut names = words.iter().filter(|word| !word.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|word| scenario.name.contains(word.as_str()))
    };
    let bench = Bench {
        program: build("bench-c", "c", &["-lpcp_pmda", "-lpcp", "-lpthread"]),
        host: build("bench-host", "dso/host.c", &["-ldl"]),
        dso: build(
            "bench-dso.so",
            "dso/agent.c",
            &["-shared", "-fPIC", "-lpcp_pmda", "-lpcp"],
        ),
        libraries: [Library::C, Library::Ours].map(install),
        instructions: has("--instructions"),
    };
    if has("--picture") {
        let picture = picture::draw(&bench.curves());
        fs::write(root().join("docs/growth.svg"), picture).expect("the document is writable");
        return;
    }
    if has("--agents") {
        let programs = agents::Programs {
            client: build("bench-client", "agents/client.c", &["-lpcp"]),
            processes: build("bench-processes", "agents/processes.c", &[]),
        };
        let chosen: Vec<_> = words
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with("--"))
            .collect();
        let text = format!(
            "{}\n\n{}",
            report::facts(&bench.libraries),
            agents::tables(&programs, &chosen)
        );
        println!("{text}");
        if chosen.is_empty() && !has("--print") {
            report::replace(&root().join("docs/PERFORMANCE.md"), "agents", &text);
        }
        return;
    }
    let chosen: Vec<_> = SCENARIOS.iter().filter(|scenario| wanted(scenario)).collect();
    let text = if has("--growth") {
        report::growth(&bench.growth(&chosen), &bench.libraries)
    } else {
        report::table(&bench.compare(&chosen), bench.instructions, &bench.libraries)
    };
    println!("{text}");
    let complete = !words.iter().any(|word| !word.starts_with("--"));
    if complete && !has("--print") {
        let section = if has("--growth") {
            "growth"
        } else if bench.instructions {
            "instructions"
        } else {
            "time"
        };
        report::replace(&root().join("docs/PERFORMANCE.md"), section, &text);
    }
}

struct Bench {
    /// All scenarios.
    program: PathBuf,
    /// What opens an agent, and the agent that it opens.
    host: PathBuf,
    dso: PathBuf,
    /// Directories with the C library and ours, as they are installed.
    libraries: [PathBuf; 2],
    instructions: bool,
}

impl Bench {
    fn compare(&self, chosen: &[&Scenario]) -> Vec<Row> {
        let mut rows = Vec::new();
        for scenario in chosen {
            // What runs in another process is not counted.
            if self.instructions && matches!(scenario.kind, Kind::Daemon | Kind::Process | Kind::Threads) {
                continue;
            }
            for &size in scenario.sizes {
                let pairs = if self.instructions || scenario.kind == Kind::Memory {
                    1
                } else {
                    PAIRS
                };
                let pairs: Vec<_> = (0..pairs)
                    .map(|_| {
                        (
                            self.run(Library::C, scenario, size),
                            self.run(Library::Ours, scenario, size),
                        )
                    })
                    .collect();
                let same = pairs.iter().all(|(c, ours)| c.sum == ours.sum);
                assert!(
                    same,
                    "{} {size}: the libraries give different answers: {pairs:?}",
                    scenario.name
                );
                let row = Row {
                    name: scenario.name,
                    size,
                    pairs,
                };
                eprintln!("{}", report::line(&row));
                rows.push(row);
            }
        }
        rows
    }

    fn growth(&self, chosen: &[&Scenario]) -> Vec<(&'static str, Vec<(u64, Sample)>)> {
        let grows = chosen.iter().filter(|scenario| scenario.kind == Kind::Grows);
        grows
            .map(|scenario| {
                let sizes = [1_000, 10_000, 100_000, 1_000_000];
                (
                    scenario.name,
                    sizes
                        .map(|size| (size, self.run(Library::Ours, scenario, size)))
                        .to_vec(),
                )
            })
            .collect()
    }

    /// The median of some runs for each point of the picture.
    fn curves(&self) -> [picture::Curves; 3] {
        picture::PANELS.map(|(name, _, sizes)| {
            let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
            let scenario = scenario.expect("the picture shows rows of the table");
            [Library::C, Library::Ours].map(|library| {
                sizes.map(|size| {
                    let mut times = [(); 3].map(|()| self.run(library, scenario, size).cost);
                    times.sort_by(f64::total_cmp);
                    times[1]
                })
            })
        })
    }

    fn run(&self, library: Library, scenario: &Scenario, size: u64) -> Sample {
        let directory = profile_dir().join("bench-run");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("config")).expect("target is writable");
        let counts = directory.join("callgrind.out");
        let mut command = Command::new("taskset");
        command.args(["-c", if scenario.kind == Kind::Threads { "0,1" } else { "1" }]);
        if self.instructions {
            command.args(["valgrind", "--tool=callgrind", "--collect-atstart=no", "-q"]);
            command.arg(format!("--callgrind-out-file={}", counts.display()));
            command.env("BENCH_SHORT", "1");
            // Else malloc maps large blocks, or does not, by the sizes of those freed before, and
            // the kernel's part in that is not counted.
            command.env("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=131072");
        }
        let output = command
            .arg(&self.program)
            .args([scenario.name, &size.to_string()])
            .env("LD_LIBRARY_PATH", &self.libraries[library as usize])
            .env("PCP_VAR_DIR", &directory)
            .env("BENCH_HOST", &self.host)
            .env("BENCH_DSO", &self.dso)
            .output()
            .expect("taskset is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields: Vec<_> = text.split_whitespace().collect();
        let [cost, sum, peak] = fields[..] else {
            panic!(
                "{} {size} on {library:?}: {}{text}",
                scenario.name,
                String::from_utf8_lossy(&output.stderr)
            )
        };
        let cost = if self.instructions {
            instructions(&counts)
        } else {
            cost.parse().expect("a number")
        };
        Sample {
            cost,
            sum: sum.to_owned(),
            peak: peak.parse().expect("a number"),
        }
    }
}

/// The number of instructions in a file that callgrind wrote.
fn instructions(file: &Path) -> f64 {
    let text = fs::read_to_string(file).expect("callgrind has written its file");
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    total
        .and_then(|number| number.trim().parse().ok())
        .expect("callgrind prints totals")
}

/// A directory with a copy of a library, stripped as packages strip theirs.
///
/// A copy also because a file that a linker has written in pieces is slower to map than one written
/// at once, by as much as 7 % of a small process.
fn install(library: Library) -> PathBuf {
    let directory = profile_dir().join("bench-lib").join(format!("{library:?}"));
    fs::create_dir_all(&directory).expect("target is writable");
    let stripped = Command::new("strip")
        .args(["--strip-unneeded", "-o"])
        .arg(directory.join("stripped"))
        .arg(library.file())
        .status()
        .expect("binutils are installed");
    assert!(stripped.success(), "{} is no library", library.file().display());
    fs::copy(directory.join("stripped"), directory.join("libpcp_pmda.so.3")).expect("target is writable");
    directory
}

/// Compiles a file of `benches`, or all of a directory there, against the installed headers.
fn build(name: &str, source: &str, libraries: &[&str]) -> PathBuf {
    let program = profile_dir().join(name);
    let source = root().join("benches").join(source);
    let sources: Vec<_> = if source.is_dir() {
        let files = fs::read_dir(&source).expect("the sources").flatten();
        let files = files.map(|entry| entry.path());
        files
            .filter(|path| path.extension().is_some_and(|kind| kind == "c"))
            .collect()
    } else {
        vec![source]
    };
    let status = Command::new("cc")
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(["-std=gnu11", "-D_GNU_SOURCE", "-o"])
        .arg(&program)
        .args(sources)
        .args(libraries)
        .status()
        .expect("cc is installed");
    assert!(status.success(), "benches/{name} does not compile");
    program
}
