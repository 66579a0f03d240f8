//! The one lock of the library, for all state in globals. Each step of the library ([`Step`]) holds
//! it from its start to its end, and proves that by a [`Token`].
//!
//! For `src/boundary.rs`, which begins the steps. The lock is not held across calls into C, and
//! [`Token::apart`] gives it to other threads while a file is written or a stream is locked. A
//! signal handler on top of a step never waits: [`Step::enter`] refuses it.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering, compiler_fence};

const FREE: usize = 0;
/// A flag beside the identity of the holder: threads may sleep in the kernel until the lock is free.
const CONTENDED: usize = 1;
/// The only thread of the process holds the lock.
const ALONE: usize = 2;
/// No thread may take the lock yet: no call has checked whether the library fits the libpcp of this
/// process ([`settle`]).
const UNASKED: usize = 4;
/// No thread may ever take the lock: the library does not fit. The identity of a thread is a larger
/// number.
const CLOSED: usize = 8;

static LOCK: Lock = Lock(AtomicUsize::new(UNASKED));

/// Returns whether [`settle`] is still to be called.
pub(crate) fn is_unasked() -> bool {
    LOCK.0.load(Ordering::Relaxed) == UNASKED
}

/// Opens the lock, or closes it for ever if the library was not built for the libpcp of the
/// process. Until then the lock is closed, so a step need only check whether the lock is free.
/// Returns true for the first call; later calls change nothing and return false.
pub(crate) fn settle(open: bool) -> bool {
    LOCK.exchange(UNASKED, if open { FREE } else { CLOSED })
}

/// Returns whether steps may begin.
pub(crate) fn is_open() -> bool {
    !matches!(LOCK.0.load(Ordering::Relaxed), UNASKED | CLOSED)
}

/// The state of the lock: one of the constants above, or the identity of the holder, with
/// [`CONTENDED`] or without.
///
/// Nearly every agent has one thread. While the process has one thread, which the C library's
/// `__libc_single_threaded` says, the lock is a flag ([`ALONE`]): if it is set, a signal handler on
/// top of a step may not begin another step. With several threads the state names the holder. The
/// holder's own signal handlers are refused, and other threads wait in the kernel.
///
/// This is no error-checking mutex of the C library: that is two words, and a handler that runs
/// between the writes of the two waits for its own thread.
struct Lock(AtomicUsize);

unsafe extern "C" {
    /// Non-zero while the process has one thread (glibc 2.32 and up).
    safe static __libc_single_threaded: AtomicU8;
    /// The identity of this thread, the same in the child of a fork: the address of a structure, so
    /// the lowest bits are free.
    safe fn pthread_self() -> usize;
}

#[inline(always)]
fn single_threaded() -> bool {
    __libc_single_threaded.load(Ordering::Relaxed) != 0
}

impl Lock {
    /// Takes the lock, or waits for it; false if this thread has it, and while it is closed.
    #[inline(always)]
    fn take(&self) -> bool {
        if single_threaded() {
            self.take_alone()
        } else {
            self.take_as_one_of_several()
        }
    }

    #[inline(always)]
    fn take_alone(&self) -> bool {
        let is_free = self.0.load(Ordering::Relaxed) == FREE;
        if is_free {
            self.0.store(ALONE, Ordering::Relaxed);
        }
        // First the lock, then the work: for signal handlers.
        compiler_fence(Ordering::SeqCst);
        is_free
    }

    /// [`Lock::take`] for one of several threads.
    #[inline(never)]
    fn take_as_one_of_several(&self) -> bool {
        let me = pthread_self();
        self.exchange(FREE, me) || self.wait(me)
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, me: usize) -> bool {
        let mut taken = me;
        loop {
            let state = self.0.load(Ordering::Relaxed);
            if state == FREE {
                if self.exchange(state, taken) {
                    return true;
                }
            } else if matches!(state, ALONE | UNASKED | CLOSED) || state & !CONTENDED == me {
                return false;
            } else if state & CONTENDED != 0 || self.exchange(state, state | CONTENDED) {
                self.ask_kernel(libc::FUTEX_WAIT, (state | CONTENDED) as u32);
                // Other threads may still sleep, so the next holder wakes one of them when it frees
                // the lock.
                taken = me | CONTENDED;
            }
        }
    }

