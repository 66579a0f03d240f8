//! Values that programs keep in files of the format MMV (mmv(5)): names, types, instances, help
//! texts and labels come up with each file, and go with it.
//!
//! A program maps its file and changes values there at any time. This agent maps nothing: a slice of
//! memory that another process changes breaks the rules of Rust, and where that process makes the
//! file shorter, the next look at the map ends the agent (SIGBUS). It reads at each fetch the range of
//! the file in which the values of a metric are (`FileExt::read_exact_at`), with one system call, and
//! never the whole. A file that is shorter then is an error of that metric.
//!
//! It lists the folder when the folder's modification time says that a file has come or gone, and
//! reads a file anew when its generation says that a program has written it anew.

#![forbid(unsafe_code)]
use pmda::fs;
use pmda::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum size of a file in bytes.
const LARGEST: u64 = 64 << 20;

/// Flags of a file: names have no prefix; the values count while a process runs.
const NO_PREFIX: i32 = 1;
const OF_PROCESS: i32 = 2;

/// Sections of a file.
const INDOMS: i32 = 1;
const INSTANCES: i32 = 2;
const METRICS: i32 = 3;
const VALUES: i32 = 4;
const LABELS: i32 = 6;

/// What a label may be for, as in `pmapi.h`.
const PM_LABEL_INDOM: u32 = 4;
const PM_LABEL_CLUSTER: u32 = 8;
const PM_LABEL_ITEM: u32 = 16;
const PM_LABEL_INSTANCES: u32 = 32;

/// The type of a time in microseconds that goes on while it is negative in `extra`.
const ELAPSED: i32 = 9;

/// The clock of a file system may stand still as long: a folder may change again within the same time.
const TICK: Duration = Duration::from_secs(1);

struct Mmv {
    folder: PathBuf,
    /// Modification time of the folder when all of it was read. `None` before, and while a file has
    /// no meaning: that file may get one, since a program is still writing it.
    listed: Option<SystemTime>,
    files: BTreeMap<String, Loaded>,
    declared: Vec<u32>,
    is_declared: bool,
}

/// A file of which everything but the values is known.
struct Loaded {
    file: File,
    identity: (u64, u64),
    /// Changes when a program writes the file anew.
    generation: [u8; 16],
    cluster: u32,
    process: Option<i32>,
    /// Whether the process of its values runs, if they count only then.
    is_alive: bool,
    prefix: String,
    metrics: Vec<Described>,
    indoms: BTreeMap<u32, (String, Indom<i32>)>,
    /// For what each label is, and its text: a member of a JSON object.
    labels: Vec<(Labelled, String)>,
    values: Rc<Values>,
}

/// A metric of a file.
struct Described {
    name: String,
    item: u32,
    kind: i32,
    semantics: Semantics,
    unit: Unit,
    indom: Option<u32>,
    help: String,
    /// The place of each value in the file, by instance; -1 without instances.
    places: Rc<BTreeMap<i32, u64>>,
}

/// What has a label: the kind (`PM_LABEL_*`), its number, and an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Labelled(u32, u32, i32);

/// The values that were read last, by their place.
#[derive(Default)]
struct Values(RefCell<BTreeMap<u64, FileValue>>);

/// A value as it is in the file, and its text if it has one.
struct FileValue {
    bytes: [u8; 8],
    extra: i64,
    text: String,
}

/// The bytes of a file; what is not there is `None`.
#[derive(Clone, Copy)]
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(self, place: u64) -> Option<[u8; N]> {
        let place = usize::try_from(place).ok()?;
        self.0.get(place..place.checked_add(N)?)?.try_into().ok()
    }
    fn number(self, place: u64) -> Option<i32> {
        self.at(place).map(i32::from_ne_bytes)
    }
    fn long(self, place: u64) -> Option<u64> {
        self.at(place).map(u64::from_ne_bytes)
    }
    /// The text of a field of this size.
    fn text<const N: usize>(self, place: u64) -> Option<String> {
        let field: [u8; N] = self.at(place)?;
        let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
    /// The text whose place is at a place; none if that is 0.
    fn linked(self, place: u64) -> Option<String> {
        match self.long(place)? {
            0 => Some(String::new()),
            text => self.text::<256>(text),
        }
    }
    fn help(self, place: u64) -> Option<String> {
        let (line, text) = (self.linked(place)?, self.linked(place + 8)?);
        Some(format!("{line}\n{text}").trim_end().to_owned())
    }
}

