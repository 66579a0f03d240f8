//! A build against a PCP that is not installed in `/usr`: whose headers are read, and what is said
//! where they are not those of its libpcp.pc. The build script itself runs here.

#[path = "../build/headers.rs"]
mod headers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pcp_pmda_test::{pkg_config, profile_dir, release, root, skipped};

/// The build script that cargo has compiled last; `None` where these tests were built on another
/// machine.
fn build_script() -> Option<PathBuf> {
    let found = newest_build_script();
    if found.is_none() {
        skipped("the tests were built elsewhere, and the build script is there");
    }
    found
}

fn newest_build_script() -> Option<PathBuf> {
    let builds = fs::read_dir(profile_dir().join("build")).ok()?;
    let scripts = builds.flatten().map(|build| build.path());
    let scripts = scripts.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("pcp-pmda-").is_some_and(|hash| !hash.contains('-'))
    });
    let scripts = scripts.map(|path| path.join("build-script-build"));
    let age = |script: &PathBuf| fs::metadata(script).and_then(|file| file.modified()).ok();
    scripts.filter(|script| script.exists()).max_by_key(age)
}

/// Cargo's name for this machine.
fn target() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc is installed");
    let text = String::from_utf8(output.stdout).expect("a text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc says it").to_owned()
}

/// A directory of another PCP, empty.
fn prefix(test: &str) -> PathBuf {
    let prefix = profile_dir().join("test-headers").join(test);
    let _ = fs::remove_dir_all(&prefix);
    fs::create_dir_all(prefix.join("include")).expect("target is writable");
    prefix
}

/// Puts the installed headers there, as those of a PCP of this version.
fn install_headers(prefix: &Path, version: [u32; 3]) {
    let (from, to) = (pkg_config("includedir"), prefix.join("include/pcp"));
    fs::create_dir_all(&to).expect("target is writable");
    for header in fs::read_dir(&from).expect("PCP's headers are installed").flatten() {
        if header.path().extension().is_some_and(|extension| extension == "h") {
            fs::copy(header.path(), to.join(header.file_name())).expect("target is writable");
        }
    }
    let file = to.join("platform_defs.h");
    let text = fs::read_to_string(&file).expect("PCP's headers are installed");
    let lines = text
        .lines()
        .map(|line| match line.strip_prefix("#define PM_VERSION_CURRENT ") {
            Some(_) => format!("#define PM_VERSION_CURRENT {}\n", headers::version(version)),
            None => format!("{line}\n"),
        });
    fs::write(&file, lines.collect::<String>()).expect("target is writable");
}

/// Runs the build script with a libpcp.pc of this version, as PCP installs it below the prefix.
/// Returns whether it succeeds, what it says to cargo, and the bindings; `None` if there is none.
fn build(prefix: &Path, [major, minor, revision]: [u32; 3]) -> Option<(bool, String, String)> {
    let out = prefix.join("target/debug/build/pcp-pmda-0/out");
    fs::create_dir_all(&out).expect("target is writable");
    let include = prefix.join("include/pcp");
    let package = format!(
        "Name: libpcp\nDescription: another PCP\nVersion: {major}.{minor}.{revision}\nLibs: -lpcp\nCflags: -I{}\n",
        include.display()
    );
    fs::write(prefix.join("libpcp.pc"), package).expect("target is writable");
    let mut script = Command::new(build_script()?);
    script.current_dir(root()).env("OUT_DIR", &out);
    script.env("PKG_CONFIG_PATH", prefix).env("CARGO_MANIFEST_DIR", root());
    script.env("TARGET", target()).env("HOST", target());
    script.env("OPT_LEVEL", "0").env("DEBUG", "false");
    let big = cfg!(target_endian = "big");
    for (name, value) in [
        ("OS", std::env::consts::OS),
        ("ENV", "gnu"),
        ("ARCH", std::env::consts::ARCH),
        ("POINTER_WIDTH", usize::BITS.to_string().as_str()),
        ("ENDIAN", if big { "big" } else { "little" }),
        ("ABI", if cfg!(target_arch = "arm") { "eabihf" } else { "" }),
    ] {
        script.env(format!("CARGO_CFG_TARGET_{name}"), value);
    }
    let output = script.output().expect("the build script starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let bindings = fs::read_to_string(out.join("libpcp.rs")).unwrap_or_default();
    Some((output.status.success(), text, bindings))
}

/// The release after the installed one.
fn next() -> [u32; 3] {
    let [major, minor, revision] = release();
    [major, minor, revision + 1]
}

fn words([major, minor, revision]: [u32; 3]) -> String {
    format!("PCP {major}.{minor}.{revision}")
}

/// With headers of the same generation in `/usr`: those of the prefix are read, for libpcp.pc is
/// its.
#[test]
fn the_headers_of_the_prefix_are_read() {
    let prefix = prefix("whole");
    install_headers(&prefix, next());
    let Some((succeeds, text, bindings)) = build(&prefix, next()) else {
        return;
    };
    assert!(succeeds, "{text}");
    let line = format!("pub const PM_VERSION_CURRENT : u32 = {} ;", headers::version(next()));
    assert!(bindings.contains(&line), "the headers in /usr were read");
    let package = fs::read_to_string(prefix.join("target/debug/libpcp_pmda.pc")).expect("written");
    let include = prefix.join("include").display().to_string();
    let line = format!("-I\"{include}\" -I\"{include}/pcp\"");
    assert!(package.contains(&line), "{package}");
}

/// The headers were not installed below the prefix: those in `/usr` are found, and refused.
#[test]
fn the_headers_of_another_pcp_are_refused() {
    let prefix = prefix("without");
    let Some((succeeds, text, _)) = build(&prefix, next()) else {
        return;
    };
    let line = format!(
        "cargo::error=libpcp.pc is that of {}, and <pcp/pmapi.h> is that of {}: the headers of libpcp have to be in {}",
        words(next()),
        words(release()),
        prefix.join("include").display()
    );
    assert!(!succeeds && text.contains(&line), "{text}");
}

/// The prefix has headers, of another release than its libpcp.
#[test]
fn the_headers_of_another_release_are_refused() {
    let prefix = prefix("mixed");
    install_headers(&prefix, next());
    let Some((succeeds, text, _)) = build(&prefix, release()) else {
        return;
    };
    let line = format!(
        "cargo::error=libpcp.pc is that of {}, and <pcp/pmapi.h> is that of {}: ",
        words(release()),
        words(next())
    );
    assert!(!succeeds && text.contains(&line), "{text}");
}

#[test]
fn the_directories_of_the_headers() {
    let of = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        let directories = headers::directories(&paths);
        directories
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(&["/opt/pcp/include/pcp"]),
        ["/opt/pcp/include", "/opt/pcp/include/pcp"]
    );
    assert_eq!(of(&["/opt/include", "/x/pcp"]), ["/opt/include", "/x", "/x/pcp"]);
    assert_eq!(of(&[]), Vec::<String>::new());
}

#[test]
fn headers_without_a_version() {
    let line = headers::difference("pub const PMAPI_VERSION : u32 = 2 ;", [7, 2, 1], &["/opt".into()]);
    assert!(line.expect("a reason").contains("no PCP that is known"));
}
