//! The requests that a harness makes.

use pmda_core::wire::encode::ResultBuilder;

use super::Desc;
use crate::client::ClientId;
use crate::error::{Error, Result};
use crate::value::Type;

/// A value that is to be stored. It is sent in the metric's type if that holds it, else in a type that
/// does, which agents refuse.
#[non_exhaustive]
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

/// A RESULT that stores one value.
///
/// # Errors
/// `PM_ERR_TOOBIG`; `-ENOMEM`.
pub(super) fn store(client: ClientId, desc: &Desc, inst: i32, value: &StoreValue) -> Result<Vec<u8>> {
    let mut store = ResultBuilder::new();
    store.begin_store(client.0, 1)?;
    store.open(desc.id, 1)?;
    let mut block = |kind: Type, data: &[u8]| {
        let header = kind.header(data.len())?;
        Ok::<(), Error>(store.block(inst, header, data)?)
    };
    match (desc.kind, value) {
        (Some(Type::F32), StoreValue::Integer(value)) => block(Type::F32, &(*value as f32).to_be_bytes())?,
        (Some(Type::F32), StoreValue::Float(value)) => block(Type::F32, &(*value as f32).to_be_bytes())?,
        (Some(Type::F64), StoreValue::Integer(value)) => block(Type::F64, &(*value as f64).to_be_bytes())?,
        (kind, StoreValue::Integer(value)) => {
            let holds = match kind {
                Some(Type::I32) => i32::try_from(*value).is_ok(),
                Some(Type::U32) => u32::try_from(*value).is_ok(),
                Some(Type::U64) => u64::try_from(*value).is_ok(),
                _ => false,
            };
            match (kind, i64::try_from(*value)) {
                (Some(Type::I32 | Type::U32), _) if holds => store.word(inst, *value as u32)?,
                (Some(Type::U64), _) if holds => block(Type::U64, &(*value as u64).to_be_bytes())?,
                (_, Ok(long)) => block(Type::I64, &long.to_be_bytes())?,
                (_, Err(_)) => block(Type::F64, &(*value as f64).to_be_bytes())?,
            }
        }
        (_, StoreValue::Float(value)) => block(Type::F64, &value.to_be_bytes())?,
        (_, StoreValue::String(text)) => block(Type::String, &[text.as_bytes(), b"\0"].concat())?,
        (_, StoreValue::Aggregate(bytes)) => block(Type::Aggregate, bytes)?,
    }
    store.close(1);
    store.finish()?;
    Ok(store.reply().bytes().to_vec())
}
