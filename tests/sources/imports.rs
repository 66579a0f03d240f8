//! Which files of a crate use items of which others, read from their `use` declarations and paths.
//!
//! An item that a folder's `mod.rs` publishes counts as one of the file that defines it, and
//! `mod file;` and `pub use` are no uses. Unit tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// The path of a module, without `crate`.
type Module = Vec<String>;

/// The arrows of a crate: for each file, the files that it uses.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The arrows between the files of a crate, given as paths below its `src` with their texts.
pub fn arrows(texts: &[(String, String)]) -> Arrows {
    let texts: Vec<_> = texts.iter().map(|(path, text)| (path, code(text))).collect();
    let tests: BTreeSet<Module> = texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |module: &Module| (1..=module.len()).any(|len| tests.contains(&module[..len]));
    let mut files: BTreeMap<Module, (&String, String)> = BTreeMap::new();
    for (path, text) in texts {
        let module = module_of(path);
        if !is_test(&module) {
            files.insert(module, (path, without_tests(&text)));
        }
    }
    let uses = Regex::new(r"(pub(?:\([a-z]+\))?[[:space:]]+)?(?-u:\b)use[[:space:]]+([^;]+);").expect("valid");
    let named = Regex::new(r"(?:^|[^[:word:]:.])([a-z][[:word:]]*(?:::[[:word:]]+)+)").expect("valid");
    let mut published: BTreeMap<Module, Module> = BTreeMap::new();
    let mut used: Vec<(&Module, Module)> = Vec::new();
    for (module, (_, text)) in &files {
        for found in uses.captures_iter(text) {
            for path in leaves(&found[2]) {
                let Some(item) = absolute(module, &path, &files) else {
                    continue;
                };
                if found.get(1).is_some() {
                    let name = item.last().cloned().unwrap_or_default();
                    published.insert([&module[..], &[name]].concat(), item);
                } else {
                    used.push((module, item));
                }
            }
        }
        for found in named.captures_iter(&uses.replace_all(text, "")) {
            let path: Module = found[1].split("::").map(str::to_owned).collect();
            used.extend(absolute(module, &path, &files).map(|item| (module, item)));
        }
    }
    let mut arrows: Arrows = files
        .values()
        .map(|(path, _)| ((*path).clone(), BTreeSet::new()))
        .collect();
    for (module, item) in used {
        let home = home(item, &files, &published);
        if home != *module {
            let known = arrows.entry(files[module].0.clone()).or_default();
            known.insert(files[&home].0.clone());
        }
    }
    arrows
}

/// The arrows that are part of a circle.
pub fn circles(arrows: &Arrows) -> Arrows {
    let mut left = arrows.clone();
    loop {
        let known: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|file, uses| !uses.is_empty() && known.contains(file));
        let files: BTreeSet<String> = left.keys().cloned().collect();
        for uses in left.values_mut() {
            uses.retain(|other| files.contains(other));
        }
        if left.len() == before {
            return left;
        }
    }
}

/// The arrows between the modules of a crate: its top folders, and its top files.
pub fn modules(arrows: &Arrows) -> Arrows {
    let mut modules = Arrows::new();
    for (file, uses) in arrows {
        let module = module(file);
        let known = modules.entry(module.to_owned()).or_default();
        let others = uses.iter().map(|other| self::module(other));
        known.extend(others.filter(|other| *other != module).map(str::to_owned));
    }
    modules
}

/// The module of a file.
pub fn module(file: &str) -> &str {
    let top = file.split('/').next().unwrap_or_default();
    top.strip_suffix(".rs").unwrap_or(top)
}

/// The text without its comments. `pub(in crate::fetch)` says who may use an item, and uses nothing:
/// it is read as `pub(crate)`.
fn code(text: &str) -> String {
    let visible_in = Regex::new(r"pub\(in [[:word:]:]+\)").expect("valid");
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    visible_in.replace_all(&code, "pub(crate)").into_owned()
}

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" {
        return Module::new();
    }
    path.split('/').map(str::to_owned).collect()
}

/// The modules that a file declares for tests alone.
fn test_modules(path: &str, text: &str) -> Vec<Module> {
    let declared = Regex::new(r"#\[cfg\(test\)\][[:space:]]*mod ([[:word:]]+);").expect("valid");
    let module = module_of(path);
    let names = declared.captures_iter(text).map(|found| found[1].to_owned());
    names.map(|name| [&module[..], &[name]].concat()).collect()
}

/// The text up to a module of tests at its end.
fn without_tests(text: &str) -> String {
    let tests = Regex::new(r"#\[cfg\(test\)\][[:space:]]*mod [[:word:]]+ \{").expect("valid");
    let end = tests.find(text).map_or(text.len(), |found| found.start());
    text[..end].to_owned()
}

/// The paths of a `use` declaration.
fn leaves(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let Some((front, list)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let front: Module = front
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut start, mut paths) = (0, 0, Vec::new());
    for (at, byte) in list.bytes().chain([b',']).enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                let part = list.get(start..at).unwrap_or_default();
                if !part.trim().is_empty() {
                    paths.extend(leaves(part).into_iter().map(|path| [&front[..], &path].concat()));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    paths
}

/// A path as seen from the root of the crate; `None` for another crate's.
fn absolute<T>(module: &Module, path: &Module, files: &BTreeMap<Module, T>) -> Option<Module> {
    let mut rest = &path[..];
    let mut base = match rest.first()?.as_str() {
        "crate" => Module::new(),
        "super" | "self" => module.clone(),
        first => {
            let child = [&module[..], &[first.to_owned()]].concat();
            return files.contains_key(&child).then(|| [&module[..], path].concat());
        }
    };
    while let Some(first @ ("crate" | "super" | "self")) = rest.first().map(String::as_str) {
        if first == "super" {
            base.pop();
        }
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base.retain(|part| part != "self");
    Some(base)
}

/// The file that defines an item, behind everything that publishes it.
fn home<T>(mut item: Module, files: &BTreeMap<Module, T>, published: &BTreeMap<Module, Module>) -> Module {
    for _ in 0..published.len() {
        let front = (1..=item.len()).rev().map(|len| &item[..len]);
        let Some(front) = front
            .into_iter()
            .find(|front| published.contains_key(*front) && !files.contains_key(*front))
        else {
            break;
        };
        let next = [&published[front][..], &item[front.len()..]].concat();
        if next == item {
            break;
        }
        item = next;
    }
    while !files.contains_key(&item) && !item.is_empty() {
        item.pop();
    }
    item
}
