//! TLS by the host's OpenSSL: its certificates, its policy, its FIPS mode (OM-98).

use std::fmt;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslVerifyMode};
use openssl::x509::verify::{X509CheckFlags, X509VerifyFlags};
use openssl::x509::{X509, X509VerifyResult};
use pmda_core::dir_entry::DirEntry;
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_openssl::SslStream;

use super::address;
use super::secure::Secure;
use crate::fetch::thread::FileThread;
use crate::limits;
use crate::sources::Changed;

/// Certificates are read again when one was refused, but not more often.
const AGAIN: Duration = Duration::from_secs(60);

/// The variables that name other certificates than the system's, of which the first counts.
const BUNDLES: [&str; 2] = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// The line of a source that does so, without its colon.
const AUTHORITIES: &str = "CA";

/// The reason why there is no connection, in words for the user.
#[derive(Debug)]
pub(in crate::fetch) struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The certificates that are trusted, and those by which this host proves itself. They are read
/// when an address needs them: that takes a tenth of a second.
pub(in crate::fetch) struct Trust {
    /// The file or folder with the certificates that are trusted, in the place of the system's, and
    /// what names it.
    bundle: Option<(&'static str, PathBuf)>,
    own: Secure,
    context: Mutex<Option<Kept>>,
    thread: FileThread,
}

/// A context, and the times of the files of a source that it was made of.
struct Kept {
    read: Instant,
    files: Vec<Option<Changed>>,
    context: SslContext,
}

impl Trust {
    /// The certificates that the environment names, else those of the system (`SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` say otherwise).
    pub fn of_the_environment() -> Trust {
        let named = BUNDLES.into_iter().find_map(|name| {
            let path = std::env::var_os(name).filter(|path| !path.is_empty())?;
            Some((name, PathBuf::from(path)))
        });
        Trust::of(named, Secure::default())
    }

    fn of(bundle: Option<(&'static str, PathBuf)>, own: Secure) -> Trust {
        Trust {
            bundle,
            own,
            context: Mutex::default(),
            thread: FileThread::new(),
        }
    }

    /// The same, but for what a source has of its own.
    pub fn with(&self, own: &Secure) -> Trust {
        let named = own.authorities.clone().map(|path| (AUTHORITIES, path));
        Trust::of(named.or_else(|| self.bundle.clone()), own.clone())
    }

    /// The certificates of a file alone.
    #[cfg(test)]
    pub fn of_file(path: &Path) -> Trust {
        Trust::of(Some((BUNDLES[0], path.to_owned())), Secure::default())
    }

    /// Begins TLS with a host on a connection.
    ///
    /// # Errors
    /// The reason why the host is not trusted, and what to do; or another reason.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> Result<SslStream<S>, Refused> {
        let context = self.context().await?;
        let ssl = prepare(&context, host).map_err(|error| Refused(error.to_string()))?;
        let mut stream = SslStream::new(ssl, stream).map_err(|error| Refused(error.to_string()))?;
        match Pin::new(&mut stream).connect().await {
            Ok(()) => Ok(stream),
            Err(error) => {
                let result = stream.ssl().verify_result();
                if result == X509VerifyResult::OK || self.own.is_unverified {
                    return Err(Refused(format!("TLS with {host} failed: {}", plain(&error))));
                }
                self.forget().await;
                Err(Refused(self.certificate(host, result)))
            }
        }
    }

    async fn context(&self) -> Result<SslContext, Refused> {
        let mut kept = self.context.lock().await;
        // Certificates of sources are renewed without a word to the agent.
        let files = match self.own.files() {
            files if files.is_empty() => Vec::new(),
            files => {
                let read = move || Ok(files.iter().map(|path| Changed::if_there(path)).collect());
                self.thread.run(read).await.map_err(Refused)?
            }
        };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.files == files) {
            return Ok(kept.context.clone());
        }
        let (bundle, own) = (self.bundle.clone(), self.own.clone());
        let context = self.thread.run(move || build(bundle.as_ref(), &own)).await;
        let context = context.map_err(Refused)?;
        *kept = Some(Kept {
            read: Instant::now(),
            files,
            context: context.clone(),
        });
        Ok(context)
    }

