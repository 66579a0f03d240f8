//! Values: from the agent's types to PCP's, and back for a store.

use std::borrow::Cow;
use std::time::Duration;

use pmda_core::error as core;

use crate::error::{Error, Result};
use crate::result_sink::ResultSink;
use crate::unit::{NSEC, Unit};

/// The type of a metric (`PM_TYPE_*`).
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Type {
    /// `PM_TYPE_NOSUPPORT`: the metric is not supported here, and has no values
    /// ([`Metrics::unsupported`](crate::Metrics::unsupported)).
    NoSupport = -1,
    /// `PM_TYPE_32`.
    I32 = 0,
    /// `PM_TYPE_U32`.
    U32 = 1,
    /// `PM_TYPE_64`.
    I64 = 2,
    /// `PM_TYPE_U64`.
    U64 = 3,
    /// `PM_TYPE_FLOAT`.
    F32 = 4,
    /// `PM_TYPE_DOUBLE`.
    F64 = 5,
    /// `PM_TYPE_STRING`.
    String = 6,
    /// `PM_TYPE_AGGREGATE`: bytes, whose meaning a client has to know.
    Aggregate = 7,
    /// `PM_TYPE_EVENT`: records with a time and parameters.
    Event = 9,
    /// `PM_TYPE_HIGHRES_EVENT`: the same, with times in nanoseconds.
    HighresEvent = 10,
}

impl Type {
    /// The type with a number (`PM_TYPE_*`).
    #[must_use]
    pub fn from_number(number: u32) -> Option<Type> {
        const ALL: [Type; 11] = [
            Type::NoSupport,
            Type::I32,
            Type::U32,
            Type::I64,
            Type::U64,
            Type::F32,
            Type::F64,
            Type::String,
            Type::Aggregate,
            Type::Event,
            Type::HighresEvent,
        ];
        ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The number of the type, as it is in a description.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as i32 as u32
    }

    /// The header word of a block with `size` bytes of data.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` if its length field, of 24 bits, does not hold that.
    pub(crate) fn header(self, size: usize) -> Result<u32> {
        let length = u32::try_from(size).ok().and_then(|size| size.checked_add(4));
        let length = length.filter(|length| length >> 24 == 0).ok_or(Error::TOOBIG)?;
        Ok(self.number() << 24 | length)
    }
}

/// The meaning of a value (`PM_SEM_*`).
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Semantics {
    /// Grows all the time: clients show its rate.
    Counter = 1,
    /// Has this value at this moment.
    Instant = 3,
    /// Changes seldom, and keeps its value in between.
    Discrete = 4,
}

impl Semantics {
    /// The semantics with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Semantics> {
        let all = [Semantics::Counter, Semantics::Instant, Semantics::Discrete];
        all.into_iter().find(|semantics| *semantics as u32 == number)
    }
}

/// A value that a metric's function may return. A type of your own can implement it by passing on
/// its parts, or by [`Encoder::text`] and [`Encoder::bytes`].
///
/// A text that the agent owns is not a value, since it would have to be copied:
///
/// ```compile_fail,E0277
/// # use pmda::prelude::*;
/// fn declare(m: &mut Metrics<String>) {
///     m.value("name", |s| s.as_str()); // m.text("name", |s| s)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a metric",
    label = "the metric's function returns a `{Self}`",
    note = "a reference to a number: `*number`, and `.copied()` for an `Option<&u64>`",
    note = "a text that the agent owns: `Metrics::text` and `Metrics::each_text`, in place of `value` and `each`; `try_text` and `try_each_text` for one that may be missing or fail",
    note = "a type that is known at run time only: `Metrics::value_as` and `Metrics::each_as`"
)]
pub trait Value {
    /// The type of the metric.
    const TYPE: Type;
    /// The unit of a metric that names none.
    const UNIT: Unit = Unit::NONE;

    /// Adds the value to the reply, or nothing.
    ///
    /// # Errors
    /// The reason why the metric has no value. `PM_ERR_TYPE` if a value that is passed on is not of
    /// `TYPE`, as all values of a metric have one form; `-E2BIG` for more than one value;
    /// `PM_ERR_TOOBIG` for one of 16 MiB or more; `-ENOMEM`.
    fn write(self, out: &mut Encoder<'_>) -> Result<()>;
}

/// The destination of values: it encodes them straight into the reply.
#[derive(Debug)]
pub struct Encoder<'e> {
    sink: ResultSink<'e>,
    /// `PM_IN_NULL` for the one value of a metric without instances.
    inst: i32,
    kind: Type,
    unit: Unit,
    values: i32,
    /// The instance has its value.
    is_written: bool,
    /// The error of an instance, while others may have values.
    pub(crate) failure: Option<Error>,
}

