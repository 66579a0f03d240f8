//! Instance domains: rows of the agent, each with a name and a stable number.
//!
//! An instance is an entry of pmda-core's cache, as one of an agent in C is: 64 bytes with a name of
//! up to 21, its time stamp and what the file and the debug output show. Half of that would need a
//! second kind of cache, for domains without a file.

mod file;
#[cfg(test)]
mod tests;
mod update;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pmda_core::cache::{Cache, EntryState};
use pmda_core::constants::{PMDA_CACHE_ADD, PMDA_CACHE_CULL, PMDA_CACHE_HIDE};
use pmda_core::error as core;
use pmda_core::ident::InDom;
use pmda_core::index::Seed;
use pmda_core::instances::matches;
use pmda_core::log::Counted;
use pmda_core::path::FilePath;

pub use update::Update;

use crate::env::Env;
use crate::error::{Error, Result};
use crate::logger::{describe, excerpt};
use crate::profile::Selection;
use crate::reports::Reports;

/// A domain without a file remembers the numbers of as many inactive instances as it has active
/// ones, and this many more, for when they come back.
const REMEMBERED: usize = 1024;

/// The place of a row. A type of its own, as the cache shows it in debug output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot(u32);

impl fmt::Pointer for Slot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, out)
    }
}

/// An instance domain: rows of type `T`, each with a name.
///
/// An instance has a number, which it keeps as long as the domain remembers it, also when it goes
/// and comes back. [`Indom::new`] is for instances that come and go, [`Indom::persistent`] also
/// keeps their numbers in a file, and [`Indom::fixed`] has all instances from the start. In the
/// first two, names count up to their first blank, as in PCP's caches, unless
/// [`Indom::whole_names`] is called: `sda1` and `sda1 (root)` are the same instance.
pub struct Indom<T> {
    cache: Cache<Slot>,
    /// The rows; `None` for free slots.
    rows: Vec<Option<Row<T>>>,
    /// Free slots.
    free: Vec<u32>,
    /// The active instances by number, each with its slot.
    order: Vec<(i32, u32)>,
    /// The instances that the present update has made active, each with its slot.
    added: Vec<(i32, u32)>,
    /// The number of the last update. It may begin again, since only the last one counts.
    generation: NonZeroU32,
    file: Option<File>,
    /// Its number, once it is declared.
    number: Option<InDom>,
    /// The instances that it cannot have, as the log has them.
    lost: Reports,
    /// The error of the last save: one that repeats is logged once.
    unsaved: Option<core::Error>,
    /// Set when a domain has to be saved, for the session, which saves it before the request's
    /// reply. A domain that no session knows saves itself at once.
    due: Option<Arc<AtomicBool>>,
    whole_names: bool,
    /// The greatest number that an instance gets.
    limit: Option<u32>,
    /// The agent has chosen numbers, which stay.
    own_numbers: bool,
}

#[derive(Debug)]
struct Row<T> {
    /// The last update that has set it. Never 0, so that a free slot takes no more room.
    generation: NonZeroU32,
    value: T,
}

/// The file of a persistent domain.
enum File {
    /// Its directory is not known yet: the agent is starting.
    Wanted,
    At(InDom, FilePath),
}

impl<T> Indom<T> {
    /// A domain whose instances come and go.
    #[must_use]
    pub fn new() -> Indom<T> {
        Indom {
            cache: Cache::new(InDom::NULL, Seed::process()),
            rows: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
            added: Vec::new(),
            generation: NonZeroU32::MIN,
            file: None,
            number: None,
            lost: Reports::default(),
            unsaved: None,
            due: None,
            whole_names: false,
            limit: None,
            own_numbers: false,
        }
    }

    /// A domain whose instances change, and keep their numbers over restarts, in a file that agents
    /// in C read and write as well (`pmdaCache`).
    ///
    /// The file is written once for all updates and changes of a request, before the reply, so that
    /// a crash loses no number that a client has seen; likewise after [`Agent::woken`] and at the
    /// end of the agent. [`Indom::save`] writes it at once. A domain that is not declared is saved
    /// at the end of each update. A save writes the whole file anew: a temporary file, `rename`, no
    /// `fsync`.
    ///
    /// [`Agent::woken`]: crate::Agent::woken
    #[must_use]
    pub fn persistent() -> Indom<T> {
        Indom {
            file: Some(File::Wanted),
            ..Indom::new()
        }
    }

    /// A persistent domain whose file is read now, so that the numbers of instances are known
    /// before the domain is declared with this serial.
    #[must_use]
    pub fn persistent_in(env: &Env, serial: u32) -> Indom<T> {
        let mut indom = Indom::persistent();
        indom.bind(InDom::new(env.domain(), serial), env.var_dir(), None);
        indom
    }

