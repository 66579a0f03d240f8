//! Addresses of `http:` and `https:` (RFC 3986), encoded as Python's `requests` sends them (OM-94).

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hyper::http::Uri;

use crate::secret::Login;

/// Characters that stand for themselves anywhere (RFC 3986, unreserved).
const UNRESERVED: &[u8] = b"-._~";
/// Characters that stand for themselves in a path; in a query `?` does, too.
const PATH: &[u8] = b"-._~!$&'()*+,;=:@/";
const QUERY: &[u8] = b"-._~!$&'()*+,;=:@/?";

/// Why an address without a scheme that is known is none, as PCP's agent words it.
pub(in crate::fetch) const NO_SCHEME: &str = "No connection adapters were found for";

/// An address.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::fetch) struct Address {
    /// The scheme, host and port.
    pub origin: Origin,
    /// User and password, decoded.
    pub login: Option<Login>,
    /// Path and query, encoded.
    pub target: String,
}

/// Scheme, host and port: who gets the secrets of a source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::fetch) struct Origin {
    /// True if it is `https:`.
    pub is_secure: bool,
    /// The host in lower case; an address of IPv6 has its brackets.
    pub host: String,
    /// The network interface of a link-local address of IPv6 (RFC 6874), which this host alone knows.
    pub zone: Option<String>,
    /// The port, also where the address names none.
    pub port: u16,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// Why it is none, in the words of PCP's agent.
    pub fn parse(text: &str) -> Result<Address, String> {
        let text = text.trim_start();
        let wrong = || format!("Failed to parse: {}", without_login(text));
        let (is_secure, rest) = match scheme(text) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            _ => {
                return Err(format!("{NO_SCHEME} '{}'", without_login(text)));
            }
        };
        let no_host = || format!("Invalid URL '{}': No host supplied", without_login(text));
        let rest = rest.strip_prefix("//").ok_or_else(no_host)?;
        let (authority, rest) = divided(rest);
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (host, zone, port) = server_parts(server).ok_or_else(wrong)?;
        if host.is_empty() {
            return Err(no_host());
        }
        let port = match port {
            None | Some("") => default_port(is_secure),
            Some(port) if port.len() <= 5 && is_number(port) => port.parse().map_err(|_| wrong())?,
            Some(_) => return Err(wrong()),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let mut target = encoded(&without_dots(path), PATH);
        if !target.starts_with('/') {
            target.insert(0, '/');
        }
        if let Some(query) = query {
            target.push('?');
            target.push_str(&encoded(query, QUERY));
        }
        let origin = Origin {
            is_secure,
            host: ascii(&host).ok_or_else(wrong)?,
            zone,
            port,
        };
        // Without a password there is no proof, as with requests.
        let login = login.and_then(|login| login.split_once(':'));
        Ok(Address {
            origin,
            login: login.map(|(user, password)| Login::new(&decoded(user), &decoded(password))),
            target,
        })
    }

    /// The address that a `Location` of this one names.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn join(&self, location: &str) -> Result<Address, String> {
        let origin = &self.origin;
        let path = self.target.split('?').next().unwrap_or_default();
        let reference = location.split('#').next().unwrap_or_default();
        let target = match reference.as_bytes() {
            _ if scheme(reference).is_some() => return Address::parse(reference),
            [b'/', b'/', ..] => return Address::parse(&format!("{}:{reference}", origin.scheme())),
            [b'/', ..] => reference.to_owned(),
            [] => self.target.clone(),
            [b'?', ..] => format!("{path}{reference}"),
            _ => format!("{}/{reference}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        Address::parse(&format!("{origin}{target}"))
    }

    /// As the client takes it.
    ///
    /// # Errors
    /// Why the client cannot ask for it.
    pub fn uri(&self) -> Result<Uri, String> {
        let text = self.bare();
        text.parse()
            .map_err(|error| format!("Failed to parse: {text} ({error})"))
    }

    /// The address without user and password, and without what servers do not know: the interface.
    pub fn bare(&self) -> String {
        format!("{}{}", self.origin.bare(), self.target)
    }
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.origin, self.target)
    }
}

