//! TLS by the host's OpenSSL: its certificates, its policy, its FIPS mode (OM-98).

use std::fmt;
#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::{Duration, Instant};

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslOptions, SslVerifyMode};
use openssl::x509::X509VerifyResult;
use openssl::x509::verify::{X509CheckFlags, X509VerifyFlags};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_openssl::SslStream;

use super::address;

/// Certificates are read again when one was refused, but not more often.
const AGAIN: Duration = Duration::from_secs(60);

/// The variables that name other certificates than the system's, of which the first counts.
const BUNDLES: [&str; 2] = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// Why a connection cannot be had, in words for the user.
#[derive(Debug)]
pub(super) struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What is trusted. It is read when an address wants it: that takes a tenth of a second.
pub(super) struct Trust {
    bundle: Option<(&'static str, PathBuf)>,
    context: Mutex<Option<(Instant, SslContext)>>,
}

impl Trust {
    /// The certificates that the environment names, else those of the system (`SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` say otherwise).
    pub fn of_the_environment() -> Trust {
        let named = BUNDLES.into_iter().find_map(|name| {
            let path = std::env::var_os(name).filter(|path| !path.is_empty())?;
            Some((name, PathBuf::from(path)))
        });
        Trust::of(named)
    }

    fn of(bundle: Option<(&'static str, PathBuf)>) -> Trust {
        Trust {
            bundle,
            context: Mutex::default(),
        }
    }

    /// The certificates of a file alone.
    #[cfg(test)]
    pub fn of_file(path: &Path) -> Trust {
        Trust::of(Some((BUNDLES[0], path.to_owned())))
    }

    /// Begins TLS with a host on a connection.
    ///
    /// # Errors
    /// Why the host is not trusted, and what to do; or what else is wrong.
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
                if result == X509VerifyResult::OK {
                    return Err(Refused(format!("TLS with {host} failed: {}", plain(&error))));
                }
                self.forget().await;
                Err(Refused(self.certificate(host, result)))
            }
        }
    }

    async fn context(&self) -> Result<SslContext, Refused> {
        let mut kept = self.context.lock().await;
        if let Some((_, context)) = &*kept {
            return Ok(context.clone());
        }
        let bundle = self.bundle.clone();
        let made = tokio::task::spawn_blocking(move || build(bundle.as_ref())).await;
        let context = made.unwrap_or_else(|error| Err(error.to_string())).map_err(Refused)?;
        *kept = Some((Instant::now(), context.clone()));
        Ok(context)
    }

    async fn forget(&self) {
        let mut kept = self.context.lock().await;
        if kept.as_ref().is_some_and(|(read, _)| read.elapsed() > AGAIN) {
            *kept = None;
        }
    }

    /// What is wrong with the certificate of a host.
    fn certificate(&self, host: &str, result: X509VerifyResult) -> String {
        // X509_V_ERR_… of OpenSSL (verify(1)).
        let advice = match result.as_raw() {
            9 => "wait until it is valid, or set the clock of this host".to_owned(),
            10 => "it has to be renewed".to_owned(),
            62 | 64 => "put a name into the address that the certificate has".to_owned(),
            66..=68 => "it has to be made anew with a stronger key or digest".to_owned(),
            _ => match &self.bundle {
                Some((name, path)) => format!("put it, or that of its authority, into {}, which {name} names", path.display()),
                None => "put it, or that of its authority, into the system's store (update-ca-certificates or update-ca-trust), or into a file \
                     that REQUESTS_CA_BUNDLE names"
                    .to_owned(),
            },
        };
        format!(
            "the certificate of {host} is refused: {}; {advice}",
            result.error_string()
        )
    }
}

fn build(bundle: Option<&(&'static str, PathBuf)>) -> Result<SslContext, String> {
    let words = |error: ErrorStack| error.to_string();
    let mut context = SslContext::builder(SslMethod::tls_client()).map_err(words)?;
    context.set_verify(SslVerifyMode::PEER);
    // As Python has it: servers that close without saying so are many.
    context.set_options(SslOptions::IGNORE_UNEXPECTED_EOF);
    // A certificate of the store is trusted, whoever has signed it.
    context
        .verify_param_mut()
        .set_flags(X509VerifyFlags::PARTIAL_CHAIN | X509VerifyFlags::TRUSTED_FIRST)
        .map_err(words)?;
    match bundle {
        None => context.set_default_verify_paths().map_err(words)?,
        Some((name, path)) => {
            let loaded = if path.is_dir() {
                context.load_verify_locations(None, Some(path))
            } else {
                context.load_verify_locations(Some(path), None)
            };
            loaded.map_err(|_| format!("{name} names {}, and no certificates can be read there", path.display()))?;
        }
    }
    Ok(context.build())
}

/// What a connection with this host has to show.
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

/// What OpenSSL says, without its numbers and function names.
fn plain(error: &openssl::ssl::Error) -> String {
    let reasons = error.ssl_error().map(|stack| {
        let reasons: Vec<_> = stack
            .errors()
            .iter()
            .filter_map(openssl::error::Error::reason)
            .collect();
        reasons.join(", ")
    });
    match (reasons, error.io_error()) {
        (Some(reasons), _) if !reasons.is_empty() => match reasons.as_str() {
            "wrong version number" | "packet length too long" | "http request" => {
                format!("{reasons} (is the server one of http:?)")
            }
            _ => reasons,
        },
        (_, Some(error)) => error.to_string(),
        _ => "the server has closed the connection".to_owned(),
    }
}
