//! Secrets that prove who asks: passwords, tokens, the values of headers.

/// A text that goes to its server, and nowhere else: it can be neither printed nor logged, and
/// nothing that has one derives `Debug`.
///
/// ```
/// let secret = pmda_openmetrics::secret::Secret::new("password");
/// ```
///
/// ```compile_fail
/// println!("{:?}", pmda_openmetrics::secret::Secret::new("password"));
/// ```
///
/// ```compile_fail
/// println!("{}", pmda_openmetrics::secret::Secret::new("password"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// A secret.
    #[must_use]
    pub fn new(text: &str) -> Secret {
        Secret(text.into())
    }

    /// Its text, for the request.
    #[must_use]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// A user with a password, neither of which is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: Secret,
    /// The password.
    pub password: Secret,
}

impl Login {
    /// A user and a password.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Login {
        Login {
            user: Secret::new(user),
            password: Secret::new(password),
        }
    }
}