impl Origin {
    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }

    /// Host and port, without a port that is the scheme's.
    pub fn authority(&self) -> Cow<'_, str> {
        if self.port == default_port(self.is_secure) {
            Cow::Borrowed(&self.host)
        } else {
            Cow::Owned(format!("{}:{}", self.host, self.port))
        }
    }

    /// The host, without the brackets of IPv6.
    pub fn bare_host(&self) -> &str {
        bare(&self.host)
    }

    /// The host as the system looks it up: with the interface of its address.
    pub fn dialed_host(&self) -> Cow<'_, str> {
        match &self.zone {
            None => Cow::Borrowed(self.bare_host()),
            Some(zone) => Cow::Owned(format!("{}%{zone}", self.bare_host())),
        }
    }

    /// Scheme, host and port, without the interface.
    pub fn bare(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(zone) = &self.zone else {
            return out.write_str(&self.bare());
        };
        write!(out, "{}://[{}%25{zone}]", self.scheme(), self.bare_host())?;
        if self.port == default_port(self.is_secure) {
            return Ok(());
        }
        write!(out, ":{}", self.port)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// An address without user and password, to be shown. From a faulty address everything is left out
/// that could belong to them.
pub(in crate::fetch) fn without_login(text: &str) -> String {
    let trimmed = text.trim_start();
    let is_web = |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let rest = match scheme(trimmed) {
        Some((scheme, rest)) if is_web(scheme) || rest.starts_with("//") => rest,
        _ => trimmed,
    };
    let rest = rest.trim_start_matches('/');
    let head = &text[..text.len() - rest.len()];
    let (authority, path) = divided(rest);
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let is_certain = head.ends_with("//") && scheme(trimmed).is_some_and(|(scheme, _)| is_web(scheme));
    if is_certain && server_parts(server).is_some_and(|(.., port)| port.is_none_or(is_number)) {
        return format!("{head}{server}{path}");
    }
    match rest.rsplit_once('@') {
        Some((_, shown)) => format!("{head}...@{shown}"),
        None => text.to_owned(),
    }
}

/// The part with user, host and port, and the rest.
fn divided(text: &str) -> (&str, &str) {
    text.split_at(text.find(['/', '\\', '?', '#']).unwrap_or(text.len()))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit())
}

/// A host without the brackets of IPv6.
pub(in crate::fetch) fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

/// An address of IP, if the host is one.
pub(in crate::fetch) fn ip(host: &str) -> Option<IpAddr> {
    bare(host).parse().ok()
}

fn default_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

/// The scheme, and what follows its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

/// The host, the interface of an address of IPv6, and the port.
fn server_parts(server: &str) -> Option<(Cow<'_, str>, Option<String>, Option<&str>)> {
    let Some(bracketed) = server.strip_prefix('[') else {
        return Some(match server.split_once(':') {
            Some((host, port)) => (Cow::Borrowed(host), None, Some(port)),
            None => (Cow::Borrowed(server), None, None),
        });
    };
    let (host, rest) = bracketed.split_once(']')?;
    let (host, zone) = match host.split_once('%') {
        Some((host, zone)) => (host, Some(zone)),
        None => (host, None),
    };
    host.parse::<Ipv6Addr>().ok()?;
    let zone = match zone {
        // RFC 6874 has `%25` where people write `%`.
        Some(zone) => Some(zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone)),
        None => None,
    };
    let is_zone = |zone: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || UNRESERVED.contains(&byte);
        !zone.is_empty() && zone.bytes().all(is_letter)
    };
    if zone.is_some_and(|zone| !is_zone(zone)) || !(rest.is_empty() || rest.starts_with(':')) {
        return None;
    }
    let host = Cow::Owned(format!("[{host}]"));
    Some((host, zone.map(str::to_owned), rest.strip_prefix(':')))
}

/// A host in ASCII and lower case; `None` if no host has such a name.
fn ascii(host: &str) -> Option<String> {
    if host.is_ascii() {
        let is_whole =
            host.starts_with('[') || !host.contains(['[', ']', '%', ' ', '<', '>', '"', '`', '{', '}', '^', '|']);
        return (is_whole && !host.bytes().any(|byte| byte.is_ascii_control())).then(|| host.to_ascii_lowercase());
    }
    idna::domain_to_ascii(host).ok()
}

/// Without `.` and `..`; doubled slashes stay.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    if path.starts_with('/') && kept.first().is_none_or(|first| !first.is_empty()) {
        kept.insert(0, "");
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    kept.join("/")
}

/// The byte that `%XX` at a place stands for.
fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    match bytes.get(at) {
        Some(b'%') => u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok(),
        _ => None,
    }
}

/// Encodes all but the allowed characters, letters and digits. What is encoded already stays so; a
/// `%` that begins no code makes all others mean themselves.
fn encoded(text: &str, allowed: &[u8]) -> String {
    let bytes = text.as_bytes();
    let is_encoded = (0..bytes.len()).all(|at| bytes[at] != b'%' || escape_at(bytes, at).is_some());
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let (meant, length) = match escape_at(bytes, at) {
            Some(meant) => (meant, 3),
            None => (byte, 1),
        };
        let allowed = if length == 3 { UNRESERVED } else { allowed };
        if length == 3 && !is_encoded {
            out.push_str(&format!("%25{meant:02X}"));
        } else if meant.is_ascii_alphanumeric() || allowed.contains(&meant) {
            out.push(char::from(meant));
        } else {
            out.push_str(&format!("%{meant:02X}"));
        }
        at += length;
    }
    out
}

