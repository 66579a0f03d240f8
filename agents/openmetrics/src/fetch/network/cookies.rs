//! The cookies of one source, as browsers keep them (RFC 6265).

use std::cmp::Reverse;

use cookie_store::{Cookie, CookieDomain, CookieStore};
use hyper::http::header::{HeaderMap, HeaderValue, SET_COOKIE};
use parking_lot::Mutex;

use super::address::Address;
use super::header_text::text;
use crate::limits;

/// The cookies that servers have set on the way to the document of one source. No other source
/// sends them, so a server fills nobody else's jar.
#[derive(Default)]
pub(in crate::fetch) struct Jar(Mutex<CookieStore>);

impl Jar {
    /// The value of `Cookie:` for an address, the cookies of longer paths first.
    pub fn header(&self, address: &Address) -> Option<HeaderValue> {
        let cookies = self.0.lock();
        cookies.iter_any().next()?;
        let url = address.bare().parse().ok()?;
        let mut matching = cookies.matches(&url);
        matching.sort_by_key(|cookie| (Reverse(cookie.path.as_ref().len()), cookie.name().to_owned()));
        let pairs = matching
            .iter()
            .map(|cookie| format!("{}={}", cookie.name(), cookie.value()));
        let text = pairs.collect::<Vec<_>>().join("; ");
        HeaderValue::from_str(&text).ok().filter(|_| !text.is_empty())
    }

    /// Keeps the cookies that a reply sets. A full jar is emptied: whoever has to log in does so
    /// with the next request.
    pub fn keep(&self, address: &Address, headers: &HeaderMap) {
        if !headers.contains_key(SET_COOKIE) {
            return;
        }
        let Ok(url) = address.bare().parse() else { return };
        let mut cookies = self.0.lock();
        for value in headers.get_all(SET_COOKIE) {
            if value.len() > limits::COOKIE {
                continue;
            }
            let Ok(cookie) = Cookie::parse(text(value.as_bytes()), &url) else {
                continue;
            };
            // The cookies of a top-level domain would go to all hosts below it.
            if matches!(&cookie.domain, CookieDomain::Suffix(domain) if !domain.contains('.')) {
                continue;
            }
            make_room(&mut cookies, &cookie);
            // A faulty cookie is its server's concern.
            let _ = cookies.insert(cookie, &url);
        }
    }

    /// Empties the jar.
    pub fn empty(&self) {
        self.0.lock().clear();
    }
}

/// Makes room for a cookie: expired ones go first, and if there are none, all.
fn make_room(cookies: &mut CookieStore, new: &Cookie<'static>) {
    let domain = new.domain.as_cow().unwrap_or_default();
    let is_replaced = cookies.contains_any(&domain, &new.path, new.name());
    if is_replaced || cookies.iter_any().count() < limits::COOKIES {
        return;
    }
    let expired: Vec<_> = cookies
        .iter_any()
        .filter(|cookie| cookie.is_expired())
        .map(|cookie| {
            let domain = cookie.domain.as_cow().unwrap_or_default().into_owned();
            (domain, cookie.path.to_string(), cookie.name().to_owned())
        })
        .collect();
    if expired.is_empty() {
        cookies.clear();
    }
    for (domain, path, name) in expired {
        cookies.remove(&domain, &path, &name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    fn set(jar: &Jar, from: &str, cookies: &[&str]) {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(SET_COOKIE, HeaderValue::from_str(cookie).expect("a header"));
        }
        jar.keep(&address(from), &headers);
    }

    fn sent(jar: &Jar, to: &str) -> Option<String> {
        let header = jar.header(&address(to))?;
        Some(header.to_str().expect("ASCII").to_owned())
    }

    /// Cookies are sent back to the server that set them, cookies of longer paths first (OM-96).
    #[test]
    fn where_cookies_go() {
        let jar = Jar::default();
        let cookies = ["a=1; Path=/", "b=2; Path=/metrics", "c=3; Path=/other"];
        set(&jar, "http://h.example/metrics/first", &cookies);
        assert_eq!(sent(&jar, "http://h.example/metrics/x").as_deref(), Some("b=2; a=1"));
        assert_eq!(sent(&jar, "http://h.example/").as_deref(), Some("a=1"));
        assert_eq!(sent(&jar, "http://other.example/"), None);
        jar.empty();
        assert_eq!(sent(&jar, "http://h.example/"), None);
    }

    /// A domain's cookies go to all hosts of it, those of a top-level domain to none.
    #[test]
    fn domains() {
        let jar = Jar::default();
        let cookies = ["a=1; Domain=site.test", "b=1; Domain=test", "c=1; Domain=.test", "d=1"];
        set(&jar, "http://a.site.test/", &cookies);
        assert_eq!(sent(&jar, "http://a.site.test/").as_deref(), Some("a=1; d=1"));
        assert_eq!(sent(&jar, "http://b.site.test/").as_deref(), Some("a=1"));
        assert_eq!(sent(&jar, "http://c.test/"), None);
    }

    /// A cookie is bounded with its attributes, since they are kept, too.
    #[test]
    fn long_cookies() {
        let jar = Jar::default();
        let full = format!("full={}; Path=/", "x".repeat(limits::COOKIE - "full=; Path=/".len()));
        let over = format!(
            "over={}; Path=/",
            "x".repeat(limits::COOKIE - "full=; Path=/".len() + 1)
        );
        set(&jar, "http://h/", &[&full, &over]);
        assert_eq!(sent(&jar, "http://h/").as_deref(), full.strip_suffix("; Path=/"));
    }

    /// The jar is never beyond its bound; what has expired goes first, and a full jar is emptied.
    #[test]
    fn a_full_jar() {
        let jar = Jar::default();
        let count = |jar: &Jar| jar.0.lock().iter_any().count();
        set(&jar, "http://h/", &["short=1; Max-Age=1000"]);
        for number in 1..limits::COOKIES {
            set(&jar, "http://h/", &[&format!("c{number}=1")]);
        }
        assert_eq!(count(&jar), limits::COOKIES);
        // A known one takes no room.
        set(&jar, "http://h/", &["c1=2"]);
        assert_eq!(count(&jar), limits::COOKIES);
        // The server takes one back: there is room.
        set(&jar, "http://h/", &["short=1; Max-Age=0", "new=1"]);
        assert_eq!(count(&jar), limits::COOKIES);
        assert!(sent(&jar, "http://h/").is_some_and(|sent| sent.contains("c1=2") && sent.contains("new=1")));
        set(&jar, "http://h/", &["session=1"]);
        assert_eq!(sent(&jar, "http://h/").as_deref(), Some("session=1"));
    }
}
