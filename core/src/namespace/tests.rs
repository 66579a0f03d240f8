//! Lookups, lists and tables of trees.

mod model;

use self::model::Tree;
use super::*;
use proptest::prelude::*;

/// Names as text, and which of them are branches.
#[derive(Default, Debug)]
struct Listed {
    names: Vec<String>,
    branches: Vec<bool>,
}

impl Listed {
    fn push(&mut self, name: Vec<u8>, is_branch: bool) {
        self.names.push(String::from_utf8(name).unwrap());
        self.branches.push(is_branch);
    }

    fn is(&self, size: Size) -> bool {
        let bytes = self.names.iter().map(|name| name.len() + 1).sum::<usize>();
        size == Size {
            count: self.names.len(),
            bytes,
        }
    }
}

impl Sink for Listed {
    fn add<'t>(&mut self, bytes: usize, is_branch: bool, parts: impl Iterator<Item = &'t [u8]>) -> Result<()> {
        let mut parts: Vec<_> = parts.collect();
        parts.reverse();
        let name = parts.join(&b'.');
        assert_eq!(name.len(), bytes);
        self.push(name, is_branch);
        Ok(())
    }
}

fn paths<'t>(head: Option<impl Node<'t>>, pmid: MetricId) -> Vec<String> {
    let (paths, mut listed) = (names_of(head, pmid).unwrap(), Listed::default());
    paths.list(&mut listed).unwrap();
    assert!(listed.is(paths.size));
    listed.names
}

fn children_of<'t>(node: impl Node<'t>) -> Listed {
    let (mut size, mut listed) = (Size::default(), Listed::default());
    children(node, &mut size).unwrap();
    children(node, &mut listed).unwrap();
    assert!(listed.is(size));
    listed
}

fn leaves_of<'t>(node: impl Node<'t>, name: &str) -> Vec<String> {
    let (mut walk, mut size, mut listed) = (TreeWalk::default(), Size::default(), Listed::default());
    walk.list(node, name.as_bytes(), &mut size).unwrap();
    walk.list(node, name.as_bytes(), &mut listed).unwrap();
    assert!(listed.is(size) && !listed.branches.contains(&true));
    listed.names
}

/// Children are listed in their order, leaves depth first (TREE-13, TREE-33).
#[test]
fn below_a_name() {
    let tree = Tree::of(&[("a.b.c", 1), ("a.b.d", 2), ("a.e", 3), ("a.b.d.under", 4), ("x", 5)]);
    let node = lookup(tree.top(), b"a").unwrap();
    let list = children_of(node);
    assert_eq!(
        (list.names, list.branches),
        (vec!["e".into(), "b".into()], vec![false, true])
    );
    assert_eq!(leaves_of(node, "a"), ["a.e", "a.b.d", "a.b.c"]);
    let leaf = lookup(tree.top(), b"x").unwrap();
    assert_eq!(leaves_of(leaf, "x"), ["x"]);
    assert!(children_of(leaf).names.is_empty());
}

/// Empty names and components are names (TREE-12, TREE-34).
#[test]
fn empty_components() {
    let tree = Tree::of(&[("w..v", 1), (".z", 2), ("", 3), ("u.", 4), ("..", 5)]);
    let node = lookup(tree.top(), b"w.").unwrap();
    assert_eq!(leaves_of(node, "w."), ["w..v"]);
    for name in ["w..v", ".z", "", "u.", ".."] {
        let node = lookup(tree.top(), name.as_bytes()).unwrap();
        assert_eq!(paths(Some(node), node.pmid()), [name]);
    }
    assert_eq!(paths(Some(tree.root()), MetricId::NULL), [""]);
}

/// Tables have the sizes that the specification shows (TREE-20); some hints are impossible
/// (TREE-21).
#[test]
fn sizes_of_tables() {
    for (hints, size) in [
        (0..=9, 1),
        (10..=39, 7),
        (40..=59, 11),
        (60..=60, 13),
        (70..=70, 17),
        (100..=100, 23),
        (130..=130, 29),
        (150..=150, 31),
        (1000..=1000, 203),
        (-4..=-1, 1),
    ] {
        for hint in hints {
            assert_eq!(table_size(hint), size, "hint {hint}");
        }
    }
    for hint in [-10, -15, -1000, i32::MIN] {
        assert!(table_size(hint) < 0, "hint {hint}");
    }
    assert!(table_size(i32::MAX) > 0);
}

/// A name is in the chain of its identifier's rest; without a table there is none (TREE-20).
#[test]
fn chains() {
    for (pmid, size, expected) in [
        (7, 7, Some(0)),
        (9, 7, Some(2)),
        (u32::MAX, 203, Some(0xffff_ffff % 203)),
        (9, 0, None),
    ] {
        assert_eq!(chain(MetricId(pmid), size), expected, "{pmid} {size}");
    }
}

