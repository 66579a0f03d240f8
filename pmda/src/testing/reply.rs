//! The replies that a harness gets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pmda_core::constants::PMNS_LEAF_STATUS;
use pmda_core::events::{Form, Stamp};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::{Label, merge};
use pmda_core::wire::client::{self, EventRecords};
use pmda_core::wire::result::{self, SentValue};
use pmda_core::wire::word;

use crate::error::{Error, Result};
use crate::events::EventFlags;
use crate::session::stored;
use crate::unit::Unit;
use crate::value::{FromStore, Semantics, Stored, Type};

/// A metric's description.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Desc {
    /// Its number.
    pub id: MetricId,
    /// The type of its values; `None` for a number that is none.
    pub kind: Option<Type>,
    /// Its instance domain.
    pub indom: InDom,
    /// The meaning of its values; `None` for a number that has none.
    pub semantics: Option<Semantics>,
    /// Its unit.
    pub unit: Unit,
}

impl Desc {
    /// The description in a DESC.
    ///
    /// # Errors
    /// `PM_ERR_IPC` for another PDU.
    pub(super) fn new(pdu: &[u8]) -> Result<Desc> {
        let desc = client::desc(pdu)?;
        Ok(Desc {
            id: desc.metric,
            kind: Type::from_number(desc.kind as u32),
            indom: desc.indom,
            semantics: Semantics::from_number(desc.semantics),
            unit: Unit::from_word(desc.units),
        })
    }
}

/// A value as it was sent.
#[derive(Clone, PartialEq, Debug)]
enum Atom {
    Integer(i128),
    Float(f64),
    String(Vec<u8>),
    Aggregate(Vec<u8>),
    Events(Vec<EventRecord>),
}

impl Atom {
    fn new(kind: Type, value: SentValue<'_>) -> Result<Atom> {
        match (kind, value) {
            (Type::Event, SentValue::Block(_, data)) => return events(Form::Low, data).map(Atom::Events),
            (Type::HighresEvent, SentValue::Block(_, data)) => return events(Form::High, data).map(Atom::Events),
            _ => {}
        }
        Ok(match stored(kind, value)? {
            Stored::Integer(value) => Atom::Integer(value),
            Stored::Float(value) => Atom::Float(value),
            Stored::String(text) => Atom::String(text.to_vec()),
            Stored::Aggregate(bytes) => Atom::Aggregate(bytes.to_vec()),
        })
    }

    fn convert<V: FromStore>(&self, unit: Unit) -> Option<V> {
        let stored = match self {
            Atom::Integer(value) => Stored::Integer(*value),
            Atom::Float(value) => Stored::Float(*value),
            Atom::String(text) => Stored::String(text),
            Atom::Aggregate(bytes) => Stored::Aggregate(bytes),
            Atom::Events(_) => return None,
        };
        V::from_store(stored, unit).ok()
    }
}

/// An event record as it was sent.
#[non_exhaustive]
#[derive(Clone, PartialEq, Debug)]
pub struct EventRecord {
    /// The time when it happened.
    pub time: SystemTime,
    /// Its flags.
    pub flags: EventFlags,
    /// The number of records that the client has missed, if this one tells that.
    pub missed: Option<usize>,
    parameters: Vec<(MetricId, String, Atom)>,
}

impl EventRecord {
    /// The value of a parameter. `None` if the record does not have it, or it cannot be converted
    /// to the type.
    #[must_use]
    pub fn parameter<V: FromStore>(&self, name: &str) -> Option<V> {
        let mut parameters = self.parameters.iter().filter(|(_, other, _)| other == name);
        parameters.next()?.2.convert(Unit::NONE)
    }
}

/// The values of a metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Fetched {
    desc: Desc,
    values: Vec<(i32, String, Atom)>,
    flags: u32,
}

impl Fetched {
    /// The value of a metric without instances. `None` if it has none now, or it cannot be
    /// converted to the type.
    #[must_use]
    pub fn value<V: FromStore>(&self) -> Option<V> {
        match &self.values[..] {
            [(_, _, value)] => value.convert(self.desc.unit),
            _ => None,
        }
    }

    /// The value of an instance, by its name. `None` if it has none now, or it cannot be converted
    /// to the type.
    #[must_use]
    pub fn value_of<V: FromStore>(&self, instance: &str) -> Option<V> {
        let mut values = self.values.iter().filter(|(_, name, _)| name == instance);
        values.next()?.2.convert(self.desc.unit)
    }