/// The places of the entries of a section.
type Section = (i32, Vec<u64>);

impl Loaded {
    /// Reads all but the values of a file. `None` if it is not whole, or has no meaning.
    fn read(file: File, name: &str) -> Result<Option<Loaded>> {
        let about = file.metadata()?;
        let size = usize::try_from(about.len().min(LARGEST))?;
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, 0)?;
        let identity = (about.dev(), about.ino());
        Ok(Loaded::parse(Bytes(&bytes), file, identity, name))
    }

    fn parse(bytes: Bytes<'_>, file: File, identity: (u64, u64), name: &str) -> Option<Loaded> {
        let version = bytes.number(4).filter(|version| (1..4).contains(version))?;
        let (first, second) = (bytes.long(8)?, bytes.long(16)?);
        if bytes.at(0)? != *b"MMV\0" || first != second || first == 0 {
            return None;
        }
        let is_short = version > 1;
        let size = |kind| match (kind, is_short) {
            (INDOMS | VALUES, _) => 32,
            (INSTANCES, false) => 80,
            (INSTANCES, true) => 24,
            (METRICS, false) => 104,
            (METRICS, true) => 48,
            _ => 256,
        };
        let sections = (0..u64::try_from(bytes.number(24)?).ok()?.min(16)).map(|section| {
            let (kind, count) = (bytes.number(40 + 16 * section)?, bytes.number(44 + 16 * section)?);
            let start = bytes.long(48 + 16 * section)?;
            let count = u64::try_from(count).ok().filter(|count| *count <= LARGEST)?;
            let end = start.checked_add(count * size(kind))?;
            let is_there = end <= bytes.0.len() as u64;
            is_there.then(|| (kind, (start..end).step_by(size(kind) as usize).collect::<Vec<u64>>()))
        });
        let sections: Vec<Section> = sections.collect::<Option<_>>()?;
        let entries = |wanted| {
            sections
                .iter()
                .filter(move |(kind, _)| *kind == wanted)
                .flat_map(|(_, places)| places)
        };

        let cluster = bytes.number(36)? as u32 & 0xfff;
        let mut indoms = BTreeMap::new();
        for place in entries(INDOMS) {
            let serial = bytes.number(*place)? as u32;
            indoms.insert(serial, (bytes.help(place + 16)?, Indom::new().whole_names()));
        }
        for place in entries(INSTANCES) {
            let serial = bytes.number(bytes.long(*place)?)? as u32;
            let inst = bytes.number(place + 12)?;
            let text = if is_short {
                bytes.linked(place + 16)?
            } else {
                bytes.text::<64>(place + 16)?
            };
            // An instance that is there twice counts once.
            let _ = indoms.get_mut(&serial)?.1.change().set_at(inst, &text, inst);
        }
        let mut places: BTreeMap<u64, BTreeMap<i32, u64>> = BTreeMap::new();
        for place in entries(VALUES) {
            let inst = match bytes.long(place + 24)? {
                0 => -1,
                instance => bytes.number(instance.checked_add(12)?)?,
            };
            places.entry(bytes.long(place + 16)?).or_default().insert(inst, *place);
        }
        let metrics = entries(METRICS).map(|place| {
            let name = if is_short {
                bytes.linked(*place)?
            } else {
                bytes.text::<64>(*place)?
            };
            let fields = place + if is_short { 8 } else { 64 };
            let indom = bytes.number(fields + 16)?;
            Some(Described {
                name,
                item: bytes.number(fields)? as u32,
                kind: bytes.number(fields + 4)?,
                semantics: Semantics::from_number(bytes.number(fields + 8)? as u32).unwrap_or(Semantics::Instant),
                unit: Unit::from_word(bytes.number(fields + 12)? as u32),
                indom: (indom != -1 && indom != 0).then_some(indom as u32),
                help: bytes.help(fields + 24)?,
                places: Rc::new(places.remove(place).unwrap_or_default()),
            })
        });
        let metrics = metrics.collect::<Option<Vec<Described>>>()?;
        let labels = entries(LABELS).map(|place| {
            let kind = bytes.number(*place)? as u32 & 0x3f;
            let of = Labelled(kind, bytes.number(place + 4)? as u32, bytes.number(place + 8)?);
            let text = bytes.text::<244>(place + 12)?;
            Some((of, text.trim().trim_start_matches('{').trim_end_matches('}').to_owned()))
        });
        let flags = bytes.number(28)?;
        Some(Loaded {
            file,
            identity,
            generation: bytes.at(8)?,
            cluster,
            process: (flags & OF_PROCESS != 0).then_some(bytes.number(32)?),
            is_alive: true,
            prefix: if flags & NO_PREFIX == 0 {
                format!("{name}.")
            } else {
                String::new()
            },
            metrics,
            indoms,
            labels: labels.collect::<Option<_>>()?,
            values: Rc::default(),
        })
    }

    /// Returns whether no program has written it anew since it was read.
    fn is_current(&self) -> bool {
        let mut generation = [0; 16];
        self.file.read_exact_at(&mut generation, 8).is_ok() && generation == self.generation
    }

    /// Looks for the process of the values. Returns whether it has come or gone.
    fn look_for_process(&mut self) -> bool {
        let is_alive = self
            .process
            .is_none_or(|process| Path::new(&format!("/proc/{process}")).exists());
        std::mem::replace(&mut self.is_alive, is_alive) != is_alive
    }

    /// Reads the values that a request needs: one range of the file for each metric.
    fn read_values(&self, request: &Request<'_>) -> Result<()> {
        let mut values = self.values.0.borrow_mut();
        values.clear();
        for metric in self
            .metrics
            .iter()
            .filter(|metric| request.wants_item(self.cluster, metric.item))
        {
            let places = || metric.places.values().copied();
            let (Some(first), Some(last)) = (places().min(), places().max()) else {
                continue;
            };
            let range: Range<u64> = first..last + 32;
            let mut bytes = vec![0; (range.end - range.start) as usize];
            self.file.read_exact_at(&mut bytes, range.start)?;
            let read = Bytes(&bytes);
            for place in places() {
                let value = read.at(place - first).zip(read.long(place - first + 8));
                let (bytes, extra) = value.ok_or(Error::CONV)?;
                let mut text = [0; 256];
                if metric.kind == Type::String as i32 {
                    self.file.read_exact_at(&mut text, extra)?;
                }
                let text = Bytes(&text).text::<256>(0).unwrap_or_default();
                let extra = extra as i64;
                values.insert(place, FileValue { bytes, extra, text });
            }
        }
        Ok(())
    }
}

