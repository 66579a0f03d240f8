//! The items that an agent needs: `use pmda::prelude::*;`.

pub use crate::fs;
pub use crate::unit::{BYTE, COUNT, EBYTE, GBYTE, HOUR, KBYTE, MBYTE, MIN, MSEC, NSEC, PBYTE, SEC, TBYTE, USEC, Unit};
pub use crate::{
    Agent, Atom, Background, Client, ClientId, Code, Context, Def, Encoder, Env, Error, EventFlags, EventValue, Events,
    FromStore, HighresEvents, Indom, IndomRef, LabelValue, Labels, MetricRef, Metrics, Opt, Param, Problem, Queue,
    QueueSender, Reading, Record, Request, Result, Row, Semantics, Stored, Tail, Timer, Type, Update, Value, Waker,
    Watch, Why,
};
