//! Work that is interrupted by calls into C.
//!
//! Whatever hands control to somebody else's functions, or waits, is a [`Machine`]: it says what is
//! to be called, and is told what came of it. The calls are made by the driver in `ffi`, whose
//! frame is then the only one of ours, with nothing locked, borrowed, guarded or to be dropped. So
//! a callback may call the library again, and may be left in any way that C knows.

use std::mem::ManuallyDrop;

/// What a machine wants next.
pub(crate) enum Step<C, D> {
    /// A call into C; the machine goes on when it gets the answer.
    Call(C),
    /// Nothing: this is the outcome.
    Done(D),
}

/// Work that is interrupted by calls into C.
///
/// Neither a machine nor its calls and answers have anything to drop: the driver checks that at
/// compile time. What they own is [`Kept`].
pub(crate) trait Machine {
    /// A call into C that the machine asks for.
    type Call;
    /// What comes back from it.
    type Answer;
    /// The outcome.
    type Done;

    /// The first step.
    fn start(&mut self) -> Step<Self::Call, Self::Done>;

    /// The next step, after the call that the last one has asked for.
    fn answer(&mut self, answer: Self::Answer) -> Step<Self::Call, Self::Done>;
}

/// Something that a machine owns across a call into C. It is lost when the call does not come back:
/// nothing of ours runs then that could free it.
pub(crate) struct Kept<T>(ManuallyDrop<Option<T>>);

impl<T> Kept<T> {
    /// Keeps a value.
    pub(crate) const fn new(value: T) -> Kept<T> {
        Kept(ManuallyDrop::new(Some(value)))
    }

    /// Keeps nothing yet.
    pub(crate) const fn none() -> Kept<T> {
        Kept(ManuallyDrop::new(None))
    }

    /// Keeps another value, and drops the one before.
    pub(crate) fn set(&mut self, value: T) {
        *self.0 = Some(value);
    }

    /// The value, if it was not taken, to be looked at.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, if it was not taken.
    pub(crate) fn get(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Takes the value out: from now on it is dropped like any other.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}
