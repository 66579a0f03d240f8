//! Values that programs keep in files of the format MMV (mmv(5)): names, types, instances, help
//! texts and labels appear with each file, and disappear with it.
//!
//! A program maps its file and changes the values in the map at any time. This agent maps nothing: a slice of memory
//! that another process changes breaks the rules of Rust, and if that process makes the file shorter, the next look at
//! the map ends the agent (SIGBUS). It reads for each request the ranges of the file that the request needs
//! (`FileExt::read_exact_at`): the file's generation and the values of the metrics that are asked for. Ranges that are
//! near each other are read with one system call. If the file is shorter than a range, its metrics have an error.
//!
//! It lists the folder when the folder's modification time says that a file has come or gone, and
//! reads a file anew when its generation says that a program has written it anew.

#![forbid(unsafe_code)]
use pmda::fs;
use pmda::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
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

/// The kinds of things that have labels, as in `pmapi.h`.
const PM_LABEL_INDOM: u32 = 4;
const PM_LABEL_CLUSTER: u32 = 8;
const PM_LABEL_ITEM: u32 = 16;
const PM_LABEL_INSTANCES: u32 = 32;

/// The range of a file with its generation.
const GENERATION: Range<u64> = 8..24;

/// Maximum distance of two ranges that are read together: to read so many bytes more costs less than
/// another system call.
const NEAR: u64 = 4096;

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

/// A file that was read, but for its values.
struct Loaded {
    file: File,
    identity: (u64, u64),
    /// Changes when a program writes the file anew.
    generation: [u8; 16],
    cluster: u32,
    process: Option<i32>,
    /// True if the process of its values runs; some files have values only then.
    is_alive: bool,
    prefix: String,
    metrics: Vec<Described>,
    /// The help of each domain, and its instances, each with its number and its position among them.
    indoms: BTreeMap<u32, (String, Indom<(i32, usize)>)>,
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
    /// The offset of each value in the file, in the order of the instances; `None` for an instance
    /// without a value. A metric without instances has one offset.
    offsets: Rc<[Option<ValueOffset>]>,
    /// The ranges of the file with all of this.
    ranges: Vec<Range<u64>>,
}

/// The offset of a value in a file, and that of its text if it has one.
#[derive(Clone, Copy)]
struct ValueOffset {
    value: u64,
    text: Option<u64>,
}

/// The thing that has a label: its kind (`PM_LABEL_*`), its number, and an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Labelled(u32, u32, i32);

/// The parts of the file that were read last, each with its start, ascending.
#[derive(Default)]
struct Values(RefCell<Vec<(u64, Result<Vec<u8>>)>>);

/// The bytes of a file; `None` beyond its end.
#[derive(Clone, Copy)]
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn at<const N: usize>(self, offset: u64) -> Option<[u8; N]> {
        let offset = usize::try_from(offset).ok()?;
        self.0.get(offset..offset.checked_add(N)?)?.try_into().ok()
    }
    fn number(self, offset: u64) -> Option<i32> {
        self.at(offset).map(i32::from_ne_bytes)
    }
    fn long(self, offset: u64) -> Option<u64> {
        self.at(offset).map(u64::from_ne_bytes)
    }
    /// The text of a field of this size.
    fn text<const N: usize>(self, offset: u64) -> Option<String> {
        let field: [u8; N] = self.at(offset)?;
        let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    }
    /// The text whose offset stands at an offset; none if that is 0.
    fn linked(self, offset: u64) -> Option<String> {
        match self.long(offset)? {
            0 => Some(String::new()),
            text => self.text::<256>(text),
        }
    }
    fn help(self, offset: u64) -> Option<String> {
        let (line, text) = (self.linked(offset)?, self.linked(offset + 8)?);
        Some(format!("{line}\n{text}").trim_end().to_owned())
    }
}

