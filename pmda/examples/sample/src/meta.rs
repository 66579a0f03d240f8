//! A metric whose description is what clients have stored.

use pmda::prelude::*;

use crate::{Sample, anybody};

/// The name of the metric.
const NAME: &str = "dynamic.meta.metric";

/// `PM_INDOM_NULL`: no instance domain.
const NO_INDOM: u32 = u32::MAX;

/// The description.
pub struct Meta {
    kind: Type,
    semantics: Semantics,
    unit: Unit,
    is_declared: bool,
}

impl Default for Meta {
    fn default() -> Meta {
        Meta {
            kind: Type::I32,
            semantics: Semantics::Discrete,
            unit: BYTE.per(SEC),
            is_declared: true,
        }
    }
}

impl Meta {
    /// Declares the metric anew, if its description has changed.
    pub fn declare_again(&mut self, m: &mut Metrics<Sample>) {
        if !std::mem::replace(&mut self.is_declared, true) {
            m.remove(NAME);
            self.declare(m);
        }
    }

    fn declare(&self, m: &mut Metrics<Sample>) {
        m.value_as(NAME, self.kind, |s, _| Ok(s.meta.value()))
            .item(86)
            .semantics(self.semantics)
            .unit(self.unit)
            .help("A metric whose description clients may change: see dynamic.meta.pmdesc");
    }

    /// 42 of the type; nothing for bytes.
    fn value(&self) -> Atom<'static> {
        match self.kind {
            Type::I32 => 42_i32.into(),
            Type::U32 => 42_u32.into(),
            Type::I64 => 42_i64.into(),
            Type::U64 => 42_u64.into(),
            Type::F32 => 42_f32.into(),
            Type::F64 => 42_f64.into(),
            Type::String => "42".into(),
            _ => Atom::None,
        }
    }

    /// The unit as the bits of a description, in the order that the machine has.
    fn unit_bits(&self) -> u32 {
        self.unit.word()
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    Meta::default().declare(m);
    m.value("dynamic.meta.pmdesc.type", |s| s.meta.kind as u32)
        .item(87)
        .discrete()
        .unit(COUNT)
        .help("The type of dynamic.meta.metric, which clients may change")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            let kind = Type::from_number(value).filter(|kind| !matches!(kind, Type::Event | Type::HighresEvent));
            s.meta.kind = kind.ok_or(Error::BADSTORE)?;
            s.meta.is_declared = false;
            Ok(())
        });
    m.value("dynamic.meta.pmdesc.indom", |_| NO_INDOM)
        .item(88)
        .discrete()
        .unit(COUNT)
        .help("The instance domain of dynamic.meta.metric, which has none")
        .writable_by(anybody)
        .store(|_, value: u32, _| {
            if value == NO_INDOM {
                Ok(())
            } else {
                Err(Error::BADSTORE)
            }
        });
    m.value("dynamic.meta.pmdesc.sem", |s| s.meta.semantics as u32)
        .item(89)
        .discrete()
        .unit(COUNT)
        .help("The semantics of dynamic.meta.metric, which clients may change")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.meta.semantics = Semantics::from_number(value).ok_or(Error::BADSTORE)?;
            s.meta.is_declared = false;
            Ok(())
        });
    m.value("dynamic.meta.pmdesc.units", |s| s.meta.unit_bits())
        .item(90)
        .discrete()
        .unit(COUNT)
        .help("The unit of dynamic.meta.metric, which clients may change")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.meta.unit = Unit::from_word(value);
            s.meta.is_declared = false;
            Ok(())
        });
}