    /// A domain with these instances, numbered from 0: what a table is in C. Whole names count (see
    /// [`Indom::whole_names`]); of several with one name the first counts.
    #[must_use]
    pub fn fixed<N: AsRef<str>>(rows: impl IntoIterator<Item = (N, T)>) -> Indom<T> {
        let mut indom = Indom::new().whole_names();
        let mut update = indom.update();
        for (name, row) in rows {
            let name = name.as_ref();
            if update.has(name) {
                log::warn!("instance {} is given twice", excerpt(name));
            } else if let Err(error) = update.set(name, row) {
                log::warn!("{}", describe(&error));
            }
        }
        drop(update);
        indom
    }

    /// Makes whole names count, not only what is in front of the first blank. A client may still
    /// write that alone: it gets the first instance that fits (INST-66). A domain without a file
    /// may then have an instance with an empty name, too.
    #[must_use]
    pub fn whole_names(mut self) -> Indom<T> {
        self.whole_names = true;
        self.renumber();
        self
    }

    /// Makes `limit` the greatest number that an instance gets.
    pub(crate) fn with_limit(mut self, limit: u32) -> Indom<T> {
        self.limit = Some(limit);
        self.renumber();
        self
    }

    /// Begins an update, in which each existing instance is to be set. When the update ends, the
    /// others become inactive. A persistent domain that was changed is saved with the request: see
    /// [`Indom::persistent`].
    pub fn update(&mut self) -> Update<'_, T> {
        self.begin(false)
    }

    /// Begins a change of some instances: those that are not set stay as they are. It is saved as
    /// an update.
    pub fn change(&mut self) -> Update<'_, T> {
        self.begin(true)
    }

    fn begin(&mut self, keeps_others: bool) -> Update<'_, T> {
        // An update that was leaked has not ended.
        self.settle();
        self.generation = self.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        Update::new(self, keeps_others)
    }

    /// The row of an active instance.
    #[must_use]
    pub fn get(&self, inst: i32) -> Option<&T> {
        let slot = self.slot(inst)?;
        self.rows.get(slot as usize)?.as_ref().map(|row| &row.value)
    }

    /// The row of an active instance, mutable.
    pub fn get_mut(&mut self, inst: i32) -> Option<&mut T> {
        let slot = self.slot(inst)?;
        self.rows.get_mut(slot as usize)?.as_mut().map(|row| &mut row.value)
    }

    /// The rows, in no particular order.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flatten().map(|row| &mut row.value)
    }

    /// The active instances by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &T)> {
        let rows = self
            .order
            .iter()
            .filter_map(|(inst, slot)| Some((*inst, self.rows.get(*slot as usize)?.as_ref()?)));
        rows.map(|(inst, row)| (inst, &row.value))
    }

    /// The name of an active instance.
    #[must_use]
    pub fn name(&self, inst: i32) -> Option<&str> {
        std::str::from_utf8(self.name_bytes(inst)?).ok()
    }

    /// The number of the active instance with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<i32> {
        self.find_bytes(name.as_bytes())
    }

    /// The number of the instance with a name, and whether it is active. One that is not keeps its
    /// number until it is forgotten.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<(i32, bool)> {
        let hit = self.cache.lookup_name(name.as_bytes()).ok()?;
        Some((hit.id(), hit.state() == EntryState::Active))
    }

    /// The inactive instances by ascending number.
    pub fn inactive(&self) -> impl Iterator<Item = (i32, &str)> {
        let inactive = self.cache.inactives();
        inactive.filter_map(|(inst, name)| Some((inst, std::str::from_utf8(name).ok()?)))
    }

    /// The number of active instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether no instance is active.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Forgets the inactive instances: one that comes back gets a new number. A domain without a
    /// file does so itself when they become many. A persistent one keeps them until this is called,
    /// so that no number gets another meaning.
    pub fn forget_inactive(&mut self) {
        if self.cache.cull_inactive() > 0 {
            self.note_change();
        }
    }

    fn slot(&self, inst: i32) -> Option<u32> {
        let hit = self.cache.lookup(inst).ok()?;
        (hit.state() == EntryState::Active).then_some(hit.private()?.0)
    }

    pub(crate) fn name_bytes(&self, inst: i32) -> Option<&[u8]> {
        let hit = self.cache.lookup(inst).ok()?;
        (hit.state() == EntryState::Active).then(|| hit.name())
    }

    /// The instance that a client means by a name (CACHE-10, INST-65, INST-66).
    pub(crate) fn asked(&self, name: &[u8]) -> Option<i32> {
        let named = self.find_bytes(name);
        if named.is_some() || !self.whole_names {
            return named;
        }
        let mut active = self.cache.actives();
        active.find_map(|(inst, whole)| matches(name, whole).map(|_| inst))
    }

    fn find_bytes(&self, name: &[u8]) -> Option<i32> {
        let hit = self.cache.lookup_name(name).ok()?;
        (hit.state() == EntryState::Active).then_some(hit.id())
    }

    /// Checks a name.
    ///
    /// # Errors
    /// `-EINVAL` for a name that no instance of the domain can have. A file cannot keep an empty
    /// one.
    fn check_name(&self, name: &str) -> Result<()> {
        let may_be_empty = self.whole_names && self.file.is_none();
        if name.is_empty() && !may_be_empty {
            return Err(Error::EINVAL.text("an empty name"));
        }
        if name.contains('\0') {
            return Err(Error::EINVAL.text("a name with a NUL"));
        }
        Ok(())
    }

    /// Returns `None` for an instance that the domain cannot have, and logs which one it is and why,
    /// once.
    ///
    /// # Errors
    /// `-ENOMEM`: that is no fault of the instance.
    #[cold]
    fn lose<R>(&mut self, name: &str, error: &Error) -> Result<Option<R>> {
        let why = match (error.said(), self.namesake(name)) {
            (Some(why), _) => why.to_owned(),
            (None, _) if *error == Error::ENOMEM => {
                return Err(Error::ENOMEM.text(format_args!("instance {}", excerpt(name))));
            }
            (None, Some(other)) if *error == Error::EINVAL => format!(
                "names count up to the first blank, and there is {}; see Indom::whole_names",
                excerpt(other)
            ),
            (None, _) if *error == Error::SIGN => "its number is negative".to_owned(),
            (None, _) if *error == Error::EEXIST => "another instance has its number or name".to_owned(),
            (None, _) => describe(error),
        };
        let domain = match self.number {
            Some(number) => format!("instance domain {number}"),
            None => "an instance domain".to_owned(),
        };
        let line = format!("{domain}: the instance {} is left out: {why}", excerpt(name));
        self.lost.log(log::Level::Warn, &domain, line);
        Ok(None)
    }

    /// The other instance, active or not, whose name is the same up to the first blank.
    fn namesake(&self, name: &str) -> Option<&str> {
        let word = name.split(' ').next().unwrap_or_default();
        let hit = self.cache.lookup_name(word.as_bytes()).ok()?;
        std::str::from_utf8(hit.name()).ok().filter(|other| *other != name)
    }

    /// Adds to the error of an instance's value which instance it is.
    pub(crate) fn about(&self, inst: i32, error: Error) -> Error {
        if !error.is_for_the_log() {
            return error;
        }
        let name = self.name_bytes(inst).unwrap_or_default();
        error.text(format_args!(
            "instance {inst} ({})",
            excerpt(&String::from_utf8_lossy(name))
        ))
    }

    /// Calls a function with each selected instance that is active, from place `next` of those that
    /// may be selected. When the function is called, `next` is the place after its instance: if the
    /// function panics, the walk can go on at `next`.
    pub(crate) fn visit(&self, selection: Selection<'_>, next: &mut usize, mut visit: impl FnMut(i32, &T)) {
        match selection {
            Selection::All => self.visit_active(next, |_| true, visit),
            Selection::None => {}
            Selection::Some(profile) => match profile.candidates() {
                Some(candidates) => {
                    for inst in candidates.iter().skip(*next) {
                        *next += 1;
                        if let Some(row) = self.get(*inst) {
                            visit(*inst, row);
                        }
                    }
                }
                None => self.visit_active(next, |inst| profile.selects(inst), visit),
            },
        }
    }

    /// The numbers of the selected instances that are active.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn selected(&self, selection: Selection<'_>) -> Result<Vec<i32>> {
        let (mut numbers, mut has_memory) = (Vec::new(), true);
        self.visit(selection, &mut 0, |inst, _| {
            has_memory = has_memory && numbers.try_reserve(1).is_ok();
            if has_memory {
                numbers.push(inst);
            }
        });
        has_memory.then_some(numbers).ok_or(Error::ENOMEM)
    }

    /// Calls a function with those active instances that are selected, from place `next` on.
    fn visit_active(&self, next: &mut usize, is_selected: impl Fn(i32) -> bool, mut visit: impl FnMut(i32, &T)) {
        for (inst, slot) in self.order.iter().skip(*next) {
            *next += 1;
            if let Some(Some(row)) = self.rows.get(*slot as usize).filter(|_| is_selected(*inst)) {
                visit(*inst, &row.value);
            }
        }
    }

    /// Makes an instance active under the number that the agent has chosen. Inactive instances give
    /// up their number or name for it.
    ///
    /// # Errors
    /// `-EEXIST` if an active instance has the number or the name; those of the cache.
    fn store_at(&mut self, inst: i32, name: &[u8], slot: u32) -> core::Result<()> {
        self.own_numbers = true;
        let stored = self.cache.store_id(inst, name, Some(Slot(slot)));
        if !matches!(stored, Err(core::Error::EEXIST | core::Error::EINVAL)) {
            return stored;
        }
        let same = [self.cache.lookup(inst), self.cache.lookup_name(name)];
        let same = same.map(|hit| hit.ok().map(|hit| (hit.state(), hit.name().to_vec())));
        for (state, name) in same.into_iter().flatten() {
            if state == EntryState::Active {
                return Err(core::Error::EEXIST);
            }
            // This fails only if the same instance had both, and is culled already.
            let _ = self.cache.store(PMDA_CACHE_CULL, Some(&name), None);
        }
        self.cache.store_id(inst, name, Some(Slot(slot)))
    }

    /// The slot that the next new instance gets.
    fn next_slot(&self) -> Result<u32> {
        let last = self.free.last().copied();
        last.map_or_else(|| u32::try_from(self.rows.len()).map_err(|_| Error::ENOMEM), Ok)
    }

    /// Takes the slot of [`Indom::next_slot`] for an instance, whose row is set later.
    fn take_slot(&mut self, slot: u32) {
        if self.free.pop().is_none() {
            debug_assert_eq!(slot as usize, self.rows.len());
            self.rows.push(None);
        }
    }

    /// Makes an instance inactive, and frees its slot.
    fn hide(&mut self, inst: i32, slot: u32) {
        if let Ok(hit) = self.cache.lookup(inst) {
            let name = hit.name().to_vec();
            // The instance is in the cache, so this cannot fail.
            let _ = self.cache.store(PMDA_CACHE_HIDE, Some(&name), None);
        }
        self.vacate(slot);
    }

    /// Puts the instances that an update has made active in order. One whose row could not be made is
    /// not active: `make` has panicked.
    fn settle(&mut self) {
        let mut added = std::mem::take(&mut self.added);
        added.retain(|(inst, slot)| {
            let has_row = self.rows.get(*slot as usize).is_some_and(Option::is_some);
            if !has_row {
                self.hide(*inst, *slot);
            }
            has_row
        });
        if added.is_empty() {
            return;
        }
        if self.order.is_empty() {
            // The first update: no second list beside this one, and no room for instances that most
            // domains never get.
            std::mem::swap(&mut self.order, &mut added);
            self.order.shrink_to_fit();
            self.rows.shrink_to_fit();
        }
        self.order.append(&mut added);
        // Two lists that are mostly in order: the stable sort joins them.
        self.order.sort();
    }

    /// Drops the row in a slot, which becomes free.
    fn vacate(&mut self, slot: u32) {
        if let Some(row) = self.rows.get_mut(slot as usize) {
            *row = None;
            self.free.push(slot);
        }
    }
}

