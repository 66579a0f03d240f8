//! A live agent between two pipes: `pmdaMain` serves what pmcd would send, with an agent's own
//! methods behind it.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;
use std::{mem, ptr, thread};

use pcp_pmda::view::interface::pmdaInterface;
use pcp_pmda::view::types::{
    pmAtomValue, pmInDom, pmLabelSet, pmProfile, pmValue, pmValueSet, pmdaExt, pmdaFetchCallBack, pmdaIndom,
    pmdaInstid, pmdaLabelCallBack, pmdaMetric, pmdaNameSpace, pmdaResult,
};

// The functions as agents see them. They are linked in with the crate, and have no path in Rust.
unsafe extern "C" {
    fn pmdaDaemon(
        dispatch: *mut pmdaInterface,
        interface: c_int,
        name: *const c_char,
        domain: c_int,
        logfile: *const c_char,
        helptext: *const c_char,
    );
    fn pmdaInit(
        dispatch: *mut pmdaInterface,
        indoms: *mut pmdaIndom,
        nindoms: c_int,
        metrics: *mut pmdaMetric,
        nmetrics: c_int,
    );
    fn pmdaMain(dispatch: *mut pmdaInterface);
    fn pmdaProfile(profile: *mut pmProfile, ext: *mut pmdaExt) -> c_int;
    fn pmdaSetFetchCallBack(dispatch: *mut pmdaInterface, callback: pmdaFetchCallBack);
    fn pmdaSetLabelCallBack(dispatch: *mut pmdaInterface, callback: pmdaLabelCallBack);
    fn pmdaAddLabels(sets: *mut *mut pmLabelSet, format: *const c_char, ...) -> c_int;
    fn pmdaTreeCreate(tree: *mut *mut pmdaNameSpace) -> c_int;
    fn pmdaTreeInsert(tree: *mut pmdaNameSpace, pmid: c_uint, name: *const c_char) -> c_int;
    fn pmdaTreePMID(tree: *mut pmdaNameSpace, name: *const c_char, pmid: *mut c_uint) -> c_int;
    fn pmdaTreeName(tree: *mut pmdaNameSpace, pmid: c_uint, names: *mut *mut *mut c_char) -> c_int;
    fn pmdaTreeChildren(
        tree: *mut pmdaNameSpace,
        name: *const c_char,
        traverse: c_int,
        offspring: *mut *mut *mut c_char,
        status: *mut *mut c_int,
    ) -> c_int;
}

const DOMAIN: u32 = 250;
const TYPE_U32: c_int = 1;
const TYPE_STRING: c_int = 6;
const FETCH_STATIC: c_int = 1;
const FETCH_DYNAMIC: c_int = 2;
const NO_INDOM: u32 = u32::MAX;
const VALUE_INSITU: c_int = 0;
const NO_TEXT: c_int = -12349;

/// The versions of the agent's interface.
const INTERFACES: [c_int; 6] = [2, 3, 4, 5, 6, 7];
/// What is sent fits into a pipe, so that nobody has to wait for the other.
const MOST: usize = 60_000;
/// Pieces that a pipe takes before anybody reads, each of which is one `read` of the agent.
const PIECES: usize = 200;
const PIPE: c_int = 1 << 20;

/// A fetch of a metric that no agent has: its answer is known by that number.
const PROBE: u32 = 0x3fff_fff0;

/// An agent that is set up once and then served connection after connection.
struct Agent(*mut pmdaInterface);

// SAFETY: the targets run one after the other, each on one thread.
unsafe impl Send for Agent {}
// SAFETY: as above.
unsafe impl Sync for Agent {}

