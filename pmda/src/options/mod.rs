//! The command line: the options that PCP's agents have, those of the agent's own, and two for
//! developers.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use lexopt::{Arg, Parser};

use crate::env::Opt;
use crate::problems::DOMAIN_MAX;

mod debug;
mod usage;

pub(crate) use usage::usage;

/// The options of all agents, in the order of PCP's usage message; agents in C name the first one
/// since PCP 7.
pub(crate) const STANDARD: [Opt; 5] = [
    option('D', "debug", Some("DBG"), "set debug options, see pmdbg(1)"),
    option(
        'd',
        "domain",
        Some("NUM"),
        "use domain (numeric) for metrics domain of PMDA",
    ),
    option(
        'l',
        "log",
        Some("FILE"),
        "write log to FILE rather than using default log name",
    ),
    option(
        'U',
        "username",
        Some("USER"),
        "run the PMDA using the named user account",
    ),
    option('?', "help", None, "show this usage message and exit"),
];

/// Options for the ways in which pmcd reaches the agent.
pub(crate) const CONNECTIONS: [Opt; 4] = [
    option(
        'i',
        "inet",
        Some("PORT"),
        "pmcd IPv4 connection service name or numeric port",
    ),
    option('p', "pipe", None, "use a pipe for communication with pmcd"),
    option(
        'u',
        "unix",
        Some("FILE"),
        "use a unix domain socket for communication with pmcd",
    ),
    option(
        '6',
        "ipv6",
        Some("PORT"),
        "pmcd IPv6 connection service name or numeric port",
    ),
];

/// Options that agents in C do not have.
pub(crate) const OTHERS: [Opt; 4] = [
    long(
        "notready",
        None,
        "pmcd.conf says notready: tell pmcd when the agent is ready",
    ),
    long(
        "write",
        Some("DIR"),
        "write domain.h, pmns, root, help, Install and Remove to DIR",
    ),
    long(
        "check",
        None,
        "check the names, numbers, units and texts of the metrics",
    ),
    long("version", None, "show the version of the crate pmda, and exit"),
];

const fn option(short: char, long: &'static str, argument: Option<&'static str>, help: &'static str) -> Opt {
    Opt {
        short: Some(short),
        long,
        argument,
        help,
    }
}

const fn long(long: &'static str, argument: Option<&'static str>, help: &'static str) -> Opt {
    Opt {
        short: None,
        long,
        argument,
        help,
    }
}

/// The way in which pmcd reaches the agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Connection {
    /// Standard input and output, as pmcd has opened them.
    #[default]
    Pipe,
    /// A port of the loopback address, by number or by the name of a service.
    Inet(String),
    /// The same for IPv6.
    Ipv6(String),
    /// A unix socket.
    Unix(PathBuf),
}

impl Connection {
    fn letter(&self) -> char {
        match self {
            Connection::Pipe => 'p',
            Connection::Inet(_) => 'i',
            Connection::Ipv6(_) => '6',
            Connection::Unix(_) => 'u',
        }
    }
}

/// The action that the command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// To run as an agent.
    Serve(Settings),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// `--write DIR`, with the other options.
    Write(PathBuf, Settings),
    /// `--check`, with the other options.
    Check(Settings),
}

/// The settings of an agent that runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Settings {
    /// `-d`.
    pub domain: Option<u32>,
    /// `-l`.
    pub log: Option<PathBuf>,
    /// `-U`.
    pub user: Option<String>,
    /// `-D`: the finest level of debug messages that are wanted.
    pub debug: Option<log::LevelFilter>,
    /// `-p`, `-i`, `-6` or `-u`.
    pub connection: Option<Connection>,
    /// `--notready`.
    pub not_ready: bool,
    /// Options of the agent's own, by their long names.
    pub own: Vec<(&'static str, String)>,
    /// Arguments that are no options.
    pub arguments: Vec<String>,
}

/// An error in the command line, in the words of PCP's agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake(String);

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The options of an agent with these of its own. One of its own replaces the one with the same long
/// name, and takes its letter from another one.
fn all_options(own: &[Opt]) -> Vec<Opt> {
    let mut options = own.to_vec();
    options.extend(standard(&STANDARD, own));
    options.extend(standard(&CONNECTIONS, own));
    options.extend(standard(&OTHERS, own));
    options
}

/// The standard options that are not replaced.
fn standard(standard: &[Opt], own: &[Opt]) -> impl Iterator<Item = Opt> {
    let left = standard
        .iter()
        .filter(|option| !own.iter().any(|own| own.long == option.long));
    left.map(|option| Opt {
        short: option
            .short
            .filter(|letter| !own.iter().any(|own| own.short == Some(*letter))),
        ..*option
    })
}

