//! Declared instance domains, with rows of any type.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pmda_core::error as core;
use pmda_core::ident::InDom;
use pmda_core::labels::JsonLabels;

use super::{LABEL_CHANGE, Metrics};
use crate::error::{Error, Result};
use crate::guard;
use crate::indom::Indom;
use crate::labels::{LabelValue, Labels};
use crate::logger::excerpt;
use crate::profile::Selection;

/// One more than the greatest serial of an instance domain.
const SERIALS: u32 = 1 << 22;

/// Finds the rows of an instance domain in the agent's state, unless the agent has removed them.
pub(super) type Rows<S, T> = Rc<dyn Fn(&mut S) -> Option<&mut Indom<T>>>;

/// Labels of an instance, by its name and row.
type RowLabels<T> = Box<dyn Fn(&str, &T) -> Labels>;

/// Tells which instance a client means by a text.
type Lookup<S> = Box<dyn Fn(&mut S, &str) -> Option<i32>>;

/// A declared instance domain: metrics that are declared with [`Metrics::each`] have its instances.
pub struct IndomRef<S, T> {
    serial: u32,
    rows: PhantomData<fn(&mut S) -> &mut T>,
}

impl<S, T> IndomRef<S, T> {
    /// The serial that the domain was declared with.
    #[must_use]
    pub fn serial(self) -> u32 {
        self.serial
    }

    fn of(serial: u32) -> IndomRef<S, T> {
        IndomRef {
            serial,
            rows: PhantomData,
        }
    }
}

impl<S, T> Clone for IndomRef<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, T> Copy for IndomRef<S, T> {}

impl<S, T> fmt::Debug for IndomRef<S, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "instance domain {}", self.serial)
    }
}

/// An instance domain of an agent.
pub(crate) struct Domain<S> {
    pub(crate) serial: u32,
    pub(crate) help: String,
    pub(crate) labels: Labels,
    /// The cluster that it was declared in.
    cluster: u32,
    /// The number of metrics of each cluster that have its instances.
    users: BTreeMap<u32, usize>,
    pub(crate) instances: Box<dyn Instances<S>>,
    lookup: Option<Lookup<S>>,
}

impl<S> Domain<S> {
    /// The instance that the agent says a client means by a text.
    pub(crate) fn meant(&self, state: &mut S, text: &[u8]) -> Option<i32> {
        let lookup = self.lookup.as_ref()?;
        lookup(state, std::str::from_utf8(text).ok()?)
    }
}

/// An instance domain with rows of any type, as requests need it.
pub(crate) trait Instances<S> {
    /// Tells the domain its number, the directory of files, and what it sets when it has to be
    /// saved.
    fn bind(&self, state: &mut S, indom: InDom, variable: Option<&Path>, due: &Arc<AtomicBool>);
    /// Saves the domain if it is persistent and has changed.
    fn save(&self, state: &mut S);
    /// Calls `visit` with number and name of each active instance.
    fn each(&self, state: &mut S, visit: &mut dyn FnMut(i32, &[u8]));
    /// The name of an active instance.
    fn name(&self, state: &mut S, inst: i32) -> Option<Vec<u8>>;
    /// The number of the instance with a name.
    fn find(&self, state: &mut S, name: &[u8]) -> Option<i32>;
    /// The labels of the selected instances, each with its error if they cannot be made.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn labels(&self, state: &mut S, selection: Selection<'_>, level: u8) -> Result<Vec<(i32, Result<JsonLabels>)>>;
    /// The domain as its type, a [`Typed`].
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// What an instance domain is told when it is bound.
#[derive(Clone)]
struct Binding {
    indom: InDom,
    variable: Option<PathBuf>,
    due: Arc<AtomicBool>,
}

impl Binding {
    fn tell<T>(&self, rows: &mut Indom<T>) {
        rows.bind(self.indom, self.variable.as_deref(), Some(&self.due));
    }
}

/// The function that finds the rows of a domain, once it is bound. An agent may put another `Indom` in
/// the place of the first one, such as with an entry of a map that has gone and comes again: that one
/// is bound when it is found.
fn bound<S, T>(
    binding: &Rc<OnceCell<Binding>>,
    rows: impl Fn(&mut S) -> Option<&mut Indom<T>> + 'static,
) -> impl Fn(&mut S) -> Option<&mut Indom<T>> + 'static {
    let binding = Rc::clone(binding);
    move |state| {
        let rows = rows(state)?;
        if let Some(binding) = binding.get().filter(|_| !rows.is_bound()) {
            binding.tell(rows);
        }
        Some(rows)
    }
}

