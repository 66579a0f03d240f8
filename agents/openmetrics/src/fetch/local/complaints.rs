//! The text that scripts write to their standard error, bounded, since all sources share the log.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::Mutex;

use crate::log_share::LogShare;

/// The texts that scripts have written to stderr.
#[derive(Debug, Default)]
pub(in crate::fetch) struct Complaints(Mutex<HashMap<PathBuf, Complaint>>);

#[derive(Debug, Default)]
struct Complaint {
    /// The text of the last run.
    last: Vec<u8>,
    share: LogShare,
}

impl Complaints {
    /// Takes what a run of a script has written, and writes it to the log: not what the run before
    /// has written already, and only so much in an hour.
    pub fn take(&self, script: &Path, text: Vec<u8>) {
        if let Some(log) = self.log_of(script, text, Instant::now()) {
            let _ = std::io::stderr().write_all(&log);
        }
    }

    fn log_of(&self, script: &Path, text: Vec<u8>, now: Instant) -> Option<Vec<u8>> {
        let mut complaints = self.0.lock();
        if text.is_empty() {
            // The script complains no more: if it complains again, that is news.
            if let Some(complaint) = complaints.get_mut(script) {
                complaint.last.clear();
            }
            return None;
        }
        let complaint = complaints.entry(script.to_owned()).or_default();
        if complaint.last == text {
            return None;
        }
        let granted = complaint.share.take(text.len(), now);
        if granted.bytes == 0 {
            return None;
        }
        let mut log = text.get(..granted.bytes).unwrap_or(&text).to_vec();
        if !log.ends_with(b"\n") {
            log.push(b'\n');
        }
        if granted.is_last {
            let note = format!(
                "{}: the rest of its standard error is left out for an hour\n",
                script.display()
            );
            log.extend_from_slice(note.as_bytes());
        }
        complaint.last = text;
        Some(log)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::log_share::HOURLY;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_log_is_bounded() {
        let complaints = Complaints::default();
        let script = Path::new("/x.sh");
        let begun = Instant::now();
        let take = |text: &[u8]| complaints.log_of(script, text.to_vec(), begun);
        assert_eq!(take(b"what").as_deref(), Some(&b"what\n"[..]));
        assert_eq!(take(b"what"), None, "said already");
        assert_eq!(take(b""), None);
        assert_eq!(take(b"what").as_deref(), Some(&b"what\n"[..]));
        let much = take(&vec![b'x'; HOURLY]).expect("the beginning");
        assert!(
            much.ends_with(b"left out for an hour\n") && much.len() < HOURLY + 100,
            "{}",
            much.len()
        );
        assert_eq!(take(b"more"), None);
        let later = |text: &[u8], after: Duration| complaints.log_of(script, text.to_vec(), begun + after);
        assert_eq!(later(b"more", HOUR), None);
        // The text that was left out is not in the log, so this is no repetition.
        let hour = HOUR + Duration::from_millis(1);
        assert_eq!(later(b"more", hour).as_deref(), Some(&b"more\n"[..]));
        assert_eq!(later(b"line\n", hour).as_deref(), Some(&b"line\n"[..]));
        // A line end that is missing is not counted.
        let rest = later(&vec![b'x'; HOURLY - "moreline\n".len()], hour).expect("it fits");
        assert!(rest.ends_with(b"left out for an hour\n"));
        assert_eq!(later(b"again", hour + HOUR), None);
        let other = complaints.log_of(Path::new("/y.sh"), b"y".to_vec(), begun);
        assert_eq!(other.as_deref(), Some(&b"y\n"[..]));
    }
}