impl<'e> Encoder<'e> {
    /// An encoder for the values of a metric of this type and unit.
    pub(crate) fn new(sink: ResultSink<'e>, kind: Type, unit: Unit) -> Encoder<'e> {
        Encoder {
            sink,
            inst: -1,
            kind,
            unit,
            values: 0,
            is_written: false,
            failure: None,
        }
    }

    /// Makes the next value that of this instance.
    #[inline]
    pub(crate) fn at(&mut self, inst: i32) -> &mut Self {
        self.inst = inst;
        self.is_written = false;
        self
    }

    /// The instance of the next value.
    pub(crate) fn inst(&self) -> i32 {
        self.inst
    }

    /// The number of values that were added.
    pub(crate) fn values(&self) -> i32 {
        self.values
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `PM_ERR_TYPE` for a value of another type than the metric's, as clients would read it as
    /// that; `-E2BIG` for a second value.
    #[inline]
    fn add(&mut self, kind: Type, write: impl FnOnce(&mut ResultSink<'e>, i32) -> core::Result<()>) -> Result<()> {
        if kind != self.kind {
            return Err(Error::TYPE);
        }
        if self.is_written {
            return Err(Error::E2BIG);
        }
        write(&mut self.sink, self.inst)?;
        self.values += 1;
        self.is_written = true;
        Ok(())
    }

    #[inline]
    fn word(&mut self, kind: Type, word: u32) -> Result<()> {
        self.add(kind, |sink, inst| sink.word(inst, word))
    }

    #[inline]
    fn long(&mut self, kind: Type, value: u64) -> Result<()> {
        self.add(kind, |sink, inst| sink.wide(inst, (kind as u32) << 24 | 12, value))
    }

    /// Adds a text, as the value of a metric of [`Type::String`].
    ///
    /// # Errors
    /// As [`Value::write`].
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<()> {
        // The NUL that ends it in C is part of the value.
        let header = Type::String.header(text.len() + 1)?;
        self.add(Type::String, |sink, inst| sink.text(inst, header, text.as_bytes()))
    }

    /// Adds bytes, as the value of a metric of [`Type::Aggregate`].
    ///
    /// # Errors
    /// As [`Value::write`].
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.block(Type::Aggregate, bytes)
    }

    /// Adds a block of data in the byte order of the wire.
    ///
    /// # Errors
    /// As [`Value::write`].
    pub(crate) fn block(&mut self, kind: Type, data: &[u8]) -> Result<()> {
        let header = kind.header(data.len())?;
        self.add(kind, |sink, inst| sink.block(inst, header, data))
    }
}

macro_rules! words {
    ($($type:ty, $kind:ident, $value:ident => $word:expr;)*) => {
        $(impl Value for $type {
            const TYPE: Type = Type::$kind;

            #[inline]
            fn write(self, out: &mut Encoder<'_>) -> Result<()> {
                let $value = self;
                out.word(Type::$kind, $word)
            }
        })*
    };
}

words! {
    i8, I32, value => i32::from(value) as u32;
    i16, I32, value => i32::from(value) as u32;
    i32, I32, value => value as u32;
    u8, U32, value => u32::from(value);
    u16, U32, value => u32::from(value);
    u32, U32, value => value;
    bool, U32, value => u32::from(value);
}

macro_rules! longs {
    ($($type:ty, $kind:ident, $value:ident => $long:expr;)*) => {
        $(impl Value for $type {
            const TYPE: Type = Type::$kind;

            #[inline]
            fn write(self, out: &mut Encoder<'_>) -> Result<()> {
                let $value = self;
                out.long(Type::$kind, $long)
            }
        })*
    };
}

longs! {
    i64, I64, value => value as u64;
    u64, U64, value => value;
    usize, U64, value => value as u64;
    f64, F64, value => value.to_bits();
}

impl Value for f32 {
    const TYPE: Type = Type::F32;

    #[inline]
    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        out.block(Type::F32, &self.to_be_bytes())
    }
}

impl Value for String {
    const TYPE: Type = Type::String;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        out.text(&self)
    }
}

impl Value for Vec<u8> {
    const TYPE: Type = Type::Aggregate;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        out.bytes(&self)
    }
}

/// A number in the metric's unit of time; in nanoseconds if the metric has no unit.
impl Value for Duration {
    const TYPE: Type = Type::U64;
    const UNIT: Unit = NSEC;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        let unit = out.unit.nanoseconds().ok_or(Error::CONV)?;
        let value = self.as_nanos() / u128::from(unit);
        u64::try_from(value).map_err(|_| Error::TOOBIG)?.write(out)
    }
}

/// `None` is no value.
impl<V: Value> Value for Option<V> {
    const TYPE: Type = V::TYPE;
    const UNIT: Unit = V::UNIT;

    #[inline]
    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        self.map_or(Ok(()), |value| value.write(out))
    }
}

/// An error is what clients get if no other instance of the metric has a value.
impl<V: Value> Value for Result<V> {
    const TYPE: Type = V::TYPE;
    const UNIT: Unit = V::UNIT;

    #[inline]
    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        self?.write(out)
    }
}

