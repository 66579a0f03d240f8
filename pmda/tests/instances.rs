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
    assert_eq!(update.set("c", 30)?, Some(2));
    assert!(update.hide("c"));
    assert_eq!(update.set("c", 31)?, Some(2), "it is set after it was hidden");
    drop(update);
    assert_eq!(pmcd.instances("rows.row")?, [named(2, "c")]);
    assert_eq!(pmcd.fetch("rows.row")?.value::<u32>(), Some(31));
    Ok(())
}

/// The active instances: number, name, row.
fn active(pmcd: &mut Harness<Rows>) -> Result<Vec<(i32, String, u32)>> {
    let fetched = pmcd.fetch("rows.row")?;
    let of = |(inst, name): (i32, String)| Ok((inst, fetched.value_of(&name).ok_or(Error::INST)?, name));
    let rows = pmcd.instances("rows.row")?.into_iter().map(of);
    rows.map(|row| row.map(|(inst, value, name)| (inst, name, value)))
        .collect()
}

fn row(inst: i32, name: &str, value: u32) -> (i32, String, u32) {
    (inst, name.to_owned(), value)
}

/// An instance whose number the agent knows is kept without its name, and makes room for another
/// one with its number.
#[test]
fn instances_by_number() -> Result<()> {
    let mut pmcd = Harness::<Rows>::new()?;
    let rows = &mut pmcd.agent().rows;
    let mut update = rows.update();
    for inst in [30, 10, 20] {
        assert_eq!(update.keep_at(inst), None, "it is not there");
        *update.row_at(inst, &format!("{inst:06} x"), || 0)?.ok_or(Error::INST)? += 1;
        *update.keep_at(inst).ok_or(Error::INST)? += 1;
        let row = update.row_at(inst, &format!("{inst:06} x"), || panic!("it is there"))?;
        *row.ok_or(Error::INST)? += 1;
    }
    assert_eq!(update.row_at(10, "000010 y", || 0), Ok(None), "it is set");
    assert_eq!(update.row_at(11, "000010 x", || 0), Ok(None), "it is set");
    assert_eq!(update.row_at(12, "", || 0), Ok(None));
    assert!(update.hide_at(20) && !update.hide_at(20) && !update.hide_at(21));
    drop(update);
    let both = [row(10, "000010 x", 3), row(30, "000030 x", 3)];
    assert_eq!(active(&mut pmcd)?, both);

    // Another order than the last one, and one of them twice; nothing else stays.
    let mut update = pmcd.agent().rows.update();
    assert_eq!([30, 30].map(|inst| update.keep_at(inst).copied()), [Some(3); 2]);
    update.row_at(20, "000020 x", || 7)?;
    drop(update);
    assert_eq!(active(&mut pmcd)?, [row(20, "000020 x", 7), row(30, "000030 x", 3)]);

    // Another instance with the number has a row of its own.
    let mut change = pmcd.agent().rows.change();
    assert_eq!(change.row_at(30, "000030 y", || 8)?, Some(&mut 8));
    assert!(change.hide_at(20), "an earlier update has set it");
    drop(change);
    assert_eq!(active(&mut pmcd)?, [row(30, "000030 y", 8)]);
    assert_eq!(pmcd.agent().rows.known("000020 x"), Some((20, false)));

    // A row that cannot be made costs nothing else.
    let mut update = pmcd.agent().rows.update();
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = update.row_at(30, "000030 z", || panic!("no row"));
        }))
        .is_err()
    );
    assert_eq!(update.keep_at(30), Some(&mut 8));
    drop(update);
    assert_eq!(active(&mut pmcd)?, [row(30, "000030 y", 8)]);
    let log = pmcd.log();
    assert!(log.lines().all(|line| line.contains(" is left out: ")), "{log}");
    Ok(())
}

/// All orders of calls by number and by name leave what a plain map would hold.
#[test]
fn random_updates_by_number() -> Result<()> {
    use std::collections::BTreeMap;
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut indom = Indom::<u64>::new();
    let mut model = BTreeMap::<i32, (String, u64)>::new();
    for round in 0..2000 {
        let keeps_others = random(2) == 0;
        let mut update = if keeps_others { indom.change() } else { indom.update() };
        let mut set = Vec::new();
        for _ in 0..random(8) {
            let inst = random(6) as i32;
            let name = format!("{inst} {}", random(2));
            let is_same = model.get(&inst).is_some_and(|(known, _)| *known == name);
            match random(4) {
                0 => {
                    let kept = update.keep_at(inst).copied();
                    assert_eq!(kept, model.get(&inst).map(|(_, row)| *row), "{round}");
                    set.extend(kept.map(|_| inst));
                }
                1 => {
                    let is_hidden = update.hide_at(inst);
                    assert_eq!(is_hidden, model.remove(&inst).is_some(), "{round}");
                    set.retain(|set| *set != inst);
                }
                _ => {
                    let made = update.row_at(inst, &name, || round)?.copied();
                    if set.contains(&inst) && !is_same {
                        assert_eq!(made, None, "{round}");
                        continue;
                    }
                    if !is_same {
                        model.insert(inst, (name, round));
                    }
                    assert_eq!(made, model.get(&inst).map(|(_, row)| *row), "{round}");
                    set.push(inst);
                }
            }
        }
        drop(update);
        model.retain(|inst, _| keeps_others || set.contains(inst));
        let rows: Vec<_> = indom.iter().map(|(inst, row)| (inst, *row)).collect();
        assert_eq!(
            rows,
            model.iter().map(|(inst, (_, row))| (*inst, *row)).collect::<Vec<_>>()
        );
        let names = model.keys().map(|inst| indom.name(*inst).map(str::to_owned));
        assert!(names.eq(model.values().map(|(name, _)| Some(name.clone()))), "{round}");
    }
    Ok(())
}