/// A list may be as large as C's `int` can say, with a pointer for each name (N-14).
#[test]
fn largest_list() {
    let pointers = 1_000_000 * size_of::<usize>();
    let room = i32::MAX as usize - pointers;
    for (bytes, expected) in [(room - 10, Ok(())), (room - 9, Err(Error::E2BIG))] {
        let mut size = Size { count: 999_999, bytes };
        assert_eq!(size.add(9, false, iter::empty()), expected, "{bytes}");
    }
}

/// A leaf ends the search, the root of a dynamic subtree does not, and a derived metric is a leaf
/// (TREE-4, TREE-14).
#[test]
fn leaves_stop_the_search() {
    let tree = Tree::of(&[
        ("x", 5),
        ("x.below", 6),
        ("dyn", (511 << 22) | (60 << 10)),
        ("dyn.hidden", 7),
        ("derived", (511 << 22) | (60 << 10) | 1),
        ("derived.below", 8),
    ]);
    let found = |name: &str| lookup(tree.top(), name.as_bytes()).map(|node| node.pmid().0);
    assert_eq!(found("x"), Some(5));
    assert_eq!(found("x.below"), None);
    assert_eq!(found("dyn.hidden"), Some(7));
    assert_eq!(found("derived.below"), None);
    assert_eq!(size(tree.root()), Ok(3));
}

/// Only what is below the root comes into the table, whatever is beside it (TREE-20).
#[test]
fn beside_the_root() {
    let tree = Tree::of(&[("beside", 3), ("root.last", 1), ("root.branch.leaf", 2), ("other", 4)]);
    let root = lookup(tree.top(), b"root").unwrap();
    let mut table = [None; 7];
    rebuild(root, &mut table);
    let found: Vec<_> = (0..7).filter(|chain| table[*chain].is_some()).collect();
    assert_eq!(found, [1, 2]);
}

/// Neither deep nor broad trees need stack (N-14).
#[test]
fn deep_trees() {
    let name = vec!["n"; 200_000].join(".");
    let tree = Tree::of(&[(&name, 1)]);
    assert_eq!(size(tree.root()), Ok(1));
    assert!(lookup(tree.top(), name.as_bytes()).is_some());
    let mut table = [None; 1];
    rebuild(tree.root(), &mut table);
    assert_eq!(paths(table[0], MetricId(1)), [name]);
}

proptest! {
    /// A tree agrees with the plain list of its names (TREE-11, TREE-17, TREE-20, TREE-23,
    /// TREE-32).
    #[test]
    fn agrees_with_a_list(
        names in prop::collection::vec(("[ab]{1,2}(\\.[ab]{1,2}){0,3}", 0u32..12), 0..40),
        hint in 0..60i32,
    ) {
        let tree = Tree::of(&names.iter().map(|(name, pmid)| (name.as_str(), *pmid)).collect::<Vec<_>>());
        let listed = tree.names();
        let visible: Vec<_> = listed
            .iter()
            .filter(|(name, _)| !listed.iter().any(|(above, _)| name.starts_with(&format!("{above}."))))
            .collect();
        prop_assert_eq!(size(tree.root()), Ok(visible.len()));
        for (name, pmid) in &visible {
            prop_assert_eq!(lookup(tree.top(), name.as_bytes()).map(Node::pmid), Some(MetricId(*pmid)));
        }
        let mut table = vec![None; usize::try_from(table_size(hint)).unwrap()];
        rebuild(tree.root(), &mut table);
        for pmid in (0..12).map(MetricId) {
            let head = table[chain(pmid, table.len()).unwrap()];
            let mut expected: Vec<_> = listed.iter().filter(|entry| entry.1 == pmid.0).map(|entry| &entry.0).collect();
            expected.sort();
            let mut found = paths(head, pmid);
            found.sort();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Insert(String),
    Put(usize, String, u32),
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => "(g|h|m[0-9])(\\.m[0-9]{1,2}){0,2}(\\.x)?".prop_map(Event::Insert),
        1 => (0..3usize, "m[0-9](\\.x)?|x\\.", 0..3u32).prop_map(|(at, name, pmid)| Event::Put(at, name, pmid)),
    ]
}

proptest! {
    /// The place of a name is below the last node on its way, or it is taken; and the root's
    /// children are found from the first one, too (TREE-11, TREE-30).
    #[test]
    fn places_are_where_names_are(events in prop::collection::vec(events(), 1..40)) {
        let mut tree = Tree::of(&[]);
        for event in events {
            match event {
                Event::Insert(name) => {
                    let is_new = matches!(insert_point(tree.root(), name.as_bytes()), InsertPoint::Below(..));
                    prop_assert_eq!(is_new, tree.insert(&name, 77));
                }
                Event::Put(at, name, pmid) if at < tree.len() => {
                    tree.put(at, &name, if pmid == 0 { u32::MAX } else { pmid });
                }
                Event::Put(..) => {}
            }
            for name in ["g.m3", "h.m77", "g.m5.x", "h.x.", "m3", "g.m1.x.y", "g..", ""] {
                let found = find(tree.root(), name.as_bytes()).map(|node| node.index);
                let from = lookup(tree.top(), name.as_bytes()).map(|node| node.index);
                prop_assert_eq!(found, from, "{}", name);
            }
        }
    }
}