/// The first byte selects the agent and how the rest becomes a stream, the second one the size of
/// the pieces.
///
/// A stream that can be followed to its end is served to its end: a good request after it is
/// answered.
pub fn live_agent(data: &[u8]) {
    let [form, piece, rest @ ..] = data else { return };
    let mut stream = if form & 1 == 0 { rest.to_vec() } else { framed(rest) };
    stream.truncate(MOST);
    let whole = followed(&stream);
    if whole {
        stream.extend(request(0x7003, &[0, 0, 0, 1, PROBE]));
    }
    let answers = serve(agent(usize::from(form >> 1)), &stream, usize::from(*piece));
    let mut last = None;
    let mut left = &answers[..];
    while !left.is_empty() {
        let (length, kind) = header(left).expect("the agent sends whole PDUs");
        assert!((0x7000..0x7020).contains(&kind), "the agent sends no type {kind:#x}");
        let (pdu, after) = left.split_at(length);
        last = Some((kind, pdu));
        left = after;
    }
    if whole {
        let (kind, pdu) = last.expect("a good request is answered");
        assert_eq!((kind, number(pdu, 24)), (0x7001, Some(PROBE)), "the last answer");
    }
}

/// A byte for the type, a byte for the length in words, and as many words of body: a stream whose
/// lengths are right.
fn framed(mut data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while let [kind, length, rest @ ..] = data {
        let (body, after) = rest.split_at(rest.len().min(usize::from(*length) * 4));
        stream.extend((body.len() as u32 + 12).to_be_bytes());
        stream.extend((0x7000 + u32::from(kind % 0x20)).to_be_bytes());
        stream.extend(1_u32.to_be_bytes());
        stream.extend(body);
        data = after;
    }
    stream
}

/// A request of the given type with the given words.
fn request(kind: u32, words: &[u32]) -> Vec<u8> {
    let length = 12 + 4 * words.len() as u32;
    let all = [length, kind, 1].into_iter().chain(words.iter().copied());
    all.flat_map(u32::to_be_bytes).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

/// Length and type of the PDU at the start, if it is there as a whole and a type can be what it
/// says.
fn header(bytes: &[u8]) -> Option<(usize, u32)> {
    let (length, kind) = (number(bytes, 0)? as usize, number(bytes, 4)?);
    ((12..=bytes.len()).contains(&length) && kind as i32 > 0).then_some((length, kind))
}

/// Whether the stream consists of whole PDUs.
fn followed(mut stream: &[u8]) -> bool {
    while let Some((length, _)) = header(stream) {
        stream = &stream[length..];
    }
    stream.is_empty()
}

/// Both ends of a pipe, the one to read from first. In packets, each write is one read at the other
/// end.
fn pipe(flags: c_int) -> (File, File) {
    let mut ends = [-1; 2];
    // SAFETY: room for two descriptors, which belong to nobody else.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | flags), 0, "a pipe");
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}

/// What the agent answers to the stream, up to the end of the connection.
fn serve(agent: &Agent, stream: &[u8], piece: usize) -> Vec<u8> {
    let (from_pmcd, mut to_agent) = pipe(if piece == 0 { 0 } else { libc::O_DIRECT });
    let (mut from_agent, to_pmcd) = pipe(0);
    // SAFETY: a call without memory effects. Where the kernel grants less, the pieces become
    // larger.
    let room = unsafe { libc::fcntl(to_agent.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE) };
    let pieces = if room < PIPE { 15 } else { PIECES };
    let size = match piece {
        0 => stream.len(),
        _ => piece.max(stream.len().div_ceil(pieces)).min(4096),
    };
    for part in stream.chunks(size.max(1)) {
        to_agent.write_all(part).expect("room in the pipe");
    }
    drop(to_agent);
    let reader = thread::spawn(move || {
        let mut answers = Vec::new();
        from_agent.read_to_end(&mut answers).expect("a pipe");
        answers
    });
    // SAFETY: the agent was set up by `agent`, and nobody else uses it.
    unsafe {
        let ext = (*agent.0).ext;
        (*ext).e_infd = from_pmcd.as_raw_fd();
        (*ext).e_outfd = to_pmcd.as_raw_fd();
        // Nothing is left of the connection before.
        assert_eq!(pmdaProfile(ptr::null_mut(), ext), 0);
        pmdaMain(agent.0);
    }
    drop(to_pmcd);
    reader.join().expect("the reader")
}

/// The agent of the n-th interface version.
fn agent(which: usize) -> &'static Agent {
    static AGENTS: OnceLock<[Agent; INTERFACES.len()]> = OnceLock::new();
    let agents = AGENTS.get_or_init(|| INTERFACES.map(set_up));
    &agents[which % agents.len()]
}

