//! The replies that a harness gets.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::{Label, merge};
use pmda_core::wire::result::{self, SentValue};
use pmda_core::wire::{count, number, padded, word};

use crate::session::stored;
use crate::value::{FromStore, Stored, Type};
use crate::{Error, Result, Unit};

/// What a metric is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Desc {
    /// Its number.
    pub id: MetricId,
    /// The type of its values.
    pub kind: Option<Type>,
    /// Its instance domain.
    pub indom: InDom,
    /// What its values mean, as `PM_SEM_*`.
    pub semantics: u32,
    /// Its unit.
    pub unit: Unit,
}

impl Desc {
    pub(super) fn new(pdu: &[u8]) -> Result<Desc> {
        let part = |index: usize| word(pdu, 12 + 4 * index).ok_or(Error::IPC);
        Ok(Desc {
            id: MetricId(part(0)?),
            kind: Type::from_number(part(1)?),
            indom: InDom(part(2)?),
            semantics: part(3)?,
            unit: Unit::from_word(part(4)?),
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
        if let (Type::Event | Type::HighresEvent, SentValue::Block(_, data)) = (kind, value) {
            let records = events(data, kind == Type::HighresEvent);
            return records.map(Atom::Events).ok_or(Error::IPC);
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
#[derive(Clone, PartialEq, Debug)]
pub struct EventRecord {
    /// When it happened.
    pub time: SystemTime,
    /// How many records were missed, if it says that.
    pub missed: Option<u32>,
    parameters: Vec<(MetricId, String, Atom)>,
}

impl EventRecord {
    /// The value of a parameter, if it is there and of such a type.
    #[must_use]
    pub fn parameter<V: FromStore>(&self, name: &str) -> Option<V> {
        let mut found = self.parameters.iter().filter(|(_, known, _)| known == name);
        found.next()?.2.convert(Unit::NONE)
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
    /// The value of a metric that has one, if it has it now, and it can be one of this type.
    #[must_use]
    pub fn value<V: FromStore>(&self) -> Option<V> {
        match &self.values[..] {
            [(_, _, value)] => value.convert(self.desc.unit),
            _ => None,
        }
    }

    /// The value of an instance.
    #[must_use]
    pub fn value_of<V: FromStore>(&self, instance: &str) -> Option<V> {
        let mut found = self.values.iter().filter(|(_, name, _)| name == instance);
        found.next()?.2.convert(self.desc.unit)
    }

    /// The instances that have values, by number.
    #[must_use]
    pub fn instances(&self) -> Vec<i32> {
        self.values.iter().map(|(inst, _, _)| *inst).collect()
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The event records.
    #[must_use]
    pub fn events(&self) -> &[EventRecord] {
        match &self.values[..] {
            [(_, _, Atom::Events(records))] => records,
            _ => &[],
        }
    }

    /// Whether the reply says that names of metrics have changed.
    #[must_use]
    pub fn names_changed(&self) -> bool {
        self.flags & 0x10 != 0
    }

    /// Whether the reply says that labels have changed.
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
            if let Some(known) = names.get(inst) {
                name.clone_from(known);
            }
        }
    }

    /// The parameters of its records.
    pub(super) fn parameters(&self) -> Vec<MetricId> {
        let all = self.events().iter().flat_map(|record| &record.parameters);
        let mut ids: Vec<MetricId> = all.map(|(id, _, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub(super) fn name_parameters(&mut self, names: &[(MetricId, String)]) {
        let [(_, _, Atom::Events(records))] = &mut self.values[..] else {
            return;
        };
        for (id, name, _) in records.iter_mut().flat_map(|record| &mut record.parameters) {
            if let Some((_, known)) = names.iter().find(|(known, _)| known == id) {
                name.clone_from(known);
            }
        }
    }
}

/// The values of a RESULT, which is laid out like a store.
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
fn events(data: &[u8], highres: bool) -> Option<Vec<EventRecord>> {
    const MISSED: u32 = 0x8000_0000;
    let mut place = 4;
    let mut records = Vec::new();
    for _ in 0..count(data, 0)? {
        let time = if highres {
            // Two numbers of 64 bits, of which the second is less than a thousand million.
            let seconds = u64::from(word(data, place)?) << 32 | u64::from(word(data, place + 4)?);
            Duration::new(seconds, word(data, place + 12)?)
        } else {
            Duration::new(word(data, place)?.into(), word(data, place + 4)? * 1000)
        };
        place += if highres { 16 } else { 8 };
        let (flags, mut parameters) = (word(data, place)?, count(data, place + 4)?);
        place += 8;
        let missed = (flags & MISSED != 0).then_some(parameters as u32);
        if missed.is_some() {
            parameters = 0;
        }
        let mut record = EventRecord {
            time: UNIX_EPOCH + time,
            missed,
            parameters: Vec::new(),
        };
        for _ in 0..parameters {
            let (id, header) = (MetricId(word(data, place)?), word(data, place + 4)?);
            let size = ((header & 0xff_ffff) as usize).checked_sub(4)?;
            let payload = data.get(place + 8..place + 8 + size)?;
            place += 8 + padded(size)?;
            let kind = Type::from_number(header >> 24)?;
            let value = match kind {
                Type::I32 | Type::U32 => SentValue::Word(word(payload, 0)?),
                _ => SentValue::Block(header, payload),
            };
            record
                .parameters
                .push((id, String::new(), Atom::new(kind, value).ok()?));
        }
        records.push(record);
    }
    (place == data.len()).then_some(records)
}

/// The names of a PMNS_NAMES; a dot stands behind what has something below it.
pub(super) fn names(pdu: &[u8]) -> Result<Vec<String>> {
    let states = count(pdu, 16).ok_or(Error::IPC)?;
    let mut place = 24;
    let mut names = Vec::new();
    for _ in 0..count(pdu, 20).ok_or(Error::IPC)? {
        let mut is_branch = false;
        if states > 0 {
            is_branch = number(pdu, place).ok_or(Error::IPC)? != 0;
            place += 4;
        }
        let mut name = padded_text(pdu, &mut place)?;
        if is_branch {
            name.push('.');
        }
        names.push(name);
    }
    Ok(names)
}

/// A text behind its length.
fn padded_text(pdu: &[u8], place: &mut usize) -> Result<String> {
    let length = count(pdu, *place).ok_or(Error::IPC)?;
    let text = pdu.get(*place + 4..*place + 4 + length).ok_or(Error::IPC)?;
    *place += 4 + padded(length).ok_or(Error::IPC)?;
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// The text of a TEXT.
pub(super) fn text(pdu: &[u8]) -> Result<String> {
    padded_text(pdu, &mut 16)
}

/// The instances of an INSTANCE.
pub(super) fn instances(pdu: &[u8]) -> Result<Vec<(i32, String)>> {
    let mut place = 20;
    let mut instances = Vec::new();
    for _ in 0..count(pdu, 16).ok_or(Error::IPC)? {
        let inst = number(pdu, place).ok_or(Error::IPC)?;
        place += 4;
        instances.push((inst, padded_text(pdu, &mut place)?));
    }
    Ok(instances)
}

/// A label: name, value as JSON, flags.
pub(super) type OwnLabel = (Vec<u8>, Vec<u8>, u8);

/// The sets of a LABEL, each with its instance; those that could not be made are left out.
pub(super) fn labels(pdu: &[u8]) -> Result<Vec<(i32, Vec<OwnLabel>)>> {
    let part = |place: usize, length: usize| pdu.get(place..place + length).ok_or(Error::IPC);
    let mut place = 28;
    let mut sets = Vec::new();
    for _ in 0..count(pdu, 24).ok_or(Error::IPC)? {
        let inst = number(pdu, place).ok_or(Error::IPC)?;
        let labels = number(pdu, place + 4).ok_or(Error::IPC)?;
        let json = count(pdu, place + 8).ok_or(Error::IPC)?;
        place += 16;
        let mut set = Vec::new();
        for _ in 0..labels {
            let (names, values) = (
                word(pdu, place).ok_or(Error::IPC)?,
                word(pdu, place + 4).ok_or(Error::IPC)?,
            );
            let half = |word: u32| ((word >> 16) as usize, (word & 0xffff) as usize);
            let ((name, rest), (value, length)) = (half(names), half(values));
            let name = part(json + name, rest >> 8)?.to_vec();
            let value = part(json + value, length)?.to_vec();
            set.push((name, value, rest as u8));
            place += 8;
        }
        if labels >= 0 {
            sets.push((inst, set));
        }
    }
    Ok(sets)
}

/// Labels as JSON, of several with one name the last.
pub(super) fn json(labels: &[OwnLabel]) -> Result<String> {
    let labels = labels.iter().rev().map(|(name, value, flags)| Label {
        name,
        value,
        flags: *flags,
    });
    let set = merge(std::iter::empty(), labels)?;
    Ok(String::from_utf8_lossy(&set.json).into_owned())
}
