//! Trees with wide nodes, with indexes and without.

use std::cell::RefCell;

use super::model::{Tree, lookup};
use super::wide::{ALWAYS, CHILDREN, PRICE, WIDE};
use super::{Indexes, Node, Place, Recall, SLOTS, find, place};
use proptest::prelude::*;

type Shelf = RefCell<Indexes<usize>>;

fn fill(tree: &mut Tree, group: &str, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| {
        tree.insert(&format!("{group}.m{number}"), number);
    });
}

/// Looks for names of a group as often as an index costs.
fn search(tree: &Tree, group: &str, indexes: &Shelf) {
    for number in 0..5 * PRICE {
        let name = format!("{group}.m{number}");
        let found = find(tree.root(), name.as_bytes(), indexes).map(Recall::keep);
        assert_eq!(found, lookup(tree.top(), name.as_bytes()).map(Recall::keep), "{name}");
    }
}

/// TREE-36: walks pay for an index; it grows with the node, and goes with the tree.
#[test]
fn life_of_an_index() {
    let indexes = Shelf::default();
    let mut tree = Tree::of(&[]);
    fill(&mut tree, "narrow", 0..WIDE as u32 - 1);
    search(&tree, "narrow", &indexes);
    assert!(indexes.borrow().held().is_empty());
    fill(&mut tree, "g", 0..200);
    assert!(find(tree.root(), b"g.m0", &indexes).is_some());
    assert!(indexes.borrow().held().is_empty(), "after one walk");
    search(&tree, "g", &indexes);
    assert_eq!(indexes.borrow().held(), [200]);
    fill(&mut tree, "g", 200..300);
    assert!(find(tree.root(), b"g.m250", &indexes).is_some());
    assert!(find(tree.root(), b"g.m300", &indexes).is_none());
    assert_eq!(indexes.borrow().held(), [300]);

    // Another tree in its place, of which no node has a mark.
    tree = Tree::of(&[("g.m7", 7)]);
    assert!(find(tree.root(), b"g.m250", &indexes).is_none());
    fill(&mut tree, "g", 0..100);
    search(&tree, "g", &indexes);
    assert_eq!(indexes.borrow().held(), [300, 100]);
    indexes.borrow_mut().forget(tree.root().keep());
    assert!(indexes.borrow().held().is_empty());
    search(&tree, "g", &indexes);
    assert_eq!(indexes.borrow().held(), [100]);
}

/// TREE-30, TREE-36: where children cannot be told by their names, the first that fits decides.
#[test]
fn no_index_for_odd_names() {
    for odd in ["m5", "m5.x", ".", "m5."] {
        let indexes = Shelf::default();
        let mut tree = Tree::of(&[]);
        fill(&mut tree, "g", 0..200);
        search(&tree, "g", &indexes);
        assert_eq!(indexes.borrow().held(), [200]);
        tree.put(1, odd, 9);
        search(&tree, "g", &indexes);
        search(&tree, "g", &indexes);
        assert_eq!(indexes.borrow().held(), [0], "with {odd}");
        let name = format!("g.{odd}");
        let found = find(tree.root(), name.as_bytes(), &indexes);
        assert_eq!(found.map(|node| node.pmid().0), Some(9));
    }
}

/// TREE-36: a list that is not what it was has no index, until walks have paid for another.
#[test]
fn a_list_that_was_cut() {
    let indexes = Shelf::default();
    let mut tree = Tree::of(&[]);
    fill(&mut tree, "g", 0..200);
    search(&tree, "g", &indexes);
    tree.cut(1, 150);
    search(&tree, "g", &indexes);
    assert!(find(tree.root(), b"g.m199", &indexes).is_none());
    assert_eq!(indexes.borrow().held(), [150]);
}

/// TREE-36: there are so many indexes, and no more; the one used last stays.
#[test]
fn more_wide_nodes_than_indexes() {
    let indexes = Shelf::default();
    let mut tree = Tree::of(&[]);
    for group in 0..SLOTS as u32 + 20 {
        let name = |group| format!("t{}.g{group}", group % 3);
        fill(&mut tree, &name(group), 0..100);
        for group in [group, 0] {
            search(&tree, &name(group), &indexes);
        }
    }
    assert_eq!(indexes.borrow().held(), [100; SLOTS]);
    assert!(indexes.borrow().is_held(lookup(tree.top(), b"t0.g0").unwrap().keep()));
    // Large ones are fewer.
    let indexes = Shelf::default();
    let large = CHILDREN as u32 / 8;
    for group in 0..20 {
        let name = format!("large{group}");
        (0..large).for_each(|number| tree.put_fresh(&name, number));
        for _ in 0..PRICE + 1 {
            assert!(find(tree.root(), format!("{name}.m0").as_bytes(), &indexes).is_some());
        }
    }
    assert_eq!(indexes.borrow().held(), [large as usize; ALWAYS]);
}

