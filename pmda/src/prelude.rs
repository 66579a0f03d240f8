//! What an agent needs: `use pmda::prelude::*;`.

pub use crate::fs;
pub use crate::unit::{BYTE, COUNT, EBYTE, GBYTE, HOUR, KBYTE, MBYTE, MIN, MSEC, NSEC, PBYTE, SEC, TBYTE, USEC, Unit};
pub use crate::{
    Agent, Atom, Background, Client, ClientId, Code, Context, Env, Error, Events, HighresEvents, Indom, IndomRef,
    Labels, MetricRef, Metrics, Opt, Param, Queue, QueueSender, Request, Result, Semantics, Tail, Timer, Type, Update,
    Value, Waker, Watch, Why,
};
