//! Event records: values with a time and parameters.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitOr;
use std::time::{SystemTime, UNIX_EPOCH};

use pmda_core::error as core;
use pmda_core::events::{EventArray, Form, ParameterValue as Raw, Stamp};
use pmda_core::ident::MetricId;
use pmda_core::wire::block::{self, Direction};

use crate::error::{Error, Result};
use crate::metrics::{Def, Metrics};
use crate::value::{Encoder, Type, Value};

/// A parameter of event records, declared with [`Metrics::parameter`]: a metric with values in
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

/// A value that a parameter of an event may have.
pub trait EventValue {
    /// The type of its metric.
    const TYPE: Type;

    /// Adds it to the newest record.
    #[doc(hidden)]
    fn add(&self, metric: u32, records: &mut EventArray) -> core::Result<()>;
}

macro_rules! event_values {
    ($($type:ty, $kind:ident, $value:ident => $raw:expr;)*) => {
        $(impl EventValue for $type {
            const TYPE: Type = Type::$kind;

            fn add(&self, metric: u32, records: &mut EventArray) -> core::Result<()> {
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

/// What a record tells of its event (`PM_EVENT_FLAG_*`), for [`Record::flags`]. Flags are joined by
/// `|`.
///
/// ```
/// use pmda::EventFlags;
/// let flags = EventFlags::START | EventFlags::ID;
/// assert!(flags.contains(EventFlags::ID) && !flags.contains(EventFlags::POINT));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventFlags(u32);

impl EventFlags {
    /// None of them.
    pub const NONE: EventFlags = EventFlags(0);
    /// Something has happened at the time of the record.
    pub const POINT: EventFlags = EventFlags(1);
    /// Something has begun.
    pub const START: EventFlags = EventFlags(1 << 1);
    /// Something has ended.
    pub const END: EventFlags = EventFlags(1 << 2);
    /// The first parameter is an identifier.
    pub const ID: EventFlags = EventFlags(1 << 3);
    /// The second parameter is the identifier of what it belongs to.
    pub const PARENT: EventFlags = EventFlags(1 << 4);

    /// Returns whether all flags of the others are among these.
    #[must_use]
    pub const fn contains(self, others: EventFlags) -> bool {
        self.0 & others.0 == others.0
    }

    /// The union with other flags: as `|`, also in constants.
    #[must_use]
    pub const fn union(self, others: EventFlags) -> EventFlags {
        EventFlags(self.0 | others.0)
    }

    /// The flags of a record that was sent.
    pub(crate) fn of(word: u32) -> EventFlags {
        EventFlags(word & 0x1f)
    }
}

impl BitOr for EventFlags {
    type Output = EventFlags;

    fn bitor(self, others: EventFlags) -> EventFlags {
        self.union(others)
    }
}

impl fmt::Debug for EventFlags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (EventFlags::POINT, "POINT"),
            (EventFlags::START, "START"),
            (EventFlags::END, "END"),
            (EventFlags::ID, "ID"),
            (EventFlags::PARENT, "PARENT"),
        ];
        let mut set = names
            .into_iter()
            .filter(|(flag, _)| self.contains(*flag))
            .map(|(_, name)| name);
        out.write_str(set.next().unwrap_or("NONE"))?;
        set.try_for_each(|name| write!(out, " | {name}"))
    }
}

/// Event records, the value of a metric that tells what has happened. Their times have microseconds
/// (`PM_TYPE_EVENT`); those of [`HighresEvents`] have nanoseconds. They are two types, since the type
/// of a metric is known from that of its values; so the functions that make and show them are two.
///
/// Without records it is a value, too: an array of none. A metric without a value has `None`.
///
/// An error, such as a lack of memory, is kept until the records are the value of a metric, which
/// then has the error instead.
pub struct Events<const HIGHRES: bool = false> {
    records: Records,
    /// The number of records.
    count: usize,
}

/// The records. After an error they are not changed any more: the first error is the result, as half
/// an array has no meaning.
struct Records {
    /// The array, or `-ENOMEM`.
    array: core::Result<EventArray>,
    /// The first error of a change.
    failure: Option<core::Error>,
}

/// Event records of high resolution (`PM_TYPE_HIGHRES_EVENT`).
pub type HighresEvents = Events<true>;

/// The newest record, to which parameters are added.
pub struct Record<'e> {
    records: &'e mut Records,
}

impl Events {
    /// No records.
    #[must_use]
    pub fn new() -> Events {
        Events::none()
    }
}

impl HighresEvents {
    /// No records, of high resolution.
    #[must_use]
    pub fn highres() -> HighresEvents {
        Events::none()
    }
}

impl<const HIGHRES: bool> Events<HIGHRES> {
    pub(crate) fn none() -> Self {
        Events {
            records: Records {
                array: EventArray::new(),
                failure: None,
            },
            count: 0,
        }
    }

    /// Adds a record of something that has happened at a time. It has no flags, unless
    /// [`Record::flags`] sets some.
    pub fn record(&mut self, time: SystemTime) -> Record<'_> {
        self.records.change(|array| array.add_record(stamp(time, HIGHRES), 0));
        self.count += 1;
        Record {
            records: &mut self.records,
        }
    }

    /// Adds a record that tells how many records the client has missed.
    pub fn missed(&mut self, time: SystemTime, count: usize) {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        self.records
            .change(|array| array.add_missed(stamp(time, HIGHRES), count));
        self.count += 1;
    }

    /// Adds a record that `show` fills, if the value is not too large with that record, and still
    /// has room for [`Events::missed`]. Otherwise, or after an error of `show`, the records are as
    /// before.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for a record without room; that of `show`.
    pub(crate) fn record_if_it_fits(
        &mut self,
        time: SystemTime,
        show: impl FnOnce(&mut Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let end = self.records.array.as_ref().ok().map(EventArray::end);
        let mut outcome = show(&mut self.record(time));
        let Records { array, failure } = &mut self.records;
        let (Ok(array), Some(end)) = (array, end) else {
            return outcome;
        };
        let is_too_large = *failure == Some(core::Error::TOOBIG) || array.room() < MISSED;
        if is_too_large && outcome.is_ok() {
            outcome = Err(Error::TOOBIG);
        }
        if outcome.is_err() {
            array.cut(end);
            *failure = None;
            self.count -= 1;
        }
        outcome
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether it has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The size in bytes of a record that tells how many were missed, of high resolution.
const MISSED: usize = 24;

impl Records {
    fn change(&mut self, change: impl FnOnce(&mut EventArray) -> core::Result<()>) {
        if let (Ok(array), None) = (&mut self.array, self.failure) {
            self.failure = change(array).err();
        }
    }

    fn finish(self) -> core::Result<EventArray> {
        match self.failure {
            Some(error) => Err(error),
            None => self.array,
        }
    }
}

impl Record<'_> {
    /// Sets its flags, in place of those that it had.
    pub fn flags(&mut self, flags: EventFlags) -> &mut Self {
        self.records.change(|array| array.set_flags(flags.0));
        self
    }

    /// Adds a parameter.
    pub fn add<V: EventValue + ?Sized>(&mut self, parameter: Param<V>, value: &V) -> &mut Self {
        // The parameter could not be declared, which was logged: clients would not know the
        // parameter.
        if parameter.metric == MetricId::NULL {
            return self;
        }
        let metric = parameter.metric.0;
        self.records.change(|array| value.add(metric, array));
        self
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("event record")
    }
}

/// A time in a record: `PM_TYPE_EVENT` has microseconds, and 32 bits for seconds.
fn stamp(time: SystemTime, highres: bool) -> Stamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() as i64;
    if highres {
        Stamp::High(seconds, i64::from(since.subsec_nanos()))
    } else {
        Stamp::Low(seconds, i64::from(since.subsec_micros()))
    }
}

impl<const HIGHRES: bool> Value for Events<HIGHRES> {
    const TYPE: Type = if HIGHRES { Type::HighresEvent } else { Type::Event };

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        let mut records = self.records.finish()?;
        let array = records.publish(if HIGHRES { Form::High } else { Form::Low });
        // The receiver puts length and type in front.
        let data = array.get_mut(4..).unwrap_or_default();
        block::exchange(Self::TYPE.number(), data, Direction::Encode).map_err(|_| Error::GENERIC)?;
        out.block(Self::TYPE, data)
    }
}

