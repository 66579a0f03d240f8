//! The private directories of a pmcd. The running one's are read, and never written.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{User, geteuid};

use crate::host::Host;

/// The directories that pmcd and its agents write, by the setting that names each.
const OWN: [(&str, &str); 5] = [
    ("PCP_RUN_DIR", "run"),
    ("PCP_LOG_DIR", "log"),
    ("PCP_TMP_DIR", "tmp"),
    ("PCP_TMPFILE_DIR", "tmpfile"),
    ("PCP_VAR_DIR", "var"),
];

/// What of `PCP_VAR_DIR` is neither linked nor copied: the running pmcd's own.
const LEFT_OUT: [&str; 3] = ["tmp", "pmcd", "config"];

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

    /// The variables that lead PCP's programs here.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let own = OWN.iter().map(|(setting, name)| (*setting, self.at(name)));
        let conf = [("PCP_CONF", "pcp.conf"), ("PCP_PMCDCONF_PATH", "pmcd.conf")];
        own.chain(conf.map(|(variable, name)| (variable, self.at(name))))
    }

    /// Makes the directories afresh, for a pmcd with these lines in its `pmcd.conf` on this library.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn lay_out(&self, host: &Host, configuration: &str, library: &Path) -> io::Result<()> {
        self.clear()?;
        let user = pcp_user(host);
        for (_, name) in OWN {
            own_directory(&self.at(name), user)?;
        }
        own_directory(&self.at("log/pmcd"), user)?;
        own_directory(&self.at("tmp/pmcd"), user)?;
        fs::create_dir(self.at("lib"))?;
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
        self.lay_out_var(host, user)?;
        // Applications write their values there, and the agent mmv reads them.
        if let Some(mmv) = host.setting("PCP_TMP_DIR").map(|tmp| Path::new(tmp).join("mmv")) {
            if mmv.is_dir() {
                symlink(mmv, self.at("tmp/mmv"))?;
            }
        }
        Ok(())
    }

    /// `PCP_VAR_DIR`: links to what is only read, and a copy of what agents write: their
    /// configuration, with the cache files in it.
    fn lay_out_var(&self, host: &Host, user: Option<(u32, u32)>) -> io::Result<()> {
        let theirs = PathBuf::from(host.setting("PCP_VAR_DIR").unwrap_or("/var/lib/pcp"));
        for entry in fs::read_dir(&theirs)? {
            let entry = entry?;
            if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
                symlink(entry.path(), self.at("var").join(entry.file_name()))?;
            }
        }
        let (from, config) = (theirs.join("config"), self.at("var/config"));
        if from.is_dir() {
            copy(&from, &config)?;
        }
        for directory in [config.clone(), config.join("pmda")] {
            if !directory.is_dir() {
                own_directory(&directory, user)?;
            }
        }
        Ok(())
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
        // A process that was just killed may have made another file.
        for _ in 0..10 {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => return,
            }
        }
    }
}

/// The user that pmcd becomes when root has started it.
fn pcp_user(host: &Host) -> Option<(u32, u32)> {
    let name = host.setting("PCP_USER").unwrap_or("pcp");
    let user = User::from_name(name).ok().flatten();
    user.filter(|_| geteuid().is_root())
        .map(|user| (user.uid.as_raw(), user.gid.as_raw()))
}

fn own_directory(path: &Path, user: Option<(u32, u32)>) -> io::Result<()> {
    DirBuilder::new().mode(0o775).create(path)?;
    user.map_or(Ok(()), |(uid, gid)| chown(path, Some(uid), Some(gid)))
}

/// Copies a directory with its owners and modes; what is neither a file, a link nor a directory is
/// left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_symlink() {
        let target = fs::read_link(from)?;
        return symlink(from.parent().unwrap_or(from).join(target), to);
    }
    if metadata.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if metadata.is_file() {
        // What this user cannot read, his agents cannot either.
        match fs::copy(from, to) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            other => other?,
        };
    } else {
        return Ok(());
    }
    if geteuid().is_root() {
        chown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    fs::set_permissions(to, metadata.permissions())
}
