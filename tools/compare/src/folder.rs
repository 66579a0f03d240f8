//! The private directories of a pmcd. The running one's are read, and never written.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::unistd::{Gid, Uid, User, getegid, geteuid, getgroups, setegid, seteuid, setgroups};

use pmda_core::dir_entry::DirEntry;

use crate::host::{self, Host};

/// The directories that pmcd and its agents write, by the setting that names each.
const OWN: [(&str, &str); 5] = [
    ("PCP_RUN_DIR", "run"),
    ("PCP_LOG_DIR", "log"),
    ("PCP_TMP_DIR", "tmp"),
    ("PCP_TMPFILE_DIR", "tmpfile"),
    ("PCP_VAR_DIR", "var"),
];

/// The parts of `PCP_VAR_DIR` that are neither linked nor copied: they belong to the running pmcd.
const LEFT_OUT: [&str; 3] = ["tmp", "pmcd", "config"];

/// The folder of pmcd's socket, which is for root and pmcd's user alone.
const SOCKET_FOLDER: &str = "client";

/// A private folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes an empty folder, whose name is short: it gets a unix socket.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new() -> io::Result<Folder> {
        let mut number = 0;
        loop {
            let name = format!("pcp-pmda-rust-compare.{}.{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                // Agents run as users of their own.
                Ok(()) => {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                    return Ok(Folder { path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A folder that [`Folder::new`] has made, in another process.
    #[must_use]
    pub fn made(path: PathBuf) -> Folder {
        Folder { path }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The unix socket of pmcd.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.at(SOCKET_FOLDER).join("pmcd")
    }

    /// The variables that lead PCP's programs here.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let own = OWN.iter().map(|(setting, name)| (*setting, self.at(name)));
        let conf = [("PCP_CONF", "pcp.conf"), ("PCP_PMCDCONF_PATH", "pmcd.conf")];
        own.chain(conf.map(|(variable, name)| (variable, self.at(name))))
    }

    /// Makes the directories afresh, for a pmcd with these lines in its `pmcd.conf` on this
    /// library.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn lay_out(&self, host: &Host, configuration: &str, library: &Path) -> io::Result<()> {
        self.clear()?;
        let user = pcp_user(host);
        for (_, name) in OWN {
            fs::create_dir(self.at(name))?;
        }
        for name in ["log/pmcd", "tmp/pmcd", "lib"] {
            fs::create_dir(self.at(name))?;
        }
        // Whoever gets to the socket gets all values, whatever the host's pmcd allows.
        DirBuilder::new().mode(0o700).create(self.at(SOCKET_FOLDER))?;
        give(&self.at(SOCKET_FOLDER), user)?;
        symlink(library, self.at("lib/libpcp_pmda.so.3"))?;
        fs::write(self.at("pmcd.conf"), configuration)?;
        let mut conf = host.conf.trim_end().to_owned() + "\n";
        for (variable, path) in self.variables() {
            conf.push_str(&format!("{variable}={}\n", path.display()));
        }
        let is_own = |line: &&str| !self.variables().any(|(name, _)| line.starts_with(&format!("{name}=")));
        let (kept, added): (Vec<&str>, Vec<&str>) = conf.lines().partition(is_own);
        let added = added.iter().filter(|line| line.contains(&*self.path.to_string_lossy()));
        let conf: Vec<&str> = kept.iter().chain(added).copied().collect();
        fs::write(self.at("pcp.conf"), conf.join("\n") + "\n")?;
        // Applications write their values to this folder, and the agent mmv reads them.
        if let Some(mmv) = host.setting("PCP_TMP_DIR").map(|tmp| Path::new(tmp).join("mmv")) {
            if mmv.is_dir() {
                symlink(mmv, self.at("tmp/mmv"))?;
            }
        }
        self.lay_out_var(host, user)?;
        // Theirs from now on: root makes nothing more in them.
        for name in OWN.map(|(_, name)| name).into_iter().chain(["log/pmcd", "tmp/pmcd"]) {
            give(&self.at(name), user)?;
        }
        Ok(())
    }

    /// `PCP_VAR_DIR`: links to what is only read, and a copy of what agents write: their
    /// configuration, with the cache files in it.
    fn lay_out_var(&self, host: &Host, user: Option<(Uid, Gid)>) -> io::Result<()> {
        let theirs = PathBuf::from(host.setting("PCP_VAR_DIR").unwrap_or("/var/lib/pcp"));
        for entry in fs::read_dir(&theirs)? {
            let entry = entry?;
            if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                symlink(entry.path(), self.at("var").join(entry.file_name()))?;
            }
        }
        let (from, config) = (theirs.join("config"), self.at("var/config"));
        // The files belong to that user, who might exchange one for a link to a file that only root
        // may read. So they are copied with that user's rights.
        give(&self.at("var"), user)?;
        as_user(user, || {
            if from.is_dir() {
                copy(&from, &config)?;
            }
            fs::create_dir_all(config.join("pmda"))
        })
    }

    /// Removes what is in the folder.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.symlink_metadata()?.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Removes the folder.
    pub fn remove(&self) {
        // A process that was just killed may have made another file, and another keeper may remove
        // files at the same time: then an error says nothing of the folder.
        for _ in 0..100 {
            let _ = fs::remove_dir_all(&self.path);
            if self.path.symlink_metadata().is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The user that pmcd becomes when root has started it.
fn pcp_user(host: &Host) -> Option<(Uid, Gid)> {
    let name = host.setting("PCP_USER").unwrap_or("pcp");
    let user = User::from_name(name).ok().flatten();
    user.filter(|_| geteuid().is_root()).map(|user| (user.uid, user.gid))
}

/// Opens the library with the rights of PCP's user if this is root, else with this user's.
///
/// # Errors
/// Who cannot read it, and why.
pub fn readable(library: &Path) -> Result<(), String> {
    let user = host::pcp_user().filter(|_| geteuid().is_root());
    let name = user.as_ref().map_or("this user", |user| &user.name).to_owned();
    let opened = as_user(user.map(|user| (user.uid, user.gid)), || File::open(library).map(drop));
    opened.map_err(|error| {
        let library = library.display();
        format!(
            "{name} cannot read {library}: {error}: directories above it need the mode 755, as a new make install gives them (namei -l {library})"
        )
    })
}

/// Makes a directory that user's.
fn give(directory: &Path, user: Option<(Uid, Gid)>) -> io::Result<()> {
    user.map_or(Ok(()), |(uid, gid)| {
        chown(directory, Some(uid.as_raw()), Some(gid.as_raw()))
    })
}

/// Does something with the rights of a user.
fn as_user<R>(user: Option<(Uid, Gid)>, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let Some((uid, gid)) = user else { return work() };
    let (own_gid, own_groups) = (getegid(), getgroups()?);
    setgroups(&[gid])?;
    setegid(gid)?;
    seteuid(uid)?;
    let done = work();
    seteuid(Uid::from_raw(0))?;
    setegid(own_gid)?;
    setgroups(&own_groups)?;
    done
}

/// Copies a file with its mode. It may be something else by now: a FIFO is not waited for.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, mut copied) = (DirEntry::at(from)?.read()?, File::create_new(to)?);
    copied.set_permissions(source.metadata()?.permissions())?;
    io::copy(&mut source, &mut copied).map(drop)
}

/// Copies a directory with its mode; what is neither a file, a link nor a directory, and what may
/// not be read, is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    let copied = if metadata.is_symlink() {
        let target = fs::read_link(from)?;
        symlink(from.parent().unwrap_or(from).join(target), to)
    } else if metadata.is_dir() {
        fs::read_dir(from).and_then(|entries| {
            DirBuilder::new().mode(0o700).create(to)?;
            for entry in entries {
                let entry = entry?;
                copy(&entry.path(), &to.join(entry.file_name()))?;
            }
            // At last: it may be one that nobody may write to.
            fs::set_permissions(to, metadata.permissions())
        })
    } else if metadata.is_file() {
        copy_file(from, to)
    } else {
        Ok(())
    };
    match copied {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").permissions().mode() & 0o7777
    }

    /// A file that others may read, in a folder that they may not, is not theirs to read in the
    /// copy.
    #[test]
    fn copies_have_the_modes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let from = directory.path().join("from");
        fs::create_dir_all(from.join("closed/inner")).expect("ours");
        fs::write(from.join("closed/inner/secret"), "x").expect("ours");
        for (name, mode) in [
            ("closed/inner/secret", 0o644),
            ("closed/inner", 0o550),
            ("closed", 0o700),
            ("", 0o750),
        ] {
            fs::set_permissions(from.join(name), fs::Permissions::from_mode(mode)).expect("ours");
        }
        let to = directory.path().join("to");
        copy(&from, &to).expect("copied");
        for name in ["closed/inner/secret", "closed/inner", "closed", ""] {
            assert_eq!(mode(&to.join(name)), mode(&from.join(name)), "{name}");
        }
        fs::set_permissions(from.join("closed/inner"), fs::Permissions::from_mode(0o700)).expect("ours");
        fs::set_permissions(to.join("closed/inner"), fs::Permissions::from_mode(0o700)).expect("ours");
    }
}
