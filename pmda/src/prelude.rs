//! The items that an agent needs: `use pmda::prelude::*;`.

pub use crate::fs;
pub use crate::unit::*;
pub use crate::{
    Agent, Atom, Background, Client, ClientId, Code, Context, Def, Encoder, Env, Error, EventFlags, EventValue, Events,
    FromStore, HighresEvents, Indom, IndomRef, LabelValue, Labels, MetricRef, Metrics, Opt, Param, Problem, Queue,
    QueueSender, Reading, Record, Request, Result, Row, Semantics, Stored, Tail, Timer, Type, Update, Value, Waker,
    Watch, Why,
};
