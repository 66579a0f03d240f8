//! The profile of a client: which instances of which domains it wants.

use std::ffi::c_int;
use std::marker::PhantomData;

use crate::sys::slice;
use crate::view::array::Array;
use crate::view::declare::view;
use crate::view::types::{pmInDomProfile, pmProfile};
use pmda_core::ident::InDom;
use pmda_core::profile::Element;

/// `PM_PROFILE_INCLUDE`; any other number counts as exclude (INST-51).
const INCLUDE: c_int = 0;

view! {
    /// A profile as it was received last. Agents may exchange it at any time.
    Profile of pmProfile, contract
    "`pointer` is NULL, or a profile with the number of elements that it tells, and their lists."
    fields {
        /// The state of domains without an element.
        state: state as c_int;
        /// The number of elements.
        len: profile_len as c_int;
    }
    arrays {
        /// The elements at this moment.
        elements: profile[profile_len] as Elements;
    }
}

/// The elements of a profile.
pub type Elements<'call> = Array<'call, pmInDomProfile>;

/// What a profile says about one domain, copied out.
#[derive(Clone, Copy)]
pub(crate) struct ProfileElement<'call>(pmInDomProfile, PhantomData<&'call c_int>);

/// Where the list of an element is. Two lists at one place are not the same list for that alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPlace {
    profile: usize,
    state: c_int,
    list: usize,
    len: c_int,
}

impl Profile<'_> {
    /// Whether domains without an element are selected.
    #[inline(always)]
    pub(crate) fn includes(self) -> bool {
        self.state() == INCLUDE
    }

    /// Whether all instances of all domains are selected.
    #[inline(always)]
    pub(crate) fn selects_all(self) -> bool {
        self.len() <= 0 && self.includes()
    }
}

impl<'call> Elements<'call> {
    /// The domain that an element is about.
    ///
    /// # Panics
    /// When the place is not in the table.
    pub(crate) fn indom(self, place: usize) -> InDom {
        InDom(self.at(place).indom)
    }

    /// An element.
    ///
    /// # Panics
    /// When the place is not in the table.
    pub(crate) fn copy(self, place: usize) -> ProfileElement<'call> {
        ProfileElement(self.at(place), PhantomData)
    }
}

impl ProfileElement<'_> {
    /// Whether instances are listed.
    pub(crate) fn has_list(self) -> bool {
        self.0.instances_len > 0 && !self.0.instances.is_null()
    }

    /// Whether instances are selected that are not listed.
    pub(crate) fn includes(self) -> bool {
        self.0.state == INCLUDE
    }

    /// The element as the core sees it; the list is good until control goes back to C.
    pub(crate) fn element(&self) -> Element<'_> {
        Element {
            include: self.includes(),
            // SAFETY: the profile that this was copied from has valid lists, by the contract of
            // `Profile::new`; they change only while C runs, and elements are copied anew then.
            exceptions: unsafe { slice(self.0.instances, self.0.instances_len) },
        }
    }

    /// Where the list is.
    pub(crate) fn place(self, profile: Option<Profile<'_>>) -> ListPlace {
        ListPlace {
            profile: profile.map_or(0, |profile| profile.as_ptr().addr()),
            state: self.0.state,
            list: self.0.instances.addr(),
            len: self.0.instances_len,
        }
    }
}
