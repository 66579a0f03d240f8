//! The shared object: the interface structure of PCP's DSO agents, in front of the same session
//! that a daemon has.
//!
//! A host (pmcd, dbpmda, a client with a local context) opens the object and calls its one function
//! with a `pmdaInterface`, which gets the methods of this module. A call becomes a request, as pmcd
//! would send it to a daemon, and the reply becomes structures of the C heap. The declarations are
//! our own, from PCP's public header `pcp/pmda.h`; neither libpcp nor libpcp_pmda is linked. One
//! file serves PCP 6 and 7, since both take interface 7 with version 2 of the PMAPI (INIT-10).
//!
//! Of this crate only this module, those below it and `memory` have unsafe code.
//! Each method trusts its arguments to be what the header says: its address goes to the host alone,
//! and nothing in Rust can call it.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::panic::catch_unwind;
use std::ptr;

use log::LevelFilter;

use crate::agent::Agent;
use crate::env::Env;
use crate::error::Error;
use crate::session::{COMM_FLAGS, Session};
use crate::{guard, logger};

mod abi;
mod hosted;
mod methods;
mod stay;

pub use abi::Interface;
use abi::Methods;
use hosted::{Dso, hosted, take};

/// The version of the interface with labels.
const PMDA_INTERFACE_7: u8 = 7;
/// The version of the PMAPI that every host takes.
const PMAPI_VERSION_2: u8 = 2;
/// An error without a code of its own.
const PM_ERR_GENERIC: c_int = -12345;

/// Exports the one function of an agent's shared object.
///
/// `pmda_simple_init` is the name in pmcd.conf: `simple 253 dso pmda_simple_init PATH`. The agent's
/// crate has `crate-type = ["cdylib"]`, beside `"rlib"` if it is a daemon as well.
///
/// The macro takes a name and a type, so that no code of the agent gets into an unsafe place:
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
/// pmda::export_dso!(pmda_simple_init, Simple);
/// # fn main() {}
/// ```
///
/// The function takes the place of any other with its name in the process, such as one of a C
/// library that the agent's crates call: they would call it with other arguments. So the name begins
/// with `pmda_`, as no function of a library does, and ends in `_init`:
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
/// pmda::export_dso!(sensors_init, Simple);
/// # fn main() {}
/// ```
///
/// For any other name, the agent's own attribute exports the function. It is `unsafe`: whoever
/// writes it has made sure that nothing in the process calls another function of that name.
///
/// ```
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(#[unsafe(no_mangle)] simple_init, Simple);
/// # fn main() {}
/// ```
///
/// ```compile_fail
/// #![forbid(unsafe_code)]
/// # use pmda::prelude::*;
/// # pub struct Simple;
/// # impl Agent for Simple {
/// #     const NAME: &'static str = "simple";
/// #     const DOMAIN: u32 = 253;
/// #     fn start(_: &Env) -> Result<Simple> { Ok(Simple) }
/// #     fn metrics(_: &mut Metrics<Simple>) {}
/// # }
/// pmda::export_dso!(#[unsafe(no_mangle)] simple_init, Simple);
/// # fn main() {}
/// ```
///
/// An expression is not a type:
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
/// pmda::export_dso!(pmda_simple_init, { *std::ptr::null::<u8>(); Simple });
/// # fn main() {}
/// ```
///
/// Code in a constant of the type is checked as safe code:
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
/// pmda::export_dso!(pmda_simple_init, Simple<{ dangerous() }>);
/// # fn main() {}
/// ```
///
/// The type must be an agent. Nobody but a host can make the structure that the function takes, so
/// safe code cannot call it:
///
/// ```compile_fail,E0277
/// pub struct Other;
/// pmda::export_dso!(pmda_other_init, Other);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export_dso {
    ($init:ident, $agent:ty) => {
        const _: () = $crate::dso::check_name($crate::dso::stringify!($init));

        /// Makes the agent known to the host that has opened the shared object.
        #[unsafe(no_mangle)]
        pub extern "C" fn $init(interface: &mut $crate::dso::Interface) {
            $crate::dso::init::<$agent>(interface);
        }
    };
    // The two tokens of the attribute are the agent's own, so the compiler takes it for code of the
    // agent: `forbid(unsafe_code)` refuses it.
    ($hash:tt $attribute:tt $init:ident, $agent:ty) => {
        /// Makes the agent known to the host that has opened the shared object.
        $hash $attribute
        pub extern "C" fn $init(interface: &mut $crate::dso::Interface) {
            $crate::dso::init::<$agent>(interface);
        }
    };
}

