//! A value, of the type of its metric.

use pmda::{Atom, Type};

use crate::exposition::value;

/// The value of an instance.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Value {
    /// The sample's word is no value of the metric's type.
    #[default]
    None,
    /// `PM_TYPE_32`.
    I32(i32),
    /// `PM_TYPE_U32`.
    U32(u32),
    /// `PM_TYPE_64`.
    I64(i64),
    /// `PM_TYPE_U64`.
    U64(u64),
    /// `PM_TYPE_FLOAT`.
    F32(f32),
    /// `PM_TYPE_DOUBLE`.
    F64(f64),
    /// `PM_TYPE_STRING`.
    Text(Box<str>),
}

impl Value {
    /// The value that a sample's word is (OM-40 to OM-42).
    #[must_use]
    pub fn read(kind: Type, word: &str) -> Value {
        let value = match kind {
            Type::I32 => value::signed_32(word).map(Value::I32),
            Type::U32 => value::unsigned_32(word).map(Value::U32),
            Type::I64 => value::signed_64(word).map(Value::I64),
            Type::U64 => value::unsigned_64(word).map(Value::U64),
            // Beyond its range infinity (OM-41).
            Type::F32 => value::float(word).map(|value| Value::F32(value as f32)),
            Type::String => Some(Value::Text(word.into())),
            Type::F64 => value::float(word).map(Value::F64),
            _ => None,
        };
        value.unwrap_or_default()
    }

    /// The value for a reply.
    #[must_use]
    pub fn atom(&self) -> Atom<'_> {
        match self {
            Value::None => Atom::None,
            Value::I32(value) => (*value).into(),
            Value::U32(value) => (*value).into(),
            Value::I64(value) => (*value).into(),
            Value::U64(value) => (*value).into(),
            Value::F32(value) => (*value).into(),
            Value::F64(value) => (*value).into(),
            Value::Text(text) => (&**text).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word becomes a value of its metric's type, or none if the type cannot have it (OM-40 to
    /// OM-42).
    #[test]
    fn words_of_all_types() {
        for (kind, word, expected) in [
            (Type::I32, "-2147483648", Value::I32(i32::MIN)),
            (Type::I32, "2147483648", Value::None),
            (Type::U32, "4294967297", Value::U32(1)),
            (Type::I64, "-1", Value::I64(-1)),
            (Type::U64, "-1", Value::U64(u64::MAX)),
            (Type::F32, "1e39", Value::F32(f32::INFINITY)),
            (Type::F32, "0.5", Value::F32(0.5)),
            (Type::F64, "1e39", Value::F64(1e39)),
            (Type::F64, "what", Value::None),
            (Type::String, "what", Value::Text("what".into())),
            (Type::Aggregate, "1", Value::None),
        ] {
            assert_eq!(Value::read(kind, word), expected, "{kind:?} {word}");
        }
    }
}
