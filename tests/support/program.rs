//! The C programs below `tests`: where they are, what each wants of its compiler and on its command
//! line, and how much of it each kind of run takes.
//!
//! A line `args: A B C` in a program's head comment gives it arguments, `cc: …` gives the compiler
//! more, and `dso: NAME` has tests/c/dso/NAME.c compiled beside it: it finds that by its own path
//! with `.so` behind.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::run::is_emulated;
use super::{Library, compile_c, release, root};

/// A kind of run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// Part of `make check`.
    Check,
    /// `make -C tests hostile`.
    Full,
    /// Below AddressSanitizer.
    Asan,
    /// Below valgrind.
    Memcheck,
}

impl Course {
    /// The amount of a test's work: little, or all with `HOSTILE=full`.
    #[must_use]
    pub fn of_environment() -> Course {
        let full = std::env::var_os("HOSTILE").is_some_and(|value| value == "full");
        if full { Course::Full } else { Course::Check }
    }
}

/// The programs of tests/hostile that take an amount, and how much in each course; None leaves the
/// program out.
/// `examples` is what `pdus` does to each agent of `c-examples` and `pmda/examples`.
///
/// Below tools are left out: dso, whose agent is unloaded with all that its variables point to; the
/// programs that replace malloc or the calls of files, as the tools do; descriptors, of which the
/// tools need some; exits, forks, interrupts and waits, whose signals and children meet the tools'
/// own.
const HOSTILE: [(&str, [Option<&str>; 4]); 15] = [
    ("calls", [Some("60"), Some("5000"), Some("100"), Some("1")]),
    ("descriptors", [Some("100"), Some("10000"), None, None]),
    ("dso", [Some("1000"), Some("5000"), None, None]),
    ("examples", [Some("1500"), Some("20000"), None, None]),
    ("exits", [Some("60"), Some("1000"), None, None]),
    ("file_faults", [Some("50"), Some("5000"), None, None]),
    ("forks", [Some("100"), Some("2000"), None, None]),
    ("interrupts", [Some("10000"), Some("100000"), None, None]),
    ("leaks", [Some("1600"), Some("100000"), Some("1600"), Some("1")]),
    ("pdus", [Some("4000"), Some("250000"), Some("20000"), Some("1000")]),
    ("reenter", [Some(""), Some(""), Some(""), Some("")]),
    ("saves", [Some("20"), Some("500"), Some("20"), Some("10")]),
    ("streams", [Some("2"), Some("100"), Some("2"), Some("1")]),
    ("threads", [Some("1500"), Some("60000"), Some("5000"), Some("50")]),
    ("waits", [Some(""), Some(""), None, None]),
];

/// The amount of a hostile program's work in this course; `None` if the course leaves the program
/// out.
#[must_use]
pub fn amount(name: &str, course: Course) -> Option<&'static str> {
    let row = HOSTILE.iter().find(|(known, _)| *known == name);
    row.and_then(|(_, amounts)| amounts[course as usize])
}

/// Returns whether a library was linked with `-Wl,-Bsymbolic-functions`, as Ubuntu's packages are:
/// then its functions find each other inside of the file, and the dynamic linker is not asked.
fn is_bound_to_itself(library: &Path) -> bool {
    let bytes = fs::read(library).expect("the library");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbols = file.dynamic_symbol_table().expect("its dynamic symbols");
    let asked = file.dynamic_relocations().into_iter().flatten();
    let mut names = asked.filter_map(|(_, relocation)| match relocation.target() {
        RelocationTarget::Symbol(index) => symbols.symbol_by_index(index).ok()?.name().ok(),
        _ => None,
    });
    !names.any(|name| name == "pmdaFetch")
}

/// A C program of the tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path below `tests` without the ending, such as `c/fixed/tree_deep`.
    pub name: String,
    /// Its source.
    pub source: PathBuf,
    /// The text of its source.
    pub text: String,
}

