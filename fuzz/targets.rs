//! What is fuzzed: each function takes arbitrary bytes and panics when something is wrong.
//!
//! `fuzz_targets/*.rs` hand them to libFuzzer; `tests/fuzz.rs` replays the corpus and random bytes
//! in `make check`.

mod agent_session;
mod cache_operations;
mod event_calls;
mod live_agent;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pmda_core::cache::{Cache, CacheFile, Write, directory_below};
use pmda_core::error::Error;
use pmda_core::events::{EventArray, Form, ParameterValue, Stamp};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Journal;
use pmda_core::path::FilePath;
use pmda_core::wire::block::{self, Direction};
use pmda_core::wire::receive::{ReadMode, Receiver};
use pmda_core::wire::result::{MetricValues, SentValue};
use pmda_core::wire::{Kind, client, decode, number, result};
use pmda_core::{help, labels, root};

pub use agent_session::agent_session;
pub use cache_operations::cache_operations;
pub use event_calls::event_calls;
pub use live_agent::live_agent;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("stream", stream),
    ("bodies", bodies),
    ("cache_file", cache_file),
    ("cache_operations", cache_operations),
    ("help_database", help_database),
    ("root_messages", root_messages),
    ("label_json", label_json),
    ("event_array", event_array),
    ("event_calls", event_calls),
    ("live_agent", live_agent),
    ("agent_session", agent_session),
];

/// The bytes are what pmcd sends: PDUs are cut out of them as in the main loop, and decoded.
pub fn stream(data: &[u8]) {
    for mode in [ReadMode::Exact, ReadMode::Ahead] {
        let mut source = data;
        let mut receiver = Receiver::new();
        let mut taken = 0;
        while let Ok(pdu) = receiver.next(&mut source, mode) {
            assert_eq!(
                pdu.bytes(),
                &data[taken..taken + pdu.header.len],
                "a PDU is what was sent"
            );
            taken += pdu.header.len;
            bodies(pdu.bytes());
            receiver.recycle(pdu);
        }
    }
}

/// The bytes are one PDU of whatever kind.
pub fn bodies(data: &[u8]) {
    if let Ok(profile) = decode::profile(data) {
        assert_eq!(profile.iter().count(), profile.len());
        let ids: usize = profile.iter().map(|selection| selection.instances().count()).sum();
        assert!(ids <= data.len() / 4);
    }
    if let Ok(metrics) = decode::fetch(data) {
        assert_eq!(metrics.count() * 4 + 28, data.len());
    }
    if let Ok(values) = result::decode(data) {
        for set in values.sets() {
            for (_, value) in set.values() {
                let mut out = vec![0; value.block_len()];
                let _ = value.write(&mut out);
            }
        }
    }
    if let Ok(name) = decode::names_request(data) {
        assert!(name.len() <= data.len());
    }
    if let Ok(credentials) = decode::credentials(data) {
        assert_eq!(credentials.count() * 4 + 16, data.len());
    }
    let _ = decode::desc_request(data);
    let _ = decode::instance_request(data);
    let _ = decode::text_request(data);
    let _ = decode::label_request(data);
    let _ = decode::ids_request(data);
    let _ = decode::names_below(data);
    let _ = decode::attribute(data);
    let _ = decode::error(data);
    replies(data);
}

/// The bytes are the body of a reply: what is accepted can be read to its end.
fn replies(data: &[u8]) {
    if let Ok(instances) = client::instances(data) {
        assert_eq!(instances.len(), instances.count());
    }
    if let Ok(names) = client::names(data) {
        assert_eq!(names.len(), names.count());
    }
    if let Ok(sets) = client::labels(data) {
        assert_eq!(sets.len(), sets.clone().count());
        for set in sets {
            assert_eq!(set.spans().len(), set.labels().count());
        }
    }
    if let Ok((_, ids)) = client::ids(data) {
        assert_eq!(ids.count() * 4 + 20, data.len());
    }
    for form in [Form::Low, Form::High] {
        if let Ok(records) = client::EventRecords::new(form, data) {
            let parameters: usize = records.map(|record| record.parameters.count()).sum();
            assert!(parameters <= data.len() / 8);
        }
    }
    let _ = client::desc(data);
    let _ = client::text(data);
    let _ = client::pmid(data);
}

/// Whether a result can be read to its end, the insides of its blocks included.
fn is_sound(pdu: &[u8]) -> bool {
    let is_good = |value: SentValue<'_>| {
        matches!(value, SentValue::Word(_)) || value.write(&mut vec![0; value.block_len()]).is_ok()
    };
    let mut values = match result::decode(pdu) {
        Ok(store) => store.sets().flat_map(MetricValues::values),
        Err(_) => return false,
    };
    values.all(|(_, value)| is_good(value))
}

/// Whether a client can read a whole reply.
fn is_readable(reply: &[u8]) -> bool {
    match number(reply, 4).map(Kind) {
        Some(Kind::PDU_ERROR) => decode::error(reply).is_ok(),
        Some(Kind::PDU_RESULT) => is_sound(reply),
        Some(Kind::PDU_DESC) => client::desc(reply).is_ok(),
        Some(Kind::PDU_INSTANCE) => client::instances(reply).is_ok(),
        Some(Kind::PDU_TEXT) => client::text(reply).is_ok(),
        Some(Kind::PDU_PMNS_IDS) => client::pmid(reply).is_ok(),
        Some(Kind::PDU_PMNS_NAMES) => client::names(reply).is_ok(),
        Some(Kind::PDU_LABEL) => client::labels(reply).is_ok(),
        _ => false,
    }
}

