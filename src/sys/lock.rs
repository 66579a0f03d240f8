//! The lock of the library: the only one, for all state in globals.
//!
//! Each step of the library has one [`Token`], and lends it to what takes the lock: so a thread
//! does not take it twice, and the compiler sees to that. Two steps of one thread are kept apart
//! by `reentrancy`.
//!
//! Nearly every agent has one thread. While the process has one, which the C library's own
//! `__libc_single_threaded` says, the token is all that the lock takes. With several threads it is
//! a futex: an exchange to take it, an exchange to free it, and the kernel to wait. A thread that
//! has it already is refused with a panic, in every build; the panic guard of the call makes an
//! error of it. Nothing is locked while a callback, a disk or a descriptor is waited for, so it is
//! held for some hundred instructions.
//!
//! # Forks
//!
//! A fork copies one thread, and the state as it is. So it claims the lock before, and frees it
//! afterwards. Neither waits long for the other: a fork goes on without the lock when its holder
//! does not free it in [`PATIENCE`] (it may wait for a lock of an allocator, which another handler
//! of this fork holds), and a thread takes the lock from a fork that does not free it (which may
//! wait in another handler for a lock of that thread). Either halves the patience, down to what a
//! busy machine keeps a thread from running: a holder that frees the lock as soon as it runs is
//! waited for, as it may be in the middle of a change.
//!
//! In the child the lock is free. A fork that went on without it has met a thread that waited for
//! memory, as the holder waits for nothing else. Wherever the library asks for memory it may be
//! refused, so its state is whole there.

use std::cell::UnsafeCell;
use std::ffi::{c_long, c_void};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const FREE: usize = 0;
/// Beside the address of the thread that holds it: others may sleep.
const CONTENDED: usize = 1;
/// Added to the address of a thread: its fork holds the lock.
const CLAIMED: usize = 2;

/// Time that a fork and other threads wait for each other, in microseconds: at first, and at least.
const PATIENCE: u32 = 200_000;
const LEAST_PATIENCE: u32 = 20_000;

/// A lock that threads wait for in the kernel.
#[repr(align(64))]
struct FutexLock {
    /// The lock and its holder in one word: a signal handler may end the thread between any two
    /// instructions.
    state: AtomicUsize,
    /// In microseconds.
    patience: AtomicU32,
}

static LOCK: FutexLock = FutexLock {
    state: AtomicUsize::new(FREE),
    patience: AtomicU32::new(PATIENCE),
};

impl FutexLock {
    #[inline(always)]
    fn take(&self) {
        if !single_threaded() && !self.exchange(FREE, me()) {
            self.wait();
        }
    }

    #[inline(always)]
    fn give(&self) {
        if single_threaded() {
            // It was taken as one of several if a handler on top of this call has forked.
            self.state.store(FREE, Ordering::Release);
        } else if self.state.swap(FREE, Ordering::Release) & CONTENDED != 0 {
            self.wake(1);
        }
    }