    /// Frees the lock. Nobody waits for a thread that was the only one when it took it.
    #[inline(always)]
    fn give(&self) {
        compiler_fence(Ordering::SeqCst);
        if self.0.load(Ordering::Relaxed) == ALONE {
            self.0.store(FREE, Ordering::Release);
        } else {
            self.give_as_one_of_several();
        }
    }

    #[inline(never)]
    fn give_as_one_of_several(&self) {
        if self.0.swap(FREE, Ordering::Release) & CONTENDED != 0 {
            self.ask_kernel(libc::FUTEX_WAKE, 1);
        }
    }

    #[inline(always)]
    fn exchange(&self, from: usize, to: usize) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.0.compare_exchange(from, to, success, failure).is_ok()
    }

    /// Waits while the lower half of the state is this one, or wakes a number of threads. errno stays
    /// as it was: callers look at it after calls that succeed, too.
    fn ask_kernel(&self, operation: i32, value: u32) {
        let halves = self.0.as_ptr().cast::<u32>();
        let last = size_of::<usize>() / size_of::<u32>() - 1;
        let half = halves.wrapping_add(if cfg!(target_endian = "big") { last } else { 0 });
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let forever = ptr::null::<libc::timespec>();
        // SAFETY: the lock lives as long as the library, which this thread is in; the kernel
        // compares it or takes it for an address. errno is this thread's own.
        unsafe {
            let errno = libc::__errno_location();
            let before = errno.read();
            libc::syscall(libc::SYS_futex, half, operation, value, forever);
            errno.write(before);
        }
    }
}

/// Runs in the child of a fork: frees the lock, unless a handler on top of a step has forked. The
/// thread that has forked is the only one in the child.
///
/// A change that another thread had begun stays half done in the child, as with the C library:
/// POSIX allows the child of a process with several threads no more than to `exec`. `_Fork` does
/// not run this function: if another thread has the lock at that moment, a call in the child waits
/// for ever.
extern "C" fn in_child() {
    let me = pthread_self();
    let state = LOCK.0.load(Ordering::Relaxed);
    if state > CLOSED && state & !CONTENDED != me {
        LOCK.0.store(FREE, Ordering::Relaxed);
    }
}

/// Runs when the library is loaded. The C library forgets the handler when it is unloaded.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without
// any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    // SAFETY: a function without arguments, which stays as long as this library.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// A step of the library: this thread has the lock.
pub(crate) struct Step {
    pub(crate) token: Token,
}

impl Step {
    /// Begins a step: takes the lock, or waits for it. Returns `None` in a signal handler on top of
    /// another step of this thread, and while the lock is not open; the exported function then
    /// returns `-EBUSY`, NULL or nothing (`CReturn::BUSY`).
    #[inline(always)]
    pub(crate) fn enter() -> Option<Step> {
        LOCK.take().then(Step::new)
    }

    #[inline(always)]
    fn new() -> Step {
        let token = Token { thread: PhantomData };
        Step { token }
    }

    #[inline(always)]
    pub(crate) fn leave(self) {
        LOCK.give();
    }
}