/// The name space that all agents share.
fn names() -> *mut pmdaNameSpace {
    static NAMES: OnceLock<usize> = OnceLock::new();
    let address = NAMES.get_or_init(|| {
        let mut tree = ptr::null_mut();
        // SAFETY: valid for a write, and then a tree and C strings.
        unsafe {
            assert_eq!(pmdaTreeCreate(&raw mut tree), 0);
            for (item, name) in [(0, c"agent.value"), (1, c"agent.text"), (2, c"agent.more.dynamic")] {
                assert_eq!(pmdaTreeInsert(tree, DOMAIN << 22 | item, name.as_ptr()), 0);
            }
        }
        tree as usize
    });
    *address as *mut pmdaNameSpace
}

/// Puts a method into a dispatch table as agents in C do: what the library sees as views are
/// pointers there.
///
/// # Safety
/// The place is valid, and the function has the type of the method.
unsafe fn put<M>(place: *mut Option<M>, method: *const ()) {
    // SAFETY: valid by the contract above; a pointer to a function that may be missing is a
    // pointer.
    unsafe { place.cast::<*const ()>().write(method) };
}

/// Sets up an agent; it lives as long as the process, as agents do.
fn set_up(interface: c_int) -> Agent {
    // SAFETY: structures of integers and pointers; all zeros is what C programs start from.
    let (table, metrics): (Box<pmdaInterface>, Box<[pmdaMetric; 4]>) =
        unsafe { (Box::new(mem::zeroed()), Box::new(mem::zeroed())) };
    let (table, metrics) = (Box::leak(table), Box::leak(metrics));
    for (item, metric) in (0..).zip(metrics.iter_mut()) {
        metric.m_desc.pmid = item;
        metric.m_desc.type_ = if item == 0 { TYPE_U32 } else { TYPE_STRING };
        metric.m_desc.indom = if item == 2 { 1 } else { NO_INDOM };
        metric.m_desc.sem = 3;
        // Whether the library frees a value is the agent's to say since version 5.
        metric.m_user = ptr::without_provenance_mut(usize::from(interface >= 5));
    }
    let colours = [(0, c"red"), (1, c"green")].map(|(number, name)| pmdaInstid {
        i_inst: number,
        i_name: name.as_ptr().cast_mut(),
    });
    let domain = pmdaIndom {
        it_indom: 1,
        it_numinst: 2,
        it_set: Box::leak(Box::new(colours)).as_mut_ptr(),
    };
    // SAFETY: tables that stay where they are, methods that keep their contracts, set where the
    // version has them.
    unsafe {
        pmdaDaemon(
            table,
            interface,
            c"fuzz".as_ptr(),
            DOMAIN as c_int,
            ptr::null(),
            ptr::null(),
        );
        pmdaSetFetchCallBack(table, Some(value));
        put(&raw mut table.store, store as *const ());
        put(&raw mut table.profile, profile as *const ());
        put(&raw mut table.text, text as *const ());
        if interface >= 4 {
            put(&raw mut table.pmid, metric_of as *const ());
            put(&raw mut table.name, names_of as *const ());
            put(&raw mut table.children, names_below as *const ());
        }
        if interface >= 7 {
            pmdaSetLabelCallBack(table, Some(instance_labels));
        }
        pmdaInit(table, Box::leak(Box::new(domain)), 1, metrics.as_mut_ptr(), 4);
    }
    assert_eq!(table.status, 0, "the agent is set up");
    Agent(table)
}

