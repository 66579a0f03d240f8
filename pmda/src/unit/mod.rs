//! Units of metrics (`pmUnits`).

mod extra;
mod parse;

use std::fmt;

use extra::{CURRENT, Extra, POWER, TEMPERATURE, VOLTAGE};

/// The unit of a metric: a power of space, time and count, each with its scale, and perhaps one
/// extra unit: a temperature, voltage, current or power.
///
/// Units are made of constants with [`per`](Unit::per) and [`times`](Unit::times), which are
/// `const`: a constant without a meaning does not compile. A unit that is no constant panics when
/// it is made: that ends the agent's start, and its `--check`, and names the line in the source.
///
/// ```
/// use pmda::{KBYTE, SEC, Unit};
/// const RATE: Unit = KBYTE.per(SEC);
/// ```
///
/// ```compile_fail,E0080
/// use pmda::{BYTE, KBYTE, Unit};
/// const RATIO: Unit = BYTE.per(KBYTE);
/// ```
///
/// Clients show extra units since PCP 7.2. Older ones ignore them: they show `none` for [`CELSIUS`],
/// and the rest of the unit for `WATT.per(COUNT)`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unit {
    /// Power and scale of space, time and count.
    parts: [Part; 3],
    extra: Extra,
}

/// One dimension of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Part {
    power: i8,
    /// `PM_SPACE_*`, `PM_TIME_*`, or the power of ten of a count.
    scale: i8,
}

const SPACE: usize = 0;
const TIME: usize = 1;
const COUNTS: usize = 2;

/// Limits of powers, and of scales of counts: four bits with a sign.
const LEAST: i8 = -8;
const MOST: i8 = 7;

impl Unit {
    /// No unit: a plain number.
    pub const NONE: Unit = Unit {
        parts: [Part { power: 0, scale: 0 }; 3],
        extra: Extra::NONE,
    };

    const fn extra(code: i8, scale: u8) -> Unit {
        let mut unit = Unit::NONE;
        unit.extra = Extra { code, scale };
        unit
    }

    const fn one(dimension: usize, scale: i8) -> Unit {
        let mut unit = Unit::NONE;
        unit.parts[dimension] = Part { power: 1, scale };
        unit
    }

    /// Counts in powers of ten: `Unit::counts(3)` are thousands.
    ///
    /// # Panics
    /// For an exponent outside of -8 to 7.
    #[must_use]
    #[track_caller]
    pub const fn counts(exponent: i8) -> Unit {
        assert!(
            LEAST <= exponent && exponent <= MOST,
            "the exponent of a count is -8 to 7"
        );
        Unit::one(COUNTS, exponent)
    }

    /// This unit divided by another.
    ///
    /// # Panics
    /// As [`Unit::times`].
    #[must_use]
    #[track_caller]
    pub const fn per(self, other: Unit) -> Unit {
        self.combine(other, -1)
    }

    /// This unit multiplied with another.
    ///
    /// # Panics
    /// If both have space, time or count, but in different scales; if a power would be outside of -8
    /// to 7; and if both have an extra unit. In a constant the panic is an error of the compiler.
    #[must_use]
    #[track_caller]
    pub const fn times(self, other: Unit) -> Unit {
        self.combine(other, 1)
    }

    #[track_caller]
    const fn combine(self, other: Unit, sign: i8) -> Unit {
        let mut unit = self;
        if other.extra.code != 0 {
            assert!(self.extra.code == 0, "two extra units in a unit");
            unit.extra = if sign < 0 { other.extra.inverse() } else { other.extra };
        }
        let mut dimension = 0;
        while dimension < unit.parts.len() {
            let (left, right) = (self.parts[dimension], other.parts[dimension]);
            if right.power != 0 {
                assert!(
                    left.power == 0 || left.scale == right.scale,
                    "two scales of one dimension in a unit"
                );
                let power = left.power + sign * right.power;
                assert!(LEAST <= power && power <= MOST, "a power in a unit is -8 to 7");
                let scale = if power == 0 { 0 } else { right.scale };
                unit.parts[dimension] = Part { power, scale };
            }
            dimension += 1;
        }
        unit
    }

