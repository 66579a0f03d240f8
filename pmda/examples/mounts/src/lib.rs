//! PCP's agent `mounts`: whether the file systems that are listed in `mounts.conf` are mounted, and
//! how full they are.
//!
//! It has the metrics, numbers, instances, texts and values of the one in C, and differs where
//! `mounts.conf` is unusual: an empty line and blanks around a name are ignored (in C an instance
//! `""`, and part of the name), a mount point twice is one instance (two of one name), a name keeps
//! its number when the file changes (counted anew), and the last line needs no end (a warning).

#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use pmda::prelude::*;
use rustix::fs::{StatVfs, StatVfsMountFlags, statvfs};

/// The agent.
pub struct Mounts {
    configuration: PathBuf,
    /// When the configuration was changed that is in use; `None` without one.
    changed: Option<SystemTime>,
    mounts: Indom<Mount>,
}

/// A mount point of the configuration.
struct Mount {
    path: String,
    device: String,
    kind: String,
    options: String,
    /// The space of the file system; `None` if nothing is mounted.
    space: Option<Space>,
}

/// The kernel's figures about a file system; sizes in Kbyte.
struct Space {
    capacity: u64,
    used: u64,
    free: u64,
    available: u64,
    files: u64,
    files_free: u64,
    files_available: u64,
    block: u32,
    is_read_only: bool,
}

impl Agent for Mounts {
    const NAME: &'static str = "mounts";
    const DOMAIN: u32 = 72;

    fn start(env: &Env) -> Result<Mounts> {
        Ok(Mounts {
            configuration: env.folder().join("mounts.conf"),
            changed: None,
            mounts: Indom::new().whole_names(),
        })
    }

    fn metrics(m: &mut Metrics<Mounts>) {
        m.cluster(0).refresh(|s, _| s.read());
        let mounts = m.indom(0, "all mount points being monitored by pmdamounts", |s| &mut s.mounts);
        m.each_text("device", mounts, |mount| &mount.device)
            .discrete()
            .help("The currently tracked mounted devices from mounts.conf");
        m.each_text("type", mounts, |mount| &mount.kind)
            .discrete()
            .help("The filesystem types of current mounts from mounts.conf");
        m.each_text("options", mounts, |mount| &mount.options)
            .help("The mount options of current mounts from mounts.conf");
        m.each("up", mounts, |mount| mount.space.is_some())
            .help("Whether a tracked mount is currently up (one or zero)");
        m.each("capacity", mounts, |mount| mount.of(|space| space.capacity))
            .discrete()
            .unit(KBYTE)
            .help("Total capacity of tracked filesystem mounts (Kbytes)");
        m.each("used", mounts, |mount| mount.of(|space| space.used))
            .unit(KBYTE)
            .help("Total space used on tracked filesystem mounts (Kbytes)");
        m.each("free", mounts, |mount| mount.of(|space| space.free))
            .unit(KBYTE)
            .help("Total space free on tracked filesystem mounts (Kbytes)");
        m.each("maxfiles", mounts, |mount| mount.of(|space| space.files))
            .discrete()
            .help("Inodes capacity of tracked filesystem mounts");
        m.each("usedfiles", mounts, |mount| {
            mount.of(|space| space.files - space.files_free)
        })
        .help("Number of inodes allocated on tracked filesystem mounts");
        m.each("freefiles", mounts, |mount| mount.of(|space| space.files_free))
            .help("Number of unallocated inodes on tracked filesystem mounts");
        m.each("full", mounts, |mount| mount.of(Space::full))
            .help("Percentage of filesystem in use on tracked filesystem mounts");
        m.each("blocksize", mounts, |mount| mount.of(|space| space.block))
            .unit(BYTE)
            .help("Size of each block on tracked filesystem mounts (Bytes)");
        m.each("avail", mounts, |mount| mount.of(|space| space.available))
            .unit(KBYTE)
            .help("Total space free to non-superusers on mounted filesystem (Kbytes)");
        m.each("availfiles", mounts, |mount| mount.of(|space| space.files_available))
            .help("Total inodes free to non-superusers on mounted filesystem");
        m.each("readonly", mounts, |mount| mount.of(|space| space.is_read_only))
            .help("Indicates whether a tracked filesystem mount is readonly");
    }
}