/// An instance domain with rows of one type.
struct Typed<S, T> {
    serial: u32,
    rows: Rows<S, T>,
    binding: Rc<OnceCell<Binding>>,
    labels: Option<RowLabels<T>>,
    /// A label that cannot be shown was logged. There may be such labels at each request, so others
    /// are logged at level `debug`.
    has_warned: Cell<bool>,
}

impl<S, T> Typed<S, T> {
    /// The labels of an instance as they go to clients, without those that cannot be shown.
    fn shown(&self, instance: &str, labels: Labels, level: u8) -> core::Result<JsonLabels> {
        match labels.set(level) {
            Err(core::Error::EINVAL | core::Error::E2BIG) => {}
            set => return set,
        }
        let (labels, problem) = labels.split();
        if let Some(problem) = problem {
            let log_level = if self.has_warned.replace(true) {
                log::Level::Debug
            } else {
                log::Level::Warn
            };
            let (serial, instance) = (self.serial, excerpt(instance));
            log::log!(
                log_level,
                "instance {instance} of instance domain {serial}: {problem}; it is left out"
            );
        }
        labels.set(level)
    }
}

impl<S: 'static, T: 'static> Instances<S> for Typed<S, T> {
    fn bind(&self, state: &mut S, indom: InDom, variable: Option<&Path>, due: &Arc<AtomicBool>) {
        let binding = self.binding.get_or_init(|| Binding {
            indom,
            variable: variable.map(Path::to_owned),
            due: Arc::clone(due),
        });
        if let Some(rows) = (self.rows)(state) {
            // Also one that has read its file before it was declared.
            binding.tell(rows);
        }
    }

    fn save(&self, state: &mut S) {
        if let Some(rows) = (self.rows)(state) {
            rows.save_and_log();
        }
    }

    fn each(&self, state: &mut S, visit: &mut dyn FnMut(i32, &[u8])) {
        let Some(indom) = (self.rows)(state) else { return };
        for (inst, _) in indom.iter() {
            visit(inst, indom.name_bytes(inst).unwrap_or_default());
        }
    }

    fn name(&self, state: &mut S, inst: i32) -> Option<Vec<u8>> {
        (self.rows)(state)?.name_bytes(inst).map(<[u8]>::to_vec)
    }

    fn find(&self, state: &mut S, name: &[u8]) -> Option<i32> {
        (self.rows)(state)?.asked(name)
    }

    fn labels(&self, state: &mut S, selection: Selection<'_>, level: u8) -> Result<Vec<(i32, Result<JsonLabels>)>> {
        let Some(indom) = (self.rows)(state).map(|rows| &*rows) else {
            return Ok(Vec::new());
        };
        let (mut sets, mut has_memory) = (Vec::new(), true);
        indom.visit(selection, &mut 0, |inst, row| {
            has_memory = has_memory && sets.try_reserve(1).is_ok();
            if !has_memory {
                return;
            }
            let Some(labels) = &self.labels else {
                sets.push((inst, Labels::new().set(level).map_err(Into::into)));
                return;
            };
            let name = String::from_utf8_lossy(indom.name_bytes(inst).unwrap_or_default());
            let set = match guard::part(|| self.shown(&name, labels(&name, row), level)) {
                Ok(set) => set.map_err(Into::into),
                Err(panic) => Err(panic.of(format_args!("instance {inst} ({})", excerpt(&name)))),
            };
            sets.push((inst, set));
        });
        has_memory.then_some(sets).ok_or(Error::ENOMEM)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<S: 'static> Metrics<S> {
    /// Declares an instance domain: `rows` finds it in the agent. The first line of the help is for
    /// lists, the rest is the long text.
    ///
    /// Replaces a domain with this serial that no metric has any more. A persistent domain that is
    /// declared in [`Agent::dynamic`](crate::Agent::dynamic) gets its numbers from its file after
    /// that; [`Indom::persistent_in`] has them at once.
    pub fn indom<T: 'static>(
        &mut self,
        serial: u32,
        help: impl AsRef<str>,
        rows: impl Fn(&mut S) -> &mut Indom<T> + 'static,
    ) -> IndomRef<S, T> {
        self.try_indom(serial, help, move |state| Some(rows(state)))
    }