    /// The word of the unit in a description (WIRE-42).
    #[must_use]
    pub const fn word(self) -> u32 {
        const fn nibble(value: i8) -> u32 {
            (value as u32) & 0xf
        }
        let [space, time, count] = self.parts;
        nibble(space.power) << 28
            | nibble(time.power) << 24
            | nibble(count.power) << 20
            | nibble(space.scale) << 16
            | nibble(time.scale) << 12
            | nibble(count.scale) << 8
            | self.extra.bits() as u32
    }

    /// The unit of a word in a description.
    #[must_use]
    pub const fn from_word(word: u32) -> Unit {
        const fn signed(word: u32, shift: u32) -> i8 {
            ((word >> shift << 4) as i8) >> 4
        }
        Unit {
            parts: [
                Part {
                    power: signed(word, 28),
                    scale: (word >> 16 & 0xf) as i8,
                },
                Part {
                    power: signed(word, 24),
                    scale: (word >> 12 & 0xf) as i8,
                },
                Part {
                    power: signed(word, 20),
                    scale: signed(word, 8),
                },
            ],
            extra: Extra::of(word as u8),
        }
    }

    /// The number of nanoseconds in this unit, if it is a plain unit of time.
    pub(crate) const fn nanoseconds(self) -> Option<u64> {
        let [space, time, count] = self.parts;
        if time.power != 1 || space.power != 0 || count.power != 0 || self.extra.code != 0 {
            return None;
        }
        Some(match time.scale {
            0 => 1,
            1 => 1_000,
            2 => 1_000_000,
            3 => 1_000_000_000,
            4 => 60_000_000_000,
            _ => 3_600_000_000_000,
        })
    }
}