impl Values {
    /// The value at a place.
    fn atom(&self, kind: i32, place: Option<&u64>) -> Atom<'static> {
        let values = self.0.borrow();
        let Some(FileValue { bytes, extra, text }) = place.and_then(|place| values.get(place)) else {
            return Atom::None;
        };
        let word: [u8; 4] = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match kind {
            0 => i32::from_ne_bytes(word).into(),
            1 => u32::from_ne_bytes(word).into(),
            2 => i64::from_ne_bytes(*bytes).into(),
            3 => u64::from_ne_bytes(*bytes).into(),
            4 => f32::from_ne_bytes(word).into(),
            5 => f64::from_ne_bytes(*bytes).into(),
            6 => text.clone().into(),
            ELAPSED => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let going_on = if *extra < 0 {
                    extra.wrapping_add(now.as_micros() as i64)
                } else {
                    0
                };
                i64::from_ne_bytes(*bytes).wrapping_add(going_on).into()
            }
            _ => Atom::None,
        }
    }
}

impl Mmv {
    /// Reads the files that are new or written anew, and forgets those that have gone. Returns
    /// whether each has a meaning.
    fn list(&mut self) -> Result<bool> {
        let mut known = std::mem::take(&mut self.files);
        let mut is_whole = true;
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let path = self.folder.join(&name);
            let Ok(about) = path.metadata() else { continue };
            let same = |file: &Loaded| file.identity == (about.dev(), about.ino()) && file.is_current();
            if let Some(file) = known.remove(&name) {
                if same(&file) {
                    self.files.insert(name, file);
                    continue;
                }
                self.is_declared = false;
            }
            if about.is_file() {
                let file = File::open(&path)
                    .map_err(Error::from)
                    .and_then(|file| Loaded::read(file, &name));
                if let Some(file) = file.ok().flatten().filter(Loaded::is_current) {
                    self.is_declared = false;
                    self.files.insert(name, file);
                } else {
                    is_whole = false;
                }
            }
        }
        self.is_declared &= known.is_empty();
        Ok(is_whole)
    }
}

