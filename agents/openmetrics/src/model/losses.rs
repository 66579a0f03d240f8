//! The parts of a document that are not shown, with their reasons: for the status of the source,
//! for its numbers and, once for each state, for the log.

use pmda_core::log::Counted;

use crate::cache::Full;
use crate::limits;

/// A reason why something of a document is not shown, or not as the document has it now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// A line is no sample.
    Line,
    /// Most lines are no samples.
    Page,
    /// The line was not read in time.
    Time,
    /// A comment is too long to describe samples.
    Comment,
    /// The sample has no label, and its metric has instances.
    NoLabels,
    /// The value is none of the metric's type.
    NoValue,
    /// A sample of the same instance follows, which counts.
    Repeated,
    /// The same, where a filter has taken a label away.
    Merged,
    /// The metric's type, semantics, unit or instances would be others if it were new.
    Definition,
    /// The source has as many metrics as there may be.
    Names,
    /// The number of the instance domain would be too large.
    Serial,
    /// Another metric of the agent has the name.
    NameTaken,
    /// The name lies in another source's part of the name space.
    OfSource,
    /// The metric has as many instances as there may be.
    Instances,
    /// For clients another instance of the metric has the name.
    SameName,
    /// The names of the source take as much memory as they may.
    Memory,
    /// The file of numbers is as large as it may be.
    File,
    /// The system has no memory for more.
    System,
}

impl Loss {
    /// The loss of a name without a number; `beyond` is that of one for which no number is left.
    pub fn of(full: Full, beyond: Loss) -> Loss {
        match full {
            Full::Numbers => beyond,
            Full::File => Loss::File,
            Full::Memory => Loss::System,
        }
    }

    /// The words for so many lines, samples, names or metrics.
    pub fn words(self, count: usize) -> String {
        let samples = Counted(count, "sample", "samples");
        let metrics = Counted(count, "metric", "metrics");
        let names = Counted(count, "name is", "names are");
        let are = if count == 1 { "is" } else { "are" };
        match self {
            Loss::Line => Counted(count, "line is no sample", "lines are no samples").to_string(),
            Loss::Page => "the page is no document".to_owned(),
            Loss::Time => {
                let lines = Counted(count, "line is", "lines are");
                let seconds = limits::READS.as_secs_f64();
                format!("{lines} not read, as the document takes more than {seconds} s of the processor")
            }
            Loss::Comment => {
                let comments = Counted(count, "comment is", "comments are");
                format!("{comments} left out, with more than {} bytes", limits::COMMENT)
            }
            Loss::NoLabels => format!("{samples} without a label of metrics with instances {are} not shown"),
            Loss::NoValue => format!("{samples} without a value of the metric's type {are} not shown"),
            Loss::Repeated => format!("{samples} {are} not shown, as another one of the same instance follows"),
            Loss::Merged => {
                format!(
                    "{samples} {are} not shown, as without the labels that are filtered another one has the instance"
                )
            }
            Loss::Definition => {
                format!(
                    "{metrics} would have another type, semantics, unit or instances if new: restart pmcd to take it over"
                )
            }
            Loss::Names => format!(
                "{names} not shown (a source has at most {}: divide it by filters)",
                limits::METRICS
            ),
            Loss::Serial => format!("{metrics} {are} not shown, as there are too many sources"),
            Loss::NameTaken if count == 1 => format!("{metrics} is not shown, as another one has its name"),
            Loss::NameTaken => format!("{metrics} are not shown, as others have their names"),
            Loss::OfSource if count == 1 => format!("{metrics} is not shown, as its name is another source's"),
            Loss::OfSource => format!("{metrics} are not shown, as their names are another source's"),
            Loss::Instances | Loss::Memory => format!(
                "{count} series are not shown (there are more than a source may have; a line FORGET: makes room)"
            ),
            Loss::SameName => format!("{samples} of instances with the same name {are} not shown"),
            Loss::File => format!("{names} not shown, as a file of numbers is as large as it may be"),
            Loss::System => {
                format!("{count} series are not shown, as the system has no memory or descriptors for more")
            }
        }
    }
}