/// The bytes are a cache file. What was loaded is written and loaded again, and is the same.
pub fn cache_file(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("config")).expect("ours");
    let place = directory_below(directory.path().as_os_str().as_bytes()).expect("memory");
    let (mut first, mut second) = (cache(), cache());
    let file = first.path(&place).expect("memory");
    fs::write(&file, data).expect("ours");
    let load = |cache: &mut Cache<*const u8>| {
        let mut file = CacheFile::open(cache.path(&place).expect("memory")).expect("ours");
        loop {
            file.read();
            if let Some(count) = cache.load(&mut file)? {
                return Ok::<_, Error>(count);
            }
        }
    };
    let _ = load(&mut first);
    save(&mut first, &place);
    load(&mut second).expect("what was written can be read");
    save(&mut second, &place);
    let again = fs::read(&file).expect("ours");
    save(&mut first, &place);
    assert_eq!(fs::read(&file).expect("ours"), again);
    // No instance without a name, and no blanks are lost.
    assert!(first.actives().all(|(_, name)| !name.is_empty()));
    assert!(again.iter().all(|byte| *byte != 0));
    only(file.as_ref());
}

fn save(cache: &mut Cache<*const u8>, place: &FilePath) {
    let file = cache.path(place).expect("memory");
    let snapshot = cache.begin_save(Write::Always, file, 1).expect("memory");
    let snapshot = snapshot.expect("a save is always due");
    let result = snapshot.write();
    cache.saved(&snapshot, result).expect("a file can be written");
}

/// No other file is left beside this one.
fn only(file: &Path) {
    let folder = file.parent().expect("a directory");
    assert_eq!(fs::read_dir(folder).expect("ours").count(), 1);
}

fn cache() -> Cache<*const u8> {
    Cache::new(InDom::new(1, 2), pmda_core::index::Seed::process())
}

/// The bytes are a help database: a length, the index of that length, the texts.
pub fn help_database(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk::<2>() else {
        return;
    };
    let cut = usize::from(u16::from_be_bytes(*length)).min(rest.len());
    let (index, pages) = rest.split_at(cut);
    let mut journal = Journal::default();
    if let Ok(base) = help::Database::new(index.into(), pages.into(), b"fuzz", &mut journal) {
        for entry in index.chunks_exact(4) {
            let ident = u32::from_ne_bytes(entry.try_into().expect("four bytes"));
            for kind in [help::HelpKind::OneLine, help::HelpKind::Long] {
                for entry in [
                    help::HelpKey::Metric(MetricId(ident)),
                    help::HelpKey::InDom(InDom(ident)),
                ] {
                    let text = base.text_of(entry, kind);
                    assert!(text.is_none_or(|text| text.len() <= pages.len()));
                }
            }
        }
    }
}

/// The bytes are a message from or to pmdaroot.
pub fn root_messages(data: &[u8]) {
    let _ = root::InfoPdu::receive(data);
    let _ = root::StartPdu::receive_request(data);
    let _ = root::StartPdu::receive_reply(data);
    let _ = root::StartPdu::decode(data);
    let _ = root::ContainerPdu::decode(data);
    let _ = root::StopPdu::decode(data);
    for kind in 0x9000..0x9010 {
        let _ = root::ContainerPdu::receive(data, kind);
        let _ = root::StopPdu::receive(data, kind);
    }
}

/// The bytes are a label text: what is plain can be laid over itself, and stays.
pub fn label_json(data: &[u8]) {
    for letter in [false, true] {
        if let Ok(labels::ParsedText::Plain(set)) = labels::parse(data, 2, letter) {
            for place in &set.labels {
                assert!(place.name(&set.json).is_some() && place.value(&set.json).is_some());
            }
            if let Ok(merged) = labels::merge(set.iter(), set.iter()) {
                assert_eq!(merged.labels.len(), set.labels.len());
            }
        }
    }
}

/// The bytes are calls on an event array: what comes out is a valid block.
pub fn event_array(data: &[u8]) {
    for form in [Form::Low, Form::High] {
        let mut array = EventArray::new().expect("memory");
        for step in data.chunks(5).take(2000) {
            let number = step.get(1).copied().unwrap_or(0);
            let stamp = match form {
                Form::Low => Stamp::Low(i64::from(number) << 30, -1),
                Form::High => Stamp::High(i64::MAX, i64::from(number)),
            };
            let _ = match step[0] % 6 {
                0 => array.add_record(stamp, u32::from(number)),
                1 => array.add_missed(stamp, i32::from(number)),
                2 => array.add_parameter(7, 1, ParameterValue::Word(number.into())),
                3 => array.add_parameter(8, 3, ParameterValue::Long(number.into())),
                4 => array.add_parameter(9, 6, ParameterValue::Bytes(step)),
                _ => {
                    if number == 77 {
                        array.reset();
                    }
                    Ok(())
                }
            };
        }
        let bytes = array.publish(form).to_vec();
        let head = u32::from_ne_bytes(*bytes.first_chunk().expect("a header"));
        let size = block::length(head);
        assert!(size <= bytes.len());
        let mut payload = bytes[4..size].to_vec();
        block::exchange(form as u32, &mut payload, Direction::Encode).expect("a valid array");
        client::EventRecords::new(form, &payload).expect("a client can read it");
        block::exchange(form as u32, &mut payload, Direction::Decode).expect("and back");
        assert_eq!(payload, &bytes[4..size]);
    }
}
