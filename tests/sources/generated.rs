//! The C headers: cbindgen's view of the exported functions and types, set into the templates of
//! `capi/`.
//!
//! A template line `@ PATTERN …` stands for the declarations whose names match; a `*` at the end of
//! a pattern matches any rest. Each declaration goes to the first line that asks for it, and one
//! that no line asks for is an error: a function cannot be forgotten.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use regex::Regex;

/// The longest line of a prototype.
const LINE: usize = 110;

/// One declaration of cbindgen's output with its comment.
struct Declaration {
    name: String,
    text: String,
    used: bool,
}

/// The headers from the sources in `src` and the templates in `capi`, each with its name.
pub fn headers(src: &Path, capi: &Path) -> Vec<(&'static str, String)> {
    let mut declarations = declarations(src, capi);
    let headers = ["pmda.h", "pmdaroot.h"].map(|header| {
        let template = fs::read_to_string(capi.join(format!("{header}.in"))).expect("a template");
        (header, fill(&template, &mut declarations))
    });
    let forgotten: Vec<_> = declarations
        .iter()
        .filter(|item| !item.used)
        .map(|item| &item.name)
        .collect();
    assert!(forgotten.is_empty(), "no line of capi/*.h.in asks for {forgotten:?}");
    headers.into()
}

/// The C types of exported functions' parameters. Views that `view!` declares name their own C
/// type.
const PARAMETERS: [(&str, &str); 8] = [
    ("Option<CText<'_>>", "*const c_char"),
    ("Option<MutableText<'_>>", "*mut c_char"),
    ("Option<&mut LabelSet>", "*mut pmLabelSet"),
    ("Option<LabelSets<'_>>", "*mut *mut pmLabelSet"),
    ("Option<CFile>", "*mut libc::FILE"),
    ("In<'_, StopBytes>", "*mut c_void"),
    ("Option<Private>", "*mut c_void"),
    ("Option<NodeRef<'_>>", "*mut __pmnsNode"),
];

/// All declarations that cbindgen finds, in the order of the sources.
fn declarations(src: &Path, capi: &Path) -> Vec<Declaration> {
    let config = cbindgen::Config::from_file(capi.join("cbindgen.toml")).expect("capi/cbindgen.toml is valid");
    // cbindgen knows nothing of views, so it reads copies of the sources, in which they are the
    // pointers that they are.
    let copies = tempfile::tempdir().expect("space for copies of the sources");
    let view = src.join("view");
    let views = views(&view);
    copy(&view, &copies.path().join("view"), str::to_owned);
    let modules = fs::read_dir(src).expect("the sources");
    let modules = modules.map(|entry| entry.expect("the sources").path());
    let mut modules: Vec<_> = modules.filter(|module| module.join("exports.rs").exists()).collect();
    modules.sort();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for module in modules {
        let copy = copies
            .path()
            .join(module.with_extension("rs").file_name().expect("a module"));
        let source = fs::read_to_string(module.join("exports.rs")).expect("a source");
        fs::write(&copy, with_pointers(&source, &views)).expect("a fresh directory");
        builder = builder.with_src(copy);
    }
    // It follows the modules from there.
    builder = builder.with_src(copies.path().join("view/mod.rs"));
    let bindings = builder.generate().expect("cbindgen reads the exported functions");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("cbindgen writes UTF-8");
    let items = text.split("\n\n").map(str::trim).filter(|item| !item.is_empty());
    // Functions that only capi/shim.c calls are hidden from everybody else.
    items
        .map(declaration)
        .filter(|item| !item.name.starts_with("pcp_pmda_"))
        .collect()
}

/// The views that may be parameters, and the pointers that they are: `Ext of pmdaExt` is a `*mut
/// pmdaExt`.
fn views(view: &Path) -> Vec<(String, String)> {
    let declared = Regex::new(r"(?m)^ +([A-Za-z]+) of ([A-Za-z_]+), contract").expect("valid");
    let mut views: Vec<_> = PARAMETERS
        .iter()
        .map(|(view, pointer)| ((*view).to_owned(), (*pointer).to_owned()))
        .collect();
    for (_, source) in sources(view) {
        let found = declared.captures_iter(&source);
        views.extend(found.map(|view| (format!("Option<{}<'_>>", &view[1]), format!("*mut {}", &view[2]))));
    }
    views
}

/// A source with pointers in place of views, and of the places `Out<'_, T>` and `In<'_, T>`.
fn with_pointers(source: &str, views: &[(String, String)]) -> String {
    let mut source = source.to_owned();
    for (view, pointer) in views {
        source = source.replace(view, pointer);
    }
    let place = Regex::new(r"(?-u:\b)(?:Out|In)<'_, ([^<>]+)>").expect("valid");
    place.replace_all(&source, "*mut $1").into_owned()
}

/// Copies the sources of a module, each as it was changed.
fn copy(from: &Path, to: &Path, change: impl Fn(&str) -> String) {
    fs::create_dir(to).expect("a fresh directory");
    for (name, source) in sources(from) {
        fs::write(to.join(name), change(&source)).expect("a fresh directory");
    }
}