/// The amount that is lost by one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Count {
    loss: Loss,
    /// The number of lines, samples, names or metrics.
    count: usize,
    /// The number of samples that are not shown.
    samples: usize,
    /// The first of them, and its line.
    first: String,
}

/// The parts of a document that are not shown.
#[derive(Clone, Default, Debug)]
pub struct Losses {
    counts: Vec<Count>,
    /// The reasons of the document before: the log has named them.
    before: Vec<Loss>,
}

impl Losses {
    /// Begins a document.
    pub fn begin(&mut self) {
        self.before.clear();
        self.before.extend(self.counts.iter().map(|count| count.loss));
        self.counts.clear();
    }

    /// Adds something that is lost, with so many samples. `first` says which, if it is the first by
    /// this reason. Returns true if the document before had none: then the log says so.
    pub fn add(&mut self, loss: Loss, samples: usize, first: impl FnOnce() -> String) -> bool {
        self.add_all(loss, 1, samples, first)
    }

    /// As [`Losses::add`], so many at once.
    pub fn add_all(&mut self, loss: Loss, number: usize, samples: usize, first: impl FnOnce() -> String) -> bool {
        if let Some(count) = self.counts.iter_mut().find(|count| count.loss == loss) {
            count.count += number;
            count.samples += samples;
            return false;
        }
        self.counts.push(Count {
            loss,
            count: number,
            samples,
            first: first(),
        });
        !self.before.contains(&loss)
    }

    /// Adds a sample that is lost with what was added before.
    pub fn add_sample(&mut self, loss: Loss) {
        if let Some(count) = self.counts.iter_mut().find(|count| count.loss == loss) {
            count.samples += 1;
        }
    }

    /// The number of samples that are not shown.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.counts.iter().map(|count| count.samples).sum()
    }

    /// Returns whether something is lost by this reason.
    #[must_use]
    pub fn has(&self, loss: Loss) -> bool {
        self.counts.iter().any(|count| count.loss == loss)
    }

    /// The losses, each reason in words.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.counts.iter().map(|count| {
            let words = count.loss.words(count.count);
            if count.first.is_empty() {
                words
            } else {
                format!("{words} ({})", count.first)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reason is news until a document has none of it.
    #[test]
    fn states() {
        let mut losses = Losses::default();
        let mut take = |reasons: &[Loss]| {
            losses.begin();
            let add = |loss: &Loss| losses.add(*loss, 1, || "line 7".to_owned());
            let news: Vec<bool> = reasons.iter().map(add).collect();
            (news, losses.samples(), losses.words().collect::<Vec<_>>())
        };
        let line = "2 lines are no samples (line 7)".to_owned();
        assert_eq!(take(&[]), (vec![], 0, vec![]));
        assert_eq!(
            take(&[Loss::Line, Loss::Line]),
            (vec![true, false], 2, vec![line.clone()])
        );
        assert_eq!(take(&[Loss::Line, Loss::Line]), (vec![false, false], 2, vec![line]));
        assert_eq!(take(&[Loss::NoLabels, Loss::Line]).0, [true, false]);
        assert_eq!(take(&[]).0, [false; 0]);
        assert_eq!(take(&[Loss::Line]).0, [true]);
    }

    #[test]
    fn all_reasons_are_told_apart() {
        let mut losses = Losses::default();
        for loss in [
            Loss::Line,
            Loss::Page,
            Loss::Time,
            Loss::Comment,
            Loss::NoLabels,
            Loss::NoValue,
            Loss::Repeated,
            Loss::Merged,
            Loss::Definition,
            Loss::Names,
            Loss::Serial,
            Loss::NameTaken,
            Loss::OfSource,
            Loss::Instances,
            Loss::SameName,
            Loss::File,
            Loss::System,
        ] {
            losses.add(loss, 1, String::new);
            losses.add_sample(loss);
            assert!(losses.has(loss));
        }
        let mut words: Vec<String> = losses.words().collect();
        assert_eq!((losses.samples(), words.len()), (34, 17));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 17);
        assert!(!losses.has(Loss::Memory));
    }
}