impl Agent for Mmv {
    const NAME: &'static str = "mmv";
    const DOMAIN: u32 = 415;
    const OPTIONS: &'static [Opt] = &[Opt::new("folder").argument("PATH").help("the folder of the files")];

    fn start(env: &Env) -> Result<Mmv> {
        let folder = match env.option("folder") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(env.setting("PCP_TMP_DIR").ok_or(Error::VALUE.text("PCP_TMP_DIR"))?).join("mmv"),
        };
        Ok(Mmv {
            folder,
            listed: None,
            files: BTreeMap::new(),
            declared: Vec::new(),
            is_declared: true,
        })
    }

    fn metrics(m: &mut Metrics<Mmv>) {
        m.dynamic_names();
    }

    /// Lists the folder if it or a file in it has changed, and looks for the processes of the files.
    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        let changed = fs::metadata(&self.folder)?.modified()?;
        if self.listed != Some(changed) || !self.files.values().all(Loaded::is_current) {
            let is_whole = self.list()?;
            let is_settled = changed.elapsed().is_ok_and(|age| age > TICK);
            self.listed = (is_whole && is_settled).then_some(changed);
        }
        for file in self.files.values_mut() {
            self.is_declared &= !file.look_for_process();
        }
        Ok(())
    }

    fn dynamic(&mut self, m: &mut Metrics<Mmv>, _: &Request<'_>) -> Result<()> {
        if std::mem::replace(&mut self.is_declared, true) {
            return Ok(());
        }
        for cluster in self.declared.drain(..) {
            m.drop_cluster(cluster);
        }
        for (name, file) in self.files.iter().filter(|(_, file)| file.is_alive) {
            self.declared.push(file.cluster);
            m.cluster(file.cluster);
            let key = name.clone();
            m.refresh(move |s, request| s.files.get(&key).map_or(Ok(()), |file| file.read_values(request)));
            declare(m, name, file);
        }
        Ok(())
    }
}