unsafe extern "C-unwind" fn value(metric: *mut pmdaMetric, instance: c_uint, atom: *mut pmAtomValue) -> c_int {
    static LONG: [u8; 2000] = {
        let mut text = [b'b'; 2000];
        text[1999] = 0;
        text
    };
    // SAFETY: a metric of our table, or none, and an atom to fill in; the text of the second one
    // belongs to the library.
    unsafe {
        match if metric.is_null() {
            0
        } else {
            (*metric).m_desc.pmid & 0x3ff
        } {
            2 if !(*metric).m_user.is_null() => {
                (*atom).cp = libc::strdup(c"dynamic".as_ptr());
                return FETCH_DYNAMIC;
            }
            1 | 2 => (*atom).cp = c"text".as_ptr().cast_mut(),
            3 => (*atom).cp = LONG.as_ptr().cast_mut().cast(),
            _ => (*atom).ul = instance,
        }
    }
    FETCH_STATIC
}

/// Looks at each byte of each value: the sanitizer finds a length that lies.
unsafe extern "C-unwind" fn store(result: *mut pmdaResult, _: *mut pmdaExt) -> c_int {
    let mut sum = 0_u8;
    // SAFETY: a result as libpcp's: as many value sets as it says, each with as many values, and
    // blocks as long as they say.
    unsafe {
        let sets = (&raw const (*result).vset).cast::<*mut pmValueSet>();
        for set in (0..(*result).numpmid.max(0) as usize).map(|place| *sets.add(place)) {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for value in (0..(*set).numval.max(0) as usize).map(|place| *values.add(place)) {
                if (*set).valfmt == VALUE_INSITU {
                    sum ^= value.value.lval as u8;
                    continue;
                }
                let block = value.value.pval.cast::<u8>();
                for place in 0..(*value.value.pval).vlen() as usize {
                    sum ^= *block.add(place);
                }
            }
        }
    }
    std::hint::black_box(sum);
    0
}

/// Looks at each instance of each domain.
unsafe extern "C-unwind" fn profile(profile: *mut pmProfile, ext: *mut pmdaExt) -> c_int {
    let mut sum = 0;
    // SAFETY: a profile with as many domains as it says, each with as many instances.
    unsafe {
        for place in 0..(*profile).profile_len.max(0) as usize {
            let domain = &*(*profile).profile.add(place);
            for instance in 0..domain.instances_len.max(0) as usize {
                sum ^= *domain.instances.add(instance);
            }
        }
        std::hint::black_box(sum);
        pmdaProfile(profile, ext)
    }
}

/// One metric has a text; an answer belongs to the agent.
unsafe extern "C-unwind" fn text(ident: c_int, _: c_int, text: *mut *mut c_char, _: *mut pmdaExt) -> c_int {
    let known = ident as u32 == DOMAIN << 22;
    let help = if known { c"help".as_ptr() } else { ptr::null() };
    // SAFETY: valid for a write.
    unsafe { *text = help.cast_mut() };
    if known { 0 } else { NO_TEXT }
}

unsafe extern "C-unwind" fn metric_of(name: *const c_char, pmid: *mut c_uint, _: *mut pmdaExt) -> c_int {
    // SAFETY: a tree; the rest is what the library gave us.
    unsafe { pmdaTreePMID(names(), name, pmid) }
}

unsafe extern "C-unwind" fn names_of(pmid: c_uint, set: *mut *mut *mut c_char, _: *mut pmdaExt) -> c_int {
    // SAFETY: as above.
    unsafe { pmdaTreeName(names(), pmid, set) }
}

unsafe extern "C-unwind" fn names_below(
    name: *const c_char,
    traverse: c_int,
    offspring: *mut *mut *mut c_char,
    status: *mut *mut c_int,
    _: *mut pmdaExt,
) -> c_int {
    // SAFETY: as above.
    unsafe { pmdaTreeChildren(names(), name, traverse, offspring, status) }
}

unsafe extern "C-unwind" fn instance_labels(_: pmInDom, instance: c_uint, sets: *mut *mut pmLabelSet) -> c_int {
    const FORMAT: &CStr = c"{\"inst\":%u}";
    // SAFETY: a place for a set, and an argument as the format has it.
    unsafe { pmdaAddLabels(sets, FORMAT.as_ptr(), instance) }
}
