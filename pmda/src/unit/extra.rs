//! The extra unit of a metric: a temperature, voltage, current or power, as PCP 7.2 knows them.

use std::fmt;

/// The extra unit in its eight bits, the lowest of a unit's word (WIRE-42): a code, below 0 for a
/// divisor, and a scale. It has no power beside that of its sign.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Extra {
    /// `PM_UNIT_*`; 0 without an extra unit.
    pub(super) code: i8,
    /// `PM_TEMPERATURE_*`, `PM_VOLTAGE_*`, `PM_CURRENT_*`, `PM_POWER_*`, which begin with 1.
    pub(super) scale: u8,
}

/// The codes `PM_UNIT_*`.
pub(super) const TEMPERATURE: i8 = 1;
pub(super) const VOLTAGE: i8 = 2;
pub(super) const CURRENT: i8 = 3;
pub(super) const POWER: i8 = 4;

/// The names of the codes from 1, each with those of its scales from 1.
const NAMES: [(&str, &[&str]); 4] = [
    ("temperature", &["C", "F", "K"]),
    ("voltage", &["V", "mV", "uV"]),
    ("current", &["A", "mA", "uA"]),
    ("power", &["kW", "W", "mW", "uW"]),
];

impl Extra {
    /// No extra unit.
    pub(super) const NONE: Extra = Extra { code: 0, scale: 0 };

    /// The same unit as a divisor, or back.
    pub(super) const fn inverse(self) -> Extra {
        Extra {
            code: -self.code,
            scale: self.scale,
        }
    }

    /// The eight bits: five for the code, three for the scale.
    pub(super) const fn bits(self) -> u8 {
        (self.code as u8) << 3 | self.scale & 7
    }

    /// The extra unit of eight bits.
    pub(super) const fn of(bits: u8) -> Extra {
        Extra {
            code: bits as i8 >> 3,
            scale: bits & 7,
        }
    }

    /// The extra unit that a text begins with, as [`Extra`] is shown, in any case, and the rest.
    pub(super) fn parse(text: &str) -> Option<(Extra, &str)> {
        for (code, (name, scales)) in (1..).zip(NAMES) {
            for (scale, letters) in (1..).zip(scales) {
                let shown = format!("{name} ({letters})");
                match text.split_at_checked(shown.len()) {
                    Some((start, rest)) if start.eq_ignore_ascii_case(&shown) => {
                        return Some((Extra { code, scale }, rest));
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// `temperature (C)`, whether it is a divisor or not. A scale without a name is shown by its number,
/// and so is a code.
impl fmt::Display for Extra {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.unsigned_abs();
        let Some((name, scales)) = NAMES.get(usize::from(code).wrapping_sub(1)) else {
            return write!(out, "extra-{code}");
        };
        match scales.get(usize::from(self.scale).wrapping_sub(1)) {
            Some(scale) => write!(out, "{name} ({scale})"),
            None => write!(out, "{name} (scale-{})", self.scale),
        }
    }
}
