//! `http://` and `https://`.

use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error};

use super::document::{Document, Failure, Memory};
use crate::limits;

/// How long a connection may wait for its next use: pmlogger asks once a minute.
const KEPT: Duration = Duration::from_secs(300);

/// The buffers of a connection, in bytes, which it keeps as long as it lives: the headers of a
/// reply have to fit into one, and those of a request into the other.
const INPUT: usize = 32 << 10;
const OUTPUT: usize = 16 << 10;

/// A client that keeps its connections.
///
/// Certificates take milliseconds to read and half a megabyte, so they are read when an address
/// wants them: most exporters are on the same host, by `http://`.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// Asks addresses of `http://`, and follows nothing: that may lead to `https://`.
    plain: OnceLock<Agent>,
    /// Asks all others.
    trusting: OnceLock<Agent>,
}

impl Client {
    /// One that trusts these certificates alone.
    #[cfg(test)]
    pub(super) fn trusting(certificates: Vec<Certificate<'static>>) -> Client {
        Client {
            trusting: make(certificates, limits::REDIRECTS).into(),
            ..Client::default()
        }
    }

    /// Gets a document, within a time.
    pub(super) fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        limit: Duration,
        memory: &Arc<Memory>,
    ) -> Result<(u16, Document), Failure> {
        let mut response = self.ask(url, headers, limit).map_err(|error| failure(&error, url))?;
        let status = response.status().as_u16();
        if status >= 400 {
            let reason = response.status().canonical_reason().unwrap_or("no success");
            drain(&mut response);
            let kind = if status < 500 { "Client Error" } else { "Server Error" };
            return Err(Failure {
                status,
                reason: format!("{status} {kind}: {reason} for url: {url}"),
            });
        }
        let length = response.body().content_length();
        let document = Document::new(memory).read_all(&mut response.body_mut().as_reader(), length);
        document.map(|document| (status, document)).map_err(|reason| Failure {
            status,
            reason: format!("{reason} for url: {url}"),
        })
    }

    fn ask(&self, url: &str, headers: &[(String, String)], limit: Duration) -> Result<Response<Body>, Error> {
        let end = Instant::now() + limit;
        let ask = |agent: &Agent| {
            let mut request = agent.get(url);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            let left = end.saturating_duration_since(Instant::now());
            request.config().timeout_global(Some(left)).build().call()
        };
        if !is_secure(url) {
            let mut response = ask(self.plain.get_or_init(|| make(Vec::new(), 0)))?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            drain(&mut response);
        }
        ask(self.trusting.get_or_init(|| make(of_the_system(), limits::REDIRECTS)))
    }
}

/// Whether an address is one of `https://`.
fn is_secure(url: &str) -> bool {
    let scheme = url.get(..5);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

/// Reads what a reply says beside its status, as far as it is short, for the connection's sake.
fn drain(response: &mut Response<Body>) {
    let mut body = response.body_mut().as_reader().take(4096);
    let _ = std::io::copy(&mut body, &mut std::io::sink());
}

fn failure(error: &Error, url: &str) -> Failure {
    let reason = match error {
        Error::Timeout(_) => format!("no answer in time from {url}"),
        other => format!("{other} for url: {url}"),
    };
    Failure { status: 0, reason }
}

/// The certificates that the system trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise.
fn of_the_system() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        log::warn!("certificates of the system: {error}");
    }
    found
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect()
}

/// A client that trusts these certificates.
fn make(certificates: Vec<Certificate<'static>>, redirects: u32) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .user_agent(concat!("pmdaopenmetrics/", env!("CARGO_PKG_VERSION")))
        .max_redirects(redirects)
        .redirect_auth_headers(RedirectAuthHeaders::SameHost)
        .max_idle_age(KEPT)
        .input_buffer_size(INPUT)
        .output_buffer_size(OUTPUT)
        .max_idle_connections(limits::SOURCES as usize)
        .max_idle_connections_per_host(limits::SOURCES as usize)
        .build();
    config.new_agent()
}
