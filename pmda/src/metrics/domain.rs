//! A declared instance domain, whatever its rows are.

use std::path::Path;

use pmda_core::ident::InDom;
use pmda_core::labels::JsonLabels;

use crate::profile::Selection;
use crate::{Indom, Labels, Result, guard};

/// Finds the rows of an instance domain in the agent's state.
pub(super) type Rows<S, T> = fn(&mut S) -> &mut Indom<T>;

/// Labels of an instance, by its name and row.
pub(super) type RowLabels<T> = Box<dyn Fn(&str, &T) -> Labels>;

/// An instance domain of an agent.
pub(crate) struct Domain<S> {
    pub(crate) serial: u32,
    pub(crate) help: String,
    pub(crate) labels: Labels,
    /// The cluster that it was declared in.
    pub(super) cluster: u32,
    pub(crate) table: Box<dyn Table<S>>,
}

/// What a request asks of an instance domain.
pub(crate) trait Table<S> {
    /// Tells the domain its number and where files are.
    fn bind(&self, state: &mut S, indom: InDom, variable: Option<&Path>);
    /// The numbers and names of all instances.
    fn each(&self, state: &mut S, visit: &mut dyn FnMut(i32, &[u8]));
    /// The name of an instance.
    fn name(&self, state: &mut S, inst: i32) -> Option<Vec<u8>>;
    /// The number of the instance with a name.
    fn find(&self, state: &mut S, name: &[u8]) -> Option<i32>;
    /// The labels of the selected instances, or why they cannot be made.
    fn labels(&self, state: &mut S, selection: Selection<'_>, level: u8) -> Vec<(i32, Result<JsonLabels>)>;
}

/// The instances of a domain with rows of one type.
pub(super) struct Typed<S, T> {
    pub(super) rows: Rows<S, T>,
    pub(super) labels: Option<RowLabels<T>>,
}

impl<S, T> Table<S> for Typed<S, T> {
    fn bind(&self, state: &mut S, indom: InDom, variable: Option<&Path>) {
        (self.rows)(state).bind(indom, variable);
    }

    fn each(&self, state: &mut S, visit: &mut dyn FnMut(i32, &[u8])) {
        let indom = &*(self.rows)(state);
        for (inst, _) in indom.iter() {
            visit(inst, indom.name_bytes(inst).unwrap_or_default());
        }
    }

    fn name(&self, state: &mut S, inst: i32) -> Option<Vec<u8>> {
        (self.rows)(state).name_bytes(inst).map(<[u8]>::to_vec)
    }

    fn find(&self, state: &mut S, name: &[u8]) -> Option<i32> {
        (self.rows)(state).find_bytes(name)
    }

    fn labels(&self, state: &mut S, selection: Selection<'_>, level: u8) -> Vec<(i32, Result<JsonLabels>)> {
        let indom = &*(self.rows)(state);
        let mut sets = Vec::new();
        indom.visit(selection, |inst, row| {
            let Some(labels) = &self.labels else {
                sets.push((inst, Labels::new().set(level)));
                return;
            };
            let name = String::from_utf8_lossy(indom.name_bytes(inst).unwrap_or_default());
            let set = guard::call(format_args!("labels of instance {inst} (\"{name}\")"), || {
                labels(&name, row).set(level)
            });
            sets.push((inst, set));
        });
        sets
    }
}
