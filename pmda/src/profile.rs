//! The instances that the next fetches select.

use std::collections::HashMap;

use pmda_core::profile::{Compiled, Element};
use pmda_core::wire::decode;

/// The last profile of pmcd: the selection of each instance domain of the agent that it names, and
/// of all others (INST-51).
#[derive(Debug)]
pub(crate) struct Profile {
    include: bool,
    domains: HashMap<u32, Compiled>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection<'p> {
    All,
    None,
    Some(&'p Compiled),
}

impl Profile {
    /// All instances, as at first.
    pub(crate) fn all() -> Profile {
        Profile {
            include: true,
            domains: HashMap::new(),
        }
    }

    /// The part of a PROFILE about instance domains of `domain`.
    pub(crate) fn new(profile: decode::Profile<'_>, domain: u32) -> Profile {
        let mut domains = HashMap::new();
        for selection in profile.iter() {
            if selection.indom.domain() != domain {
                continue;
            }
            let exceptions: Vec<i32> = selection.instances().collect();
            let element = Element {
                include: selection.state == 0,
                exceptions: &exceptions,
            };
            // The first element for a domain counts.
            if let (false, Ok(compiled)) = (domains.contains_key(&selection.indom.serial()), Compiled::new(element)) {
                domains.insert(selection.indom.serial(), compiled);
            }
        }
        Profile {
            include: profile.state == 0,
            domains,
        }
    }

    pub(crate) fn selection(&self, serial: u32) -> Selection<'_> {
        match self.domains.get(&serial) {
            Some(compiled) => Selection::Some(compiled),
            None if self.include => Selection::All,
            None => Selection::None,
        }
    }
}
