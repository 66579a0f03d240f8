//! Instances that come and go within an update.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::Harness;

/// An agent with rows that the test sets.
#[derive(Default)]
struct Rows {
    rows: Indom<u32>,
}

impl Agent for Rows {
    const NAME: &'static str = "rows";
    const DOMAIN: u32 = 453;
    fn start(_: &Env) -> Result<Rows> {
        Ok(Rows::default())
    }
    fn metrics(m: &mut Metrics<Rows>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.each("row", rows, |row| *row).help("A row");
    }
}

/// An instance of this update or an earlier one is hidden, keeps its number, and can be set again.
#[test]
fn hidden_instances() -> Result<()> {
    let mut pmcd = Harness::<Rows>::new()?;
    let mut update = pmcd.agent().rows.update();
    for (name, row) in [("a", 1), ("b", 2), ("c", 3)] {
        update.set(name, row)?;
    }
    assert!(update.hide("c"), "it has come in this update");
    assert!(!update.hide("c") && !update.hide("nobody"), "it is not there");
    drop(update);
    let named = |inst: i32, name: &str| (inst, name.to_owned());
    assert_eq!(pmcd.instances("rows.row")?, [named(0, "a"), named(1, "b")]);
    assert_eq!(pmcd.agent().rows.known("c"), Some((2, false)));

    let mut change = pmcd.agent().rows.change();
    assert!(change.hide("a"), "an earlier update has set it");
    change.set("b", 20)?;
    drop(change);
    assert_eq!(pmcd.instances("rows.row")?, [named(1, "b")]);
    let fetched = pmcd.fetch("rows.row")?;
    assert_eq!((fetched.len(), fetched.value::<u32>()), (1, Some(20)));
    assert_eq!(pmcd.agent().rows.inactive().collect::<Vec<_>>(), [(0, "a"), (2, "c")]);

    let mut update = pmcd.agent().rows.update();
    update.set("b", 21)?;
    assert!(update.hide("b"), "it was there and has been set again");
    assert_eq!(update.set("c", 30)?, 2);
    assert!(update.hide("c"));
    assert_eq!(update.set("c", 31)?, 2, "it is set after it was hidden");
    drop(update);
    assert_eq!(pmcd.instances("rows.row")?, [named(2, "c")]);
    assert_eq!(pmcd.fetch("rows.row")?.value::<u32>(), Some(31));
    Ok(())
}