/// The proof that this thread is in a step. It is borrowed as long as a value is used, so the
/// compiler refuses to use two at once:
///
/// ```
/// # use pcp_pmda::sys::lock::{Mutex, Token};
/// fn one_behind_the_other(token: &mut Token, first: &Mutex<u32>, second: &Mutex<u32>) -> u32 {
///     let first = *first.lock(token);
///     first + *second.lock(token)
/// }
/// ```
///
/// ```compile_fail,E0499
/// # use pcp_pmda::sys::lock::{Mutex, Token};
/// fn nested(token: &mut Token, first: &Mutex<u32>, second: &Mutex<u32>) -> u32 {
///     let (first, second) = (first.lock(token), second.lock(token));
///     *first + *second
/// }
/// ```
///
/// ```compile_fail,E0451
/// # use pcp_pmda::sys::lock::{Mutex, Token};
/// fn another_one(value: &Mutex<u32>) -> u32 {
///     let mut token = Token { thread: std::marker::PhantomData };
///     *value.lock(&mut token)
/// }
/// ```
pub struct Token {
    thread: PhantomData<*const ()>,
}

impl Token {
    /// Runs `work` in the middle of a step without the lock, which other threads may take meanwhile.
    /// For work that may wait for a disk or for the lock of a stream, so that a save does not delay
    /// a lookup, and a thread that has locked a stream may call the library. Not for callbacks of
    /// the agent.
    ///
    /// The thread is not cancelled meanwhile, and no signal handler gets a step on top of `work`:
    /// the thread's signals are blocked, except those of its own faults. (The only thread of a
    /// process keeps the lock instead, so its handlers are refused.)
    ///
    /// The compiler makes sure that no value is in use meanwhile:
    ///
    /// ```compile_fail,E0499
    /// # use pcp_pmda::sys::lock::{Mutex, Token};
    /// fn used_by_others(token: &mut Token, value: &Mutex<u32>) -> u32 {
    ///     let value = value.lock(token);
    ///     token.apart(|| println!("a stream"));
    ///     *value
    /// }
    /// ```
    pub fn apart<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let _back = Back::give();
        uncancelled(work)
    }
}

/// The signals by which a thread learns of its own faults. They stay as they are: a fault whose
/// signal is blocked ends the process without its handler.
const FAULTS: [c_int; 7] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
];

/// Takes the lock back on drop, so also after a panic. Until then the signals of the thread are
/// blocked: a handler on top of it would not be refused, and the thread may be in malloc or in
/// stdio.
struct Back {
    /// The signals that were blocked before. `None`: the only thread has kept the lock.
    blocked: Option<libc::sigset_t>,
}

impl Back {
    fn give() -> Back {
        if single_threaded() {
            return Back { blocked: None };
        }
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets have room in this frame. `sigfillset` writes the first one before it is
        // changed and read, `pthread_sigmask` the second one: it cannot fail with these arguments.
        let before = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in FAULTS {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        LOCK.give_as_one_of_several();
        Back { blocked: Some(before) }
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        let Some(before) = self.blocked else { return };
        // The thread has no other step, so it is not refused; it may be the only one by now.
        while !LOCK.take() {
            std::thread::yield_now();
        }
        // Not before: a handler that runs now is on top of a step, and is refused.
        // SAFETY: `pthread_sigmask` has written the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    }
}

/// A value guarded by the lock of the library.
#[derive(Default)]
pub struct Mutex<T>(UnsafeCell<T>);

// SAFETY: the value is reached with the token of the step that has the lock, of which there is one.
//
// One case is left to the program: in the child of a fork that was made while another thread was in
// a step, the lock is free, and that thread does not exist. No other reference is used any more,
// but the value may be half changed. A program that calls the library there, in place of `exec`,
// does what POSIX forbids, and what the C library does not survive either.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex(UnsafeCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub fn lock<'a>(&'a self, _: &'a mut Token) -> &'a mut T {
        // SAFETY: there is one token, that of the step which has the lock: one on top of it, or in
        // another thread, does not begin, not even when this thread was the only one and a second
        // one has been started since. It is borrowed as long as the value is, so this is the only
        // reference to any value; `apart` borrows it, too, while others have the lock.
        unsafe { &mut *self.0.get() }
    }
}

