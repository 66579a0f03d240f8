//! The program under a private pmcd, asked by PCP's tools: cargo test --features pmcd

#![cfg(feature = "pmcd")]

use pmda::prelude::*;
use pmda::testing::Pmcd;

#[test]
fn pminfo_shows_values() -> Result<()> {
    let pmcd = Pmcd::start(env!("CARGO_BIN_EXE_pmda@NAME@"), &[])?;
    let values = pmcd.run("pminfo", &["-f", "@NAME@"])?;
    assert!(values.contains("or \"lo\"] value "), "{values}{}", pmcd.log());
    Ok(())
}
