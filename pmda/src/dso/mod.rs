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

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::ffi::{CString, c_int, c_void};
use std::mem::ManuallyDrop;
use std::panic::catch_unwind;
use std::ptr;
use std::rc::Rc;

use log::LevelFilter;
use pmda_core::wire::{HEADER, Kind, number};

use crate::session::{COMM_FLAGS, Session};
use crate::{Agent, ClientId, Env, Error, Result, guard, logger};

mod abi;
mod heap;
mod methods;
mod request;
mod result;
mod stay;

pub use abi::Interface;
use abi::{Ext, Methods};
use request::RequestBuilder;
pub(crate) use result::Sets;

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
        /// Makes the agent known to a host that has opened the shared object.
        #[unsafe(no_mangle)]
        pub extern "C" fn $init(interface: &mut $crate::dso::Interface) {
            $crate::dso::init::<$agent>(interface);
        }
    };
}

/// An agent in a host.
struct Dso<A: Agent> {
    session: Session<A>,
    request: RequestBuilder,
    /// The last result, which stays ours: the host frees the sets in it.
    result: Sets,
    /// The last text, which stays ours.
    text: CString,
}

impl<A: Agent> Dso<A> {
    /// Sends a request of a client to the agent and gives its reply to `read`.
    fn ask<R>(
        &mut self,
        client: ClientId,
        write: impl FnOnce(&mut RequestBuilder),
        read: impl FnOnce(Reply<'_>) -> Result<R>,
    ) -> Result<R> {
        self.request.begin(client.0);
        write(&mut self.request);
        let reply = Reply {
            pdu: self.session.request(self.request.finish()),
            result: &mut self.result,
            text: &mut self.text,
        };
        reply.or_error(read)
    }
}

/// An agent of some type, found by the address of its extension, or by its type where the host
/// gives no extension.
struct Entry {
    ext: usize,
    agent: TypeId,
    domain: c_int,
    dso: Rc<dyn Any>,
}

thread_local! {
    /// The agents that were started on this thread. They are for no other one: they need not be
    /// `Send`. Never dropped: a host may call at the very end of its process.
    static AGENTS: ManuallyDrop<RefCell<Vec<Entry>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Starts the agent and fills in the interface: what the exported function does.
#[doc(hidden)]
pub fn init<A: Agent>(interface: &mut Interface) {
    logger::start(&host(), LevelFilter::Info);
    stay::in_memory(init::<A> as *const c_void);
    let domain = interface.domain;
    let started = catch_unwind(|| {
        let number = u32::try_from(domain).map_err(|_| Error::INVAL)?;
        Session::<A>::start(&Env::installed(A::NAME, number, true))
    });
    let session = match started {
        Ok(Ok(session)) => session,
        Ok(Err(error)) => {
            log::error!("{}: cannot start: {error}", A::NAME);
            interface.status = error.code();
            return;
        }
        Err(_) => {
            interface.status = PM_ERR_GENERIC;
            return;
        }
    };
    let name = CString::new(A::NAME).unwrap_or_default();
    // Leaked: the host has it as long as it likes.
    let ext = Box::into_raw(Box::new(Ext::new(name.into_raw(), domain, methods::ended::<A>)));
    let dso = Dso {
        session,
        request: RequestBuilder::default(),
        result: Sets::default(),
        text: CString::default(),
    };
    let entry = Entry {
        ext: ext.addr(),
        agent: TypeId::of::<A>(),
        domain,
        dso: Rc::new(RefCell::new(dso)),
    };
    AGENTS.with(|agents| {
        let mut agents = agents.borrow_mut();
        // Opened again after the host has closed it: pmcd after SIGHUP.
        agents.retain(|old| (old.agent, old.domain) != (entry.agent, entry.domain));
        agents.push(entry);
    });
    interface.interface = PMDA_INTERFACE_7;
    interface.pmapi_version = PMAPI_VERSION_2;
    interface.flags = COMM_FLAGS;
    interface.status = 0;
    interface.methods.write(Methods::of::<A>(ext));
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
    ext: Option<&Ext>,
    write: impl FnOnce(&mut RequestBuilder),
    read: impl FnOnce(Reply<'_>) -> Result<c_int>,
) -> c_int {
    with::<A>(ext, |dso, client| dso.ask(client, write, read))
}

/// Calls a function with the agent of this extension, and the client that the host has named.
/// Returns what it returns, or the status of an error.
fn with<A: Agent>(ext: Option<&Ext>, call: impl FnOnce(&mut Dso<A>, ClientId) -> Result<c_int>) -> c_int {
    let Some(ext) = ext else { return Error::INVAL.code() };
    let served = guard::serve(|| {
        let Some(dso) = find::<A>(ptr::from_ref(ext).addr()) else {
            return Ok(PM_ERR_THREAD);
        };
        let Ok(mut dso) = dso.try_borrow_mut() else {
            return Ok(PM_ERR_THREAD);
        };
        call(&mut dso, ClientId(ext.context()))
    });
    served.unwrap_or_else(Error::code)
}

/// The agent of this type with this extension.
fn find<A: Agent>(ext: usize) -> Option<Rc<RefCell<Dso<A>>>> {
    AGENTS.with(|agents| {
        let agents = agents.try_borrow().ok()?;
        let entry = agents.iter().find(|entry| entry.ext == ext)?;
        Rc::clone(&entry.dso).downcast().ok()
    })
}

/// Tells all agents of this type that the context of a client has ended: the host does not say
/// which of them it means.
fn tell_ended<A: Agent>(client: ClientId) {
    let agents = AGENTS.with(|agents| {
        let agents = agents.try_borrow().ok()?;
        let same = agents.iter().filter(|entry| entry.agent == TypeId::of::<A>());
        Some(same.map(|entry| Rc::clone(&entry.dso)).collect::<Vec<_>>())
    });
    for dso in agents.into_iter().flatten() {
        let Ok(dso) = dso.downcast::<RefCell<Dso<A>>>() else {
            continue;
        };
        // As in `Served::client_ended`.
        let _ = guard::serve(|| {
            if let Ok(mut dso) = dso.try_borrow_mut() {
                dso.session.client_ended(client);
            }
            Ok(())
        });
    }
}

/// A reply, and where what stays ours is kept.
struct Reply<'d> {
    pdu: &'d [u8],
    result: &'d mut Sets,
    text: &'d mut CString,
}

impl Reply<'_> {
    /// Gives a reply that is no error to `read`.
    fn or_error<R>(self, read: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        if !self.pdu.is_empty() && self.kind() == Kind::PDU_ERROR {
            let status = number(self.pdu, HEADER).ok_or(Error::IPC)?;
            // No error is no reply to any request but a store.
            Error::check(status)?;
        }
        read(self)
    }

    /// Checks that the reply is of this kind.
    fn expect(&self, kind: Kind) -> Result<()> {
        if self.kind() == kind { Ok(()) } else { Err(Error::IPC) }
    }

    fn kind(&self) -> Kind {
        Kind(number(self.pdu, 4).unwrap_or(0))
    }
}
