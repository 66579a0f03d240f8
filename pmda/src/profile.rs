//! The instances that the fetches after a PROFILE select.

use std::collections::HashMap;

use pmda_core::error::{Error, Result};
use pmda_core::profile::{Compiled, Element};
use pmda_core::wire::decode;

/// The profile that pmcd has sent last: for each instance domain of the agent that it names, the
/// selected instances; for all others, whether all are selected or none (INST-51).
#[derive(Debug)]
pub(crate) struct Profile {
    include: bool,
    domains: HashMap<u32, Compiled>,
}

/// The selected instances of one domain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection<'p> {
    All,
    None,
    /// The instances that this profile selects.
    Some(&'p Compiled),
}

impl<'p> Selection<'p> {
    /// Returns whether an instance is selected.
    pub(crate) fn selects(self, inst: i32) -> bool {
        match self {
            Selection::All => true,
            Selection::None => false,
            Selection::Some(compiled) => compiled.selects(inst),
        }
    }

    /// The only instances that can be selected, ascending and each once; `None` when others can be.
    pub(crate) fn candidates(self) -> Option<&'p [i32]> {
        match self {
            Selection::All => None,
            Selection::None => Some(&[]),
            Selection::Some(compiled) => compiled.candidates(),
        }
    }
}

impl Profile {
    /// All instances, as before the first profile.
    pub(crate) fn all() -> Profile {
        Profile {
            include: true,
            domains: HashMap::new(),
        }
    }

    /// The part of a PROFILE that is about instance domains of the agent with this `domain`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(profile: decode::Profile<'_>, domain: u32) -> Result<Profile> {
        let mut domains = HashMap::new();
        let mut exceptions = Vec::new();
        for selection in profile.iter() {
            if selection.indom.domain() != domain {
                continue;
            }
            exceptions.clear();
            for inst in selection.instances() {
                exceptions.try_reserve(1).map_err(|_| Error::ENOMEM)?;
                exceptions.push(inst);
            }
            let element = Element {
                include: selection.state == 0,
                exceptions: &exceptions,
            };
            // The first element for a domain counts.
            if !domains.contains_key(&selection.indom.serial()) {
                domains.try_reserve(1).map_err(|_| Error::ENOMEM)?;
                domains.insert(selection.indom.serial(), Compiled::new(element)?);
            }
        }
        Ok(Profile {
            include: profile.state == 0,
            domains,
        })
    }

    pub(crate) fn selection(&self, serial: u32) -> Selection<'_> {
        match self.domains.get(&serial) {
            Some(compiled) => Selection::Some(compiled),
            None if self.include => Selection::All,
            None => Selection::None,
        }
    }
}
