//! Users and passwords by host, of `~/.netrc`, as Python's `requests` takes them (OM-96).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{User, getuid};
use parking_lot::Mutex;
use pmda_core::dir_entry::DirEntry;

use crate::limits;
use crate::secret::Login;
use crate::sources::Changed;

/// The file, read again when it has changed.
pub(in crate::fetch) struct Netrc {
    path: Option<PathBuf>,
    read: Mutex<Option<(Changed, Entries)>>,
}

#[derive(Default)]
struct Entries {
    hosts: HashMap<String, Login>,
    default: Option<Login>,
}

impl Netrc {
    /// The file that `NETRC` names, else that of the agent's user.
    pub fn of_the_user() -> Netrc {
        let home = || match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
            Some(home) => Some(PathBuf::from(home)),
            None => Some(User::from_uid(getuid()).ok()??.dir),
        };
        let named = std::env::var_os("NETRC").filter(|path| !path.is_empty());
        let path = named.map(PathBuf::from).or_else(|| Some(home()?.join(".netrc")));
        Netrc {
            path,
            read: Mutex::default(),
        }
    }

    /// The login for a host.
    pub fn login(&self, host: &str) -> Option<Login> {
        let path = self.path.as_deref()?;
        let changed = Changed::of(&fs::metadata(path).ok().filter(fs::Metadata::is_file)?);
        let mut read = self.read.lock();
        let is_current = matches!(&*read, Some((when, _)) if *when == changed && changed.is_settled());
        if !is_current {
            *read = Some((changed, Entries::read(path)));
        }
        let entries = &read.as_ref()?.1;
        entries.hosts.get(host).or(entries.default.as_ref()).cloned()
    }
}

impl Entries {
    /// A file that cannot be read has no entry.
    fn read(path: &Path) -> Entries {
        let content = DirEntry::target_at(path).and_then(|entry| entry.content(limits::CONFIG));
        let text = content.ok().and_then(|content| String::from_utf8(content).ok());
        text.and_then(|text| Entries::parse(&text)).unwrap_or_default()
    }

    /// `None` if anything is wrong: then nothing counts.
    fn parse(text: &str) -> Option<Entries> {
        let mut entries = Entries::default();
        let mut words = Words {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        };
        let mut word = words.next();
        while let Some(begin) = word {
            let host = match begin.as_str() {
                "machine" => Some(words.next()?),
                "default" => None,
                "macdef" => {
                    words.skip_macro();
                    word = words.next();
                    continue;
                }
                _ => return None,
            };
            let (mut user, mut password) = (String::new(), String::new());
            word = loop {
                match words.next() {
                    None => break None,
                    Some(next) => match next.as_str() {
                        "login" | "user" => user = words.next()?,
                        "password" => password = words.next()?,
                        "account" => drop(words.next()?),
                        _ => break Some(next),
                    },
                }
            };
            let login = Login::new(&user, &password);
            match host {
                Some(host) => drop(entries.hosts.insert(host, login)),
                None => entries.default = Some(login),
            }
        }
        Some(entries)
    }
}

struct Words<'t> {
    rest: &'t str,
}

impl Words<'_> {
    /// The next word; one that begins with `"` ends with it, and a backslash keeps what follows. A
    /// `#` in front begins a comment.
    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                break;
            }
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
        let mut letters = self.rest.char_indices().peekable();
        let is_quoted = letters.next_if(|(_, letter)| *letter == '"').is_some();
        let mut word = String::new();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' if is_quoted => {
                    end = at + 1;
                    break;
                }
                '\\' => word.extend(letters.next().map(|(_, letter)| letter)),
                letter if !is_quoted && letter.is_whitespace() => {
                    end = at;
                    break;
                }
                letter => word.push(letter),
            }
        }
        let has_word = end > 0;
        self.rest = &self.rest[end..];
        has_word.then_some(word)
    }

    /// A macro ends with an empty line.
    fn skip_macro(&mut self) {
        self.rest = self.rest.split_once("\n\n").map_or("", |(_, rest)| rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries() {
        let text = "# comment\nmachine a login me password \"a b\"\nmacdef init\ncd /\nmachine no\n\n\
                    machine b\n  login \\\"you account x\n  password p#w\ndefault login all password any\n";
        let entries = Entries::parse(text).expect("it is right");
        let is_login = |found: Option<&Login>, user: &str, password: &str| found == Some(&Login::new(user, password));
        assert!(is_login(entries.hosts.get("a"), "me", "a b"));
        assert!(is_login(entries.hosts.get("b"), "\"you", "p#w"));
        assert!(entries.hosts.len() == 2 && is_login(entries.default.as_ref(), "all", "any"));
        // A quotation mark inside of a word is a letter.
        let quoted = Entries::parse("machine a login me password p\"w").expect("it is right");
        assert!(is_login(quoted.hosts.get("a"), "me", "p\"w"));
        assert!(Entries::parse("machine a login").is_none());
        assert!(Entries::parse("what").is_none());
        assert!(Entries::parse("").is_some());
        assert!(
            Entries::parse("\u{feff}machine a login me").is_some(),
            "a byte order mark"
        );
    }

    /// A host without an entry gets none, and a file that changes or goes counts from then on.
    #[test]
    fn logins_of_a_file_that_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("netrc");
        let write = |password: &str| {
            fs::write(&path, format!("machine a login me password {password}\n")).expect("written");
            // A file that has just changed is read each time.
            std::thread::sleep(std::time::Duration::from_millis(120));
        };
        let netrc = Netrc {
            path: Some(path.clone()),
            read: Mutex::default(),
        };
        assert!(netrc.login("a").is_none());
        for password in ["first", "second"] {
            write(password);
            for _ in 0..2 {
                assert!(netrc.login("a") == Some(Login::new("me", password)));
                assert!(netrc.login("b").is_none());
            }
        }
        fs::remove_file(&path).expect("ours");
        assert!(netrc.login("a").is_none());
    }
}