// Threads that are cancelled while the library writes a line or a file.
//
// A thread with a pending `pthread_cancel` ends inside of the next system call that may wait.
// Unwinding begins there, and would meet frames of ours that have something to drop, and that hold
// the lock. libpcp's frames have nothing to drop, but its locks stay locked: after a thread was
// cancelled in the middle of `pmNotifyErr`, no thread of the process can log any more. So each
// function that may reach such a system call inside of a step runs with the cancelability of the
// thread disabled: by `Token::apart`, or directly where nothing is waited for. The thread ends a
// little later, where it waits between steps or in the agent.

/// `PTHREAD_CANCEL_DISABLE` of every C library for Linux.
const DISABLED: c_int = 1;

unsafe extern "C" {
    /// Also returns the old state.
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

/// The cancelability to restore on drop, so also after a panic.
struct Restore(c_int);

impl Drop for Restore {
    fn drop(&mut self) {
        pthread_setcancelstate(self.0, None);
    }
}

/// Does `work` with the thread's cancelability disabled. `work` calls nothing of the agent: an
/// agent's callbacks may be cancelled.
pub(crate) fn uncancelled<R>(work: impl FnOnce() -> R) -> R {
    let mut before = DISABLED;
    pthread_setcancelstate(DISABLED, Some(&mut before));
    let _restore = Restore(before);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    fn step<R>(work: impl FnOnce(&mut Token) -> R) -> Option<R> {
        settle(true);
        let mut step = Step::enter()?;
        let outcome = work(&mut step.token);
        step.leave();
        Some(outcome)
    }

    /// Threads take the lock in turn, so no thread sees half a change of another one (CACHE-7,
    /// H-8).
    #[test]
    fn threads_take_turns() {
        static COUNT: Mutex<u64> = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..10_000).for_each(|_| step(|token| *COUNT.lock(token) += 1).expect("the lock"));
                });
            }
        });
        assert_eq!(step(|token| *COUNT.lock(token)), Some(40_000));
    }

    /// Each waiting thread is woken: the holder wakes one of two, and that one wakes the other
    /// (CACHE-7, H-8). Threads that nobody wakes would sleep for ever, so this test has a limit of
    /// its own.
    #[test]
    fn waiting_threads_are_woken() {
        static LOCK: Lock = Lock(AtomicUsize::new(FREE));
        const LIMIT: Duration = Duration::from_secs(20);
        for _ in 0..20 {
            assert!(LOCK.take_as_one_of_several(), "the lock is free");
            let (begun, threads) = mpsc::channel();
            let (done, ends) = mpsc::channel();
            for _ in 0..2 {
                let (begun, done) = (begun.clone(), done.clone());
                thread::spawn(move || {
                    // SAFETY: it has no arguments.
                    begun.send(unsafe { libc::gettid() }).expect("the test waits");
                    let is_taken = LOCK.take_as_one_of_several();
                    LOCK.give_as_one_of_several();
                    let _ = done.send(is_taken);
                });
            }
            for thread in threads.iter().take(2) {
                let deadline = Instant::now() + LIMIT;
                while !sleeps(thread) {
                    assert!(Instant::now() < deadline, "a thread does not wait for the lock");
                    thread::sleep(Duration::from_millis(1));
                }
            }
            LOCK.give_as_one_of_several();
            for which in ["first", "second"] {
                let end = ends.recv_timeout(LIMIT);
                let Ok(is_taken) = end else {
                    panic!("the lock is free, and has not woken the {which} of two waiting threads");
                };
                assert!(is_taken, "the {which} thread was refused");
            }
            assert_eq!(LOCK.0.load(Ordering::Relaxed), FREE);
        }
    }

    /// Returns whether a thread of this process sleeps.
    fn sleeps(thread: i32) -> bool {
        // The state of the process stands behind its name.
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    }

    /// A step on top of another one is refused.
    #[test]
    fn taken_twice() {
        assert_eq!(step(|_| step(|_| ())), Some(None));
        assert_eq!(step(|_| ()), Some(()));
    }
}