/// As a list of names with numbers, without rows.
impl Indom<()> {
    /// Makes a name active; returns its number.
    ///
    /// # Errors
    /// As [`Cache::store`]: `PM_ERR_GENERIC` when no number is left, for instance.
    pub(crate) fn keep(&mut self, name: &str) -> core::Result<i32> {
        let number = self.cache.store(PMDA_CACHE_ADD, Some(name.as_bytes()), Some(Slot(0)));
        // A failure is not logged: it is tried again.
        self.cache.journal.messages.clear();
        number
    }

    /// Makes a name active with this number.
    ///
    /// # Errors
    /// As [`Indom::store_at`].
    pub(crate) fn keep_at(&mut self, inst: i32, name: &str) -> core::Result<()> {
        let outcome = self.store_at(inst, name.as_bytes(), 0);
        self.cache.journal.messages.clear();
        outcome
    }

    /// Makes a name inactive; it keeps its number.
    pub(crate) fn drop_name(&mut self, name: &str) {
        // This fails only for a name that the list does not have.
        let _ = self.cache.store(PMDA_CACHE_HIDE, Some(name.as_bytes()), None);
    }
}

impl<T> Default for Indom<T> {
    fn default() -> Indom<T> {
        Indom::new()
    }
}

impl<T> fmt::Debug for Indom<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Indom of {}", Counted(self.len(), "instance", "instances"))
    }
}
