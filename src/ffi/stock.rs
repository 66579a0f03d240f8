//! Requests to agents whose methods are this library's own: what a method would hand over in blocks from malloc, only to
//! be encoded and freed, is encoded at once.
//!
//! For a reply with 10,000 values of 64 bits that is 20,000 calls of malloc and free less. Nobody can tell by what is on
//! the wire. The agent may replace its methods and callbacks at any time, so they are looked at for each request.

use std::ffi::c_int;
use std::ptr;

use super::dispatch::{Agent, Names};
use super::fetch::{fetch_into, pmdaFetch};
use super::guard::inner;
use super::instances::{self, List, pmdaInstance};
use crate::abi::draft::Drafted;
use crate::abi::ext::Ext;
use crate::abi::pmids::WirePmids;
use crate::error::{Error, Result};
use crate::libpcp::version::free_result_values;
use crate::wire::decode::{self, InstanceRequest};
use crate::wire::encode::Reply;

/// Whether a function with the name of one of ours is somebody else's: what the dynamic linker resolves the name to, in a
/// dispatch table and here, is a preloaded function if there is one. That one wants to be called.
pub(super) fn is_interposed(function: *const ()) -> bool {
    unsafe extern "C" {
        /// Where this library, or the program that it was linked into, begins and ends in memory; the linker knows.
        static __ehdr_start: u8;
        static _end: u8;
    }
    let own = (&raw const __ehdr_start).addr()..(&raw const _end).addr();
    !own.contains(&function.addr())
}

impl Agent {
    /// Whether the result of a fetch would be seen by nobody but the encoder and libpcp's own free function.
    pub(super) fn has_stock_fetch(self) -> bool {
        // SAFETY: the dispatch table and the extension are valid while their PDU is served.
        let (method, callback) = unsafe { ((*self.dispatch).fetch, (*self.ext).e_resultCallBack) };
        method.is_some_and(|method| ptr::fn_addr_eq(method, pmdaFetch as unsafe extern "C-unwind" fn(_, _, _, _) -> _))
            && !is_interposed(pmdaFetch as *const ())
            && callback
                .is_some_and(|callback| ptr::fn_addr_eq(callback, free_result_values as unsafe extern "C-unwind" fn(_)))
    }

    /// FETCH, for an agent with [`Agent::has_stock_fetch`].
    pub(super) fn stock_fetch(self, pdu: &[u8], names: &Names) {
        let Ok(mut draft) = Drafted::take(&self.session.draft) else {
            return self.answer(names.request, names.reply, |_| Err(Error::NOMEM));
        };
        let outcome = decode::fetch_ids(pdu).and_then(|ids| {
            // SAFETY: the extension is valid while its PDU is served, and so are its tables and callback.
            checked(inner(|| unsafe {
                let ext = Ext::new(self.ext).ok_or(Error::INVAL)?;
                fetch_into(WirePmids(ids), &mut draft, ext)
            }))
        });
        self.send(draft.reply(), outcome, names);
        draft.give_back(&self.session.draft);
    }

    /// Whether the list of instances would be seen by nobody but the encoder.
    pub(super) fn has_stock_instance(self) -> bool {
        // SAFETY: the dispatch table is valid while its PDU is served.
        let method = unsafe { (*self.dispatch).instance };
        method.is_some_and(|method| {
            ptr::fn_addr_eq(method, pmdaInstance as unsafe extern "C-unwind" fn(_, _, _, _, _) -> _)
        }) && !is_interposed(pmdaInstance as *const ())
    }

    /// INSTANCE_REQ, for an agent with [`Agent::has_stock_instance`].
    pub(super) fn stock_instance(self, request: InstanceRequest<'_>, reply: &mut Reply) -> Result<()> {
        let InstanceRequest { indom, inst, name } = request;
        // As the method would see it: up to the first NUL.
        let name = name.and_then(|name| name.split(|byte| *byte == 0).next());
        checked(inner(|| {
            // SAFETY: the extension and its tables are valid while its PDU is served.
            let list = unsafe {
                instances::list(indom, inst, name, self.ext, move |_, ids, names| {
                    reply.begin_instances(indom);
                    let count = 0;
                    Ok(Sent {
                        reply,
                        ids,
                        names,
                        count,
                    })
                })?
            };
            list.reply.end_instances(list.count)
        }))
    }
}

/// The code behind the inner guard as a result again: a panic ends in an error reply, as that of a method does.
fn checked(code: c_int) -> Result<()> {
    Error::check(code).map(|_| ())
}

/// A list of instances in a reply.
struct Sent<'a> {
    reply: &'a mut Reply,
    ids: bool,
    names: bool,
    count: usize,
}

impl List for Sent<'_> {
    #[inline]
    fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()> {
        self.count += 1;
        self.reply
            .instance(self.ids.then_some(inst), name.filter(|_| self.names))
    }
}