/// As PCP's tools show units: `Kbyte / sec`, `count x 10^3`, `temperature (C)`, and `none`.
/// [`Unit::parse_scaled`] reads it, but for `none`.
impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.extra.code == 0 && self.parts.iter().all(|part| part.power == 0) {
            return out.write_str("none");
        }
        let mut between = "";
        for sign in [1, -1] {
            let mut start = if sign < 0 { "/ " } else { "" };
            let mut next = |out: &mut fmt::Formatter<'_>| {
                write!(out, "{between}{start}")?;
                (between, start) = (" ", "");
                Ok(())
            };
            if self.extra.code.signum() == sign {
                next(out)?;
                write!(out, "{}", self.extra)?;
            }
            for (dimension, part) in self.parts.iter().enumerate() {
                if part.power.signum() == sign {
                    next(out)?;
                    part.show(dimension, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Part {
    /// Its name, with its power if that is neither 1 nor -1. A scale without a name is shown by its
    /// number.
    fn show(self, dimension: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(&str, &[&str]); 2] = [
            (
                "space",
                &[
                    "byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte",
                ],
            ),
            ("time", &["nanosec", "microsec", "millisec", "sec", "min", "hour"]),
        ];
        match (NAMES.get(dimension), self.scale) {
            (Some((dimension, scales)), scale) => match scales.get(usize::from(scale.unsigned_abs())) {
                Some(name) => out.write_str(name)?,
                None => write!(out, "{dimension}-{scale}")?,
            },
            (None, 0) => out.write_str("count")?,
            (None, 1) => out.write_str("count x 10")?,
            (None, scale) => write!(out, "count x 10^{scale}")?,
        }
        if self.power.abs() != 1 {
            write!(out, "^{}", self.power.abs())?;
        }
        Ok(())
    }
}

macro_rules! units {
    ($make:ident $($(#[$doc:meta])* $name:ident = $dimension:ident $scale:literal;)*) => {
        $($(#[$doc])* pub const $name: Unit = Unit::$make($dimension, $scale);)*
    };
}

units! {
    one
    /// Bytes.
    BYTE = SPACE 0;
    /// Kilobytes of 1024 bytes.
    KBYTE = SPACE 1;
    /// Megabytes of 1024 kilobytes.
    MBYTE = SPACE 2;
    /// Gigabytes of 1024 megabytes.
    GBYTE = SPACE 3;
    /// Terabytes of 1024 gigabytes.
    TBYTE = SPACE 4;
    /// Petabytes of 1024 terabytes.
    PBYTE = SPACE 5;
    /// Exabytes of 1024 petabytes.
    EBYTE = SPACE 6;
    /// Nanoseconds.
    NSEC = TIME 0;
    /// Microseconds.
    USEC = TIME 1;
    /// Milliseconds.
    MSEC = TIME 2;
    /// Seconds.
    SEC = TIME 3;
    /// Minutes.
    MIN = TIME 4;
    /// Hours.
    HOUR = TIME 5;
    /// Counts: things, events, calls.
    COUNT = COUNTS 0;
}

// Extra units. No metric has two of them.
units! {
    extra
    /// Degrees Celsius.
    CELSIUS = TEMPERATURE 1;
    /// Degrees Fahrenheit.
    FAHRENHEIT = TEMPERATURE 2;
    /// Kelvins.
    KELVIN = TEMPERATURE 3;
    /// Volts.
    VOLT = VOLTAGE 1;
    /// Millivolts.
    MILLIVOLT = VOLTAGE 2;
    /// Microvolts.
    MICROVOLT = VOLTAGE 3;
    /// Amperes.
    AMPERE = CURRENT 1;
    /// Milliamperes.
    MILLIAMPERE = CURRENT 2;
    /// Microamperes.
    MICROAMPERE = CURRENT 3;
    /// Kilowatts.
    KILOWATT = POWER 1;
    /// Watts.
    WATT = POWER 2;
    /// Milliwatts.
    MILLIWATT = POWER 3;
    /// Microwatts.
    MICROWATT = POWER 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word of a unit: space 1, time -1, count 2, Kbyte, sec, 10^3 (WIRE-42).
    #[test]
    fn words() {
        let unit = KBYTE.per(SEC).times(Unit::counts(3)).times(Unit::counts(3));
        assert_eq!(unit.word(), 0x1f21_3300);
        assert_eq!(Unit::from_word(0x1f21_3300), unit);
        assert_eq!((Unit::NONE.word(), COUNT.word()), (0, 0x0010_0000));
        assert_eq!(SEC.per(SEC), Unit::NONE);
        assert_eq!(Unit::counts(-1).word(), 0x0010_0f00);
        // PMDA_EXTRAUNITS(0, -1, 0, 0, PM_TIME_SEC, 0, PM_UNIT_POWER, PM_POWER_W), and divided by it.
        assert_eq!(WATT.per(SEC).word(), 0x0f00_3022);
        assert_eq!(SEC.per(WATT).word(), 0x0100_30e2);
        for word in [0x0f00_3022, 0x0100_30e2, 0xff, 0x83, 3] {
            assert_eq!(Unit::from_word(word).word(), word);
        }
    }

    #[test]
    #[should_panic = "two extra units in a unit"]
    fn one_extra_unit() {
        let _ = WATT.per(AMPERE);
    }

    /// A unit that is shown as text can be read again.
    #[test]
    fn texts() {
        let shown = [
            (Unit::NONE, "none"),
            (KBYTE.per(SEC), "Kbyte / sec"),
            (COUNT, "count"),
            (Unit::NONE.per(HOUR), "/ hour"),
            (SEC.times(SEC).per(MBYTE), "sec^2 / Mbyte"),
            (BYTE.times(MSEC).per(COUNT), "byte millisec / count"),
            (Unit::counts(3).per(USEC), "count x 10^3 / microsec"),
            (Unit::counts(-2), "count x 10^-2"),
            (Unit::counts(1), "count x 10"),
            (CELSIUS, "temperature (C)"),
            (MILLIVOLT.times(COUNT), "voltage (mV) count"),
            (Unit::NONE.per(MICROAMPERE), "/ current (uA)"),
            (
                Unit::counts(3).per(KILOWATT.times(SEC)),
                "count x 10^3 / power (kW) sec",
            ),
        ];
        for (unit, text) in shown {
            assert_eq!(unit.to_string(), text);
            // `none` is the word for no unit, and no unit.
            assert_eq!(text.replace("none", "").parse(), Ok(unit), "{text}");
        }
        let unnamed = [
            (0x1007_0000, "Zbyte"),
            (0x1f09_6000, "space-9 / time-6"),
            (0x0c, "temperature (scale-4)"),
            (0x29, "extra-5"),
            (0x80, "/ extra-16"),
            (3, "none"),
        ];
        for (word, text) in unnamed {
            assert_eq!(Unit::from_word(word).to_string(), text);
        }
    }

    #[test]
    fn time() {
        assert_eq!(MSEC.nanoseconds(), Some(1_000_000));
        assert_eq!(COUNT.nanoseconds(), None);
        assert_eq!(SEC.per(COUNT).nanoseconds(), None);
        assert_eq!(SEC.times(WATT).nanoseconds(), None);
    }
}