/// TREE-36: with more wide nodes in use than indexes, in random order, few are built in vain; and
/// when others come into use, these get theirs.
#[test]
fn few_in_vain() {
    for groups in [100, 1000_usize] {
        let indexes = Shelf::default();
        let mut tree = Tree::of(&[]);
        for group in 0..groups {
            (0..100).for_each(|number| tree.put_fresh(&format!("g{group}"), number));
        }
        let mut random = 4711_usize;
        let mut any = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % most
        };
        for _ in 0..40_000 {
            let name = format!("g{}.m{}", any(groups), any(100));
            assert!(find(tree.root(), name.as_bytes(), &indexes).is_some());
        }
        let built = tree.marked.get();
        assert!(built < 2 * SLOTS, "{built} indexes were built for {groups} nodes");
        for _ in 0..80_000 {
            let name = format!("g{}.m{}", any(10), any(100));
            assert!(find(tree.root(), name.as_bytes(), &indexes).is_some());
        }
        let used = (0..10).filter(|group| {
            let node = lookup(tree.top(), format!("g{group}").as_bytes());
            indexes.borrow().is_held(node.expect("there").keep())
        });
        assert_eq!(used.count(), 10, "of {groups} nodes");
    }
}

/// Something that happens to a tree.
#[derive(Clone, Debug)]
enum Event {
    Fill(bool, u32),
    Insert(String),
    Put(usize, String, u32),
    Search(bool),
    Anew,
    Forget,
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (any::<bool>(), 60..200u32).prop_map(|(group, count)| Event::Fill(group, count)),
        4 => "(g|h|m[0-9])(\\.m[0-9]{1,2}){0,2}(\\.x)?".prop_map(Event::Insert),
        1 => (0..3usize, "m[0-9](\\.x)?|x\\.", 0..3u32).prop_map(|(at, name, pmid)| Event::Put(at, name, pmid)),
        4 => any::<bool>().prop_map(Event::Search),
        2 => Just(Event::Anew),
        1 => Just(Event::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// TREE-11, TREE-30, TREE-36: whatever happens to trees, what is found with the indexes is
    /// what is found without.
    #[test]
    fn agrees_with_walks(events in prop::collection::vec(events(), 1..40)) {
        let indexes = Shelf::default();
        let mut tree = Tree::of(&[]);
        let mut next = 0;
        for event in events {
            let group = |first: bool| if first { "g" } else { "h" };
            match event {
                Event::Fill(first, count) => {
                    fill(&mut tree, group(first), next..next + count);
                    next = (next + count) % 500;
                }
                Event::Insert(name) => {
                    let is_new = matches!(place(tree.root(), name.as_bytes(), &indexes), Place::Below(..));
                    prop_assert_eq!(is_new, tree.insert(&name, 77));
                }
                Event::Put(at, name, pmid) if at < tree.len() => {
                    tree.put(at, &name, if pmid == 0 { u32::MAX } else { pmid });
                }
                Event::Search(first) => search(&tree, group(first), &indexes),
                Event::Anew => tree = Tree::of(&[("g.m1", 1), ("h.m2", 2)]),
                Event::Forget => indexes.borrow_mut().forget(tree.root().keep()),
                Event::Put(..) => {}
            }
            for name in ["g.m3", "h.m77", "g.m499", "g.m5.x", "h.x.", "m3", "g.m1.x.y", "g..", ""] {
                let walked = Shelf::default();
                let (with, without) = [&indexes, &walked].map(|indexes| {
                    let found = find(tree.root(), name.as_bytes(), indexes).map(Recall::keep);
                    let from = super::lookup(tree.top(), name.as_bytes(), indexes).map(Recall::keep);
                    assert_eq!(found, from);
                    let place = place(tree.root(), name.as_bytes(), indexes);
                    match place {
                        Place::Taken(node) => (found, node.keep(), None),
                        Place::Below(node, rest) => (found, node.keep(), Some(rest)),
                    }
                }).into();
                prop_assert_eq!(with, without, "{}", name);
            }
        }
    }
}
