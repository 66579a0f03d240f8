//! Ours, as `make` has built it, against the installed C library: `make bench` writes all rows to
//! `docs/performance.csv`, the rows that matter most to `docs/PERFORMANCE.md`, and the picture there.
//!
//! Each scenario of `benches/c` is run alternately on both libraries, pinned to one core; what
//! counts is the ratio of two runs that follow each other, so that a noisy machine disturbs both.
//! The checksums over all answers must agree, else the run fails. Then callgrind counts the
//! instructions of one run each, where they are all in one process.
//!
//! Arguments: words that select scenarios by a part of their name, and numbers that select sizes
//! (then nothing is written); `--page` for the rows of the page alone; `--time` or `--instructions`
//! for one of the two alone; `--agents` measures whole agents below a pmcd, `--in-rust` an agent in
//! Rust beside one in C, `--ports` examples of the crate beside PCP's agents; `--print` leaves the files alone; `--readme` writes README's table anew,
//! and measures nothing.

mod agents;
mod in_rust;
mod pages;
mod picture;
mod report;
mod scenarios;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pcp_pmda_test::{Library, profile_dir, root};
use scenarios::{Kind, SCENARIOS, Scenario};

/// The two libraries: ours is the file that `make` has built and `make install` installs.
const LIBRARIES: [Library; 2] = [Library::C, Library::Ours];
/// Up to this size a row gets all pairs. What is larger differs by more than what other work on the
/// machine hides.
const SMALL: u64 = 100;
/// How many pairs of runs a row gets, and how few a large one when they take longer than the limit;
/// a pair that takes longer than that by itself is the only one.
const PAIRS: usize = 10;
const FEW_PAIRS: usize = 3;
const PAIRS_LIMIT: Duration = Duration::from_secs(2);

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

/// The runs of one scenario with one size.
pub struct Row {
    /// Name of the scenario.
    pub name: &'static str,
    /// Its size.
    pub size: u64,
    /// The C library's runs; none where it takes too long.
    pub c: Vec<Sample>,
    /// Ours, each after the C library's with the same index.
    pub ours: Vec<Sample>,
    /// Instructions an operation on both, where they can be counted.
    pub instructions: Option<[f64; 2]>,
}

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let chosen: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if has("--pages") {
        pages::write();
        return;
    }
    let page = root().join("docs/PERFORMANCE.md");
    if has("--ports") {
        let text = format!("{}.\n\n{}", report::measured(), in_rust::ports::table(&chosen));
        println!("{text}");
        if chosen.is_empty() && !has("--print") {
            report::replace(&page, "ports", &text);
        }
        return;
    }
    let bench = Bench {
        program: build("bench-c", "c", &["-lpcp_pmda", "-lpcp", "-lpthread"]),
        host: build("bench-host", "dso/host.c", &["-ldl"]),
        dso: build(
            "bench-dso.so",
            "dso/agent.c",
            &["-shared", "-fPIC", "-lpcp_pmda", "-lpcp"],
        ),
        libraries: LIBRARIES.map(install),
        time: !has("--instructions"),
        instructions: !has("--time"),
    };
    let complete = chosen.is_empty() && !has("--print");
    if has("--agents") {
        let programs = agents::Programs {
            client: build("bench-client", "agents/client.c", &["-lpcp"]),
            processes: build("bench-processes", "agents/processes.c", &[]),
        };
        let facts = format!("{}.", report::measured());
        let text = format!("{facts}\n\n{}", agents::tables(&programs, &chosen));
        println!("{text}");
        if complete {
            report::replace(&page, "agents", &text);
            pages::write();
        }
        return;
    }
    if has("--in-rust") {
        let facts = format!("{}.", report::measured());
        let table = in_rust::table(build, &bench.libraries, &chosen);
        println!("{facts}\n\n{table}");
        if complete {
            report::replace(&page, "figures", &format!("{facts}\n\n{}", in_rust::page(&table)));
        }
        return;
    }
    let start = Instant::now();
    let rows = bench.compare(&chosen, has("--page"));
    eprintln!("{} rows in {} seconds", rows.len(), start.elapsed().as_secs());
    let csv = report::csv(&rows);
    println!("{csv}");
    if !complete || !bench.time || !bench.instructions {
        return;
    }
    report::replace(&page, "rows", &report::page(&rows, &bench.libraries));
    if !has("--page") {
        report::replace(&page, "slower", &report::slower(&rows));
        let write = |file: &str, text: String| fs::write(root().join(file), text).expect("the document is writable");
        write("docs/performance.csv", csv);
        write("docs/growth.svg", picture::draw(&rows));
        pages::write();
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
    /// What is measured of each row.
    time: bool,
    instructions: bool,
}

