//! The shared object: the interface structure of PCP's DSO agents, in front of the same session
//! that a daemon has.
//!
//! A host (pmcd, dbpmda, a client with a local context) opens the object and calls its one function
//! with a `pmdaInterface`, which gets the methods of this module. A call becomes a request, as pmcd
//! would send it to a daemon, and the reply becomes structures of the C heap. The declarations are
//! our own, from PCP's public header `pcp/pmda.h`; neither libpcp nor libpcp_pmda is linked, and
//! the same file serves PCP 6 and 7: interface 7 with version 2 of the PMAPI is what all of them
//! take (INIT-10).
//!
//! This module and those below are the only ones with `unsafe`. Each method trusts its arguments to
//! be what the header says: its address goes to the host alone, and nothing in Rust can call it.

#![allow(unsafe_code)]

use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{CString, c_int, c_void};
use std::mem::{self, ManuallyDrop};
use std::panic::catch_unwind;
use std::ptr;

use log::LevelFilter;
use pmda_core::wire::client::{self, ClientRequest};
use pmda_core::wire::{Kind, decode};

use crate::guard::ThreadNumber;
use crate::memory::HostResult;
use crate::session::{COMM_FLAGS, Session};
use crate::{Agent, ClientId, Env, Error, Result, guard, logger};

mod abi;
mod methods;
mod stay;

pub use abi::Interface;
use abi::{Ext, GivenExt, Methods};

/// The version of the interface.
const PMDA_INTERFACE_7: u8 = 7;
/// The version of the PMAPI that every host takes.
const PMAPI_VERSION_2: u8 = 2;
/// "Operation not supported for multi-threaded applications".
const PM_ERR_THREAD: c_int = -12398;
/// "General failure".
const PM_ERR_GENERIC: c_int = -12345;

/// Exports the one function of an agent's shared object.
///
/// `simple_init` is the name that stands in pmcd.conf: `simple 253 dso simple_init PATH`. The crate
/// of the agent has `crate-type = ["cdylib"]`, beside `"rlib"` if it is a daemon as well.
///
/// It takes a name and a type, and nothing of the agent's gets into an unsafe place:
///
/// ```
/// #![forbid(unsafe_code)]
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(simple_init, Simple);
/// # fn main() {}
/// ```
///
/// An expression is no type:
///
/// ```compile_fail
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(simple_init, { *std::ptr::null::<u8>(); Simple });
/// # fn main() {}
/// ```
///
/// Code in a type's constant is checked as safe code:
///
/// ```compile_fail,E0133
/// # use pmda::prelude::*;
/// # pub struct Simple<const N: usize>;
/// # impl<const N: usize> Agent for Simple<N> {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Self> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Self>) {}
/// # }
/// const unsafe fn dangerous() -> usize { 3 }
/// pmda::export_dso!(simple_init, Simple<{ dangerous() }>);
/// # fn main() {}
/// ```
///
/// The function replaces any other of its name in the process. So its name ends in `_init`, as in
/// pmcd.conf, and is none of the C library's, which have no name that an agent could have:
///
/// ```compile_fail,E0080
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(malloc, Simple);
/// # fn main() {}
/// ```
///
/// ```compile_fail,E0080
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(pthread_attr_init, Simple);
/// # fn main() {}
/// ```
///
/// What is no agent is refused, and nobody but a host can make the structure that the function
/// takes:
///
/// ```compile_fail,E0277
/// pub struct Other;
/// pmda::export_dso!(other_init, Other);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_dso {
    ($init:ident, $agent:ty) => {
        const _: () = $crate::dso::check_name(stringify!($init));

        /// Makes the agent known to a host that has opened the shared object.
        #[unsafe(no_mangle)]
        pub extern "C" fn $init(interface: &mut $crate::dso::Interface) {
            $crate::dso::init::<$agent>(interface);
        }
    };
}

/// Refuses, at compile time, a name that would replace a function of the process.
///
/// # Panics
/// For such a name.
#[doc(hidden)]
pub const fn check_name(name: &str) {
    /// Those of the C library that end in `_init`, beside those that begin with an underscore.
    const TAKEN: [&str; 9] = [
        "aio_init",
        "cnd_init",
        "fanotify_init",
        "inet6_",
        "inotify_init",
        "mtx_init",
        "posix_",
        "pthread_",
        "sem_init",
    ];
    let name = name.as_bytes();
    let is_init = name.len() > 5 && ends_with(name, b"_init");
    assert!(
        is_init,
        "the function of a shared object has a name that ends in `_init`, such as `simple_init`"
    );
    assert!(
        name[0].is_ascii_alphabetic(),
        "the name of a shared object's function begins with a letter"
    );
    let mut at = 0;
    while at < TAKEN.len() {
        assert!(
            !starts_with(name, TAKEN[at].as_bytes()),
            "the C library has a function of this name"
        );
        at += 1;
    }
}

const fn ends_with(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && starts_with(name.split_at(name.len() - end.len()).1, end)
}

