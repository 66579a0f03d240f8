//! Which proxy an address is asked by, as Python's `requests` decides it (OM-95).

use std::collections::HashMap;
use std::net::IpAddr;

use super::address::{Address, Origin, ip};
use crate::secret::Secret;

/// The proxies of the environment.
#[derive(Clone, Default)]
pub(in crate::fetch) struct Proxies {
    /// By `http`, `https` and `all`; they may have passwords.
    by_scheme: HashMap<String, Secret>,
    /// Hosts that are asked without one.
    none_for: Vec<String>,
}

impl Proxies {
    /// The proxies that the environment of this process names.
    pub fn of_the_environment() -> Proxies {
        Proxies::of(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// The proxies that these variables name.
    pub fn of(variables: impl Iterator<Item = (String, String)>) -> Proxies {
        let mut proxies = Proxies::default();
        let mut variables: Vec<_> = variables.collect();
        // Names in lower case come last, and count.
        variables.sort();
        for (name, value) in variables {
            let lower = name.to_ascii_lowercase();
            match lower.strip_suffix("_proxy") {
                Some("no") => {
                    let hosts = value.split(',').map(|host| host.trim().to_ascii_lowercase());
                    proxies.none_for = hosts.collect();
                }
                Some(scheme) if value.is_empty() => drop(proxies.by_scheme.remove(scheme)),
                Some(scheme) => drop(proxies.by_scheme.insert(scheme.to_owned(), Secret::new(&value))),
                None => {}
            }
        }
        proxies.none_for.retain(|host| !host.is_empty());
        proxies
    }

    /// The proxy for an origin.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn of_origin(&self, origin: &Origin) -> Result<Option<Address>, String> {
        if self.is_direct(origin) {
            return Ok(None);
        }
        let named = [origin.scheme(), "all"]
            .into_iter()
            .find_map(|scheme| self.by_scheme.get(scheme));
        let Some(named) = named.map(Secret::reveal) else {
            return Ok(None);
        };
        let text = if named.contains("://") {
            named.to_owned()
        } else {
            format!("http://{named}")
        };
        let proxy =
            Address::parse(&text).map_err(|reason| format!("the proxy of the environment cannot be used: {reason}"))?;
        Ok(Some(proxy))
    }

    fn is_direct(&self, origin: &Origin) -> bool {
        let host = origin.bare_host();
        let with_port = format!("{}:{}", origin.host, origin.port);
        self.none_for.iter().any(|entry| {
            if entry == "*" || entry == host || *entry == with_port {
                return true;
            }
            match ip(host) {
                Some(ip) => is_in_network(ip, entry),
                None => host.ends_with(entry.as_str()) || with_port.ends_with(entry.as_str()),
            }
        })
    }
}

/// Returns whether an address is of a network such as `10.0.0.0/8`.
fn is_in_network(ip: IpAddr, network: &str) -> bool {
    let Some((base, bits)) = network.split_once('/') else {
        return false;
    };
    let (Ok(base), Ok(bits)) = (base.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    let same = |ip: u128, base: u128, width: u32| bits <= width && (bits == 0 || (ip ^ base) >> (width - bits) == 0);
    match (ip, base) {
        (IpAddr::V4(ip), IpAddr::V4(base)) => same(ip.to_bits().into(), base.to_bits().into(), 32),
        (IpAddr::V6(ip), IpAddr::V6(base)) => same(ip.to_bits(), base.to_bits(), 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::of(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    fn proxy(proxies: &Proxies, address: &str) -> Option<String> {
        let origin = Address::parse(address).expect("an address").origin;
        proxies
            .of_origin(&origin)
            .expect("it can be used")
            .map(|proxy| proxy.to_string())
    }

    #[test]
    fn by_scheme() {
        let some = proxies(&[
            ("HTTP_PROXY", "upper:1"),
            ("http_proxy", "lower:3128"),
            ("https_proxy", "http://u:p@secure:1/"),
        ]);
        assert_eq!(proxy(&some, "http://h/").as_deref(), Some("http://lower:3128/"));
        assert_eq!(proxy(&some, "https://h/").as_deref(), Some("http://secure:1/"));
        let all = proxies(&[("ALL_PROXY", "all:1"), ("http_proxy", "")]);
        assert_eq!(proxy(&all, "http://h/").as_deref(), Some("http://all:1/"));
        let origin = Address::parse("http://h/").expect("an address").origin;
        let error = proxies(&[("http_proxy", "socks5://h:1")])
            .of_origin(&origin)
            .expect_err("not known");
        assert!(error.contains("socks5"), "{error}");
        let error = proxies(&[("http_proxy", "http://us:s3cret@h:x")])
            .of_origin(&origin)
            .expect_err("no port");
        assert!(error.ends_with("Failed to parse: http://...@h:x"), "{error}");
    }

    #[test]
    fn what_is_asked_without() {
        let some = proxies(&[
            ("http_proxy", "p:1"),
            (
                "no_proxy",
                "10.0.0.0/8, host.test,.sub.test,port.test:81,192.0.2.1,fd00::/8",
            ),
        ]);
        for (address, is_direct) in [
            ("http://10.1.2.3:80/", true),
            ("http://11.1.2.3/", false),
            ("http://host.test/", true),
            ("http://HOST.test:99/", true),
            ("http://a.sub.test/", true),
            ("http://other.test/", false),
            ("http://port.test:81/", true),
            ("http://port.test:82/", false),
            ("http://192.0.2.1:9/", true),
            ("http://[fd00::1]/", true),
            ("http://[fe80::1]/", false),
        ] {
            assert_eq!(proxy(&some, address).is_none(), is_direct, "{address}");
        }
        assert_eq!(
            proxy(&proxies(&[("http_proxy", "p:1"), ("no_proxy", "*")]), "http://h/"),
            None
        );
    }
}