impl Bench {
    /// Measures the scenarios whose names have one of the words, at the sizes among them; or what
    /// people read first.
    fn compare(&self, chosen: &[&str], page: bool) -> Vec<Row> {
        let (sizes, names): (Vec<&str>, Vec<&str>) = chosen.iter().partition(|word| word.parse::<u64>().is_ok());
        let mut rows = Vec::new();
        for scenario in SCENARIOS {
            if !names.is_empty() && !names.iter().any(|name| scenario.name.contains(name)) {
                continue;
            }
            let both = scenario.sizes.iter().map(|&size| (size, true));
            let alone = scenario.alone.iter().map(|&size| (size, false));
            for (size, on_both) in both.chain(alone) {
                let is_chosen = sizes.is_empty() || sizes.contains(&size.to_string().as_str());
                if is_chosen && (!page || report::PAGE.contains(&(scenario.name, size))) {
                    let row = self.row(scenario, size, on_both);
                    eprint!("{}", report::line(&row));
                    rows.push(row);
                }
            }
        }
        rows
    }

    fn row(&self, scenario: &Scenario, size: u64, on_both: bool) -> Row {
        let mut row = Row {
            name: scenario.name,
            size,
            c: Vec::new(),
            ours: Vec::new(),
            instructions: None,
        };
        let pairs = match scenario.kind {
            _ if !self.time => 0,
            Kind::Memory => 1,
            _ => PAIRS,
        };
        let start = Instant::now();
        let is_enough = |made: usize, took: Duration| {
            let few = if took > PAIRS_LIMIT && made == 1 { 1 } else { FEW_PAIRS };
            made >= pairs || (size > SMALL && made >= few && took > PAIRS_LIMIT)
        };
        while !is_enough(row.ours.len(), start.elapsed()) {
            if on_both {
                row.c.push(self.run(Library::C, scenario, size, false));
            }
            row.ours.push(self.run(Library::Ours, scenario, size, false));
        }
        compare(&row.c, &row.ours, scenario, size);
        if self.instructions && on_both && size <= scenario.counted && scenario.kind == Kind::Calls {
            let [c, ours] = LIBRARIES.map(|library| self.run(library, scenario, size, true));
            row.instructions = Some([c.cost, ours.cost]);
            compare(&[c], &[ours], scenario, size);
        }
        row
    }

    fn run(&self, library: Library, scenario: &Scenario, size: u64, count: bool) -> Sample {
        let directory = profile_dir().join("bench-run");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("config")).expect("target is writable");
        let counts = directory.join("callgrind.out");
        let mut command = Command::new("taskset");
        command.args(["-c", if scenario.kind == Kind::Threads { "0,1" } else { "1" }]);
        if count {
            command.args(["valgrind", "--tool=callgrind", "--collect-atstart=no", "-q"]);
            command.arg(format!("--callgrind-out-file={}", counts.display()));
            command.env("BENCH_SHORT", "1");
            // Else malloc maps large blocks, or does not, by the sizes of those freed before, and
            // the kernel's part in that is not counted.
            command.env("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=131072");
        }
        // The C library allows one thread at a time: an agent has to see to that itself.
        if scenario.kind == Kind::Threads && library == Library::C {
            command.env("BENCH_MUTEX", "1");
        }
        let output = command
            .arg(&self.program)
            .args([scenario.name, &size.to_string()])
            .env("LD_LIBRARY_PATH", &self.libraries[usize::from(library != Library::C)])
            .env("PCP_VAR_DIR", &directory)
            .env("BENCH_HOST", &self.host)
            .env("BENCH_DSO", &self.dso)
            .output()
            .expect("taskset is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields: Vec<_> = text.split_whitespace().collect();
        let [time, operations, sum, peak] = fields[..] else {
            panic!(
                "{} {size} on {library:?}: {}{text}",
                scenario.name,
                String::from_utf8_lossy(&output.stderr)
            )
        };
        let number = |text: &str| text.parse::<f64>().expect("a number");
        Sample {
            cost: if count {
                instructions(&counts) / number(operations)
            } else {
                number(time)
            },
            sum: sum.to_owned(),
            peak: peak.parse().expect("a number"),
        }
    }
}

/// Ends the run when the libraries have given different answers.
fn compare(c: &[Sample], ours: &[Sample], scenario: &Scenario, size: u64) {
    let same = c.iter().zip(ours).all(|(c, ours)| c.sum == ours.sum);
    assert!(
        same,
        "{} {size}: the libraries give different answers: {c:?} {ours:?}",
        scenario.name
    );
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
    let file = library.file();
    let directory = profile_dir().join("bench-lib").join(format!("{library:?}"));
    fs::create_dir_all(&directory).expect("target is writable");
    let stripped = Command::new("strip")
        .args(["--strip-unneeded", "-o"])
        .arg(directory.join("stripped"))
        .arg(&file)
        .status()
        .expect("binutils are installed");
    assert!(stripped.success(), "{} is no library", file.display());
    let size = fs::copy(directory.join("stripped"), directory.join("libpcp_pmda.so.3")).expect("target is writable");
    eprintln!("{}: {size} bytes when it is stripped", file.display());
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