const fn starts_with(name: &[u8], start: &[u8]) -> bool {
    let mut at = 0;
    while at < start.len() {
        if at == name.len() || name[at] != start[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// An agent in a host.
struct Dso<A: Agent> {
    session: Session<A>,
    request: ClientRequest,
    /// The last result, which stays ours: the host frees the sets in it.
    result: HostResult,
    /// The last text, which stays ours.
    text: CString,
}

impl<A: Agent> Dso<A> {
    /// Sends a request of a client to the agent and gives its reply to `read`.
    fn ask<R>(
        &mut self,
        client: ClientId,
        write: impl FnOnce(&mut ClientRequest) -> Result<()>,
        read: impl FnOnce(Reply<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut request = mem::take(&mut self.request);
        let written = write(request.of(client.0));
        let read = written.and_then(|()| self.send(request.bytes(), read));
        self.request = request;
        read
    }

    /// Sends a request that is whole.
    fn send<R>(&mut self, pdu: &[u8], read: impl FnOnce(Reply<'_>) -> Result<R>) -> Result<R> {
        read(Reply {
            pdu: self.session.request(pdu),
            result: &mut self.result,
            text: &mut self.text,
        })
    }
}

/// An agent in a host: its extension, which the host has, and behind it what is ours. It is never
/// freed, as the host has it as long as it likes.
#[repr(C)]
struct Hosted<A: Agent> {
    /// The host writes some of its fields between its calls.
    ext: UnsafeCell<Ext>,
    /// The thread on which the agent was started: it is for no other one, and need not be `Send`.
    thread: ThreadNumber,
    domain: c_int,
    /// The agent; another one after the host has opened it again.
    dso: RefCell<Option<Dso<A>>>,
}

thread_local! {
    /// The agents that were started on this thread: each is a [`Hosted`]. Never dropped: a host may
    /// call at the very end of its process.
    static AGENTS: ManuallyDrop<RefCell<Vec<&'static dyn Any>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Starts the agent and fills in the interface: what the exported function does.
#[doc(hidden)]
pub fn init<A: Agent>(interface: &mut Interface) {
    logger::start(&host(), LevelFilter::Info);
    stay::in_memory(init::<A> as *const c_void);
    let domain = interface.domain;
    let started = catch_unwind(|| {
        let number = u32::try_from(domain).map_err(|_| Error::EINVAL)?;
        let session = Session::<A>::start(&Env::installed(A::NAME, number, true))?;
        guard::serve(|thread| Ok((session, thread)))
    });
    let (session, thread) = match started {
        Ok(Ok(started)) => started,
        Ok(Err(error)) => {
            log::error!("{}: cannot start: {}", A::NAME, logger::describe(error));
            interface.status = error.code();
            return;
        }
        Err(payload) => {
            guard::discard(payload);
            interface.status = PM_ERR_GENERIC;
            return;
        }
    };
    let dso = Dso {
        session,
        request: ClientRequest::new(),
        result: HostResult::new(),
        text: CString::default(),
    };
    let hosted = hosted::<A>(domain, thread);
    let before = hosted
        .dso
        .try_borrow_mut()
        .ok()
        .and_then(|mut place| place.replace(dso));
    // Opened again after the host has closed it: pmcd after SIGHUP.
    if let Some(before) = before {
        before.session.end();
    }
    interface.interface = PMDA_INTERFACE_7;
    interface.pmapi_version = PMAPI_VERSION_2;
    interface.flags = COMM_FLAGS;
    interface.status = 0;
    interface
        .methods
        .write(Methods::of::<A>(ptr::from_ref(hosted).cast_mut().cast()));
}

/// Returns the place of an agent of this domain on this thread: as before if it was there.
fn hosted<A: Agent>(domain: c_int, thread: ThreadNumber) -> &'static Hosted<A> {
    AGENTS.with(|agents| {
        let mut agents = agents.borrow_mut();
        // One that is being asked cannot be exchanged.
        let is_free = |hosted: &&Hosted<A>| hosted.domain == domain && hosted.dso.try_borrow_mut().is_ok();
        let known = agents
            .iter()
            .filter_map(|hosted| hosted.downcast_ref::<Hosted<A>>())
            .find(is_free);
        known.unwrap_or_else(|| {
            let name = CString::new(A::NAME).unwrap_or_default();
            let hosted: &'static Hosted<A> = Box::leak(Box::new(Hosted {
                ext: UnsafeCell::new(Ext::new(name.into_raw(), domain, methods::ended::<A>)),
                thread,
                domain,
                dso: RefCell::new(None),
            }));
            agents.push(hosted);
            hosted
        })
    })
}

/// The program that the agent is in.
fn host() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Sends a request to the agent of this extension and gives its reply to `read`. Returns what
/// `read` returns, or the status of an error.
fn ask<A: Agent>(
    ext: GivenExt,
    write: impl FnOnce(&mut ClientRequest) -> Result<()>,
    read: impl FnOnce(Reply<'_>) -> Result<c_int>,
) -> c_int {
    with::<A>(ext, |dso, client| dso.ask(client, write, read))
}

/// Calls a function with the agent of this extension, and the client that the host has named.
/// Returns what it returns, or the status of an error.
#[inline]
fn with<A: Agent>(ext: GivenExt, call: impl FnOnce(&mut Dso<A>, ClientId) -> Result<c_int>) -> c_int {
    // SAFETY: a host gives NULL, or what `init` has given it together with the methods of the same
    // agent, which are all that calls this: the start of a `Hosted`, never freed. On another thread
    // than the agent's nothing of it is looked at but `thread`, which nobody writes.
    let Some(hosted) = (unsafe { ext.pointer().cast::<Hosted<A>>().as_ref() }) else {
        return Error::EINVAL.code();
    };
    let served = guard::serve(|thread| {
        if thread != hosted.thread {
            return Ok(PM_ERR_THREAD);
        }
        // SAFETY: the host writes to the extension between its calls, and has called on the thread
        // that it calls this agent on.
        let client = unsafe { (*hosted.ext.get()).context() };
        match hosted.dso.try_borrow_mut().as_deref_mut() {
            Ok(Some(dso)) => {
                dso.session.look();
                call(dso, ClientId(client))
            }
            _ => Ok(PM_ERR_THREAD),
        }
    });
    served.unwrap_or_else(Error::code)
}

/// Tells all agents of this type that the context of a client has ended: the host does not say
/// which of them it means.
fn tell_ended<A: Agent>(client: ClientId) {
    let agents = AGENTS.with(|agents| agents.try_borrow().map(|agents| agents.clone()));
    for hosted in agents
        .into_iter()
        .flatten()
        .filter_map(<dyn Any>::downcast_ref::<Hosted<A>>)
    {
        // As in `Handler::client_ended`.
        let _ = guard::serve(|_| {
            if let Ok(Some(dso)) = hosted.dso.try_borrow_mut().as_deref_mut() {
                dso.session.client_ended(client);
            }
            Ok(())
        });
    }
}

/// A reply, and where what stays ours is kept.
struct Reply<'d> {
    pdu: &'d [u8],
    result: &'d mut HostResult,
    text: &'d mut CString,
}

impl Reply<'_> {
    /// Checks that the reply is of this kind; the status of an ERROR is a failure.
    fn expect(&self, kind: Kind) -> Result<()> {
        client::expect(self.pdu, kind)
    }

    /// The status in the reply to a store.
    fn status(&self) -> Result<c_int> {
        Error::check(decode::error(self.pdu)?)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;
    use crate::Metrics;
    use crate::guard::CAUGHT;

    struct Small;

    impl Agent for Small {
        const NAME: &'static str = "small";
        const DOMAIN: u32 = 250;

        fn start(_: &Env) -> Result<Small> {
            Ok(Small)
        }

        fn metrics(m: &mut Metrics<Small>) {
            m.value("one", |_| 1_u32);
        }
    }

    /// Each agent does what it can to end its host.
    impl Drop for Small {
        fn drop(&mut self) {
            panic!("told to panic");
        }
    }

    #[test]
    fn names_of_functions() {
        for good in ["simple_init", "x_init", "init_init", "seminar_init"] {
            check_name(good);
        }
        for bad in [
            "malloc",
            "_init",
            "init",
            "x_ini",
            "__pmda_init",
            "sem_init",
            "pthread_mutex_init",
            "1_init",
        ] {
            assert!(catch_unwind(|| check_name(bad)).is_err(), "{bad}");
        }
    }

    /// The extension of a new agent, as a number, which may go to another thread.
    fn opened() -> usize {
        let mut interface = Interface {
            domain: 250,
            interface: 0,
            pmapi_version: 0,
            flags: 0,
            status: -1,
            methods: MaybeUninit::uninit(),
        };
        init::<Small>(&mut interface);
        assert_eq!(interface.status, 0);
        AGENTS.with(|agents| {
            let agents = agents.borrow();
            let hosted = agents.last().and_then(|last| last.downcast_ref::<Hosted<Small>>());
            ptr::from_ref(hosted.expect("the new one")).expose_provenance()
        })
    }

    fn served(ext: usize) -> c_int {
        with::<Small>(GivenExt::of(ptr::with_exposed_provenance(ext)), |_, _| Ok(0))
    }

    /// An agent serves the thread that it was started on, until its host opens it again: then it is
    /// dropped, whatever that does.
    #[test]
    fn threads_and_openings() {
        let first = opened();
        let other = std::thread::spawn(move || served(first)).join().expect("no panic");
        assert_eq!((served(first), other), (0, PM_ERR_THREAD));
        CAUGHT.set(0);
        let second = opened();
        assert_eq!(CAUGHT.replace(0), 1);
        assert_eq!(
            (first == second, served(second), served(0)),
            (true, 0, Error::EINVAL.code())
        );
    }
}
