//! Lines that PCP's agent does not have: certificates, times, types, and what is forgotten (OM-22).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Config;

/// The shortest and the longest time of a line.
const SHORTEST: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);

impl Config {
    /// Takes a line of the agent's own. `None` if it is none.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(super) fn take_own(&mut self, line: &str) -> Option<Result<(), String>> {
        let (word, value) = line.split_once(':')?;
        let value = value.trim();
        Some(match word {
            "TIMEOUT" => time(value, SHORTEST, HOUR).map(|time| self.timeout = Some(time)),
            "INTERVAL" => time(value, SHORTEST, DAY).map(|time| self.interval = Some(time)),
            "FORGET" => time(value, Duration::from_secs(1), YEAR).map(|time| self.forget = Some(time)),
            "TYPES" if value == "document" || value == "names" => {
                self.has_types_of_document = value == "document";
                Ok(())
            }
            "TYPES" => Err("neither document nor names".to_owned()),
            "CERT" | "KEY" | "CA" | "VERIFY" => self.take_secure(word, value),
            "TOKEN_FILE" | "USER" | "PASSWORD_FILE" => self.take_proof(word, value),
            _ => return None,
        })
    }

    /// A line that cannot be used leaves the source without an answer: nobody is asked without the
    /// proof that the line was there for.
    fn take_proof(&mut self, word: &str, value: &str) -> Result<(), String> {
        let proof = Arc::make_mut(self.proof.get_or_insert_default());
        let reason = match word {
            "USER" if value.is_empty() || value.contains(':') => "no user: it is empty or has a colon",
            "USER" => {
                proof.user = Some(value.to_owned());
                return Ok(());
            }
            _ if !value.starts_with('/') => "no absolute path",
            _ => {
                let path = if word == "TOKEN_FILE" {
                    &mut proof.token
                } else {
                    &mut proof.password
                };
                *path = Some(PathBuf::from(value));
                return Ok(());
            }
        };
        let fault = || format!("config entry {word}: has {reason}");
        proof.fault.get_or_insert_with(fault);
        Err(reason.to_owned())
    }

    /// A line that cannot be used leaves the source without an answer of `https:`: it was there to
    /// say who is trusted.
    fn take_secure(&mut self, word: &str, value: &str) -> Result<(), String> {
        let secure = Arc::make_mut(self.secure.get_or_insert_default());
        let outcome = match word {
            "VERIFY" if value == "yes" || value == "no" => {
                secure.is_unverified = value == "no";
                Ok(())
            }
            "VERIFY" => Err("neither yes nor no".to_owned()),
            _ if !value.starts_with('/') => Err("no absolute path".to_owned()),
            _ => {
                let path = match word {
                    "CERT" => &mut secure.certificate,
                    "KEY" => &mut secure.key,
                    _ => &mut secure.authorities,
                };
                *path = Some(PathBuf::from(value));
                Ok(())
            }
        };
        outcome.inspect_err(|reason| {
            secure
                .fault
                .get_or_insert_with(|| format!("config entry {word}: has {reason}"));
        })
    }
}

/// A time in seconds, which may have a fraction.
fn time(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse().ok().filter(|_| is_number);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| (least..=most).contains(time)).ok_or_else(|| {
        format!(
            "no number of seconds from {} to {}",
            least.as_secs_f64(),
            most.as_secs_f64()
        )
    })
}