    /// As [`Metrics::indom`], for rows that the agent may remove while metrics still use them, such
    /// as those of an entry of a map: without the rows the domain has no instances, and its metrics
    /// have no values.
    pub fn try_indom<T: 'static>(
        &mut self,
        serial: u32,
        help: impl AsRef<str>,
        rows: impl Fn(&mut S) -> Option<&mut Indom<T>> + 'static,
    ) -> IndomRef<S, T> {
        let declared = self.indoms.get(&serial);
        if serial >= SERIALS {
            let last = SERIALS - 1;
            self.problem(format!("instance domain {serial}: the last possible one is {last}"));
        } else if self.numbers.has(serial) {
            self.problem(format!("instance domain {serial} has the numbers of metrics"));
        } else if declared.is_some_and(|domain| !self.started || !domain.users.is_empty()) {
            self.problem(format!("instance domain {serial} is declared twice"));
        } else {
            let binding = Rc::default();
            let domain = Domain {
                serial,
                help: help.as_ref().to_owned(),
                labels: Labels::new(),
                cluster: self.cluster,
                users: BTreeMap::new(),
                instances: Box::new(Typed {
                    serial,
                    rows: Rc::new(bound(&binding, rows)),
                    binding,
                    labels: None,
                    has_warned: Cell::new(false),
                }),
                lookup: None,
            };
            self.indoms.insert(serial, domain);
            if let Some(cluster) = self.current() {
                cluster.indoms.push(serial);
            }
            self.unbound.push(serial);
        }
        IndomRef::of(serial)
    }

    /// The declared instance domain with this serial, if its rows are of type `T`.
    #[must_use]
    pub fn find_indom<T: 'static>(&self, serial: u32) -> Option<IndomRef<S, T>> {
        self.typed::<T>(serial).map(|_| IndomRef::of(serial))
    }

    /// Removes an instance domain that no metric has. Returns whether the domain existed.
    pub fn remove_indom(&mut self, serial: u32) -> bool {
        let is_free = |domain: &Domain<S>| domain.users.is_empty();
        self.indoms.get(&serial).is_some_and(is_free) && self.indoms.remove(&serial).is_some()
    }

    fn typed<T: 'static>(&self, serial: u32) -> Option<&Typed<S, T>> {
        self.indoms.get(&serial)?.instances.as_any().downcast_ref()
    }

    /// The function that finds the rows of a domain. `None` if it is not declared, or has rows of
    /// another type.
    pub(super) fn find_rows<T: 'static>(&self, indom: IndomRef<S, T>) -> Option<Rows<S, T>> {
        self.typed(indom.serial).map(|typed| Rc::clone(&typed.rows))
    }

    /// Gives an instance domain a label, in place of one with this name.
    pub fn indom_label<T>(
        &mut self,
        indom: IndomRef<S, T>,
        name: impl AsRef<str>,
        value: impl Into<LabelValue>,
    ) -> &mut Self {
        if let Some(domain) = self.declared_indom(indom.serial) {
            let given = domain.labels.give(name.as_ref(), value.into(), false);
            self.labelled(given, format_args!("instance domain {}", indom.serial));
        }
        self
    }

    /// Gives an instance domain these labels, in place of all that it had.
    pub fn set_indom_labels<T>(&mut self, indom: IndomRef<S, T>, labels: Labels) -> &mut Self {
        if let Some(domain) = self.declared_indom(indom.serial) {
            let given = domain.labels.replace(labels);
            self.labelled(given, format_args!("instance domain {}", indom.serial));
        }
        self
    }

    /// Sets the help text of an instance domain.
    pub fn set_indom_help<T>(&mut self, indom: IndomRef<S, T>, help: impl AsRef<str>) -> &mut Self {
        if let Some(domain) = self.declared_indom(indom.serial) {
            help.as_ref().clone_into(&mut domain.help);
        }
        self
    }

    /// Gives the instances of a domain labels, by name and row, in place of all that they had. A
    /// label that cannot be shown is left out; the first one is logged, others at level `debug`.
    pub fn instance_labels<T: 'static>(
        &mut self,
        indom: IndomRef<S, T>,
        labels: impl Fn(&str, &T) -> Labels + 'static,
    ) -> &mut Self {
        let serial = indom.serial;
        let Some(domain) = self.declared_indom(serial) else {
            return self;
        };
        match domain.instances.as_any_mut().downcast_mut::<Typed<S, T>>() {
            Some(typed) => {
                typed.labels = Some(Box::new(labels));
                typed.has_warned.set(false);
                self.changes |= LABEL_CHANGE;
            }
            None => self.problem(format!("labels of instance domain {serial}: it has other rows")),
        }
        self
    }

    /// Translates what clients write as an instance of a domain, as in `pmval -i 1`, to the number
    /// of an instance: `1` means the process with the name `000001 /sbin/init`. `lookup` is called
    /// before [`Agent::begin`](crate::Agent::begin), and the request then needs that instance only
    /// ([`Request::wants_instance`](crate::Request::wants_instance)). If it returns `None`, the
    /// text is a name.
    pub fn instance_lookup<T>(
        &mut self,
        indom: IndomRef<S, T>,
        lookup: impl Fn(&mut S, &str) -> Option<i32> + 'static,
    ) -> &mut Self {
        if let Some(domain) = self.declared_indom(indom.serial) {
            domain.lookup = Some(Box::new(lookup));
        }
        self
    }

    /// The instance domain with a serial. If it is not declared, that is a problem.
    fn declared_indom(&mut self, serial: u32) -> Option<&mut Domain<S>> {
        if !self.indoms.contains_key(&serial) {
            self.problem(format!("instance domain {serial} is not declared"));
        }
        self.indoms.get_mut(&serial)
    }
}

