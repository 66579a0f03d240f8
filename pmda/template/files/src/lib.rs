//! The agent @NAME@: bytes of each network interface. Replace them by what you want to show.

use std::process::ExitCode;

use pmda::prelude::*;

/// The agent.
pub struct State {
    interfaces: Indom<Interface>,
}

/// A network interface.
#[derive(pmda::Row)]
struct Interface {
    /// Bytes received
    #[metric(counter, unit = BYTE, item = 0)]
    received: u64,
    /// Bytes sent
    #[metric(counter, unit = BYTE, item = 1)]
    sent: u64,
}

/// The file with the numbers of all interfaces.
const FILE: &str = "/proc/net/dev";

impl Agent for State {
    const NAME: &'static str = "@NAME@";
    const DOMAIN: u32 = @DOMAIN@;

    fn start(_: &Env) -> Result<State> {
        Ok(State {
            interfaces: Indom::new(),
        })
    }

    fn metrics(m: &mut Metrics<State>) {
        m.cluster(0).refresh(|state, _| state.read());
        let interfaces = m.indom(0, "Network interfaces", |state| &mut state.interfaces);
        m.rows("", interfaces);
    }
}

impl State {
    fn read(&mut self) -> Result<()> {
        let text = pmda::fs::read_to_string(FILE)?;
        let mut now = self.interfaces.update();
        for line in text.lines().skip(2) {
            let (name, interface) = interface(line).ok_or_else(|| Error::CONV.text(line))?;
            now.set(name, interface)?;
        }
        Ok(())
    }
}

/// The interface of a line.
fn interface(line: &str) -> Option<(&str, Interface)> {
    let (name, numbers) = line.split_once(':')?;
    let mut numbers = numbers.split_whitespace().map(str::parse);
    let received = numbers.next()?.ok()?;
    let sent = numbers.nth(7)?.ok()?;
    Some((name.trim(), Interface { received, sent }))
}

pmda::export_dso!(pmda_@NAME@_init, State);

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    pmda::run::<State>()
}

#[cfg(test)]
mod tests {
    use pmda::testing::Harness;

    use super::*;

    /// Archives remember the numbers of metrics.
    #[test]
    fn numbers() -> Result<()> {
        let pmcd = Harness::<State>::new()?;
        let numbers = "@NAME@.received @DOMAIN@.0.0\n@NAME@.sent @DOMAIN@.0.1\n";
        assert_eq!(pmcd.numbers(), numbers);
        Ok(())
    }

    #[test]
    fn the_loopback_interface_is_there() -> Result<()> {
        let mut pmcd = Harness::<State>::new()?;
        assert!(pmcd.fetch("@NAME@.received")?.value_of::<u64>("lo").is_some());
        assert_eq!(pmcd.log(), "");
        Ok(())
    }

    #[test]
    fn a_line_that_is_wrong() {
        assert!(interface("lo: 1 2 3").is_none());
    }
}