impl Program {
    /// The program of that name, such as `hostile/pdus`.
    ///
    /// # Errors
    /// Why its source cannot be read.
    pub fn new(name: &str) -> Result<Program, String> {
        let source = root().join("tests").join(name).with_extension("c");
        let text = fs::read_to_string(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        Ok(Program {
            name: name.to_owned(),
            source,
            text,
        })
    }

    /// Its name below `tests/c`.
    #[must_use]
    pub fn short_name(&self) -> &str {
        self.name.strip_prefix("c/").unwrap_or(&self.name)
    }

    /// Returns whether the C library survives the program: a comment may say that it is not run,
    /// and hostile calls are for ours.
    #[must_use]
    pub fn suits_the_c_library(&self) -> bool {
        !self.text.contains("c-library: not run,") && !self.name.starts_with("hostile/")
    }

    /// The reason why the program cannot be judged here, as a comment says it: the libraries differ
    /// with this generation of PCP, on this architecture, or as this distribution has linked the C
    /// library; or it cannot run below an emulator.
    #[must_use]
    pub fn obstacle(&self) -> Option<&str> {
        let says = |what: &str| {
            let line = self.text.lines().find(|line| line.contains(what))?;
            line.split_once(what)
                .map(|(_, reason)| reason.trim_matches([':', ' ', '*', '/']))
        };
        says(&format!("differs on {}:", std::env::consts::ARCH))
            .or_else(|| says(&format!("differs with PCP {}:", release()[0])))
            .or_else(|| says("differs with -Bsymbolic-functions:").filter(|_| is_bound_to_itself(&Library::C.file())))
            .or_else(|| says("not below an emulator:").filter(|_| is_emulated()))
    }

    /// Returns whether a comment says that the program runs on a debug build of ours, too, which
    /// checks addresses.
    #[must_use]
    pub fn is_for_debug(&self) -> bool {
        self.text.contains("also on a debug build")
    }

    /// Returns whether a comment says that the C library does not have the defect here: as of PCP 7
    /// (`seven`), or on this architecture.
    #[must_use]
    pub fn is_right_in_the_c_library(&self, seven: bool) -> bool {
        let here = format!("c-library: right on {},", std::env::consts::ARCH);
        self.text.contains(&here) || seven && self.text.contains("c-library: fixed in PCP 7")
    }

    /// Returns whether a comment says that the program loses no block on ours. Where the C library
    /// loses some, more on ours would not be seen otherwise.
    #[must_use]
    pub fn loses_nothing(&self) -> bool {
        self.text.contains("memory: nothing is lost on ours")
    }

    /// All programs of a folder below `tests`, without those of folders in it.
    ///
    /// # Panics
    /// If the folder cannot be read.
    #[must_use]
    pub fn all(folder: &str) -> Vec<Program> {
        let entries = fs::read_dir(root().join("tests").join(folder)).expect("a folder below tests");
        let mut names: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "c"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        let program = |name: String| Program::new(&format!("{folder}/{name}")).expect("a program in UTF-8");
        names.into_iter().map(program).collect()
    }

    /// All programs that have a part in a course below a tool.
    #[must_use]
    pub fn of_course(course: Course) -> Vec<Program> {
        let hostile = HOSTILE.iter().filter(|(name, _)| amount(name, course).is_some());
        let hostile =
            hostile.map(|(name, _)| Program::new(&format!("hostile/{name}")).expect("a program of tests/hostile"));
        let mut programs = Program::all("c");
        programs.extend(Program::all("c/fixed"));
        programs.extend(hostile);
        programs
    }

    /// The words of the line in its head comment that begins with this key.
    #[must_use]
    pub fn setting(&self, key: &str) -> Vec<&str> {
        let key = format!("{key}:");
        let lines = self.text.lines();
        let line = lines
            .map(|line| line.trim_start_matches([' ', '*', '/']))
            .find_map(|line| line.strip_prefix(&key));
        let line = line.unwrap_or_default().trim_end_matches("*/");
        line.split_whitespace().collect()
    }

    /// Its arguments in a course: those that its head names, or its amount.
    #[must_use]
    pub fn arguments(&self, course: Course) -> Vec<&str> {
        match self.name.strip_prefix("hostile/") {
            Some(name) => amount(name, course)
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect(),
            None => self.setting("args"),
        }
    }

    /// Compiles it, with strict warnings, into this file; the directory is made.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn compile(&self, file: &Path) {
        fs::create_dir_all(file.parent().expect("a directory")).expect("target is writable");
        compile_c(&self.source, file, &self.setting("cc"));
        for name in self.setting("dso") {
            let dso = Program::new(&format!("c/dso/{name}")).expect("a program of tests/c/dso");
            compile_c(&dso.source, &file.with_extension("so"), &dso.setting("cc"));
        }
    }
}