/// A value of a metric whose type is known at run time only: see [`Metrics::value_as`].
///
/// [`Metrics::value_as`]: crate::Metrics::value_as
#[non_exhaustive]
#[derive(Clone, PartialEq, Debug)]
pub enum Atom<'a> {
    /// No value.
    None,
    /// Of a metric of [`Type::I32`].
    I32(i32),
    /// Of a metric of [`Type::U32`].
    U32(u32),
    /// Of a metric of [`Type::I64`].
    I64(i64),
    /// Of a metric of [`Type::U64`].
    U64(u64),
    /// Of a metric of [`Type::F32`].
    F32(f32),
    /// Of a metric of [`Type::F64`].
    F64(f64),
    /// Of a metric of [`Type::String`]; a text that the agent owns is borrowed, and not copied.
    Text(Cow<'a, str>),
    /// Of a metric of [`Type::Aggregate`].
    Bytes(Cow<'a, [u8]>),
}

impl Atom<'_> {
    /// Adds the value to the reply, or nothing.
    ///
    /// # Errors
    /// As [`Value::write`].
    pub(crate) fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        match self {
            Atom::None => Ok(()),
            Atom::I32(value) => value.write(out),
            Atom::U32(value) => value.write(out),
            Atom::I64(value) => value.write(out),
            Atom::U64(value) => value.write(out),
            Atom::F32(value) => value.write(out),
            Atom::F64(value) => value.write(out),
            Atom::Text(text) => out.text(&text),
            Atom::Bytes(bytes) => out.bytes(&bytes),
        }
    }
}

macro_rules! atoms {
    ($($type:ty, $kind:ident;)*) => {
        $(impl<'a> From<$type> for Atom<'a> {
            fn from(value: $type) -> Atom<'a> {
                Atom::$kind(value.into())
            }
        })*
    };
}

atoms! {
    i32, I32;
    u32, U32;
    i64, I64;
    u64, U64;
    f32, F32;
    f64, F64;
    &'a str, Text;
    String, Text;
    &'a [u8], Bytes;
    Vec<u8>, Bytes;
}

/// A value that a client wants to store, of the metric's type.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stored<'a> {
    /// A whole number of any type.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// A string, without its NUL.
    String(&'a [u8]),
    /// Bytes.
    Aggregate(&'a [u8]),
}

/// A value that a store function may take.
pub trait FromStore: Sized {
    /// Converts a value that a client has sent; `unit` is that of the metric.
    ///
    /// # Errors
    /// `PM_ERR_CONV` when that is not possible, `PM_ERR_SIGN` for a negative number where none may
    /// be, `PM_ERR_TRUNC` for one that is too large, `-ENOMEM`.
    fn from_store(value: Stored<'_>, unit: Unit) -> Result<Self>;
}

macro_rules! stored_integers {
    ($($type:ty)*) => {
        $(impl FromStore for $type {
            fn from_store(value: Stored<'_>, _: Unit) -> Result<$type> {
                let Stored::Integer(value) = value else { return Err(Error::CONV) };
                let limit = if value < 0 && <$type>::MIN == 0 { Error::SIGN } else { Error::TRUNC };
                <$type>::try_from(value).map_err(|_| limit)
            }
        })*
    };
}

stored_integers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

impl FromStore for f64 {
    fn from_store(value: Stored<'_>, _: Unit) -> Result<f64> {
        match value {
            Stored::Integer(value) => Ok(value as f64),
            Stored::Float(value) => Ok(value),
            _ => Err(Error::CONV),
        }
    }
}

impl FromStore for f32 {
    fn from_store(value: Stored<'_>, unit: Unit) -> Result<f32> {
        f64::from_store(value, unit).map(|value| value as f32)
    }
}

/// 0 is `false`, 1 is `true`.
impl FromStore for bool {
    fn from_store(value: Stored<'_>, unit: Unit) -> Result<bool> {
        match u64::from_store(value, unit)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::TRUNC),
        }
    }
}

impl FromStore for String {
    fn from_store(value: Stored<'_>, _: Unit) -> Result<String> {
        let Stored::String(text) = value else {
            return Err(Error::CONV);
        };
        String::from_utf8(copy(text)?).map_err(|_| Error::CONV)
    }
}

impl FromStore for Vec<u8> {
    fn from_store(value: Stored<'_>, _: Unit) -> Result<Vec<u8>> {
        match value {
            Stored::String(bytes) | Stored::Aggregate(bytes) => copy(bytes),
            _ => Err(Error::CONV),
        }
    }
}

/// A copy of what a client has sent, which may be long.
///
/// # Errors
/// `-ENOMEM`.
fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| Error::ENOMEM)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// A number in the metric's unit of time.
impl FromStore for Duration {
    fn from_store(value: Stored<'_>, unit: Unit) -> Result<Duration> {
        let nanoseconds = unit.nanoseconds().ok_or(Error::CONV)?;
        match value {
            Stored::Integer(value) => {
                let value = u64::try_from(value).map_err(|_| Error::SIGN)?;
                let total = u128::from(value) * u128::from(nanoseconds);
                u64::try_from(total).map(Duration::from_nanos).map_err(|_| Error::TRUNC)
            }
            Stored::Float(value) if value < 0.0 => Err(Error::SIGN),
            Stored::Float(value) => {
                Duration::try_from_secs_f64(value * nanoseconds as f64 / 1e9).map_err(|_| Error::TRUNC)
            }
            _ => Err(Error::CONV),
        }
    }
}
