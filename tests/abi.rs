//! The finished files as a linker sees them: versions get lost silently, so the sources prove
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use object::elf::STT_FUNC;
use object::{Object, ObjectSymbol, SymbolKind};
use pcp_pmda_sources::elf::{self, Elf};
use pcp_pmda_test::{Library, is_quick, release, root};

/// The number of functions that the library exports, and of its version nodes.
const FUNCTIONS: usize = 130;
const NODES: usize = 13;

fn ours() -> Elf {
    elf::read(&Library::Ours.file())
}

/// The functions of `capi/exports.map` with their nodes, and the parents of the nodes.
fn map() -> (BTreeMap<String, String>, BTreeMap<String, Vec<String>>) {
    let text = fs::read_to_string(root().join("capi/exports.map")).expect("the map is part of the sources");
    let (mut functions, mut nodes) = (BTreeMap::new(), BTreeMap::new());
    let mut open: Option<(String, Vec<String>)> = None;
    for line in text
        .lines()
        .skip_while(|line| !line.contains("*/"))
        .skip(1)
        .map(str::trim)
    {
        if let Some(name) = line.strip_suffix(" {") {
            open = Some((name.to_owned(), Vec::new()));
        } else if let Some(parent) = line.strip_prefix('}') {
            let (name, names) = open.take().expect("a node is open");
            let parent = parent.trim().trim_end_matches(';');
            let parents = if parent.is_empty() {
                vec![]
            } else {
                vec![parent.to_owned()]
            };
            functions.extend(names.into_iter().map(|function| (function, name.clone())));
            nodes.insert(name, parents);
        } else if let (Some(function), Some((_, names))) = (line.strip_suffix(';'), &mut open) {
            if function != "*" {
                names.push(function.to_owned());
            }
        }
    }
    (functions, nodes)
}

/// The entries that only one of two lists has, as text.
fn difference<T: Ord + std::fmt::Debug>(ours: &BTreeSet<T>, other: &BTreeSet<T>) -> String {
    let missing: Vec<_> = other.difference(ours).collect();
    let extra: Vec<_> = ours.difference(other).collect();
    format!("missing: {missing:?}\nnot expected: {extra:?}")
}

#[test]
fn name_and_needs() {
    let ours = ours();
    assert_eq!(ours.soname, "libpcp_pmda.so.3");
    let c = elf::read(&Library::C.file());
    let libpcp = |elf: &Elf| elf.needed.iter().find(|name| name.starts_with("libpcp.so.")).cloned();
    assert!(libpcp(&ours).is_some(), "libpcp is not among {:?}", ours.needed);
    assert_eq!(libpcp(&ours), libpcp(&c));
}

#[test]
fn exports_equal_the_map() {
    let (functions, nodes) = map();
    assert_eq!((functions.len(), nodes.len()), (FUNCTIONS, NODES));
    let ours = ours();
    let expected: BTreeSet<_> = functions
        .into_iter()
        .map(|(name, node)| (name, format!("@@{node}")))
        .collect();
    let found = ours.symbols.iter().filter(|symbol| symbol.1 == STT_FUNC);
    let found: BTreeSet<_> = found.map(|(name, _, node)| (name.clone(), node.clone())).collect();
    assert!(found == expected, "{}", difference(&found, &expected));
}

/// Returns whether the installed C library lacks this node: PCP 6.0 has added the last one, and
/// ours has it in each build, as PCP 5 and 6 have one SONAME.
fn is_newer(node: &str) -> bool {
    release() < [6, 0, 0] && node.ends_with("PCP_PMDA_3.12")
}

#[test]
fn exports_equal_the_c_library() {
    let (ours, mut c) = (ours().symbols, elf::read(&Library::C.file()).symbols);
    assert_eq!(ours.len(), FUNCTIONS + NODES);
    c.extend(ours.iter().filter(|(_, _, node)| is_newer(node)).cloned());
    assert!(ours == c, "{}", difference(&ours, &c));
}

#[test]
fn version_nodes_equal_the_map_and_the_c_library() {
    let (_, mut expected) = map();
    // The first definition of a file is the name of the file itself.
    expected.insert("libpcp_pmda.so.3".to_owned(), vec![]);
    assert_eq!(ours().nodes, expected);
    expected.retain(|node, _| !is_newer(node));
    assert_eq!(elf::read(&Library::C.file()).nodes, expected);
}

/// Each function has an address of its own, as in the C library: agents compare methods, and the
/// optimiser may give one address to two functions that do the same.
#[test]
fn each_function_has_its_own_address() {
    let bytes = fs::read(Library::Ours.file()).expect("the library");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        if symbol.kind() == SymbolKind::Text {
            let name = symbol.name().expect("a name").to_owned();
            names.entry(symbol.address()).or_default().push(name);
        }
    }
    let shared: Vec<_> = names.values().filter(|names| names.len() > 1).collect();
    assert!(names.len() >= FUNCTIONS && shared.is_empty(), "{shared:?}");
}

#[test]
fn the_static_library_defines_all_functions_and_nothing_else() {
    // What cargo builds has Rust's standard library, too (packaging/static.sh).
    if is_quick() {
        return;
    }
    let defined = elf::defined_in_archive(&Library::Ours.built().join("libpcp_pmda.a"));
    assert_eq!(defined.len(), FUNCTIONS, "{defined:?}");
    let missing: Vec<_> = map().0.into_keys().filter(|name| !defined.contains(name)).collect();
    assert!(missing.is_empty(), "the static library lacks {missing:?}");
}