/// The name as the macro checks it. By this path, since an agent's crate may call another one
/// `core`.
#[doc(hidden)]
pub use core::stringify;

/// Refuses, at compile time, a name that a library may have for a function.
///
/// # Panics
/// For a name that does not begin with `pmda_`, or does not end in `_init`. In a constant that is an
/// error of the compiler.
#[doc(hidden)]
pub const fn check_name(name: &str) {
    let name = name.as_bytes();
    let is_ours = name.len() > "pmda__init".len() && starts_with(name, b"pmda_") && ends_with(name, b"_init");
    assert!(
        is_ours,
        "the function of a shared object has a name such as `pmda_simple_init`; another name, which a library may \
         have for a function, needs `#[unsafe(no_mangle)]` in front of it"
    );
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

/// Starts the agent and fills in the interface: the work of the exported function. If the agent
/// cannot start, `status` has the error.
///
/// No agent starts on a machine with 32 bits. A result begins with a time, whose length depends on
/// how the host's libpcp was built on such a machine (Debian's i386: PCP 6.0.3 and 6.3.8), and this
/// crate reads no header of PCP: the host would take the time for the number of metrics.
#[doc(hidden)]
pub fn init<A: Agent>(interface: &mut Interface) {
    logger::start(&host(), LevelFilter::Info);
    if cfg!(target_pointer_width = "32") {
        log::error!(
            "{}: cannot start: an agent in Rust is no DSO on a machine with 32 bits; run it as a daemon",
            A::NAME
        );
        interface.status = PM_ERR_GENERIC;
        return;
    }
    stay::in_memory(init::<A> as *const c_void);
    let domain = interface.domain;
    let started = catch_unwind(|| {
        let number = u32::try_from(domain).map_err(|_| Error::EINVAL)?;
        // A host that opens the object again, as pmcd does after SIGHUP, is done with the old
        // agent. The old agent ends first, since the new one may need a port or a file that it
        // holds.
        if let Some(before) = take::<A>(domain) {
            before.session.end();
        }
        let session = Session::<A>::start(&Env::installed(A::NAME, number, true))?;
        guard::serve(|thread| Ok((session, thread)))
    });
    let (session, thread) = match started {
        Ok(Ok(started)) => started,
        Ok(Err(error)) => {
            log::error!("{}: cannot start: {}", A::NAME, logger::describe(&error));
            interface.status = error.code().number();
            return;
        }
        Err(payload) => {
            guard::discard(payload);
            interface.status = PM_ERR_GENERIC;
            return;
        }
    };
    let hosted = hosted::<A>(domain, thread, methods::ended::<A>);
    if let Ok(mut dso) = hosted.dso.try_borrow_mut() {
        *dso = Some(Dso::new(session));
    }
    interface.interface = PMDA_INTERFACE_7;
    interface.pmapi_version = PMAPI_VERSION_2;
    interface.flags = COMM_FLAGS;
    interface.status = 0;
    interface
        .methods
        .write(Methods::of::<A>(ptr::from_ref(hosted).cast_mut().cast()));
}

/// The name of the program that has opened the shared object, for the log.
fn host() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::net::TcpListener;

    use super::abi::GivenExt;
    use super::hosted::{AGENTS, Hosted, PM_ERR_THREAD, with};
    use super::*;
    use crate::error::Result;
    use crate::guard::CAUGHT;
    use crate::metrics::Metrics;

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

    /// Does what it can to end its host.
    impl Drop for Small {
        fn drop(&mut self) {
            panic!("told to panic");
        }
    }

    #[test]
    fn names_of_functions() {
        for good in ["pmda_simple_init", "pmda_x_init", "pmda_init_init"] {
            check_name(good);
        }
        for bad in [
            "malloc",
            "_init",
            "sensors_init",
            "simple_pmda_init",
            "pmda_init",
            "pmda__init",
            "pmdaInit",
            "pmda_x",
            "r#pmda_x_init",
            "PMDA_x_init",
        ] {
            assert!(catch_unwind(|| check_name(bad)).is_err(), "{bad}");
        }
    }

    /// Opens an agent. Returns the extension of the agent that exists then, as a number for other
    /// threads, and the status.
    fn open<A: Agent>(domain: c_int) -> (usize, c_int) {
        let mut interface = Interface {
            domain,
            interface: 0,
            pmapi_version: 0,
            flags: 0,
            status: -1,
            methods: MaybeUninit::uninit(),
        };
        init::<A>(&mut interface);
        let ext = AGENTS.with(|agents| {
            let agents = agents.borrow();
            let hosted = agents.last().and_then(|last| last.downcast_ref::<Hosted<A>>());
            ptr::from_ref(hosted.expect("it was opened before, or now")).expose_provenance()
        });
        (ext, interface.status)
    }

    /// Returns the result of a call of the host that does nothing.
    fn served<A: Agent>(ext: usize) -> c_int {
        with::<A>(GivenExt::of(ptr::with_exposed_provenance(ext)), |_, _| Ok(0))
    }

    /// An agent that holds a port.
    struct Listening {
        _socket: TcpListener,
    }

    thread_local! {
        /// The port that the agent of this thread needs; 0 for any, none if the agent cannot start.
        static PORT: Cell<Option<u16>> = const { Cell::new(Some(0)) };
    }

    impl Agent for Listening {
        const NAME: &'static str = "listening";
        const DOMAIN: u32 = 251;

        fn start(_: &Env) -> Result<Listening> {
            let port = PORT.get().ok_or(Error::EPERM)?;
            let socket = TcpListener::bind(("127.0.0.1", port))?;
            PORT.set(Some(socket.local_addr()?.port()));
            Ok(Listening { _socket: socket })
        }

        fn metrics(_: &mut Metrics<Listening>) {}
    }

    /// The old agent ends before the next one starts. If that start fails, no agent is left, and
    /// the next opening starts one again.
    #[test]
    fn one_agent_at_a_time() {
        let (first, status) = open::<Listening>(251);
        assert_eq!((status, served::<Listening>(first)), (0, 0));
        let port = PORT.get();
        let (second, status) = open::<Listening>(251);
        assert_eq!((status, first == second, served::<Listening>(second)), (0, true, 0));
        PORT.set(None);
        let (_, status) = open::<Listening>(251);
        assert_eq!(
            (status, served::<Listening>(first)),
            (Error::EPERM.code().number(), Error::NOAGENT.code().number())
        );
        PORT.set(port);
        let (third, status) = open::<Listening>(251);
        assert_eq!((status, first == third, served::<Listening>(third)), (0, true, 0));
    }

    /// An agent serves its own thread, until its host opens it again: then it is dropped.
    #[test]
    fn threads_and_openings() {
        let (first, status) = open::<Small>(250);
        let other = std::thread::spawn(move || served::<Small>(first))
            .join()
            .expect("no panic");
        assert_eq!((status, served::<Small>(first), other), (0, 0, PM_ERR_THREAD));
        CAUGHT.set(0);
        let (second, status) = open::<Small>(250);
        assert_eq!((status, CAUGHT.replace(0)), (0, 1));
        assert_eq!(
            (first == second, served::<Small>(second), served::<Small>(0)),
            (true, 0, Error::EINVAL.code().number())
        );
    }
}