impl Mounts {
    fn read(&mut self) -> Result<()> {
        self.read_configuration();
        let table = fs::read_to_string("/proc/mounts")?;
        let entries: Vec<[String; 4]> = table.lines().filter_map(entry).collect();
        for mount in self.mounts.rows_mut() {
            // The last mount hides earlier ones at the same path.
            match entries.iter().rev().find(|[_, path, ..]| *path == mount.path) {
                Some([device, path, kind, options]) => {
                    (mount.device, mount.kind, mount.options) = (device.clone(), kind.clone(), options.clone());
                    mount.space = statvfs(path.as_str()).ok().map(Space::from);
                }
                None => *mount = Mount::down(&mount.path),
            }
        }
        Ok(())
    }

    /// Reads the configuration if it has changed. Without one the last is kept.
    fn read_configuration(&mut self) {
        let file = &self.configuration;
        let read = || Ok::<_, std::io::Error>((fs::metadata(file)?.modified()?, fs::read_to_string(file)?));
        match read() {
            Ok((changed, _)) if self.changed == Some(changed) => {}
            Ok((changed, text)) => {
                self.changed = Some(changed);
                let lines = text.lines().map(str::trim);
                let mut mounts = self.mounts.update();
                for path in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
                    if let Err(error) = mounts.set(path, Mount::down(path)) {
                        log::warn!("{path}: {error}");
                    }
                }
            }
            Err(error) => {
                if self.changed.take().is_some() || self.mounts.is_empty() {
                    log::warn!("{}: {error}", file.display());
                }
            }
        }
    }
}

impl Mount {
    /// A mount point at which nothing is mounted.
    fn down(path: &str) -> Mount {
        let none = || "none".to_owned();
        Mount {
            path: path.to_owned(),
            device: none(),
            kind: none(),
            options: none(),
            space: None,
        }
    }

    /// A figure of its space, if it is mounted.
    fn of<V>(&self, value: impl Fn(&Space) -> V) -> Option<V> {
        self.space.as_ref().map(value)
    }
}

impl Space {
    /// The percentage in use of what users may use.
    fn full(&self) -> f64 {
        let used = self.used as f64;
        used / (used + self.available as f64) * 100.0
    }
}

impl From<StatVfs> for Space {
    fn from(stat: StatVfs) -> Space {
        let kilobytes = |blocks: u64| blocks * stat.f_frsize / 1024;
        Space {
            capacity: kilobytes(stat.f_blocks),
            used: kilobytes(stat.f_blocks - stat.f_bfree),
            free: kilobytes(stat.f_bfree),
            available: kilobytes(stat.f_bavail),
            files: stat.f_files,
            files_free: stat.f_ffree,
            files_available: stat.f_favail,
            block: u32::try_from(stat.f_bsize).unwrap_or(u32::MAX),
            is_read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        }
    }
}

/// Device, place, type and options of a line of the kernel's table.
fn entry(line: &str) -> Option<[String; 4]> {
    let mut fields = line.split(' ').map(unescape);
    Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?])
}

/// Blanks, tabs, line ends and backslashes are octal numbers there.
fn unescape(field: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(field.to_owned(), |text, (code, character)| {
        text.replace(code, character)
    })
}

pmda::export_dso!(pmda_mounts_init, Mounts);

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    pmda::run::<Mounts>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table() {
        let fields = ["/dev/sda1", "/my disk", "ext4", "rw,relatime"].map(str::to_owned);
        assert_eq!(entry("/dev/sda1 /my\\040disk ext4 rw,relatime 0 0"), Some(fields));
        assert_eq!(entry("none"), None);
    }
}
