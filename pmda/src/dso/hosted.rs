//! The agents in a host, and the way of a request to one of them.

use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{CString, c_int};
use std::mem::{self, ManuallyDrop};

use pmda_core::error as wire;
use pmda_core::wire::client::{self, ClientRequest};
use pmda_core::wire::{Kind, decode};

use super::abi::{Ext, GivenExt};
use crate::agent::Agent;
use crate::client::ClientId;
use crate::error::{Error, Result};
use crate::guard;
use crate::guard::ThreadNumber;
use crate::memory::HostResult;
use crate::session::Session;

/// "Operation not supported for multi-threaded applications".
pub(super) const PM_ERR_THREAD: c_int = -12398;

/// An agent in a host, with the memory of its requests and replies.
pub(super) struct Dso<A: Agent> {
    pub(super) session: Session<A>,
    request: ClientRequest,
    /// The last result, which stays ours: the host frees the sets in it.
    pub(super) result: HostResult,
    /// The last text, which stays ours: the host reads it before its next call.
    text: CString,
}

impl<A: Agent> Dso<A> {
    /// Returns a session as it is after its start.
    pub(super) fn new(session: Session<A>) -> Dso<A> {
        Dso {
            session,
            request: ClientRequest::new(),
            result: HostResult::new(),
            text: CString::default(),
        }
    }

    /// Sends a request of a client to the agent and gives its reply to `read`.
    ///
    /// # Errors
    /// That of the request, such as a list that is too long for a PDU; those of `read`.
    pub(super) fn ask<R>(
        &mut self,
        client: ClientId,
        write: impl FnOnce(&mut ClientRequest) -> wire::Result<()>,
        read: impl FnOnce(Reply<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut request = mem::take(&mut self.request);
        let written = write(request.of(client.0)).map_err(Error::from);
        let read = written.and_then(|()| self.send(request.bytes(), read));
        self.request = request;
        read
    }

    /// Sends a request that is whole.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn send<R>(&mut self, pdu: &[u8], read: impl FnOnce(Reply<'_>) -> Result<R>) -> Result<R> {
        read(Reply {
            pdu: self.session.request(pdu),
            result: &mut self.result,
            text: &mut self.text,
        })
    }
}

/// An agent in a host: first its extension, whose address the host has, and after the extension our
/// own data. It is never freed, as the host may use it for ever.
#[repr(C)]
pub(super) struct Hosted<A: Agent> {
    /// The host writes some of its fields between its calls.
    ext: UnsafeCell<Ext>,
    /// The thread on which the agent was started. No other one may use it, as it need not be
    /// `Send`.
    thread: ThreadNumber,
    domain: c_int,
    /// The agent; another one after the host has opened it again, none if that one could not start.
    pub(super) dso: RefCell<Option<Dso<A>>>,
}

thread_local! {
    /// The agents that were started on this thread: each is a [`Hosted`]. Never dropped: a host may
    /// call at the very end of its process.
    pub(super) static AGENTS: ManuallyDrop<RefCell<Vec<&'static dyn Any>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Returns the place of the agent of this type and domain on this thread, which is made if it does
/// not exist. The host calls `ended` for contexts that have ended.
pub(super) fn hosted<A: Agent>(domain: c_int, thread: ThreadNumber, ended: extern "C" fn(c_int)) -> &'static Hosted<A> {
    AGENTS.with(|agents| {
        let mut agents = agents.borrow_mut();
        // The agent of a place that is serving a request cannot be exchanged.
        let is_free = |hosted: &&Hosted<A>| hosted.domain == domain && hosted.dso.try_borrow_mut().is_ok();
        let free = agents
            .iter()
            .filter_map(|hosted| hosted.downcast_ref::<Hosted<A>>())
            .find(is_free);
        free.unwrap_or_else(|| {
            let name = CString::new(A::NAME).unwrap_or_default();
            let hosted: &'static Hosted<A> = Box::leak(Box::new(Hosted {
                ext: UnsafeCell::new(Ext::new(name.into_raw(), domain, ended)),
                thread,
                domain,
                dso: RefCell::new(None),
            }));
            agents.push(hosted);
            hosted
        })
    })
}

/// Takes the agent of this type and domain on this thread from its place, unless it is serving a
/// request.
pub(super) fn take<A: Agent>(domain: c_int) -> Option<Dso<A>> {
    let agents = AGENTS
        .with(|agents| agents.try_borrow().map(|agents| agents.clone()))
        .ok()?;
    agents
        .into_iter()
        .filter_map(<dyn Any>::downcast_ref::<Hosted<A>>)
        .filter(|hosted| hosted.domain == domain)
        .find_map(|hosted| hosted.dso.try_borrow_mut().ok()?.take())
}

/// Sends a request to the agent of this extension and gives its reply to `read`. Returns what
/// `read` returns, or the status of an error.
pub(super) fn ask<A: Agent>(
    ext: GivenExt,
    write: impl FnOnce(&mut ClientRequest) -> wire::Result<()>,
    read: impl FnOnce(Reply<'_>) -> Result<c_int>,
) -> c_int {
    with::<A>(ext, |dso, client| dso.ask(client, write, read))
}

/// Calls a function with the agent of this extension and the client that the host has named in the
/// extension. Returns what it returns, or the status of an error: `PM_ERR_THREAD` on another thread
/// than the agent's, or if the agent is serving a request; `PM_ERR_NOAGENT` if another one could
/// not start in its place.
#[inline]
pub(super) fn with<A: Agent>(ext: GivenExt, call: impl FnOnce(&mut Dso<A>, ClientId) -> Result<c_int>) -> c_int {
    // SAFETY: a host gives NULL, or what `init` has given it together with the methods of the same
    // agent, which are all that calls this: the start of a `Hosted`, never freed. On another thread
    // than the agent's nothing of it is looked at but `thread`, which nobody writes.
    let Some(hosted) = (unsafe { ext.pointer().cast::<Hosted<A>>().as_ref() }) else {
        return Error::EINVAL.code().number();
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
            Ok(None) => Err(Error::NOAGENT),
            Err(_) => Ok(PM_ERR_THREAD),
        }
    });
    served.unwrap_or_else(|error| error.code().number())
}

/// Tells all agents of this type that the context of a client has ended: the host does not say
/// which of them it means.
pub(super) fn tell_ended<A: Agent>(client: ClientId) {
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

/// A reply, and the places of what the host reads without owning it.
pub(super) struct Reply<'d> {
    pub(super) pdu: &'d [u8],
    pub(super) result: &'d mut HostResult,
    pub(super) text: &'d mut CString,
}

impl Reply<'_> {
    /// Checks that the reply is of this kind; the status of an ERROR is a failure.
    ///
    /// # Errors
    /// That status; `PM_ERR_IPC` for another kind.
    pub(super) fn expect(&self, kind: Kind) -> Result<()> {
        Ok(client::expect(self.pdu, kind)?)
    }

    /// The status in the reply to a store.
    ///
    /// # Errors
    /// The status itself if it is negative; `PM_ERR_IPC` for another kind of reply.
    pub(super) fn status(&self) -> Result<c_int> {
        Error::check(decode::error(self.pdu)?)
    }
}
