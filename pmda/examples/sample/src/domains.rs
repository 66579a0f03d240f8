//! Metrics over instance domains that stay, or that a client changes: colours, bins, a family,
//! hordes, many.

use std::cell::Cell;
use std::rc::Rc;

use pmda::prelude::*;

use crate::random::Standard;
use crate::{Sample, Shared, anybody};

/// Serials of the instance domains.
const COLOUR: u32 = 1;
const BIN: u32 = 2;
const FAMILY: u32 = 4;
const HORDES: u32 = 5;
const MANY: u32 = 8;
const SCRAMBLE: u32 = 9;

/// The item of `scramble.bin`.
const SCRAMBLED: u32 = 121;
/// The item of `needprofile`.
const NEEDS_PROFILE: u32 = 49;

/// The instance domains.
pub struct Domains {
    colours: Indom<Colour>,
    bins: Indom<Rc<Bin>>,
    scrambled: Indom<Rc<Bin>>,
    /// The number of times that the bins were scrambled, and that before the present fetch.
    version: u32,
    version_before: u32,
    family: Indom<Relative>,
    /// The client has a profile for the family.
    has_profile: Rc<Cell<bool>>,
    hordes: Indom<i32>,
    many: Indom<i32>,
}

/// A colour: all have one counter, to which each adds a number.
struct Colour {
    base: i32,
    shared: Rc<Shared>,
}

/// A value that several metrics show.
struct Bin {
    inst: i32,
    value: Cell<i32>,
    shared: Rc<Shared>,
}

/// A member of the family.
struct Relative {
    value: f32,
    has_profile: Rc<Cell<bool>>,
}

impl Domains {
    /// The domains at the start of the agent.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn new(shared: &Rc<Shared>) -> Result<Domains> {
        let has_profile = Rc::new(Cell::new(false));
        let colours = [("red", 100), ("green", 200), ("blue", 300)];
        let family = [
            ("colleen", 3.05),
            ("terry", 12.05),
            ("emma", 11.09),
            ("cathy", 11.09),
            ("fat bald bastard", 5.26),
        ];
        let relative = |value| Relative {
            value,
            has_profile: Rc::clone(&has_profile),
        };
        let mut bins = Indom::new();
        for inst in (100..1000).step_by(100) {
            let bin = Bin {
                inst,
                value: Cell::new(inst),
                shared: Rc::clone(shared),
            };
            bins.change().set_at(inst, &format!("bin-{inst}"), Rc::new(bin))?;
        }
        let mut domains = Domains {
            colours: Indom::fixed(colours.map(|(name, base)| {
                (
                    name,
                    Colour {
                        base,
                        shared: Rc::clone(shared),
                    },
                )
            })),
            bins,
            scrambled: Indom::new(),
            version: 0,
            version_before: 0,
            family: Indom::fixed(family.map(|(name, value)| (name, relative(value)))),
            has_profile,
            hordes: Indom::fixed((0..500).map(|inst| (inst.to_string(), inst))),
            many: Indom::new(),
        };
        domains.show_scrambled(|_| true)?;
        domains.set_many(5)?;
        Ok(domains)
    }

    /// Brings the domains up to date for a fetch.
    ///
    /// # Errors
    /// Those of [`Indom`].
    pub fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let is_fetch = request.why() == Why::Fetch;
        let named = request.only_instances(FAMILY);
        self.has_profile
            .set(is_fetch && named.is_some_and(|instances| !instances.is_empty()));
        self.version_before = self.version;
        if request.wants_item(0, SCRAMBLED) {
            let mut random = Standard((self.version << 10) + 13);
            self.version += 1;
            let mut slots = [None; 9];
            for inst in (100..1000).step_by(100) {
                if random.next() % 100 >= 33 {
                    let free = std::iter::repeat_with(|| random.next() as usize % slots.len());
                    if let Some(slot) = free.into_iter().find(|slot| slots[*slot].is_none()) {
                        slots[slot] = Some(inst);
                    }
                }
            }
            self.show_scrambled(|inst| slots.contains(&Some(inst)))?;
        }
        Ok(())
    }

    /// Shows some of the bins as scrambled ones.
    fn show_scrambled(&mut self, is_shown: impl Fn(i32) -> bool) -> Result<()> {
        let mut now = self.scrambled.update();
        for (inst, bin) in self.bins.iter().filter(|(inst, _)| is_shown(*inst)) {
            now.set_at(inst, &format!("bin-{inst}"), Rc::clone(bin))?;
        }
        Ok(())
    }

    fn set_many(&mut self, count: i32) -> Result<()> {
        let mut now = self.many.update();
        for inst in 0..count.clamp(0, 999_999) {
            if now.keep_at(inst).is_none() {
                now.set_at(inst, &format!("i-{inst}"), inst)?;
            }
        }
        Ok(())
    }
}

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    let colours = m.indom(COLOUR, "Colours\nRed, green and blue.", |s| &mut s.domains.colours);
    m.indom_label(colours, "model", "RGB");
    m.each("colour", colours, |colour| colour.shared.next_saw() + colour.base)
        .alias("dupnames.four.colour")
        .item(5)
        .help("A saw-tooth for each colour\nClients may change the counter behind it.")
        .writable_by(anybody)
        .store(|colour, value: i32, _| {
            colour.shared.saw.set(value);
            Ok(())
        });
    m.each("darkness", colours, |_| None::<i32>)
        .item(92)
        .help("No values for any colour");
    declare_bins(m);

    let family = m.indom(FAMILY, "A family\nThese are always there.", |s| &mut s.domains.family);
    m.indom_label(family, "clan", "mcdonell");
    m.each("needprofile", family, |relative| match relative.has_profile.get() {
        true => Ok(relative.value),
        false => Err(Error::PROFILE),
    })
    .item(NEEDS_PROFILE)
    .discrete()
    .help("Values for those who name the instances that they want");

    let hordes = m.indom(HORDES, "Hordes\nFive hundred instances.", |s| &mut s.domains.hordes);
    m.each("hordes.one", hordes, |inst| *inst)
        .item(52)
        .help("The number of each instance");
    m.each("hordes.two", hordes, |inst| 499 - inst)
        .item(53)
        .help("The numbers backwards");

    let many = m.indom(MANY, "Many\nAs many as many.count says.", |s| &mut s.domains.many);
    m.value("many.count", |s| s.domains.many.len() as i32)
        .item(79)
        .unit(COUNT)
        .help("The number of instances of many.int, which clients may change")
        .writable_by(anybody)
        .store(|s, count: i32, _| {
            s.error_code = 0;
            s.domains.set_many(count)
        });
    m.each("many.int", many, |inst| *inst)
        .item(80)
        .unit(COUNT)
        .help("The number of each instance");
}