/// The sources of a module, with their names.
fn sources(module: &Path) -> impl Iterator<Item = (OsString, String)> {
    fs::read_dir(module).expect("a module").map(|entry| {
        let entry = entry.expect("a module");
        let source = fs::read_to_string(entry.path()).expect("a source");
        (entry.file_name(), source)
    })
}

fn declaration(item: &str) -> Declaration {
    let (comment, code) = match item.split_once("*/\n") {
        Some((comment, code)) if item.starts_with("/**") => (format!("{comment}*/\n"), code),
        _ => (String::new(), item),
    };
    let name = name_of(code).to_owned();
    let code = if code.starts_with("typedef") {
        readable(&without_numbers(code))
    } else {
        prototype(code)
    };
    Declaration {
        name,
        text: readable(&without_numbers(&comment)) + &code,
        used: false,
    }
}

/// A function's declaration with the words that stand before each, in lines of a readable length.
fn prototype(code: &str) -> String {
    let code = reserved_names(&code.replace("struct pmda", "pmda"));
    let mut text = String::new();
    let mut line = "PMDA_CALL extern".to_owned();
    for word in code.split_inclusive(", ") {
        let glue = if line.ends_with("extern") { " " } else { "" };
        if line.len() + glue.len() + word.trim_end().len() > LINE {
            text += line.trim_end();
            text += "\n";
            line = "        ".to_owned();
        }
        line += glue;
        line += word;
    }
    format!("{text}{line}\n")
}

/// Parameters with reserved names, `__fd`, which no macro of an agent's may have.
fn reserved_names(code: &str) -> String {
    let parameter = Regex::new(r"([ *])_?([a-z][A-Za-z0-9_]*)([,)])").expect("valid");
    parameter.replace_all(code, "${1}__$2$3").into_owned()
}

/// The name of a declaration: `typedef struct NAME {`, `typedef int (*NAME)(`, `int NAME(`.
fn name_of(code: &str) -> &str {
    let word = |text: &'static str| code.split_once(text).map(|(_, rest)| rest);
    let before = |code: &str| {
        let end = code.find('(').unwrap_or(code.len());
        code[..end].rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1)
    };
    let rest = if code.starts_with("typedef struct ") {
        word("typedef struct ")
    } else if code.starts_with("typedef ") {
        word("(*")
    } else {
        Some(&code[before(code)..])
    };
    let rest = rest.unwrap_or_else(|| panic!("cannot tell what is declared here:\n{code}"));
    let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    &rest[..end]
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Turns Rust's doc comments into what C comments look like: sections become plain words, and
/// Markdown goes.
fn readable(item: &str) -> String {
    let mut text = String::new();
    let mut lines = item.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "/**" {
            text += &format!("{line}\n");
            continue;
        }
        let indent = &line[..line.len() - 3];
        let comment: Vec<_> = lines
            .by_ref()
            .take_while(|line| line.trim() != "*/")
            .map(plain)
            .collect();
        match &comment[..] {
            [single] => text += &format!("{indent}/* {single} */\n"),
            _ => {
                let body = comment
                    .iter()
                    .map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n");
                text += &format!("{indent}/*\n{}{indent} */\n", body.collect::<String>());
            }
        }
    }
    text
}

/// A comment without the numbers of docs/spec, which a user of the header does not have.
fn without_numbers(comment: &str) -> String {
    const NUMBER: &str = r"[A-Z]{1,5}-[0-9]+";
    const BETWEEN: &str = r"[,\n *toand]+";
    let list = format!("{NUMBER}(?:{BETWEEN}{NUMBER})*");
    // A text after a number at the start of a line belongs to the line before.
    let whole = Regex::new(&format!(r"(?:\n *\* +| )?\({list}\)")).expect("valid");
    let last = Regex::new(&format!(r"[,;] {list}\)")).expect("valid");
    let text = whole.replace_all(comment, "");
    last.replace_all(&text, ")").into_owned()
}

/// One line of a comment without Markdown.
fn plain(line: &str) -> String {
    let line = line
        .trim()
        .trim_start_matches('*')
        .trim_start()
        .replace("# Returns", "Returns:")
        .replace("# Safety", "Pointers:");
    line.replace("[`", "").replace("`]", "").replace('`', "")
}

/// The template with declarations in the places that ask for them.
fn fill(template: &str, declarations: &mut [Declaration]) -> String {
    let mut text = String::new();
    for line in template.lines() {
        let Some(patterns) = line.strip_prefix("@ ") else {
            text += line;
            text.push('\n');
            continue;
        };
        let patterns: Vec<_> = patterns.split_whitespace().collect();
        let wanted = |item: &Declaration| !item.used && patterns.iter().any(|pattern| matches(pattern, &item.name));
        let chosen: Vec<_> = declarations
            .iter_mut()
            .filter(|item| wanted(item))
            .map(|item| {
                item.used = true;
                item.text.as_str()
            })
            .collect();
        if !chosen.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text += &chosen.join("\n");
    }
    text
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}