    /// The instances with values, by number.
    #[must_use]
    pub fn instances(&self) -> Vec<i32> {
        self.values.iter().map(|(inst, _, _)| *inst).collect()
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the reply has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The event records of a metric without instances.
    #[must_use]
    pub fn events(&self) -> &[EventRecord] {
        match &self.values[..] {
            [(_, _, Atom::Events(records))] => records,
            _ => &[],
        }
    }

    /// The event records of an instance, by its name. `None` if it has no value now: that is not
    /// the same as no records.
    #[must_use]
    pub fn events_of(&self, instance: &str) -> Option<&[EventRecord]> {
        let mut values = self.values.iter().filter(|(_, name, _)| name == instance);
        match &values.next()?.2 {
            Atom::Events(records) => Some(records),
            _ => None,
        }
    }

    /// Returns whether the reply tells that names of metrics have changed.
    #[must_use]
    pub fn names_changed(&self) -> bool {
        self.flags & 0x10 != 0
    }

    /// Returns whether the reply tells that labels have changed.
    #[must_use]
    pub fn labels_changed(&self) -> bool {
        self.flags & 0x08 != 0
    }

    pub(super) fn indom(&self) -> InDom {
        self.desc.indom
    }

    pub(super) fn name_instances(&mut self, names: Vec<(i32, String)>) {
        let names: std::collections::HashMap<i32, String> = names.into_iter().collect();
        for (inst, name, _) in &mut self.values {
            if let Some(own) = names.get(inst) {
                name.clone_from(own);
            }
        }
    }

    /// The numbers of the parameters of its records, each once.
    pub(super) fn parameters(&self) -> Vec<MetricId> {
        let records = self.values.iter().filter_map(|(_, _, value)| match value {
            Atom::Events(records) => Some(records),
            _ => None,
        });
        let all = records.flatten().flat_map(|record| &record.parameters);
        let mut ids: Vec<MetricId> = all.map(|(id, _, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(super) fn name_parameters(&mut self, names: &[(MetricId, String)]) {
        let records = self.values.iter_mut().filter_map(|(_, _, value)| match value {
            Atom::Events(records) => Some(records),
            _ => None,
        });
        for (id, name, _) in records.flatten().flat_map(|record| &mut record.parameters) {
            if let Some((_, own)) = names.iter().find(|(other, _)| other == id) {
                name.clone_from(own);
            }
        }
    }
}

/// The values of a RESULT, which is laid out like a store.
///
/// # Errors
/// `PM_ERR_IPC` for another PDU, or one about other metrics.
pub(super) fn fetched(pdu: &[u8], descs: &[Desc]) -> Result<Vec<Result<Fetched>>> {
    let result = result::decode(pdu)?;
    let flags = word(pdu, 12).ok_or(Error::IPC)?;
    let sets: Vec<_> = result.sets().collect();
    if !sets.iter().map(|set| set.metric).eq(descs.iter().map(|desc| desc.id)) {
        return Err(Error::IPC);
    }
    let fetched = sets.into_iter().zip(descs).map(|(set, desc)| {
        Error::check(set.numval)?;
        let kind = desc.kind.ok_or(Error::TYPE)?;
        let values = set
            .values()
            .map(|(inst, value)| Ok((inst, String::new(), Atom::new(kind, value)?)));
        Ok(Fetched {
            desc: *desc,
            values: values.collect::<Result<_>>()?,
            flags,
        })
    });
    Ok(fetched.collect())
}

/// The records of an event array.
fn events(form: Form, data: &[u8]) -> Result<Vec<EventRecord>> {
    let records = EventRecords::new(form, data)?.map(|record| {
        let parameters = record.parameters.map(|parameter| {
            let kind = Type::from_number(parameter.kind as u32).ok_or(Error::TYPE)?;
            Ok((parameter.metric, String::new(), Atom::new(kind, parameter.value)?))
        });
        Ok(EventRecord {
            time: time_of(record.stamp).ok_or(Error::IPC)?,
            flags: EventFlags::of(record.flags),
            missed: record.missed.map(|count| count as usize),
            parameters: parameters.collect::<Result<_>>()?,
        })
    });
    records.collect()
}

fn time_of(stamp: Stamp) -> Option<SystemTime> {
    let (seconds, nanoseconds) = match stamp {
        Stamp::Low(seconds, microseconds) => (seconds, microseconds.checked_mul(1000)?),
        Stamp::High(seconds, nanoseconds) => (seconds, nanoseconds),
    };
    let time = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
    UNIX_EPOCH.checked_add(time)
}

fn owned(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The names of a PMNS_NAMES. Those with names below them end with a dot.
///
/// # Errors
/// `PM_ERR_IPC` for another PDU.
pub(super) fn names(pdu: &[u8]) -> Result<Vec<String>> {
    let name_of = |(name, status): (&[u8], Option<i32>)| {
        let dot = if status.unwrap_or(PMNS_LEAF_STATUS) == PMNS_LEAF_STATUS {
            ""
        } else {
            "."
        };
        owned(name) + dot
    };
    Ok(client::names(pdu)?.map(name_of).collect())
}

/// The text of a TEXT.
///
/// # Errors
/// `PM_ERR_IPC` for another PDU.
pub(super) fn text(pdu: &[u8]) -> Result<String> {
    Ok(client::text(pdu).map(owned)?)
}

/// The instances of an INSTANCE: numbers and names.
///
/// # Errors
/// `PM_ERR_IPC` for another PDU.
pub(super) fn instances(pdu: &[u8]) -> Result<Vec<(i32, String)>> {
    Ok(client::instances(pdu)?
        .map(|(inst, name)| (inst, owned(name)))
        .collect())
}

/// Labels as JSON; of several with one name the last counts.
///
/// # Errors
/// As [`merge`].
pub(super) fn json<'a>(labels: impl DoubleEndedIterator<Item = Label<'a>>) -> Result<String> {
    Ok(owned(&merge(std::iter::empty(), labels.rev())?.json))
}
