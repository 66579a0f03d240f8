//! The requests that a harness makes.

use pmda_core::ident::InDom;
use pmda_core::wire::{HEADER, Kind, PADDING};

use super::Desc;
use crate::value::Type;

/// A value that is to be stored; it is sent as one of the metric's type if it can be.
#[derive(Clone, PartialEq, Debug)]
pub enum StoreValue {
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// A string.
    String(String),
    /// Bytes.
    Aggregate(Vec<u8>),
}

macro_rules! store_values {
    ($($type:ty, $value:ident => $store:expr;)*) => {
        $(impl From<$type> for StoreValue {
            fn from($value: $type) -> StoreValue {
                $store
            }
        })*
    };
}

store_values! {
    i32, value => StoreValue::Integer(value.into());
    u32, value => StoreValue::Integer(value.into());
    i64, value => StoreValue::Integer(value.into());
    u64, value => StoreValue::Integer(value.into());
    bool, value => StoreValue::Integer(value.into());
    f64, value => StoreValue::Float(value);
    &str, value => StoreValue::String(value.to_owned());
    String, value => StoreValue::String(value);
    Vec<u8>, value => StoreValue::Aggregate(value);
}

/// A whole PDU.
pub(super) fn pdu(kind: Kind, from: i32, body: &[u8]) -> Vec<u8> {
    let length = (HEADER + body.len()) as u32;
    let head = [length, kind.0 as u32, from as u32].map(u32::to_be_bytes).concat();
    [&head[..], body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn add_padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(bytes);
    body.resize(body.len().next_multiple_of(4), PADDING);
}

/// The body of a PMNS_NAMES that asks for a number.
pub(super) fn one_name(name: &str) -> Vec<u8> {
    let length = name.len() as u32;
    let mut body = words(&[length + 1, 0, 1, length]);
    add_padded(&mut body, name.as_bytes());
    body
}

/// The body of a PMNS_CHILD or PMNS_TRAVERSE that wants to know which names are leaves.
pub(super) fn name_below(name: &str) -> Vec<u8> {
    let mut body = words(&[1, name.len() as u32]);
    add_padded(&mut body, name.as_bytes());
    body
}

/// The body of an INSTANCE_REQ for the number of an instance.
pub(super) fn instance(indom: InDom, name: &str) -> Vec<u8> {
    let mut body = words(&[indom.0, 0, 0, u32::MAX, name.len() as u32]);
    add_padded(&mut body, name.as_bytes());
    body
}

/// The body of a RESULT with one value.
pub(super) fn store(desc: &Desc, inst: i32, value: &StoreValue) -> Vec<u8> {
    let (kind, data) = match (desc.kind, value) {
        (Some(Type::I32 | Type::U32), StoreValue::Integer(value)) => {
            return words(&[0, 0, 1, desc.id.0, 1, 0, inst as u32, *value as u32]);
        }
        (Some(Type::F32), StoreValue::Integer(value)) => (Type::F32, (*value as f32).to_be_bytes().to_vec()),
        (Some(Type::F32), StoreValue::Float(value)) => (Type::F32, (*value as f32).to_be_bytes().to_vec()),
        (Some(Type::F64), StoreValue::Integer(value)) => (Type::F64, (*value as f64).to_be_bytes().to_vec()),
        (Some(Type::U64), StoreValue::Integer(value)) => (Type::U64, (*value as u64).to_be_bytes().to_vec()),
        (_, StoreValue::Integer(value)) => (Type::I64, (*value as i64).to_be_bytes().to_vec()),
        (_, StoreValue::Float(value)) => (Type::F64, value.to_be_bytes().to_vec()),
        (_, StoreValue::String(text)) => (Type::String, [text.as_bytes(), b"\0"].concat()),
        (_, StoreValue::Aggregate(bytes)) => (Type::Aggregate, bytes.clone()),
    };
    // The block follows the one entry.
    const BLOCK: u32 = 11;
    let header = (kind as u32) << 24 | (data.len() + 4) as u32;
    let mut body = words(&[0, 0, 1, desc.id.0, 1, 1, inst as u32, BLOCK, header]);
    add_padded(&mut body, &data);
    body
}
