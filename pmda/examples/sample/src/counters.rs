//! Numbers that change with each fetch, or with the time.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use pmda::prelude::*;

use crate::random::Random;
use crate::{Sample, anybody};

/// The numbers.
pub struct Counters {
    drift: Cell<i32>,
    drift_sign: Cell<i32>,
    step: i32,
    wraps: Wraps,
    slow_wraps: Wraps,
    rapid: Cell<u32>,
    scales: [Scale; 7],
    rate: ConstantRate,
    bytes: Cell<i32>,
    light: Cell<i32>,
    light_left: Cell<i32>,
    magnitude: Cell<i32>,
    magnitude_left: Cell<i32>,
    negative: Negative,
    updown: UpDown,
}

/// Counters that wrap.
#[derive(Default)]
struct Wraps {
    long: Cell<i32>,
    ulong: Cell<u32>,
    longlong: Cell<i64>,
    ulonglong: Cell<u64>,
}

/// A number from 1 to a far end, which is multiplied at each fifth fetch, or divided.
struct Scale {
    value: Cell<f64>,
    fetches: Cell<u32>,
    is_up: bool,
    factor: f64,
    far: f64,
}

/// A counter that grows by so many a second.
struct ConstantRate {
    gradient: u32,
    value: Cell<u32>,
    /// The time of the last fetch, in seconds.
    time: Cell<f64>,
}

/// Numbers that grow from below zero.
struct Negative {
    m_32: Cell<i32>,
    m_64: Cell<i64>,
    m_float: Cell<f32>,
    m_double: Cell<f64>,
}

/// A number that goes up and down in steps.
struct UpDown {
    value: Cell<i32>,
    sign: Cell<i32>,
    left: Cell<u32>,
    repeat: u32,
    min: i32,
    max: i32,
    step: u32,
}

/// Changes a number, and returns it.
fn change<N: Copy>(cell: &Cell<N>, change: impl FnOnce(N) -> N) -> N {
    cell.set(change(cell.get()));
    cell.get()
}

impl Scale {
    fn new(is_up: bool, factor: f64, far: f64) -> Scale {
        Scale {
            value: Cell::new(1.0),
            fetches: Cell::new(0),
            is_up,
            factor,
            far,
        }
    }

    fn next(&self) -> f64 {
        let value = self.value.get();
        if change(&self.fetches, |fetches| fetches + 1) % 5 == 0 {
            self.value.set(match self.is_up {
                true if value < self.far => value * self.factor,
                true => 1.0,
                false if value > 1.0 => value / self.factor,
                false => self.far,
            });
        }
        value
    }
}

impl ConstantRate {
    fn next(&self) -> u32 {
        let now = since_epoch(SystemTime::now());
        let grown = f64::from(self.gradient) * (now - self.time.replace(now));
        change(&self.value, |value| (f64::from(value) + grown) as u32)
    }
}

impl UpDown {
    fn next(&self) -> i32 {
        if change(&self.left, |left| left.saturating_sub(1)) == 0 {
            self.left.set(self.repeat);
            let (step, sign) = (self.step as i32, self.sign.get());
            let value = self.value.get().wrapping_add(sign.wrapping_mul(step));
            self.value.set(value);
            if value < self.min {
                self.value.set(self.min.wrapping_add(step));
                self.sign.set(-sign);
            }
            if self.value.get() > self.max {
                self.value.set(self.max.wrapping_sub(step));
                self.sign.set(-self.sign.get());
            }
        }
        self.value.get()
    }
}

