//! Work that is interrupted by calls into C.
//!
//! What calls functions of an agent, or waits, is a [`Machine`]: each step returns the call to
//! make, and the machine is resumed with the answer. The driver makes the calls. During a call,
//! only the driver's frame is on the stack; it holds no lock, borrow or destructor. So a callback
//! may call the library again, and may leave with longjmp, `pthread_exit` or a cancellation.

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
/// compile time. What they own is in a [`NoDropCell`].
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
    fn resume(&mut self, answer: Self::Answer) -> Step<Self::Call, Self::Done>;
}

/// Something that a machine owns across a call into C. It leaks when the call does not return: no
/// code of the library runs then that could free it.
pub(crate) struct NoDropCell<T>(ManuallyDrop<Option<T>>);

impl<T> NoDropCell<T> {
    /// With a value.
    pub(crate) const fn new(value: T) -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(Some(value)))
    }

    /// Empty.
    pub(crate) const fn none() -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(None))
    }

    /// Puts a value in, and drops the one before.
    pub(crate) fn set(&mut self, value: T) {
        *self.0 = Some(value);
    }

    /// A shared reference to the value, if it was not taken.
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
