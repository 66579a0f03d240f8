//! Large documents, which are read when those of the other sources have been.

use std::collections::VecDeque;

use super::work::Outcome;
use crate::fetch::target::Target;
use crate::limits;

/// The outcomes with a large document, in the order in which their sources wait. To read one may
/// take as long as a request may, and the values of other sources are not to wait for that.
#[derive(Default)]
pub struct Aside(VecDeque<Outcome>);

impl Aside {
    /// Puts a large document aside, in the place of an older one of its source. Any other outcome is
    /// returned, and takes the place of an older document, too, which is dropped.
    pub fn put(&mut self, outcome: Outcome) -> Option<Outcome> {
        let document = outcome.result.as_ref().ok();
        let is_large = document.is_some_and(|(_, document)| document.bytes().len() > limits::LARGE);
        let position = self.0.iter().position(|older| older.source == outcome.source);
        match (is_large, position.and_then(|position| self.0.get_mut(position))) {
            (true, Some(older)) => *older = outcome,
            (true, None) => self.0.push_back(outcome),
            (false, _) => {
                position.map(|position| self.0.remove(position));
                return Some(outcome);
            }
        }
        None
    }

    /// Drops the document of a source whose documents come from elsewhere now.
    pub fn drop_of_another(&mut self, source: u32, target: &Target) {
        self.0
            .retain(|outcome| outcome.source != source || *outcome.target == *target);
    }

    /// Takes out the one that has waited for the longest time.
    pub fn next(&mut self) -> Option<Outcome> {
        self.0.pop_front()
    }

    /// The sources whose documents wait.
    pub fn sources(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|outcome| outcome.source)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::fetch::document::{Document, Failure, Memory};

    /// The outcome of a source with a document of this length, or a failure.
    fn outcome(source: u32, length: Option<usize>) -> Outcome {
        let result = match length {
            Some(length) => {
                let mut document = Document::new(&Memory::new());
                document.push(&vec![b'#'; length]).expect("memory");
                Ok((200, document))
            }
            None => Err(Failure {
                status: 404,
                reason: "Not Found".to_owned(),
            }),
        };
        Outcome {
            source,
            result,
            took: Duration::ZERO,
            ended: Instant::now(),
            is_late: false,
            attempt: 0,
            target: Arc::new(Target::File(format!("/{source}").into())),
        }
    }

    /// A newer document keeps the turn of its source; a small one, or a failure, needs none.
    #[test]
    fn turns() {
        let mut aside = Aside::default();
        let large = limits::LARGE + 1;
        assert!(aside.put(outcome(9, Some(limits::LARGE))).is_some());
        for source in [1, 2, 3, 4] {
            assert!(aside.put(outcome(source, Some(large))).is_none());
        }
        assert!(aside.put(outcome(1, Some(large + 1))).is_none());
        assert!(aside.put(outcome(2, Some(5))).is_some());
        assert!(aside.put(outcome(3, None)).is_some());
        assert!(aside.put(outcome(5, Some(large))).is_none());
        // Source 5 has another address now.
        for (source, path) in [(4, "/4"), (5, "/other"), (6, "/other")] {
            aside.drop_of_another(source, &Target::File(path.into()));
        }
        assert_eq!(aside.sources().collect::<Vec<_>>(), [1, 4]);
        let first = aside.next().expect("the newer one").result.expect("a document").1;
        assert_eq!(first.bytes().len(), large + 1);
        assert_eq!(
            (aside.next().map(|outcome| outcome.source), aside.next().is_none()),
            (Some(4), true)
        );
    }
}