/// The offsets of the entries of a section.
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
                .flat_map(|(_, offsets)| offsets)
        };

        let cluster = bytes.number(36)? as u32 & 0xfff;
        // By domain, the number and name of each instance. By the offset of an instance's entry, its
        // domain, and its position among the instances of the domain.
        let mut named: BTreeMap<u32, Vec<(i32, String)>> = BTreeMap::new();
        let mut instances = HashMap::new();
        for offset in entries(INSTANCES) {
            let serial = bytes.number(bytes.long(*offset)?)? as u32;
            let text = if is_short {
                bytes.linked(offset + 16)?
            } else {
                bytes.text::<64>(offset + 16)?
            };
            let of_domain = named.entry(serial).or_default();
            instances.insert(*offset, (serial, of_domain.len()));
            of_domain.push((bytes.number(offset + 12)?, text));
        }
        let count = |serial: u32| named.get(&serial).map_or(0, Vec::len);
        let mut values: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for offset in entries(VALUES) {
            values.entry(bytes.long(offset + 16)?).or_default().push(*offset);
        }
        let metrics = entries(METRICS).map(|offset| {
            let name = if is_short {
                bytes.linked(*offset)?
            } else {
                bytes.text::<64>(*offset)?
            };
            let fields = offset + if is_short { 8 } else { 64 };
            let kind = bytes.number(fields + 4)?;
            let indom = bytes.number(fields + 16)?;
            let indom = (indom != -1 && indom != 0).then_some(indom as u32);
            let mut offsets = vec![None; indom.map_or(1, count)];
            for value in values.remove(offset).unwrap_or_default() {
                let index = match indom {
                    None => 0,
                    Some(serial) => match instances.get(&bytes.long(value + 24)?) {
                        Some((of, index)) if *of == serial => *index,
                        _ => continue,
                    },
                };
                let is_text = kind == Type::String as i32;
                let text = if is_text { Some(bytes.long(value + 8)?) } else { None };
                offsets[index] = Some(ValueOffset { value, text });
            }
            Some(Described {
                name,
                item: bytes.number(fields)? as u32,
                kind,
                semantics: Semantics::from_number(bytes.number(fields + 8)? as u32).unwrap_or(Semantics::Instant),
                unit: Unit::from_word(bytes.number(fields + 12)? as u32),
                indom,
                help: bytes.help(fields + 24)?,
                ranges: ranges(offsets.iter().flatten()),
                offsets: offsets.into(),
            })
        });
        let metrics = metrics.collect::<Option<Vec<Described>>>()?;
        let mut indoms = BTreeMap::new();
        for offset in entries(INDOMS) {
            let serial = bytes.number(*offset)? as u32;
            let mut rows = Indom::new().whole_names();
            let mut all = rows.update();
            for (index, (inst, name)) in named.remove(&serial).unwrap_or_default().into_iter().enumerate() {
                all.set_at(inst, &name, (inst, index)).ok()?;
            }
            drop(all);
            indoms.insert(serial, (bytes.help(offset + 16)?, rows));
        }
        let labels = entries(LABELS).map(|offset| {
            let kind = bytes.number(*offset)? as u32 & 0x3f;
            let of = Labelled(kind, bytes.number(offset + 4)? as u32, bytes.number(offset + 8)?);
            let text = bytes.text::<244>(offset + 12)?;
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
        self.file.read_exact_at(&mut generation, GENERATION.start).is_ok() && generation == self.generation
    }

    /// Reads the values that a request needs. Returns whether no program has written the file anew
    /// since it was read.
    fn read_values(&self, request: &Request<'_>) -> bool {
        let wanted = self
            .metrics
            .iter()
            .filter(|metric| request.wants_item(self.cluster, metric.item));
        let ranges = wanted.flat_map(|metric| metric.ranges.iter().cloned());
        let read = |range: Range<u64>| {
            let size = usize::try_from(range.end - range.start)?;
            let mut bytes = vec![0; size];
            self.file.read_exact_at(&mut bytes, range.start)?;
            Ok(bytes)
        };
        let mut values = self.values.0.borrow_mut();
        values.clear();
        let all = joined(std::iter::once(GENERATION).chain(ranges).collect());
        values.extend(all.into_iter().map(|range| (range.start, read(range))));
        drop(values);
        self.values.at(GENERATION.start) == Ok(self.generation)
    }

    /// Looks for the process of the values. Returns whether it has started or ended.
    fn look_for_process(&mut self) -> bool {
        let is_alive = self
            .process
            .is_none_or(|process| Path::new(&format!("/proc/{process}")).exists());
        std::mem::replace(&mut self.is_alive, is_alive) != is_alive
    }
}

/// The ranges of a file with these values, ascending.
fn ranges<'p>(offsets: impl Iterator<Item = &'p ValueOffset>) -> Vec<Range<u64>> {
    let of = |offset: &ValueOffset| {
        let text = offset.text.map(|text| text..text.saturating_add(256));
        std::iter::once(offset.value..offset.value + 32).chain(text)
    };
    joined(offsets.flat_map(of).collect())
}

/// Ranges in ascending order, where those that are near each other are one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let is_near = next.start <= range.end.saturating_add(NEAR);
        if is_near {
            range.end = range.end.max(next.end);
        }
        is_near
    });
    ranges
}

