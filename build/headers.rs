//! PCP's headers: where they are, and whether they are those of the libpcp that is linked.
//! `tests/headers.rs` tests this file.

use std::path::{Path, PathBuf};

/// The directories in which a C compiler looks for PCP's headers, given those of libpcp.pc.
///
/// libpcp.pc names the folder `pcp` of an include directory (`/opt/pcp/include/pcp`), for programs
/// that write `<pmapi.h>`. The sources of agents, and ours, write `<pcp/pmapi.h>`, which only its
/// parent has: without the parent the headers of another PCP would be read, those in `/usr/include`.
pub fn directories(of_libpcp: &[PathBuf]) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for directory in of_libpcp {
        if directory.file_name().is_some_and(|name| name == "pcp") {
            directories.extend(directory.parent().map(Path::to_owned));
        }
        directories.push(directory.clone());
    }
    directories
}

/// Returns why the headers are not those of the libpcp with this version, as one line; `None` if
/// they are. `bindings` is bindgen's output of the headers, which were looked for in `directories`.
pub fn difference(bindings: &str, libpcp: [u32; 3], directories: &[PathBuf]) -> Option<String> {
    // bindgen's output has blanks between all words.
    let line = bindings.split("pub const PM_VERSION_CURRENT : u32 = ").nth(1);
    let number = line.and_then(|line| line.split(|character: char| !character.is_ascii_digit()).next());
    let of_headers: Option<u32> = number.and_then(|number| number.parse().ok());
    let found = match of_headers {
        Some(number) if number == version(libpcp) => return None,
        Some(number) => format!("PCP {}.{}.{}", number >> 16, (number >> 8) & 255, number & 255),
        None => "no PCP that is known (PM_VERSION_CURRENT)".to_owned(),
    };
    let [major, minor, revision] = libpcp;
    let directories: Vec<_> = directories.iter().map(|path| path.display().to_string()).collect();
    Some(format!(
        "libpcp.pc is that of PCP {major}.{minor}.{revision}, and <pcp/pmapi.h> is that of {found}: the headers of libpcp \
         have to be in {}, or in the compiler's own directories (PKG_CONFIG_PATH chooses libpcp.pc)",
        directories.join(" or ")
    ))
}

/// The version in the words of the headers: `PM_VERSION(major, minor, revision)`.
pub fn version([major, minor, revision]: [u32; 3]) -> u32 {
    major << 16 | minor << 8 | revision
}
