//! The C compiler of the target: its macros, and where it finds headers, libraries and the linker.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The C compiler of the target.
pub struct Compiler(Command);

impl Compiler {
    /// The compiler that `cc` finds: `CC_TARGET`, `TARGET_CC`, `CC`, or the one that is called
    /// after the target.
    pub fn find() -> Compiler {
        Compiler(cc::Build::new().get_compiler().to_command())
    }

    /// Runs the compiler. Returns its stdout and stderr.
    ///
    /// # Errors
    /// Why it does not start, or its messages if it fails.
    fn ask(&self, arguments: &[&str]) -> Result<(String, String), String> {
        let mut command = Command::new(self.0.get_program());
        command
            .args(self.0.get_args())
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        let answer = command
            .output()
            .map_err(|error| format!("the C compiler of the target does not start: {command:?}: {error}"))?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if answer.status.success() {
            Ok((text(&answer.stdout), text(&answer.stderr)))
        } else {
            Err(format!("{command:?} fails:\n{}", text(&answer.stderr)))
        }
    }

    /// The macros that are defined when `file` is read, with their values.
    ///
    /// # Errors
    /// The compiler fails.
    pub fn macros(&self, file: &Path) -> Result<Vec<(String, String)>, String> {
        let (text, _) = self.ask(&["-E", "-dM", "-x", "c", &file.display().to_string()])?;
        let lines = text.lines().filter_map(|line| line.strip_prefix("#define "));
        Ok(lines
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect())
    }

    /// The directories in which the compiler looks for headers; without that of its own headers,
    /// which another compiler does not understand.
    ///
    /// # Errors
    /// The compiler fails.
    pub fn includes(&self) -> Result<Vec<PathBuf>, String> {
        let (_, text) = self.ask(&["-E", "-v", "-x", "c", "/dev/null"])?;
        let list = text.lines().skip_while(|line| !line.starts_with("#include <...>"));
        Ok(list
            .skip(1)
            .map_while(|line| line.strip_prefix(' '))
            .map(PathBuf::from)
            .filter(|path| !path.join("stddef.h").exists() && path.is_dir())
            .collect())
    }

    /// The file of a library, in one of these directories or where the compiler looks for it.
    ///
    /// # Errors
    /// There is no such file.
    pub fn library(&self, name: &str, directories: &[PathBuf]) -> Result<PathBuf, String> {
        if let Some(file) = directories
            .iter()
            .map(|path| path.join(name))
            .find(|file| file.exists())
        {
            return Ok(file);
        }
        let (path, _) = self.ask(&[&format!("-print-file-name={name}")])?;
        let path = PathBuf::from(path.trim());
        if path.is_absolute() && path.exists() {
            return Ok(path);
        }
        Err(format!(
            "{name} of the target is missing: {:?} does not find it",
            self.0
        ))
    }

    /// The path of GNU ld, as `linker` (or the compiler itself) finds it.
    ///
    /// # Errors
    /// It is missing.
    pub fn bfd(&self, linker: Option<String>) -> Result<String, String> {
        // The compiler with all its words: it may be `ccache gcc`.
        let linker = linker.map(|name| Compiler(Command::new(name)));
        let asked = linker.as_ref().unwrap_or(self);
        let (path, _) = asked.ask(&["-print-prog-name=ld.bfd"])?;
        let path = path.trim().to_owned();
        // A compiler that does not find it repeats the name, and leaves it to PATH.
        let there = if path.contains('/') {
            Path::new(&path).exists()
        } else {
            let directories = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&directories).any(|directory| directory.join(&path).exists())
        };
        if there {
            return Ok(path);
        }
        Err(format!(
            "GNU ld is missing: install binutils for the target; {:?} does not find ld.bfd",
            asked.0
        ))
    }
}