/// Declares the metrics of a file.
fn declare(m: &mut Metrics<Mmv>, name: &str, file: &Loaded) {
    let labels_of = |wanted: Labelled| {
        let texts = file
            .labels
            .iter()
            .filter(|(of, _)| *of == wanted)
            .map(|(_, text)| text.as_str());
        let text = texts.collect::<Vec<_>>().join(",");
        format!("{{{text}}}").parse::<Labels>().unwrap_or_default()
    };
    m.set_cluster_labels(labels_of(Labelled(PM_LABEL_CLUSTER, file.cluster, -1)));
    let mut indoms = BTreeMap::new();
    for (serial, (help, _)) in &file.indoms {
        let (key, number) = (name.to_owned(), *serial);
        let indom = m.try_indom(file.cluster << 11 | serial & 0x7ff, help, move |s| {
            let (_, rows) = s.files.get_mut(&key)?.indoms.get_mut(&number)?;
            Some(rows)
        });
        m.set_indom_labels(indom, labels_of(Labelled(PM_LABEL_INDOM, *serial, -1)));
        let of_instances = file
            .labels
            .iter()
            .filter(|(of, _)| (of.0, of.1) == (PM_LABEL_INSTANCES, *serial));
        let own: BTreeMap<i32, Labels> = of_instances.map(|(of, _)| (of.2, labels_of(*of))).collect();
        m.instance_labels(indom, move |_, inst| own.get(inst).cloned().unwrap_or_default());
        indoms.insert(*serial, indom);
    }
    for metric in &file.metrics {
        let full = format!("{}{}", file.prefix, metric.name);
        let kind = match u32::try_from(metric.kind) {
            Ok(9) => Type::I64,
            Ok(kind) => Type::from_number(kind).unwrap_or(Type::NoSupport),
            Err(_) => Type::NoSupport,
        };
        let (values, places, code) = (Rc::clone(&file.values), Rc::clone(&metric.places), metric.kind);
        let indom = metric.indom.map(|serial| indoms.get(&serial).copied());
        let labels = labels_of(Labelled(PM_LABEL_ITEM, metric.item, -1));
        macro_rules! describe {
            ($def:expr) => {
                $def.item(metric.item)
                    .semantics(metric.semantics)
                    .unit(metric.unit)
                    .help(&metric.help)
                    .labels(labels)
                    .declare()
            };
        }
        let declared = match indom {
            _ if kind == Type::NoSupport => describe!(m.unsupported(full)),
            Some(Some(indom)) => {
                describe!(m.each_as(full, indom, kind, move |inst, _| Ok(
                    values.atom(code, places.get(inst))
                )))
            }
            // Its domain is not there.
            Some(None) => continue,
            None => describe!(m.value_as(full, kind, move |_, _| Ok(values.atom(code, places.get(&-1))))),
        };
        if let Err(problem) = declared {
            log::warn!("{name}: {problem}");
        }
    }
}

fn main() -> ExitCode {
    pmda::run::<Mmv>()
}

/// A file of version 1 with a metric without instances and one with two.
#[cfg(test)]
fn example(value: i32) -> Vec<u8> {
    let mut file = vec![0; 2048];
    let mut put = |place: usize, bytes: &[u8]| file[place..place + bytes.len()].copy_from_slice(bytes);
    let mut word = |place: usize, value: i32| put(place, &value.to_ne_bytes());
    for (place, value) in [(4, 1), (8, 1), (16, 1), (24, 4), (36, 77)] {
        word(place, value);
    }
    for (section, (kind, count, start)) in [(1, 1, 200), (2, 2, 300), (3, 2, 500), (4, 3, 800)]
        .into_iter()
        .enumerate()
    {
        word(40 + 16 * section, kind);
        word(44 + 16 * section, count);
        word(48 + 16 * section, start);
    }
    // A domain with instances 5 and 6.
    for (place, value) in [(200, 3), (300, 200), (312, 5), (380, 200), (392, 6)] {
        word(place, value);
    }
    // Metrics 1 and 2: a counter of 32 bits, and one of the domain.
    for (metric, indom) in [(500, -1), (604, 3)] {
        word(metric + 64, metric as i32 / 500 + i32::from(metric > 600));
        word(metric + 72, 1);
        word(metric + 80, indom);
    }
    for (place, value, metric, instance) in [(800, value, 500, 0), (832, 50, 604, 300), (864, 60, 604, 380)] {
        word(place, value);
        word(place + 16, metric);
        word(place + 24, instance);
    }
    for (place, text) in [(0, "MMV"), (316, "five"), (396, "six"), (500, "single"), (604, "many")] {
        put(place, text.as_bytes());
    }
    file
}