    async fn forget(&self) {
        let mut kept = self.context.lock().await;
        if kept.as_ref().is_some_and(|kept| kept.read.elapsed() > AGAIN) {
            *kept = None;
        }
    }

    /// The fault of a host's certificate, in words.
    fn certificate(&self, host: &str, result: X509VerifyResult) -> String {
        // X509_V_ERR_… of OpenSSL (verify(1)).
        let advice = match result.as_raw() {
            9 => "wait until it is valid, or set the clock of this host".to_owned(),
            10 => "it has to be renewed".to_owned(),
            62 | 64 => "put a name into the address that the certificate has".to_owned(),
            66..=68 => "it has to be made anew with a stronger key or digest".to_owned(),
            _ => match &self.bundle {
                Some((AUTHORITIES, path)) => format!(
                    "put it, or that of its authority, into {}, which the line {AUTHORITIES}: names",
                    path.display()
                ),
                Some((name, path)) => format!(
                    "put it, or that of its authority, into {}, which {name} names, or into a file that a line \
                     {AUTHORITIES}: of the source names",
                    path.display()
                ),
                None => format!(
                    "put it, or that of its authority, into a file that a line {AUTHORITIES}: of the source names, or into \
                     the system's store (update-ca-certificates or update-ca-trust)"
                ),
            },
        };
        format!(
            "the certificate of {host} is refused: {}; {advice}",
            result.error_string()
        )
    }
}

fn build(bundle: Option<&(&'static str, PathBuf)>, own: &Secure) -> Result<SslContext, String> {
    let words = |error: ErrorStack| error.to_string();
    if let Some(fault) = &own.fault {
        return Err(fault.clone());
    }
    let mut context = SslContext::builder(SslMethod::tls_client()).map_err(words)?;
    // SSL_OP_IGNORE_UNEXPECTED_EOF, as Python has it: servers that close without saying so are many.
    // OpenSSL 1.1.1 has no name for it, and needs none.
    context.set_options(SslOptions::from_bits_retain(1 << 7));
    if own.is_unverified {
        context.set_verify(SslVerifyMode::NONE);
    } else {
        context.set_verify(SslVerifyMode::PEER);
        // A certificate of the store is trusted, whoever has signed it.
        context
            .verify_param_mut()
            .set_flags(X509VerifyFlags::PARTIAL_CHAIN | X509VerifyFlags::TRUSTED_FIRST)
            .map_err(words)?;
        match bundle {
            None => {
                if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
                    check_system_file(Path::new(&path))?;
                }
                context.set_default_verify_paths().map_err(words)?;
            }
            Some((name, path)) => load_authorities(&mut context, path).map_err(|reason| {
                let path = path.display();
                match *name {
                    AUTHORITIES => format!("{AUTHORITIES}: {path}: {reason}"),
                    name => format!("{name} names {path}, and no certificates can be read there: {reason}"),
                }
            })?,
        }
    }
    load_certificate(&mut context, own)?;
    Ok(context.build())
}

/// Refuses what OpenSSL would wait for, without end, as the file of the system's certificates. What
/// else is wrong with it OpenSSL passes over.
fn check_system_file(path: &Path) -> Result<(), String> {
    match DirEntry::target_at(path).and_then(|entry| entry.read()) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Err(format!(
            "SSL_CERT_FILE names {}, which is no regular file",
            path.display()
        )),
        _ => Ok(()),
    }
}

