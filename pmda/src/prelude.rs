//! What an agent needs: `use pmda::prelude::*;`.

pub use crate::unit::{BYTE, COUNT, EBYTE, GBYTE, HOUR, KBYTE, MBYTE, MIN, MSEC, NSEC, PBYTE, SEC, TBYTE, USEC, Unit};
pub use crate::{
    Agent, Background, Client, ClientId, Env, Error, Events, HighresEvents, Indom, IndomRef, Labels, Metrics, Opt,
    Param, Queue, Request, Result, Update, Value, Why,
};