#[cfg(test)]
fn harness() -> Result<(pmda::testing::Harness<Mmv>, PathBuf)> {
    let harness = pmda::testing::Harness::<Mmv>::builder();
    let folder = std::env::temp_dir().join(format!(
        "mmv-example-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder)?;
    Ok((harness.option("folder", folder.display().to_string()).start()?, folder))
}

#[test]
fn values_change_in_the_file() -> Result<()> {
    let (mut pmcd, folder) = harness()?;
    assert_eq!(pmcd.names(), Err(Error::NAME));
    std::fs::write(folder.join("app"), example(7))?;
    assert_eq!(pmcd.names()?, ["mmv.app.many", "mmv.app.single"]);
    assert_eq!(pmcd.fetch("mmv.app.single")?.value(), Some(7));
    let file = File::options().write(true).open(folder.join("app"))?;
    file.write_all_at(&8_i32.to_ne_bytes(), 800)?;
    assert_eq!(pmcd.fetch("mmv.app.single")?.value(), Some(8));
    let many = pmcd.fetch("mmv.app.many")?;
    assert_eq!((many.value_of("five"), many.value_of("six")), (Some(50), Some(60)));
    // One that becomes shorter costs its values.
    file.set_len(830)?;
    assert!(pmcd.fetch("mmv.app.single").is_err());
    std::fs::remove_file(folder.join("app"))?;
    assert_eq!(pmcd.names(), Err(Error::NAME));
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Whatever is in a file, the agent serves.
#[test]
fn damaged_files() -> Result<()> {
    let (mut pmcd, folder) = harness()?;
    let whole = example(7);
    for place in (0..whole.len()).step_by(4) {
        let mut damaged = whole.clone();
        damaged[place..place + 4].copy_from_slice(&[0xff; 4]);
        std::fs::write(folder.join("flipped"), &damaged)?;
        std::fs::write(folder.join("short"), &whole[..place])?;
        for name in pmcd.names().unwrap_or_default() {
            // Its error, if it has one, is its own.
            let _ = pmcd.fetch(&name);
        }
        for name in ["flipped", "short"] {
            std::fs::remove_file(folder.join(name))?;
        }
    }
    assert!(!pmcd.log().contains("panicked"), "{}", pmcd.log());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Makes the folder look as if nothing had come or gone for years.
#[cfg(test)]
fn settle(folder: &Path) -> Result<SystemTime> {
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::open(folder)?.set_modified(long_ago)?;
    Ok(long_ago)
}

/// A folder that does not change is not listed again, and yet what happens in its files is seen.
#[test]
fn the_folder_is_listed_once() -> Result<()> {
    let (mut pmcd, folder) = harness()?;
    let names = ["mmv.app.many", "mmv.app.single"];
    let mut unfinished = example(7);
    unfinished[16] = 0;
    std::fs::write(folder.join("app"), &unfinished)?;
    let long_ago = settle(&folder)?;
    assert_eq!(pmcd.names(), Err(Error::NAME));
    let file = File::options().write(true).open(folder.join("app"))?;
    file.write_all_at(&[1], 16)?;
    assert_eq!(pmcd.names()?, names);
    assert_eq!(pmcd.agent().listed, Some(long_ago));
    // Written anew, for a process that is there, in two steps.
    let mut child = std::process::Command::new("sleep").arg("600").spawn()?;
    file.write_all_at(&[0; 8], 16)?;
    assert_eq!(pmcd.names(), Err(Error::NAME));
    file.write_all_at(&OF_PROCESS.to_ne_bytes(), 28)?;
    file.write_all_at(&child.id().to_ne_bytes(), 32)?;
    file.write_all_at(&[2], 8)?;
    file.write_all_at(&[2], 16)?;
    assert_eq!(pmcd.names()?, names);
    assert_eq!(pmcd.fetch("mmv.app.single")?.value(), Some(7));
    child.kill()?;
    child.wait()?;
    assert_eq!(pmcd.names(), Err(Error::NAME));
    assert_eq!(pmcd.agent().listed, Some(long_ago));
    std::fs::write(folder.join("other"), example(9))?;
    assert_eq!(pmcd.names()?, ["mmv.other.many", "mmv.other.single"]);
    // The folder has changed a moment ago, and may change within the same tick of its clock.
    assert_eq!(pmcd.agent().listed, None);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