/// Reads the arguments (the name of the program is not one of them).
///
/// # Errors
/// The first mistake, in the words of PCP's agents.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>, own: &'static [Opt]) -> Result<Command, Mistake> {
    let options = all_options(own);
    let mut parser = Parser::from_args(arguments);
    let mut settings = Settings::default();
    let mut instead = None;
    while let Some(argument) = parser.next().map_err(surplus)? {
        let option = match argument {
            Arg::Value(value) => {
                settings.arguments.push(text(value));
                continue;
            }
            Arg::Short(letter) => by_letter(&options, letter)?,
            Arg::Long(name) => by_name(&options, name)?,
        };
        let is_long = !matches!(argument, Arg::Short(_));
        let value = match option.argument {
            Some(_) => parser.value().map_err(|_| missing(&option, is_long))?,
            None => OsString::new(),
        };
        let of_agents_own = own.contains(&option) && OTHERS.iter().any(|other| other.long == option.long);
        match option.long {
            // In the place of an option that agents in C do not have, it means what the agent says.
            name if of_agents_own => settings.own.push((name, text(value))),
            "help" => instead = Some(Command::Help),
            "version" => instead = Some(Command::Version),
            "write" => instead = Some(Command::Write(value.into(), Settings::default())),
            "check" => instead = Some(Command::Check(Settings::default())),
            _ => settings.set(&option, value)?,
        }
    }
    Ok(match instead {
        Some(Command::Write(directory, _)) => Command::Write(directory, settings),
        Some(Command::Check(_)) => Command::Check(settings),
        instead => instead.unwrap_or(Command::Serve(settings)),
    })
}

impl Settings {
    /// Returns whether pmcd is at the other end of standard input and output.
    pub(crate) fn is_piped(&self) -> bool {
        matches!(self.connection, None | Some(Connection::Pipe))
    }

    fn set(&mut self, option: &Opt, value: OsString) -> Result<(), Mistake> {
        match option.long {
            "domain" => {
                let number = text(value)
                    .parse()
                    .ok()
                    .filter(|domain| (1..=DOMAIN_MAX).contains(domain));
                let mistake = || Mistake("-d requires numeric domain number".to_owned());
                self.domain = Some(number.ok_or_else(mistake)?);
            }
            "log" => self.log = Some(value.into()),
            "username" => self.user = Some(text(value)),
            "notready" => self.not_ready = true,
            "inet" => self.connect(Connection::Inet(text(value)))?,
            "ipv6" => self.connect(Connection::Ipv6(text(value)))?,
            "unix" => self.connect(Connection::Unix(value.into()))?,
            "pipe" => self.connect(Connection::Pipe)?,
            // An agent may have replaced `-D` by one without an argument.
            "debug" if option.argument.is_none() => self.debug = self.debug.max(Some(log::LevelFilter::Debug)),
            "debug" => {
                let value = text(value);
                let mistake = || Mistake(format!("unrecognized debug options specification ({value})"));
                self.debug = self.debug.max(Some(debug::level(&value).ok_or_else(mistake)?));
            }
            name => self.own.push((name, text(value))),
        }
        Ok(())
    }

    fn connect(&mut self, connection: Connection) -> Result<(), Mistake> {
        match &self.connection {
            Some(first) if first.letter() != connection.letter() => Err(Mistake(format!(
                "-{} option clashes with -{} option",
                connection.letter(),
                first.letter()
            ))),
            _ => {
                self.connection = Some(connection);
                Ok(())
            }
        }
    }
}

fn by_letter(options: &[Opt], letter: char) -> Result<Opt, Mistake> {
    let option = options.iter().find(|option| option.short == Some(letter));
    option
        .copied()
        .ok_or_else(|| Mistake(format!("invalid option -- '{letter}'")))
}

/// A long name may be abbreviated if it is unambiguous.
fn by_name(options: &[Opt], name: &str) -> Result<Opt, Mistake> {
    if let Some(option) = options.iter().find(|option| option.long == name) {
        return Ok(*option);
    }
    let meant: Vec<&Opt> = options.iter().filter(|option| option.long.starts_with(name)).collect();
    match meant.as_slice() {
        [] => Err(Mistake(format!("unrecognized option '--{name}'"))),
        [option] => Ok(**option),
        several => {
            let names: Vec<String> = several.iter().map(|option| format!(" '--{}'", option.long)).collect();
            let names = names.concat();
            Err(Mistake(format!(
                "option '--{name}' is ambiguous; possibilities:{names}"
            )))
        }
    }
}

fn missing(option: &Opt, is_long: bool) -> Mistake {
    match option.short {
        Some(letter) if !is_long => Mistake(format!("option requires an argument -- '{letter}'")),
        _ => Mistake(format!("option '--{}' requires an argument", option.long)),
    }
}

fn surplus(error: lexopt::Error) -> Mistake {
    match error {
        lexopt::Error::UnexpectedValue { option, .. } => {
            Mistake(format!("option '{option}' doesn't allow an argument"))
        }
        other => Mistake(other.to_string()),
    }
}

