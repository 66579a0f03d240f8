//! Numbers, texts and bytes that are constant, or that a client changes.

use pmda::prelude::*;

use crate::{Sample, anybody};

/// The values that clients may change.
pub struct Constants {
    long: i32,
    ulong: u32,
    longlong: i64,
    ulonglong: u64,
    float: f32,
    double: f64,
    rate: i32,
    string: String,
    aggregate: Vec<u8>,
    /// For each metric of `NOTED`, what its label says.
    noted: [bool; NOTED.len()],
}

/// The metrics with a note that tells whether they were changed.
const NOTED: [&str; 7] = [
    "long.write_me",
    "ulong.write_me",
    "longlong.write_me",
    "ulonglong.write_me",
    "float.write_me",
    "double.write_me",
    "write_me",
];

impl Default for Constants {
    fn default() -> Constants {
        Constants {
            long: 13,
            ulong: 13,
            longlong: 13,
            ulonglong: 13,
            float: 13.0,
            double: 13.0,
            rate: 2,
            string: "13".to_owned(),
            aggregate: b"13".to_vec(),
            noted: [false; NOTED.len()],
        }
    }
}

impl Constants {
    /// Brings the notes of the metrics up to date.
    pub fn note_changes(&mut self, m: &mut Metrics<Sample>) {
        let now = [
            self.long != 13,
            self.ulong != 13,
            self.longlong != 13,
            self.ulonglong != 13,
            self.float != 13.0,
            self.double != 13.0,
            self.rate != 2,
        ];
        for ((name, was), is) in NOTED.into_iter().zip(self.noted).zip(now) {
            if let Some(metric) = m.find(name).filter(|_| was != is) {
                m.edit(&metric).labels(Labels::new().optional("changed", is));
            }
        }
        self.noted = now;
    }
}

/// The metrics of one type: four constants, and one that clients change.
macro_rules! numbers {
    ($m:ident, $($name:literal $field:ident: $type:ty, $words:literal, $first:literal, $written:literal;)*) => {$(
        for (index, (name, value)) in [("one", 1), ("ten", 10), ("hundred", 100), ("million", 1_000_000)].into_iter().enumerate() {
            let def = $m
                .value(format!("{}.{name}", $name), move |_| value as $type)
                .item($first + index as u32)
                .help(format!("{value} as {}", $words));
            if matches!(($name, name), ("float" | "double", "ten")) {
                def.alias(format!("dupnames.two.{}.ten", $name));
            }
        }
        $m.value(concat!($name, ".write_me"), |s| s.constants.$field)
            .item($written)
            .help(concat!("A number that clients may change, as ", $words))
            .labels(Labels::new().optional("changed", false))
            .writable_by(anybody)
            .store(|s, value: $type, _| {
                s.constants.$field = value;
                Ok(())
            });
    )*};
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    numbers! { m,
        "long" long: i32, "a signed number of 32 bits", 10, 14;
        "float" float: f32, "a float of 32 bits", 15, 19;
        "longlong" longlong: i64, "a signed number of 64 bits", 20, 24;
        "double" double: f64, "a float of 64 bits", 25, 29;
        "ulong" ulong: u32, "an unsigned number of 32 bits", 93, 97;
        "ulonglong" ulonglong: u64, "an unsigned number of 64 bits", 98, 102;
    }
    for (item, name, exponent, value) in [
        (115, "base", 0, 42_000_000_u32),
        (116, "deca", 1, 4_200_000),
        (117, "hecto", 2, 420_000),
        (118, "kilo", 3, 42_000),
        (119, "mega", 6, 42),
    ] {
        m.value(format!("ulong.count.{name}"), move |_| value)
            .item(item)
            .unit(Unit::counts(exponent).per(MBYTE))
            .help(format!("42,000,000 in powers of ten: 10^{exponent}"));
    }
    m.text("string.null", |_| "").item(30).help("A text without characters");
    m.text("string.hullo", |_| "hullo world!").item(31).help("A text");
    m.text("string.write_me", |s| &s.constants.string)
        .item(32)
        .help("A text that clients may change")
        .writable_by(anybody)
        .store(|s, text: String, _| {
            s.constants.string = text;
            Ok(())
        });
    m.value("aggregate.null", |_| Vec::new()).item(33).help("No bytes");
    m.value("aggregate.hullo", |_| b"hullo world!".to_vec())
        .item(34)
        .help("Bytes");
    m.value("aggregate.write_me", |s| s.constants.aggregate.clone())
        .item(35)
        .help("Bytes that clients may change")
        .writable_by(anybody)
        .store(|s, bytes: Vec<u8>, _| {
            s.constants.aggregate = bytes;
            Ok(())
        });
    m.value("write_me", |s| s.constants.rate)
        .alias("dupnames.two.write_me")
        .alias("dupnames.three.write_me")
        .item(36)
        .unit(COUNT.per(SEC))
        .help("A rate that clients may change")
        .labels(Labels::new().optional("changed", false))
        .writable_by(anybody)
        .store(|s, value: i32, _| {
            s.constants.rate = value;
            Ok(())
        });
    m.value("load", |_| 42).item(4).help("A load that is always 42");
    m.value("bigid", |_| 4_194_303)
        .item(1023)
        .unit(COUNT)
        .help("A metric with the greatest item");
    m.value("noinst", |_| None::<i32>)
        .item(9)
        .help("A metric without a value");
    m.value("bad.novalues", |_| None::<i32>)
        .item(138)
        .help("Another metric without a value");
    m.unsupported("bad.nosupport")
        .item(55)
        .help("A metric that is not supported");
    m.value("bad.fetch.again", |_| Err::<i32, _>(Error::AGAIN))
        .item(154)
        .discrete()
        .help("A metric whose value is never ready");
}
