//! Event records: values that happened at a time, with parameters.

use std::fmt;
use std::marker::PhantomData;
use std::time::{SystemTime, UNIX_EPOCH};

use pmda_core::events::{Array, Form, Stamp, Value as Raw};
use pmda_core::ident::MetricId;
use pmda_core::wire::block::{self, Direction};

use crate::value::{Encoder, Type, Value};
use crate::{Def, Error, Metrics, Result};

/// A parameter of event records, declared with [`Metrics::parameter`]: a metric that has values in
/// records only.
pub struct Param<V: ?Sized> {
    metric: MetricId,
    value: PhantomData<fn(&V)>,
}

impl<V: ?Sized> Clone for Param<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: ?Sized> Copy for Param<V> {}

impl<V: ?Sized> fmt::Debug for Param<V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "parameter {}", self.metric)
    }
}

/// What a parameter of an event may be.
pub trait EventValue {
    /// The type of its metric.
    const TYPE: Type;

    /// Adds it to the newest record.
    #[doc(hidden)]
    fn add(&self, metric: u32, records: &mut Array) -> Result<()>;
}

macro_rules! event_values {
    ($($type:ty, $kind:ident, $value:ident => $raw:expr;)*) => {
        $(impl EventValue for $type {
            const TYPE: Type = Type::$kind;

            fn add(&self, metric: u32, records: &mut Array) -> Result<()> {
                let $value = self;
                records.add_parameter(metric, Type::$kind as u8, $raw)
            }
        })*
    };
}

event_values! {
    i32, I32, value => Raw::Word(*value as u32);
    u32, U32, value => Raw::Word(*value);
    bool, U32, value => Raw::Word(u32::from(*value));
    i64, I64, value => Raw::Long(*value as u64);
    u64, U64, value => Raw::Long(*value);
    usize, U64, value => Raw::Long(*value as u64);
    f32, F32, value => Raw::Word(value.to_bits());
    f64, F64, value => Raw::Long(value.to_bits());
    str, String, value => Raw::Bytes(value.as_bytes());
    [u8], Aggregate, value => Raw::Bytes(value);
}

/// Event records: the value of a metric that tells what has happened.
pub struct Events {
    records: Result<Array>,
    /// How many there are.
    count: usize,
}

/// The newest record, to which parameters are added.
#[derive(Debug)]
pub struct Record<'e> {
    events: &'e mut Events,
}

impl Events {
    /// No records.
    #[must_use]
    pub fn new() -> Events {
        Events {
            records: Array::new(),
            count: 0,
        }
    }

    /// Adds a record of something that has happened at a time.
    pub fn record(&mut self, time: SystemTime) -> Record<'_> {
        self.change(|records| records.add_record(stamp(time), 0));
        self.count += 1;
        Record { events: self }
    }

    /// Adds a record that says that so many were missed.
    pub fn missed(&mut self, time: SystemTime, count: u64) {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        self.change(|records| records.add_missed(stamp(time), count));
        self.count += 1;
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first failure stays: half an array is none.
    fn change(&mut self, change: impl FnOnce(&mut Array) -> Result<()>) {
        if let Ok(records) = &mut self.records {
            if let Err(error) = change(records) {
                self.records = Err(error);
            }
        }
    }
}

impl Record<'_> {
    /// Adds a parameter.
    pub fn add<V: EventValue + ?Sized>(&mut self, parameter: Param<V>, value: &V) -> &mut Self {
        let metric = parameter.metric.0;
        self.events.change(|records| value.add(metric, records));
        self
    }
}

/// The format has microseconds, and 32 bits for seconds.
fn stamp(time: SystemTime) -> Stamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::Low(since.as_secs() as i64, i64::from(since.subsec_micros()))
}

impl Value for Events {
    const TYPE: Type = Type::Event;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        let mut records = self.records?;
        if self.count == 0 {
            return Ok(());
        }
        let words = records.publish(Form::Low);
        let mut data: Vec<u8> = words.iter().skip(1).flat_map(|word| word.to_ne_bytes()).collect();
        block::exchange(Type::Event as u32, &mut data, Direction::Encode).map_err(|_| Error::GENERIC)?;
        out.block(Type::Event, &data)
    }
}

impl Default for Events {
    fn default() -> Events {
        Events::new()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} event records", self.count)
    }
}

impl<S: 'static> Metrics<S> {
    /// Declares a parameter of event records. `V` is `str` for texts and `[u8]` for bytes.
    pub fn parameter<V: EventValue + ?Sized>(&mut self, name: &str, describe: impl FnOnce(Def<'_, S, S>)) -> Param<V> {
        let metric = self.define_parameter(name, V::TYPE, describe);
        Param {
            metric,
            value: PhantomData,
        }
    }
}