/// Trusts the certificates of a file or a folder, which is opened as all files of an agent of root
/// are: a FIFO would be waited for for ever.
fn load_authorities(context: &mut SslContextBuilder, path: &Path) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let none = |error: ErrorStack| match reasons(&error) {
        reasons if reasons.is_empty() => "it has no certificate".to_owned(),
        reasons => reasons,
    };
    if path.is_dir() {
        // OpenSSL opens the files there, when it wants them.
        let entry = DirEntry::target_at(&path.join("certificate")).map_err(said)?;
        if entry.is_exposed().map_err(said)? {
            return Err("other users than root may write to the folder".to_owned());
        }
        return load_folder(context, path);
    }
    let file = DirEntry::target_at(path).and_then(|entry| entry.read()).map_err(said)?;
    if file.metadata().map_err(said)?.len() > limits::BUNDLE {
        return Err(format!("it has more than {} bytes", limits::BUNDLE));
    }
    load_file(context, &file).map_err(none)
}

/// Trusts the certificates of an open file.
fn load_file(context: &mut SslContextBuilder, file: &File) -> Result<(), ErrorStack> {
    // The very file that was opened, by OpenSSL's own reader, which knows more than one form.
    let opened = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    context.load_verify_locations(Some(&opened), None)
}

/// Trusts the certificates of a folder: those of its files, and those that OpenSSL looks up by name
/// when it wants them (`openssl rehash`).
fn load_folder(context: &mut SslContextBuilder, folder: &Path) -> Result<(), String> {
    let said = |error: std::io::Error| error.to_string();
    let (mut has_certificate, mut left) = (false, limits::BUNDLE);
    for entry in fs::read_dir(folder).map_err(said)?.flatten() {
        if is_hash(&entry.file_name().to_string_lossy()) {
            has_certificate = true;
            continue;
        }
        // What else is there, such as a key or a folder, has no certificate.
        let Ok(file) = DirEntry::target_at(&entry.path()).and_then(|entry| entry.read()) else {
            continue;
        };
        let length = file.metadata().map_err(said)?.len();
        let more = || format!("its files have more than {} bytes", limits::BUNDLE);
        left = left.checked_sub(length).ok_or_else(more)?;
        has_certificate |= load_file(context, &file).is_ok();
    }
    if !has_certificate {
        return Err("no file there has a certificate in PEM".to_owned());
    }
    let by_name = context.load_verify_locations(None, Some(folder));
    by_name.map_err(|error| reasons(&error))
}

/// Returns whether this is a name of `openssl rehash`: eight digits of a hash, a dot and a number.
fn is_hash(name: &str) -> bool {
    let parts = name.split_once('.');
    parts.is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Shows a server the certificate of the source, if it has one.
fn load_certificate(context: &mut SslContextBuilder, own: &Secure) -> Result<(), String> {
    let Some(path) = &own.certificate else {
        return match own.key {
            Some(_) => Err("KEY: there is no line CERT: for it".to_owned()),
            None => Ok(()),
        };
    };
    let named = |name: &'static str, path: &Path| {
        let path = path.display().to_string();
        move |reason: &str| format!("{name}: {path}: {reason}")
    };
    let read = |name: &'static str, path: &Path| {
        let content = DirEntry::target_at(path).and_then(|entry| entry.content(limits::CONFIG));
        content.map_err(|error| named(name, path)(&error.to_string()))
    };
    let wrong = named("CERT", path);
    let text = read("CERT", path)?;
    let chain = X509::stack_from_pem(&text).map_err(|error| wrong(&reasons(&error)))?;
    let mut chain = chain.into_iter();
    let certificate = chain.next().ok_or_else(|| wrong("it has no certificate in PEM"))?;
    context
        .set_certificate(&certificate)
        .map_err(|error| wrong(&reasons(&error)))?;
    for authority in chain {
        context
            .add_extra_chain_cert(authority)
            .map_err(|error| wrong(&reasons(&error)))?;
    }
    let (wrong, text) = match &own.key {
        Some(path) => (named("KEY", path), read("KEY", path)?),
        None => (wrong, text),
    };
    let key = private_key(&text).map_err(&wrong)?;
    let fits = context.set_private_key(&key).and_then(|()| context.check_private_key());
    fits.map_err(|_| wrong("it has another key than the certificate"))
}