/// A text with its codes resolved.
pub(in crate::fetch) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let escape = escape_at(bytes, at);
        out.push(escape.unwrap_or(byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths and queries as Python's requests 2.28 sends them (`tests/comparison` asks it).
    #[test]
    fn targets() {
        for (text, target) in [
            (
                "/federate?match[]={job=\"node\"}",
                "/federate?match%5B%5D=%7Bjob=%22node%22%7D",
            ),
            ("/q?query=rate(x[5m]) > 0", "/q?query=rate(x%5B5m%5D)%20%3E%200"),
            ("/a b", "/a%20b"),
            ("/x/../y", "/y"),
            ("/../../y/.", "/y/"),
            ("/a|b^c", "/a%7Cb%5Ec"),
            ("/ü?x=ü#frag", "/%C3%BC?x=%C3%BC"),
            ("/%7e%2f?%7E", "/~%2F?~"),
            ("/%7e%zz?%7e", "/%257E%25zz?~"),
            ("", "/"),
            ("?x=1", "/?x=1"),
            ("//double//x/./y/", "//double//x/y/"),
            ("/a\\b'\"", "/a%5Cb'%22"),
        ] {
            let address = Address::parse(&format!("HTTP://Host:80{text}")).expect("an address");
            assert_eq!(
                (address.target.as_str(), address.origin.to_string().as_str()),
                (target, "http://host"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_refused() {
        for (text, reason) in [
            ("http://h:99999/m", "Failed to parse: "),
            ("http://h:x/m", "Failed to parse: "),
            ("http://h:-1/m", "Failed to parse: "),
            ("http://h:000080/m", "Failed to parse: "),
            ("http://[::1/m", "Failed to parse: "),
            ("http://[::1]x/m", "Failed to parse: "),
            ("http://[fe80::1%25]x/m", "Failed to parse: "),
            ("http://[fe80::1%]/m", "Failed to parse: "),
            ("http://[fe80::1%25a/b]/m", "Failed to parse: "),
            ("http://[127.0.0.1%25eth0]/m", "Failed to parse: "),
            ("http://a b/m", "Failed to parse: "),
            ("http:///m", "Invalid URL '"),
            ("http:h/m", "Invalid URL '"),
            ("ftp://h/m", "No connection adapters were found for '"),
            ("h:80/m", "No connection adapters were found for '"),
            ("", "No connection adapters were found for '"),
        ] {
            let error = Address::parse(text).expect_err(text);
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }

    #[test]
    fn parts() {
        let address = Address::parse("https://us%40er:p%40ss@[::1]:8443?x").expect("an address");
        assert!(address.login == Some(Login::new("us@er", "p@ss")));
        assert_eq!(address.to_string(), "https://[::1]:8443/?x");
        assert_eq!(address.origin.bare_host(), "::1");
        assert!(Address::parse("http://user@h/").expect("an address").login.is_none());
        // Servers do not know the interface of a link-local address.
        for text in ["http://[FE80::77%25eth0]:9100/m", "http://[fe80::77%eth0]:9100/m"] {
            let local = Address::parse(text).expect("an address");
            assert_eq!(local.to_string(), "http://[fe80::77%25eth0]:9100/m");
            assert_eq!(
                local.uri().map(|uri| uri.to_string()),
                Ok("http://[fe80::77]:9100/m".to_owned())
            );
            let origin = &local.origin;
            let (authority, dialed) = (origin.authority(), origin.dialed_host());
            assert_eq!((&*authority, &*dialed), ("[fe80::77]:9100", "fe80::77%eth0"));
            let near = local.join("/n").expect("an address");
            assert!(near.origin == *origin && near.to_string().ends_with("%25eth0]:9100/n"));
        }
        let foreign = Address::parse("http://bücher.example/").expect("an address");
        assert_eq!(foreign.origin.host, "xn--bcher-kva.example");
    }

    #[test]
    fn locations() {
        let base = Address::parse("http://h:8080/a/b?q").expect("an address");
        for (location, expected) in [
            ("/c d?e=|", "http://h:8080/c%20d?e=%7C"),
            ("c", "http://h:8080/a/c"),
            ("c d:e", "http://h:8080/a/c%20d:e"),
            ("1:2", "http://h:8080/a/1:2"),
            ("../c/./d", "http://h:8080/c/d"),
            ("?x", "http://h:8080/a/b?x"),
            ("", "http://h:8080/a/b?q"),
            ("#f", "http://h:8080/a/b?q"),
            ("//other/x", "http://other/x"),
            ("HTTPS://other:443/x", "https://other/x"),
        ] {
            assert_eq!(
                base.join(location).map(|address| address.to_string()),
                Ok(expected.to_owned()),
                "{location}"
            );
        }
        base.join("ftp://h/").expect_err("another scheme");
        base.join("http://h:99999/").expect_err("no port");
    }
}
