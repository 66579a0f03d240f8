//! What a main loop calls: the agent's methods and callbacks, and whatever may wait.

use std::ffi::{c_char, c_int};

use crate::drive::NoDropCell;
use crate::view::answers::{OwnedInstances, OwnedLabels, OwnedNames, Values};
use crate::view::arg::CText;
use crate::view::methods;
use crate::view::types::{pmDesc, pmID, pmProfile, pmdaResult};
use pmda_core::error::Result;
use pmda_core::ident::{InDom, MetricId};

/// A call. What it points to is kept by the loop until the answer.
#[derive(Clone, Copy)]
pub(crate) enum Call<'call> {
    /// Reads from a descriptor, to a place, at most a number of bytes.
    Read(c_int, *mut u8, usize),
    /// Waits until a descriptor can be read.
    WaitToRead(c_int),
    /// Writes bytes to a descriptor.
    Write(c_int, *const u8, usize),
    /// Waits until a descriptor can be written.
    WaitToWrite(c_int),
    /// Tells the agent that a PDU has arrived.
    Check(methods::Check),
    /// Tells the agent that a PDU has been served.
    Done(methods::Done),
    /// Tells the agent that a context ends.
    EndContext(methods::EndContext, c_int),
    /// Cleans up a result.
    CleanUp(methods::CleanUp, Values<'call>),
    /// Runs the fetch that is in progress; the answer is its status.
    Values,
    /// Gives the agent a profile.
    Profile(methods::Profile, *mut pmProfile),
    /// Fetches metrics: their number, and their identifiers.
    Fetch(methods::Fetch, c_int, *mut pmID),
    /// Describes a metric.
    Desc(methods::Desc, MetricId),
    /// Lists instances; the name is NULL or a C string.
    Instance(methods::Instance, InDom, c_int, *mut c_char),
    /// Gives a text of a kind.
    Text(methods::Text, u32, c_int),
    /// Stores values.
    Store(methods::Store, *mut pmdaResult),
    /// Gives the identifier of a name.
    Pmid(methods::Pmid, *const c_char),
    /// Gives the names of a metric.
    Name(methods::Name, MetricId),
    /// Gives the names below a name: all of them, or those one level below.
    Children(methods::Children, *const c_char, bool),
    /// Gives an attribute of a context: its key, its value (NULL or with a NUL behind it), and the
    /// length of that.
    Attribute(methods::Attribute, c_int, c_int, *const c_char, c_int),
    /// Gives labels of a kind.
    Label(methods::Label, u32, c_int),
}

/// What comes back from a [`Call`]. What was handed over with it is owned from then on.
pub(crate) enum SessionAnswer<'call> {
    /// Nothing of interest.
    Nothing,
    /// What the function has returned.
    Status(c_int),
    /// The number of bytes, or -1 and why.
    Bytes(isize, c_int),
    /// A result.
    Values(Result<c_int>, Option<Values<'call>>),
    /// A description.
    Desc(Result<c_int>, pmDesc),
    /// A list of instances.
    Instances(Result<c_int>, NoDropCell<OwnedInstances>),
    /// A text, which stays the agent's, until the reply is sent.
    Text(Result<c_int>, Option<CText<'call>>),
    /// An identifier.
    Pmid(Result<c_int>, MetricId),
    /// Names.
    Names(Result<c_int>, NoDropCell<OwnedNames>),
    /// Label sets.
    Labels(Result<c_int>, NoDropCell<OwnedLabels>),
}
