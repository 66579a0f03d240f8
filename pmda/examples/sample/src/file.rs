//! A domain whose instances are in a file, `dynamic.indom` in the agent's folder: a number and a
//! name in each line.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use pmda::prelude::*;

use crate::Sample;

/// The serial of the instance domain.
const DYNAMIC: u32 = 7;

/// The items of its metrics.
const ITEMS: std::ops::Range<u32> = 76..79;

/// One more than the greatest number of an instance.
const NUMBERS: i32 = 1 << 22;

/// The instance domain: each row is the number of fetches since the file was changed.
pub struct FromFile {
    path: PathBuf,
    /// When the file was changed that was read last.
    changed: Option<SystemTime>,
    rows: Indom<i32>,
}

impl FromFile {
    /// The domain as the file is now.
    pub fn new(env: &Env) -> FromFile {
        FromFile {
            path: env.folder().join("dynamic.indom"),
            changed: None,
            rows: Indom::new().whole_names(),
        }
    }

    /// Reads the file if it was changed, and counts a fetch.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let is_counted = ITEMS.into_iter().any(|item| request.wants_item(0, item));
        if !is_counted && request.why() == Why::Fetch {
            return Ok(());
        }
        let changed = fs::metadata(&self.path).and_then(|file| file.modified()).ok();
        if changed != self.changed {
            self.changed = changed;
            self.read()?;
        }
        if is_counted {
            self.rows.rows_mut().for_each(|count| *count += 1);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        // A line that is wrong makes the domain empty.
        let parsed: Option<Vec<(i32, &str)>> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(instance)
            .collect();
        if parsed.is_none() {
            log::warn!(
                "{}: a line is not the number and the name of an instance",
                self.path.display()
            );
        }
        let mut now = self.rows.update();
        for (inst, name) in parsed.unwrap_or_default() {
            now.set_at(inst, name, 0)?;
        }
        Ok(())
    }
}

/// The instance of a line; a name with blanks is quoted.
fn instance(line: &str) -> Option<(i32, &str)> {
    let (inst, name) = line.trim().split_once(char::is_whitespace)?;
    let inst = inst.parse().ok().filter(|inst| (0..NUMBERS).contains(inst))?;
    let name = name.trim_start();
    match name.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| (inst, name)),
        None => name.split_whitespace().next().map(|name| (inst, name)),
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    let rows = m.indom(DYNAMIC, "Instances from a file\nThey are in dynamic.indom.", |s| {
        &mut s.from_file.rows
    });
    for (item, name, semantics) in [
        (76, "counter", Semantics::Counter),
        (77, "discrete", Semantics::Discrete),
        (78, "instant", Semantics::Instant),
    ] {
        m.each(format!("dynamic.{name}"), rows, |count| *count)
            .item(item)
            .semantics(semantics)
            .unit(COUNT)
            .help("Fetches since the file was changed");
    }
}
