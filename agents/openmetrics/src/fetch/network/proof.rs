//! By what a source proves who asks, in files of this host: secrets that others renew.

use std::path::{Path, PathBuf};

use hyper::http::HeaderValue;
use pmda_core::dir_entry::DirEntry;

use super::connect::basic_of;
use crate::fetch::thread::FileThread;
use crate::limits;

/// The files of a source with its secrets (OM-22), which are read for each request: whoever renews
/// them tells nobody.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proof {
    /// The file with a bearer token.
    pub token: Option<PathBuf>,
    /// The user of the password.
    pub user: Option<String>,
    /// The file with a password.
    pub password: Option<PathBuf>,
    /// The reason why no server is asked: a line about the above cannot be used.
    pub fault: Option<String>,
}

impl Proof {
    /// The value of `Authorization:`, if the source has such files, which are read on its thread.
    ///
    /// # Errors
    /// Which line or file cannot be used, and why; nothing of the file is in it.
    pub(in crate::fetch) async fn header(&self, thread: &FileThread) -> Result<Option<HeaderValue>, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        match (&self.token, &self.user, &self.password) {
            (Some(path), ..) => {
                let token = content("TOKEN_FILE", path, thread).await?;
                let value = HeaderValue::from_bytes(format!("Bearer {token}").as_bytes());
                let mut value = value.map_err(|_| wrong("TOKEN_FILE", path, "no header can have its content"))?;
                value.set_sensitive(true);
                Ok(Some(value))
            }
            (None, Some(user), Some(path)) => {
                let password = content("PASSWORD_FILE", path, thread).await?;
                let value = basic_of(format!("{user}:{password}").as_bytes());
                let value = value.map_err(|error| error.to_string())?;
                Ok(Some(value))
            }
            (None, None, None) => Ok(None),
            (None, None, Some(_)) => Err("PASSWORD_FILE: there is no line USER: for it".to_owned()),
            (None, Some(_), None) => Err("USER: there is no line PASSWORD_FILE: for it".to_owned()),
        }
    }
}

/// The text of a file, without the end of its line. It is opened as all files of an agent of root
/// are, by a thread that may wait for its disk.
async fn content(line: &'static str, path: &Path, thread: &FileThread) -> Result<String, String> {
    let owned = path.to_owned();
    let read = move || DirEntry::target_at(&owned).and_then(|entry| entry.content(limits::CONFIG));
    let content = thread.run(move || read().map_err(|error| error.to_string())).await;
    let content = content.map_err(|error| wrong(line, path, &error))?;
    let text = String::from_utf8(content).map_err(|_| wrong(line, path, "it is no UTF-8"))?;
    // Some editors begin a file with a byte order mark.
    match text.strip_prefix('\u{feff}').unwrap_or(&text).trim() {
        "" => Err(wrong(line, path, "it is empty")),
        text => Ok(text.to_owned()),
    }
}

fn wrong(line: &str, path: &Path, reason: &str) -> String {
    format!("{line}: {}: {reason}", path.display())
}