    #[inline(always)]
    fn exchange(&self, from: usize, to: usize) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.compare_exchange(from, to, success, failure).is_ok()
    }

    #[cold]
    fn wait(&self) {
        // Others may still sleep, so the next to free it wakes one of them.
        let taken = me() | CONTENDED;
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state == FREE || state & !CONTENDED == me() | CLAIMED {
                if self.exchange(state, taken) {
                    return;
                }
            } else if self.is_held_here() {
                refuse();
            } else if state & CONTENDED == 0 {
                self.exchange(state, state | CONTENDED);
            } else if state & CLAIMED == 0 {
                self.sleep(state, None);
            } else {
                self.sleep(state, Some(self.patience()));
                if self.exchange(state, taken) {
                    return self.lose_patience();
                }
            }
        }
    }

    /// Takes the lock for a fork, if it can be had soon.
    fn claim(&self) {
        // In a signal handler on top of a call.
        if self.is_held_here() {
            return;
        }
        let (start, patience) = (Instant::now(), self.patience());
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state == FREE {
                if self.exchange(state, me() | CLAIMED) {
                    return;
                }
                continue;
            }
            let held = state | CONTENDED;
            if state == held || self.exchange(state, held) {
                let Some(rest) = patience.checked_sub(start.elapsed()) else {
                    return self.lose_patience();
                };
                self.sleep(held, Some(rest));
            }
        }
    }

    /// Frees the lock after a fork, unless another thread has taken it.
    fn unclaim(&self) {
        let claimed = me() | CLAIMED;
        if !self.exchange(claimed, FREE) && self.exchange(claimed | CONTENDED, FREE) {
            self.wake(i32::MAX as u32);
        }
    }

    /// In the child of a fork, frees the lock, unless this thread holds it and a signal handler has
    /// forked.
    fn start_again(&self) {
        let state = if self.is_held_here() { me() } else { FREE };
        self.state.store(state, Ordering::Relaxed);
    }

    /// Returns whether this thread holds the lock as one of several.
    fn is_held_here(&self) -> bool {
        self.state.load(Ordering::Relaxed) & !CONTENDED == me()
    }

    fn patience(&self) -> Duration {
        Duration::from_micros(self.patience.load(Ordering::Relaxed).into())
    }

    fn lose_patience(&self) {
        let half = self.patience.load(Ordering::Relaxed) / 2;
        self.patience.store(half.max(LEAST_PATIENCE), Ordering::Relaxed);
    }

    /// The address of the lower half of the state, for the kernel. A thread that frees the lock
    /// wakes a thread whenever the upper half alone was different.
    fn futex(&self) -> *mut u32 {
        let halves = self.state.as_ptr().cast::<u32>();
        let last = size_of::<usize>() / size_of::<u32>() - 1;
        halves.wrapping_add(if cfg!(target_endian = "big") { last } else { 0 })
    }

    /// Sleeps until a wake, or for any other reason not so long.
    fn sleep(&self, state: usize, limit: Option<Duration>) {
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: 0,
            tv_nsec: i32::try_from(limit.subsec_nanos()).unwrap_or(0).into(),
        });
        self.ask_kernel(libc::FUTEX_WAIT, state as u32, limit.as_ref());
    }

    #[cold]
    fn wake(&self, threads: u32) {
        self.ask_kernel(libc::FUTEX_WAKE, threads, None);
    }

    fn ask_kernel(&self, operation: i32, value: u32, limit: Option<&libc::timespec>) {
        let syscall = SYSCALL.get().copied().unwrap_or(libc::syscall);
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let limit = limit.map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the futex lives as long as the library, which this thread is in; the kernel
        // compares it or takes it for an address, and reads the time, which is NULL or outlives the
        // call.
        unsafe { syscall(libc::SYS_futex, self.futex(), operation, value, limit) };
    }
}

type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

/// The C library's own `syscall`: a wrapper like uid_wrapper takes a lock in front of it that its
/// handlers hold around a fork, when ours ask the kernel.
static SYSCALL: OnceLock<Syscall> = OnceLock::new();

unsafe extern "C" {
    /// Non-zero while the process has one thread (glibc 2.32 and up).
    safe static __libc_single_threaded: AtomicU8;
}

#[inline(always)]
pub(crate) fn single_threaded() -> bool {
    __libc_single_threaded.load(Ordering::Relaxed) != 0
}

/// This thread's block: in initial-exec TLS of `capi/shim.c`, so that it never allocates. Rust
/// cannot ask for that, and the first use may be in a signal handler on top of malloc.
#[repr(C)]
pub(crate) struct Thread {
    /// The mark of `reentrancy`.
    pub(super) frame: AtomicPtr<u8>,
}

/// True if [`thread`] is two instructions rather than a call.
pub(super) const NEAR: bool = cfg!(target_arch = "x86_64");

/// The block of this thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn thread() -> &'static Thread {
    let place: *const Thread;
    // SAFETY: the address of this thread, and the distance from it at which the loader has put the
    // variable of `capi/shim.c`. That is one of the types above, valid while the thread lives; the
    // reference never leaves it, and nothing of ours outlives it.
    unsafe {
        std::arch::asm!(
            "mov {place}, qword ptr fs:[0]",
            "add {place}, qword ptr [rip + pcp_pmda_here@GOTTPOFF]",
            place = out(reg) place,
            options(pure, readonly, nostack),
        );
        &*place
    }
}

/// The block of this thread.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn thread() -> &'static Thread {
    #[allow(improper_ctypes, reason = "what the slot looks like is no business of shim.c")]
    unsafe extern "C" {
        safe fn pcp_pmda_thread() -> *const Thread;
    }
    // SAFETY: the address of a thread-local variable of the types above, valid while the thread
    // lives; the reference never leaves it, and nothing of ours outlives it.
    unsafe { &*pcp_pmda_thread() }
}

/// The identity of this thread: its block is aligned, so the lowest bits are free.
#[inline(always)]
fn me() -> usize {
    const { assert!(align_of::<Thread>() > (CONTENDED | CLAIMED)) };
    ptr::from_ref(thread()).addr()
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!("the lock of the library is taken twice");
}