fn since_epoch(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Counters {
    /// The numbers at the start of the agent.
    pub fn new() -> Counters {
        const TERA: f64 = (1_u64 << 40) as f64;
        const DAY: f64 = 86_400.0;
        Counters {
            drift: Cell::new(200),
            drift_sign: Cell::new(-1),
            step: 20,
            wraps: Wraps::default(),
            slow_wraps: Wraps::default(),
            rapid: Cell::new(0),
            scales: [
                Scale::new(true, 2.0, TERA),
                Scale::new(false, 2.0, TERA),
                Scale::new(true, 10.0, 1e12),
                Scale::new(false, 10.0, 1e12),
                Scale::new(true, 10.0, DAY),
                Scale::new(true, 10.0, 1e9 * DAY),
                Scale::new(true, 10.0, 1e7),
            ],
            rate: ConstantRate {
                gradient: 0,
                value: Cell::new(10_485_760),
                time: Cell::new(0.0),
            },
            bytes: Cell::new(0),
            light: Cell::new(0),
            light_left: Cell::new(0),
            magnitude: Cell::new(0),
            magnitude_left: Cell::new(0),
            negative: Negative {
                m_32: Cell::new(-10_000),
                m_64: Cell::new(-10_000),
                m_float: Cell::new(-10_000.0),
                m_double: Cell::new(-10_000.0),
            },
            updown: UpDown {
                value: Cell::new(0),
                sign: Cell::new(1),
                left: Cell::new(5),
                repeat: 5,
                min: 0,
                max: 200,
                step: 10,
            },
        }
    }

    /// A value that changes every 30 seconds.
    fn step(&self, seconds: u32) -> i32 {
        (1 + seconds as i32 / 30).wrapping_mul(self.step)
    }

    fn drift(&self, random: &Random) -> i32 {
        let step = self.drift_sign.get() * random.below(50);
        let drift = change(&self.drift, |drift| drift.wrapping_add(step).max(0));
        if random.below(100) < 20 {
            self.drift_sign.set(-self.drift_sign.get());
        }
        drift
    }

    fn light(&self, random: &Random) -> &'static str {
        if self.light_left.get() == 0 {
            self.light.set(random.below(3));
            self.light_left.set(1 + random.below(10));
        }
        change(&self.light_left, |left| left - 1);
        ["red", "yellow", "green"][self.light.get() as usize]
    }

    fn magnitude(&self, random: &Random) -> i32 {
        if self.magnitude_left.get() == 0 {
            self.magnitude.set(1 << (1 + random.below(6)));
            self.magnitude_left.set(1 + random.below(5));
        }
        change(&self.magnitude_left, |left| left - 1);
        self.magnitude.get()
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    m.value("seconds", |s| s.shared.seconds())
        .alias("dupnames.two.seconds")
        .item(2)
        .counter()
        .unit(SEC)
        .help("Seconds since the start");
    m.value("milliseconds", |s| {
        s.shared.start.elapsed().unwrap_or_default().as_secs_f64() * 1e3
    })
    .item(3)
    .counter()
    .unit(MSEC)
    .help("Milliseconds since the start");
    m.value("drift", |s| s.counters.drift(&s.shared.random))
        .item(7)
        .help("A random number with a trend\nClients may change the number from which it goes on.")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.counters.drift.set(value);
            Ok(())
        });
    m.value("step", |s| s.counters.step(s.shared.seconds()))
        .item(8)
        .unit(COUNT)
        .help("A number that grows every 30 seconds\nClients may change by how much.")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.counters.step = value;
            Ok(())
        });
    m.value("step_counter", |s| s.counters.step(s.shared.seconds()))
        .item(63)
        .counter()
        .unit(COUNT)
        .help("The same number as a counter");
    m.text("lights", |s| s.counters.light(&s.shared.random))
        .alias("dupnames.two.lights")
        .item(46)
        .discrete()
        .help("A traffic light");
    m.value("magnitude", |s| s.counters.magnitude(&s.shared.random))
        .item(47)
        .discrete()
        .help("A power of two");
    declare_wraps(m);
    declare_scales(m);
    declare_rates(m);
    declare_negative(m);
    declare_updown(m);
}

fn declare_wraps(m: &mut Metrics<Sample>) {
    macro_rules! wraps {
        ($($item:literal $name:literal $of:ident.$field:ident by $step:expr;)*) => {$(
            m.value($name, |s| change(&s.counters.$of.$field, |value| value.wrapping_add($step)))
                .item($item)
                .counter()
                .help("A counter that wraps");
        )*};
    }
    wraps! {
        57 "wrap.long" wraps.long by i32::MAX / 2 - 1;
        58 "wrap.ulong" wraps.ulong by u32::MAX / 2 - 1;
        59 "wrap.longlong" wraps.longlong by i64::MAX / 2 - 1;
        60 "wrap.ulonglong" wraps.ulonglong by u64::MAX / 2 - 1;
        160 "slow_wrap.long" slow_wraps.long by i32::MAX / 10 - 1;
        161 "slow_wrap.ulong" slow_wraps.ulong by i32::MAX as u32 / 10 - 1;
        162 "slow_wrap.longlong" slow_wraps.longlong by i64::MAX / 10 - 1;
        163 "slow_wrap.ulonglong" slow_wraps.ulonglong by i64::MAX as u64 / 10 - 1;
    }
    m.value("rapid", |s| {
        change(&s.counters.rapid, |rapid| rapid.wrapping_add(80_000_000)).wrapping_mul(10)
    })
    .item(64)
    .counter()
    .unit(COUNT)
    .help("A counter that grows by 800,000,000 a fetch")
    .labels(
        Labels::new()
            .add("measure", "speed")
            .add("units", "metres per second")
            .add("unitsystem", "SI"),
    );
}

