//! Labels of samples, and the names that they give to instances.

use std::borrow::Cow;

use crate::exposition::{Label, Sample};
use crate::filter::{Action, Config};

/// Labels by name, in the order of their names; each name stands once.
pub type LabelPairs = Vec<(String, String)>;

/// The labels of a sample that the filters leave (OM-61, OM-66).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SampleLabels {
    /// Labels that name the instance.
    pub naming: LabelPairs,
    /// Labels that do not: served with the flag `PM_LABEL_OPTIONAL`.
    pub optional: LabelPairs,
}

impl SampleLabels {
    /// Sorts the labels of a sample; `config` has the filters of its source.
    #[must_use]
    pub fn of(sample: &Sample<'_, '_>, config: &Config) -> SampleLabels {
        SampleLabels::with(sample, config, Label::value)
    }

    /// The same, where backslashes are as the document has them: for names of instances.
    #[must_use]
    pub fn with_backslashes(sample: &Sample<'_, '_>, config: &Config) -> SampleLabels {
        SampleLabels::with(sample, config, Label::value_with_backslashes)
    }

    fn with<'t>(sample: &Sample<'_, 't>, config: &Config, value: impl Fn(&Label<'t>) -> Cow<'t, str>) -> SampleLabels {
        let mut sorted: Vec<_> = sample.labels.iter().map(|label| (label.name(), label)).collect();
        // Stable, so that of two with one name the last one is still the last.
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut labels = SampleLabels::default();
        for (at, (name, label)) in sorted.iter().enumerate() {
            let is_repeated = sorted.get(at + 1).is_some_and(|(next, _)| next == name);
            let set = match config.label(name) {
                _ if is_repeated => continue,
                Action::Include => &mut labels.naming,
                Action::Optional => &mut labels.optional,
                Action::Exclude => continue,
            };
            set.push((name.clone().into_owned(), value(label).into_owned()));
        }
        labels
    }

    /// Returns whether no label is left: a metric whose first sample is like that is singular
    /// (OM-60).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.naming.is_empty() && self.optional.is_empty()
    }
}

/// The name of an instance, and whether it is made of labels, so that all names of the domain get
/// their number in front (OM-61, OM-62).
#[must_use]
pub fn instance_name(naming: &LabelPairs, has_pcp_line: bool) -> (String, bool) {
    let value_of = |wanted: &str| naming.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    if has_pcp_line {
        if let Some(name) = value_of("instname").or_else(|| value_of("instance")) {
            return (name.clone(), false);
        }
    }
    let mut text = String::new();
    for (name, value) in naming {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(name);
        text.push(':');
        text.push_str(value);
    }
    (text, true)
}