impl Values {
    /// The bytes at an offset.
    fn at<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let parts = self.0.borrow();
        let behind = parts.partition_point(|(start, _)| *start <= offset);
        let (start, bytes) = behind
            .checked_sub(1)
            .and_then(|part| parts.get(part))
            .ok_or(Error::CONV)?;
        let bytes = bytes.as_ref().map_err(Error::clone)?;
        Bytes(bytes).at(offset - start).ok_or(Error::CONV)
    }

    /// The value at an offset.
    fn atom(&self, kind: i32, offset: Option<ValueOffset>) -> Result<Atom<'static>> {
        let Some(ValueOffset { value, text }) = offset else {
            return Ok(Atom::None);
        };
        let bytes: [u8; 8] = self.at(value)?;
        let word: [u8; 4] = self.at(value)?;
        Ok(match kind {
            0 => i32::from_ne_bytes(word).into(),
            1 => u32::from_ne_bytes(word).into(),
            2 => i64::from_ne_bytes(bytes).into(),
            3 => u64::from_ne_bytes(bytes).into(),
            4 => f32::from_ne_bytes(word).into(),
            5 => f64::from_ne_bytes(bytes).into(),
            6 => {
                let text: [u8; 256] = self.at(text.ok_or(Error::CONV)?)?;
                Bytes(&text).text::<256>(0).unwrap_or_default().into()
            }
            ELAPSED => {
                let extra = i64::from_ne_bytes(self.at(value + 8)?);
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let going_on = if extra < 0 {
                    extra.wrapping_add(now.as_micros() as i64)
                } else {
                    0
                };
                i64::from_ne_bytes(bytes).wrapping_add(going_on).into()
            }
            _ => Atom::None,
        })
    }
}

impl Mmv {
    /// Reads the files that are new or have changed, and forgets those that were removed. Returns
    /// whether each file is valid.
    fn list(&mut self) -> Result<bool> {
        let mut old_files = std::mem::take(&mut self.files);
        let mut is_whole = true;
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let path = self.folder.join(&name);
            let Ok(about) = path.metadata() else { continue };
            let same = |file: &Loaded| file.identity == (about.dev(), about.ino()) && file.is_current();
            if let Some(file) = old_files.remove(&name) {
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
        self.is_declared &= old_files.is_empty();
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

    /// Reads the values that the request needs, lists the folder if it or a file in it has changed, and
    /// looks for the processes of the files.
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let read = |file: &Loaded| file.read_values(request);
        let changed = fs::metadata(&self.folder)?.modified()?;
        if self.listed != Some(changed) || !self.files.values().all(read) {
            let is_whole = self.list()?;
            let is_whole = self.files.values().all(read) && is_whole;
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
        m.instance_labels(indom, move |_, (inst, _)| own.get(inst).cloned().unwrap_or_default());
        indoms.insert(*serial, indom);
    }
    for metric in &file.metrics {
        let full = format!("{}{}", file.prefix, metric.name);
        let kind = match u32::try_from(metric.kind) {
            Ok(9) => Type::I64,
            Ok(kind) => Type::from_number(kind).unwrap_or(Type::NoSupport),
            Err(_) => Type::NoSupport,
        };
        let (values, offsets, code) = (Rc::clone(&file.values), Rc::clone(&metric.offsets), metric.kind);
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
                describe!(m.each_as(full, indom, kind, move |(_, index), _| {
                    values.atom(code, offsets.get(*index).copied().flatten())
                }))
            }
            // Its domain does not exist.
            Some(None) => continue,
            None => describe!(m.value_as(full, kind, move |_, _| {
                values.atom(code, offsets.first().copied().flatten())
            })),
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
    let mut put = |offset: usize, bytes: &[u8]| file[offset..offset + bytes.len()].copy_from_slice(bytes);
    let mut word = |offset: usize, value: i32| put(offset, &value.to_ne_bytes());
    for (offset, value) in [(4, 1), (8, 1), (16, 1), (24, 4), (36, 77)] {
        word(offset, value);
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
    for (offset, value) in [(200, 3), (300, 200), (312, 5), (380, 200), (392, 6)] {
        word(offset, value);
    }
    // Metrics 1 and 2: a counter of 32 bits, and one of the domain.
    for (metric, indom) in [(500, -1), (604, 3)] {
        word(metric + 64, metric as i32 / 500 + i32::from(metric > 600));
        word(metric + 72, 1);
        word(metric + 80, indom);
    }
    for (offset, value, metric, instance) in [(800, value, 500, 0), (832, 50, 604, 300), (864, 60, 604, 380)] {
        word(offset, value);
        word(offset + 16, metric);
        word(offset + 24, instance);
    }
    for (offset, text) in [(0, "MMV"), (316, "five"), (396, "six"), (500, "single"), (604, "many")] {
        put(offset, text.as_bytes());
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
    // A file that becomes shorter loses its values.
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
    for offset in (0..whole.len()).step_by(4) {
        let mut damaged = whole.clone();
        damaged[offset..offset + 4].copy_from_slice(&[0xff; 4]);
        std::fs::write(folder.join("flipped"), &damaged)?;
        std::fs::write(folder.join("short"), &whole[..offset])?;
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

/// Makes the folder look as if it had not changed for years.
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
    // The file is written again, for a running process, in two steps.
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