fn declare_scales(m: &mut Metrics<Sample>) {
    let scales = [
        ("bytes_up", BYTE.per(SEC)),
        ("bytes_down", BYTE),
        ("count_up", COUNT.per(SEC)),
        ("count_down", COUNT),
        ("time_up_secs", SEC),
        ("time_up_nanosecs", NSEC),
        ("none_up", Unit::NONE),
    ];
    for (index, (name, unit)) in scales.into_iter().enumerate() {
        m.value(format!("scale_step.{name}"), move |s| s.counters.scales[index].next())
            .item(65 + index as u32)
            .unit(unit)
            .help("A number that is multiplied or divided at each fifth fetch");
    }
}

fn declare_rates(m: &mut Metrics<Sample>) {
    m.value("const_rate.value", |s| s.counters.rate.next())
        .item(72)
        .counter()
        .unit(COUNT)
        .help("A counter that grows at a constant rate")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.counters.rate.value.set(value);
            Ok(())
        });
    m.value("const_rate.gradient", |s| s.counters.rate.gradient)
        .item(73)
        .help("The rate of const_rate.value, a second")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.counters.rate.gradient = value;
            Ok(())
        });
    for (item, name, unit) in [(81, "byte_ctr", BYTE), (83, "kbyte_ctr", KBYTE)] {
        let next = |s: &Sample| {
            change(&s.counters.bytes, |bytes| {
                bytes.wrapping_add(s.shared.random.below(1024))
            })
        };
        m.value(name, next)
            .item(item)
            .counter()
            .unit(unit)
            .help("A counter that grows by less than 1024 a fetch");
    }
    for (item, name, unit) in [
        (82, "byte_rate", BYTE.per(SEC)),
        (84, "kbyte_rate", KBYTE.per(SEC)),
        (85, "byte_rate_perhour", BYTE.per(HOUR)),
    ] {
        m.value(name, |s| s.shared.random.below(1024))
            .item(item)
            .unit(unit)
            .help("A random number below 1024");
    }
}

fn declare_negative(m: &mut Metrics<Sample>) {
    for (index, name) in ["ctr", "instant", "discrete"].into_iter().enumerate() {
        macro_rules! negative {
            ($($field:ident: $type:ty, $first:literal, $one:literal;)*) => {$(
                let full = format!("negative.{name}.{}", stringify!($field));
                let def = m
                    .value(full, |s| change(&s.counters.negative.$field, |value| value + $one))
                    .item($first + 4 * index as u32)
                    .help("A number below zero that grows by one a fetch")
                    .writable_by(anybody)
                    .store(|s, value: $type, _| {
                        s.counters.negative.$field.set(value);
                        Ok(())
                    });
                match index {
                    0 => def.counter(),
                    1 => def.instant(),
                    _ => def.discrete(),
                };
            )*};
        }
        negative! {
            m_32: i32, 141, 1;
            m_64: i64, 142, 1;
            m_float: f32, 143, 1.0;
            m_double: f64, 144, 1.0;
        }
    }
}

fn declare_updown(m: &mut Metrics<Sample>) {
    m.value("updown.obs", |s| s.counters.updown.next())
        .item(164)
        .help("A number that goes up and down in steps");
    m.value("updown.control.repeat", |s| s.counters.updown.repeat)
        .item(165)
        .help("How often updown.obs stays the same")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.counters.updown.repeat = positive(value)?;
            Ok(())
        });
    m.value("updown.control.min", |s| s.counters.updown.min)
        .item(166)
        .help("The least value of updown.obs")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.counters.updown.min = value;
            Ok(())
        });
    m.value("updown.control.max", |s| s.counters.updown.max)
        .item(167)
        .help("The greatest value of updown.obs")
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.counters.updown.max = value;
            Ok(())
        });
    m.value("updown.control.step", |s| s.counters.updown.step)
        .item(168)
        .help("The step of updown.obs")
        .writable_by(anybody)
        .store(|s, value: u32, _| {
            s.counters.updown.step = positive(value)?;
            Ok(())
        });
}

/// A number that fits into a signed one.
fn positive(value: u32) -> Result<u32> {
    i32::try_from(value).map(|_| value).map_err(|_| Error::SIGN)
}