fn text(value: OsString) -> String {
    value
        .into_string()
        .unwrap_or_else(|bytes| bytes.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options of an agent that replace standard ones.
    #[test]
    fn options_in_the_place_of_standard_ones() {
        const OTHER: &[Opt] = &[
            option('D', "debug", None, "messages"),
            option('u', "username", Some("USER"), "the user"),
        ];
        let parsed = |line: &str| parse(line.split_whitespace().map(OsString::from), OTHER);
        let settings = |line: &str| match parsed(line) {
            Ok(Command::Serve(settings)) => settings,
            other => panic!("{other:?}"),
        };
        let all = settings("-D -u pcp -d 144");
        assert_eq!(
            (all.debug, all.user.as_deref(), all.domain),
            (Some(log::LevelFilter::Debug), Some("pcp"), Some(144))
        );
        assert_eq!(all.connection, None);
        let all = settings("--user=pcp --unix /run/s --debug");
        assert_eq!(
            (all.user.as_deref(), all.connection),
            (Some("pcp"), Some(Connection::Unix("/run/s".into())))
        );
        assert_eq!(
            parsed("-U pcp").map_err(|mistake| mistake.to_string()),
            Err("invalid option -- 'U'".to_owned())
        );
        let usage = usage("pmdax", OTHER);
        assert_eq!(usage.matches("--username").count(), 1);
        assert!(usage.contains("\n  --unix=FILE"));
    }

    /// Options of an agent with the names of those that agents in C do not have.
    #[test]
    fn options_in_the_place_of_the_crates_own() {
        const OTHER: &[Opt] = &[
            long("check", Some("URL"), "what is checked"),
            long("write", None, "writes"),
            long("notready", None, "waits"),
            long("version", None, "the version"),
        ];
        let line = ["--check=a", "--write", "--notready", "--version"];
        let settings = match parse(line.map(OsString::from), OTHER) {
            Ok(Command::Serve(settings)) => settings,
            other => panic!("{other:?}"),
        };
        let own = [("check", "a"), ("write", ""), ("notready", ""), ("version", "")];
        assert_eq!(settings.own, own.map(|(name, value)| (name, value.to_owned())));
        assert!(!settings.not_ready);
    }

    const OWN: &[Opt] = &[option('c', "config", Some("FILE"), "the configuration")];

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from), OWN).map_err(|mistake| mistake.to_string())
    }

    fn settings(line: &str) -> Settings {
        match parsed(line) {
            Ok(Command::Serve(settings)) => settings,
            other => panic!("{other:?}"),
        }
    }

    /// Options are short, long, abbreviated, joined and separate; arguments follow (INIT-20,
    /// INIT-23).
    #[test]
    fn options_of_all_agents() {
        let all = settings("-d 253 --log=/tmp/x -Upcp --un /run/s -D pmns -c a --conf=b rest");
        assert_eq!((all.domain, all.user.as_deref()), (Some(253), Some("pcp")));
        assert_eq!(
            (all.log, all.debug),
            (Some("/tmp/x".into()), Some(log::LevelFilter::Debug))
        );
        assert_eq!(all.connection, Some(Connection::Unix("/run/s".into())));
        assert_eq!(all.own, [("config", "a".to_owned()), ("config", "b".to_owned())]);
        assert_eq!(all.arguments, ["rest"]);
        assert_eq!(
            settings("-i 4000 -i ftp").connection,
            Some(Connection::Inet("ftp".to_owned()))
        );
        assert_eq!(settings("-6 9").connection, Some(Connection::Ipv6("9".to_owned())));
        assert_eq!(settings(""), Settings::default());
        assert_eq!(parsed("-?"), Ok(Command::Help));
        assert_eq!(parsed("--help -d 4"), Ok(Command::Help));
        assert_eq!(parsed("--write x"), Ok(Command::Write("x".into(), Settings::default())));
        assert_eq!(parsed("--check"), Ok(Command::Check(Settings::default())));
        assert_eq!(
            parsed("-d 253 --check -c a"),
            Ok(Command::Check(settings("-d 253 -c a")))
        );
        assert_eq!(parsed("--version -d 4"), Ok(Command::Version));
    }

    /// Mistakes are reported in the words of PCP's agents (INIT-21, INIT-22).
    #[test]
    fn mistakes() {
        let cases = [
            ("-q", "invalid option -- 'q'"),
            ("-d x", "-d requires numeric domain number"),
            ("-d 511", "-d requires numeric domain number"),
            ("-p -i 8", "-i option clashes with -p option"),
            ("-D foo", "unrecognized debug options specification (foo)"),
            ("-d", "option requires an argument -- 'd'"),
            ("--domain", "option '--domain' requires an argument"),
            ("--pipe=x", "option '--pipe' doesn't allow an argument"),
            (
                "--d 5",
                "option '--d' is ambiguous; possibilities: '--debug' '--domain'",
            ),
            ("--versions", "unrecognized option '--versions'"),
        ];
        for (line, expected) in cases {
            assert_eq!(parsed(line), Err(expected.to_owned()), "{line}");
        }
    }
}
