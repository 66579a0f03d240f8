//! The network: requests of addresses, from their connections to their documents.

pub(super) mod address;
pub(super) mod coding;
pub(super) mod connect;
pub(super) mod connection;
pub(super) mod cookies;
pub(super) mod dial;
pub(super) mod header_text;
pub(super) mod http;
pub(super) mod neighbours;
pub(super) mod netrc;
pub(super) mod peer;
pub(super) mod proof;
pub(super) mod proxy;
pub(super) mod resolver;
pub(super) mod secure;
pub(super) mod stream;
pub(super) mod tls;
pub(super) mod url;