fn declare_bins(m: &mut Metrics<Sample>) {
    let bins = m.indom(BIN, "Bins\nNine of them, from 100 to 900.", |s| &mut s.domains.bins);
    let scrambled = m.indom(SCRAMBLE, "Scrambled bins\nSome are missing at each fetch.", |s| {
        &mut s.domains.scrambled
    });
    for domain in [bins, scrambled] {
        m.instance_labels(domain, |_, bin| Labels::new().add("bin", bin.inst));
    }
    m.each("bin", bins, |bin| bin.value.get())
        .alias("dupnames.two.bin")
        .alias("dupnames.three.bin")
        .alias("dupnames.four.bin")
        .alias("dupnames.five.bin")
        .item(6)
        .help("The number of each bin, which clients may change")
        .writable_by(anybody)
        .store(|bin, value: i32, _| {
            bin.value.set(value);
            Ok(())
        });
    m.each("bucket", bins, |bin| bin.value.get())
        .alias("dupnames.five.bucket")
        .item(48)
        .help("The same values under another number");
    m.each("part_bin", bins, |bin| (bin.inst % 200 != 0).then(|| bin.value.get()))
        .alias("dupnames.five.part_bin")
        .item(50)
        .help("The same values, every other one missing");
    // An instance that is not in the domain cannot be shown: this metric has the value of `bin-250`
    // for `bin-200`.
    m.each("bogus_bin", bins, |bin| {
        bin.value.get() + if bin.inst % 200 == 0 { 50 } else { 0 }
    })
    .item(51)
    .help("The same values, every other one wrong");
    m.each("scramble.bin", scrambled, |bin| bin.value.get())
        .item(SCRAMBLED)
        .help("The same values, some of them missing");
    m.value("scramble.version", |s| i64::from(s.domains.version_before))
        .item(120)
        .help("How often the bins were scrambled\nA store begins anew.")
        .writable_by(anybody)
        .store(|s, _: i64, _| {
            s.domains.version = 0;
            s.domains.show_scrambled(|_| true)
        });
    m.each("string.bin", bins, |bin| format!("{:3}", bin.value.get()))
        .item(153)
        .help("The values as texts");
    macro_rules! typed {
        ($($name:literal $(and $alias:literal)?: $first:literal, $value:expr;)*) => {$(
            m.each(concat!($name, ".bin"), bins, $value)
                .item($first)
                $(.alias($alias))?
                .help(concat!("The values as type ", $name));
            m.each(concat!($name, ".bin_ctr"), bins, $value)
                .item($first + 1)
                .counter()
                .unit(KBYTE)
                .help(concat!("The values as counters of type ", $name));
        )*};
    }
    typed! {
        "long" and "dupnames.five.long_bin": 103, |bin| bin.value.get();
        "ulong": 105, |bin| bin.value.get() as u32;
        "float": 107, |bin| bin.value.get() as f32;
        "longlong": 109, |bin| i64::from(bin.value.get());
        "ulonglong": 111, |bin| (i64::from(bin.value.get()) + i64::from(bin.shared.seconds())) as u64;
        "double": 113, |bin| f64::from(bin.value.get());
    }
}
