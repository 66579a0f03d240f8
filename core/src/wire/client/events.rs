//! Reads the records of an event array, in the order of the wire (WIRE-46).

use crate::constants::{PM_TYPE_32, PM_TYPE_U32};
use crate::error::{Error, Result};
use crate::events::{Form, PM_EVENT_FLAG_MISSED, Stamp};
use crate::ident::MetricId;
use crate::wire::block::{self, HEADER};
use crate::wire::result::SentValue;
use crate::wire::{count, number, padded, word};

/// The records of an event array, one after the other.
#[derive(Clone, Debug)]
pub struct EventRecords<'a> {
    form: Form,
    /// The number of records that are left.
    left: usize,
    rest: &'a [u8],
}

/// One record.
#[derive(Clone, Debug)]
pub struct EventRecord<'a> {
    /// The time of the event.
    pub stamp: Stamp,
    /// The flags of the record (`PM_EVENT_FLAG_*`).
    pub flags: u32,
    /// The number of events that were missed, if the record says that.
    pub missed: Option<u32>,
    /// The parameters of the event.
    pub parameters: Parameters<'a>,
}

/// The parameters of a record, one after the other.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    /// The number of parameters that are left.
    left: usize,
    rest: &'a [u8],
}

/// One parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter<'a> {
    /// The metric whose value it is.
    pub metric: MetricId,
    /// The type of its value, `PM_TYPE_*`.
    pub kind: i32,
    /// The value: integers of 32 bits in place, all others as blocks.
    pub value: SentValue<'a>,
}

impl<'a> EventRecords<'a> {
    /// Reads the payload of a block of type `PM_TYPE_EVENT` or `PM_TYPE_HIGHRES_EVENT`.
    ///
    /// # Errors
    /// `PM_ERR_IPC` when the records do not fill the payload exactly.
    pub fn new(form: Form, payload: &'a [u8]) -> Result<EventRecords<'a>> {
        let records = EventRecords {
            form,
            left: count(payload, 0).ok_or(Error::IPC)?,
            rest: payload.get(4..).unwrap_or_default(),
        };
        let mut read = records.clone();
        while read.left > 0 {
            read.next().ok_or(Error::IPC)?;
        }
        if read.rest.is_empty() {
            Ok(records)
        } else {
            Err(Error::IPC)
        }
    }

    fn record(&mut self) -> Option<EventRecord<'a>> {
        let rest = self.rest;
        let (stamp, head) = match self.form {
            Form::Low => (Stamp::Low(number(rest, 0)?.into(), number(rest, 4)?.into()), 8),
            Form::High => (Stamp::High(wide(rest, 0)?, wide(rest, 8)?), 16),
        };
        let (flags, number) = (word(rest, head)?, word(rest, head + 4)?);
        let missed = (flags & PM_EVENT_FLAG_MISSED != 0).then_some(number);
        let parameters = Parameters {
            left: if missed.is_some() {
                0
            } else {
                usize::try_from(number).ok()?
            },
            rest: rest.get(head + 8..)?,
        };
        let mut read = parameters.clone();
        while read.left > 0 {
            read.next()?;
        }
        self.rest = read.rest;
        Some(EventRecord {
            stamp,
            flags,
            missed,
            parameters,
        })
    }
}

impl<'a> Iterator for EventRecords<'a> {
    type Item = EventRecord<'a>;

    fn next(&mut self) -> Option<EventRecord<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.record()
    }
}

impl<'a> Parameters<'a> {
    fn parameter(&mut self) -> Option<Parameter<'a>> {
        let (metric, header) = (word(self.rest, 0)?, word(self.rest, 4)?);
        let size = block::length(header).checked_sub(HEADER)?;
        let behind = self.rest.get(8..)?;
        let payload = behind.get(..size)?;
        // The last parameter may lack its padding, as a block may.
        self.rest = behind.get(padded(size)?..).unwrap_or_default();
        let kind = block::kind(header) as i32;
        let value = match kind {
            PM_TYPE_32 | PM_TYPE_U32 => SentValue::Word(word(payload, 0)?),
            _ => SentValue::Block(header, payload),
        };
        Some(Parameter {
            metric: MetricId(metric),
            kind,
            value,
        })
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.parameter()
    }
}

/// The number of 64 bits at byte `offset`.
fn wide(bytes: &[u8], offset: usize) -> Option<i64> {
    let bytes = bytes.get(offset..)?.first_chunk::<8>()?;
    Some(i64::from_be_bytes(*bytes))
}