/// Frees the lock if this thread holds it: the frames that did are gone.
#[cold]
pub(super) fn abandon() {
    if single_threaded() || LOCK.is_held_here() {
        LOCK.give();
    }
}

/// The right of a step to take the lock of the library. It is borrowed as long as the lock is held,
/// so the compiler refuses to take it twice:
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
///     let first = first.lock(token);
///     *first + *second.lock(token)
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
    pub(super) const fn new() -> Token {
        Token { thread: PhantomData }
    }
}

/// A value guarded by the lock of the library.
#[derive(Default)]
pub struct Mutex<T>(UnsafeCell<T>);

// SAFETY: the value is reached through a `Guard` alone, of which there is one in the process, in
// the thread that holds the lock.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex(UnsafeCell::new(value))
    }

    /// Takes the lock of the library.
    ///
    /// # Panics
    /// When this thread, one of several, has it by the token of another step.
    #[inline(always)]
    pub fn lock<'a>(&'a self, _: &'a mut Token) -> Guard<'a, T> {
        LOCK.take();
        // SAFETY: nobody else has the lock. With several threads the exchange of the state sees to
        // that. With one, the guard borrows the token, of which the thread has one: a step has one,
        // and the thread is in one step, as a signal handler on top of it does not get here
        // (`reentrancy`). It cannot start another thread meanwhile, as nothing is locked during a
        // call into C, and this library starts none. The lock is freed when the guard goes, so this
        // is the only reference to the value.
        let value = unsafe { &mut *self.0.get() };
        Guard {
            value,
            thread: PhantomData,
        }
    }
}

impl<T> Mutex<T> {
    /// The value, for a step that cannot panic, if this is the only thread.
    #[inline(always)]
    pub(crate) fn alone<'a>(&'a self, _: &'a mut Token) -> Option<&'a mut T> {
        // SAFETY: the only thread has one token, as it is in one step, and a signal handler on top
        // of that does not get here (`reentrancy`). The token is borrowed as long as the value is,
        // so there is no guard of `lock` meanwhile, and nobody else to take one.
        single_threaded().then(|| unsafe { &mut *self.0.get() })
    }
}

/// The value of a [`Mutex`], while this thread has the lock.
pub struct Guard<'a, T> {
    value: &'a mut T,
    /// The taking thread frees it.
    thread: PhantomData<*const ()>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        LOCK.give();
    }
}

extern "C" fn before_fork() {
    if !single_threaded() {
        LOCK.claim();
    }
}

extern "C" fn after_fork() {
    LOCK.unclaim();
}

extern "C" fn in_child() {
    LOCK.start_again();
}

/// Runs when the library is loaded. The C library forgets the handlers when it is unloaded.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without
// any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    // SAFETY: three functions without arguments, which stay as long as this library.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    // SAFETY: the name is a string; what is found has the type that the C library's header gives
    // it, and stays as long as the C library, which this one needs.
    let syscall = unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, c"syscall".as_ptr());
        std::mem::transmute::<*mut c_void, Option<Syscall>>(found)
    };
    if let Some(syscall) = syscall {
        let _ = SYSCALL.set(syscall);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-7, H-8.
    #[test]
    fn threads_take_turns() {
        static COUNT: Mutex<u64> = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *COUNT.lock(&mut Token::new()) += 1));
            }
        });
        assert_eq!(*COUNT.lock(&mut Token::new()), 40_000);
    }

    /// One of several threads that takes the lock twice, by the tokens of two steps, is refused,
    /// also for another value; afterwards the lock is free.
    #[test]
    fn taken_twice() {
        static VALUES: [Mutex<u8>; 2] = [Mutex::new(1), Mutex::new(2)];
        // From here on there are several.
        let other = std::thread::spawn(std::thread::park);
        for second in &VALUES {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let (mut outer, mut inner) = (Token::new(), Token::new());
                let first = VALUES[0].lock(&mut outer);
                *first + *second.lock(&mut inner)
            }));
            assert!(outcome.is_err());
        }
        assert_eq!(*VALUES[0].lock(&mut Token::new()), 1);
        assert_eq!(*VALUES[1].lock(&mut Token::new()), 2);
        other.thread().unpark();
    }

    /// A lock that was left is free for others.
    #[test]
    fn abandoned() {
        static VALUE: Mutex<u8> = Mutex::new(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::mem::forget(VALUE.lock(&mut Token::new()));
                abandon();
            });
        });
        assert_eq!(*VALUE.lock(&mut Token::new()), 1);
    }
}