/// The key of a file. Nothing of the file is in what is wrong with it.
fn private_key(text: &[u8]) -> Result<PKey<Private>, &'static str> {
    let mut is_locked = false;
    let key = PKey::private_key_from_pem_callback(text, |_| {
        // Without this OpenSSL would ask on a terminal.
        is_locked = true;
        Ok(0)
    });
    match key {
        Ok(key) => Ok(key),
        Err(_) if is_locked => Err("the key has a passphrase, which nobody can give: write it without one"),
        Err(_) => Err("it has no key in PEM"),
    }
}

/// The settings of a connection with this host.
fn prepare(context: &SslContext, host: &str) -> Result<Ssl, ErrorStack> {
    let mut ssl = Ssl::new(context)?;
    let ip = address::ip(host);
    let param = ssl.param_mut();
    param.set_hostflags(X509CheckFlags::NO_PARTIAL_WILDCARDS);
    match ip {
        Some(ip) => param.set_ip(ip)?,
        None => {
            param.set_host(host)?;
            ssl.set_hostname(host)?;
        }
    }
    Ok(ssl)
}

/// The reasons of OpenSSL, without its numbers and function names.
pub(in crate::fetch) fn reasons(stack: &ErrorStack) -> String {
    let errors = stack.errors().iter();
    let reasons: Vec<_> = errors.filter_map(openssl::error::Error::reason).collect();
    let first = reasons.first().copied().unwrap_or_default();
    let reasons = reasons.join(", ");
    match first {
        // Later versions add "record layer failure".
        "wrong version number" | "packet length too long" | "http request" => {
            format!("{reasons} (is the server one of http:?)")
        }
        // Before TLS 1.3 a server has no other word for it.
        _ if reasons.contains("certificate required") || reasons.contains("handshake failure") => {
            format!(
                "{reasons} (if the server wants a certificate of this host, a line CERT: of the source names it, and KEY: its key)"
            )
        }
        _ => reasons,
    }
}

/// An error of OpenSSL in words.
fn plain(error: &openssl::ssl::Error) -> String {
    let said = error.ssl_error().map(reasons).filter(|said| !said.is_empty());
    match (said, error.io_error()) {
        (Some(said), _) => said,
        (_, Some(error)) => error.to_string(),
        _ => "the server has closed the connection".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate that was refused may be trusted by now: after a minute files are read again, but
    /// not sooner, as that takes a tenth of a second.
    #[tokio::test]
    async fn certificates_are_read_again_after_a_minute() {
        let unverified = Secure {
            is_unverified: true,
            ..Secure::default()
        };
        let trust = Trust::of(None, unverified);
        for (age, is_kept) in [(AGAIN / 2, true), (AGAIN * 2, false)] {
            trust.context().await.expect("no file is read");
            let read = Instant::now().checked_sub(age).expect("the machine is older");
            trust.context.lock().await.as_mut().expect("it is kept").read = read;
            trust.forget().await;
            assert_eq!(trust.context.lock().await.is_some(), is_kept, "{age:?}");
        }
    }

    /// A file for which OpenSSL would wait is refused. A file that is missing is passed over, as
    /// OpenSSL does.
    #[test]
    fn the_file_of_the_system_is_a_regular_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("ours");
        let expected = format!("SSL_CERT_FILE names {}, which is no regular file", pipe.display());
        assert_eq!(check_system_file(&pipe), Err(expected));
        let file = directory.path().join("file");
        assert_eq!(check_system_file(&file), Ok(()));
        fs::write(&file, "").expect("written");
        assert_eq!(check_system_file(&file), Ok(()));
    }
}