impl<const HIGHRES: bool> Default for Events<HIGHRES> {
    fn default() -> Self {
        Events::none()
    }
}

impl<const HIGHRES: bool> fmt::Debug for Events<HIGHRES> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} event records", self.count)
    }
}

/// A function that says more about a declaration: a closure that returns the declaration, or
/// nothing.
pub trait Describe<'m, S: 'm>: FnOnce(Def<'m, S, S>) -> <Self as Describe<'m, S>>::Returned {
    /// The result of the function, which is dropped.
    #[doc(hidden)]
    type Returned;
}

impl<'m, S: 'm, R, F: FnOnce(Def<'m, S, S>) -> R> Describe<'m, S> for F {
    type Returned = R;
}

impl<S: 'static> Metrics<S> {
    /// Declares a parameter of event records, which `describe` says more about; `V` is `str` for
    /// texts and `[u8]` for bytes. A parameter that cannot be declared is left out of records.
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # fn declare(m: &mut Metrics<()>) {
    /// let bytes = m.parameter::<u64>("request.bytes", |def| def.unit(BYTE).help("Size of a request"));
    /// # let _ = bytes;
    /// # }
    /// ```
    pub fn parameter<'m, V: EventValue + ?Sized>(
        &'m mut self,
        name: impl AsRef<str>,
        describe: impl Describe<'m, S>,
    ) -> Param<V> {
        Param {
            metric: self.define_parameter(name.as_ref(), V::TYPE, describe),
            value: PhantomData,
        }
    }
}