impl<S> Metrics<S> {
    /// Takes note that a metric of a cluster has the instances of a domain.
    pub(super) fn use_indom(&mut self, serial: u32, cluster: u32) {
        if let Some(domain) = self.indoms.get_mut(&serial) {
            *domain.users.entry(cluster).or_default() += 1;
        }
    }

    /// Takes note that a metric of a cluster with the instances of a domain was removed.
    pub(super) fn release_indom(&mut self, serial: u32, cluster: u32) {
        let Some(domain) = self.indoms.get_mut(&serial) else {
            return;
        };
        if let Some(count) = domain.users.get_mut(&cluster) {
            *count -= 1;
            if *count == 0 {
                domain.users.remove(&cluster);
            }
        }
    }

    /// Removes those domains that were declared in a cluster and that no metric has.
    pub(super) fn drop_indoms(&mut self, cluster: u32, serials: &[u32]) {
        for serial in serials {
            let domain = self.indoms.get(serial);
            if domain.is_some_and(|domain| domain.cluster == cluster && domain.users.is_empty()) {
                self.indoms.remove(serial);
            }
        }
    }

    /// The clusters with metrics that have instances of a domain, else the one that it was declared
    /// in.
    pub(crate) fn clusters_of(&self, serial: u32) -> Vec<u32> {
        let Some(domain) = self.indoms.get(&serial) else {
            return Vec::new();
        };
        if domain.users.is_empty() {
            return vec![domain.cluster];
        }
        domain.users.keys().copied().collect()
    }
}
