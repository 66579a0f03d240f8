//! A linker's view of a shared library: its names, versions and needed libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use object::elf::{DT_NEEDED, DT_SONAME, ELFCLASS32, FileHeader32, FileHeader64, SHN_UNDEF, SHT_DYNSYM, STB_LOCAL};
use object::read::elf::{Dyn, FileHeader, Sym};
use object::{Endianness, Object, ObjectSymbol};

/// An exported symbol: its name, its type (`STT_*`) and the version node it belongs to, `@@` for
/// the default one.
pub type Symbol = (String, u8, String);

/// The dynamic part of a shared library.
#[derive(Debug, PartialEq, Eq)]
pub struct Elf {
    /// Its own name.
    pub soname: String,
    /// The libraries it asks for.
    pub needed: BTreeSet<String>,
    /// The exported symbols.
    pub symbols: BTreeSet<Symbol>,
    /// The version nodes that it defines, each with its parents.
    pub nodes: BTreeMap<String, Vec<String>>,
}

/// Reads the file of a shared library.
pub fn read(file: &Path) -> Elf {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn parse(bytes: &[u8]) -> object::Result<Elf> {
    // The fifth byte tells the width.
    if bytes.get(4) == Some(&ELFCLASS32) {
        contents::<FileHeader32<Endianness>>(bytes)
    } else {
        contents::<FileHeader64<Endianness>>(bytes)
    }
}

fn contents<Header: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> object::Result<Elf> {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let header = Header::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let symbols = sections.symbols(endian, bytes, SHT_DYNSYM)?;

    let (mut sonames, mut needed) = (Vec::new(), BTreeSet::new());
    if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        for entry in entries {
            match entry.tag32(endian) {
                Some(DT_SONAME) => sonames.push(text(entry.string(endian, strings)?)),
                Some(DT_NEEDED) => drop(needed.insert(text(entry.string(endian, strings)?))),
                _ => {}
            }
        }
    }

    let mut nodes = BTreeMap::new();
    if let Some((mut definitions, link)) = sections.gnu_verdef(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut names)) = definitions.next()? {
            let mut chain = Vec::new();
            while let Some(name) = names.next()? {
                chain.push(text(name.name(endian, strings)?));
            }
            let name = chain.remove(0);
            nodes.insert(name, chain);
        }
    }

    let versions = sections.versions(endian, bytes)?;
    let mut exported = BTreeSet::new();
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_shndx(endian) == SHN_UNDEF || symbol.st_bind() == STB_LOCAL {
            continue;
        }
        let node = versions.as_ref().map_or(Ok(String::new()), |versions| {
            let place = versions.version_index(endian, index);
            let at = if place.is_hidden() { "@" } else { "@@" };
            let version = versions.version(place)?;
            Ok::<_, object::Error>(version.map_or(String::new(), |version| format!("{at}{}", text(version.name()))))
        })?;
        exported.insert((text(symbols.symbol_name(endian, symbol)?), symbol.st_type(), node));
    }
    Ok(Elf {
        soname: sonames.concat(),
        needed,
        symbols: exported,
        nodes,
    })
}

/// The names of the functions that the members of a static library define.
pub fn defined_in_archive(file: &Path) -> BTreeSet<String> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let archive = object::read::archive::ArchiveFile::parse(&*bytes).expect("a static library");
    let mut names = BTreeSet::new();
    for member in archive.members() {
        let member = member.expect("a member").data(&*bytes).expect("its contents");
        if !member.starts_with(b"\x7fELF") {
            continue;
        }
        let member = object::File::parse(member).expect("an object file");
        let defined = member
            .symbols()
            .filter(|symbol| symbol.is_definition() && symbol.is_global());
        names.extend(defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)));
    }
    names
}
