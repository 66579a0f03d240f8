//! Load averages and network interfaces: metrics from the fields of a struct.

#![forbid(unsafe_code)]
#![allow(clippy::double_ended_iterator_last)] // Of five fields.
#![allow(clippy::doc_paragraphs_missing_punctuation)] // One-line help texts are no sentences.
use pmda::prelude::*;

#[derive(Default, pmda::Metrics)]
struct Load {
    /// Load average of the last minute
    /// Runnable and waiting tasks, as the kernel counts them.
    #[metric(instant)]
    one: f32,
    /// Tasks that were ever started
    #[metric(counter, unit = COUNT)]
    forks: u64,
    interfaces: Indom<Interface>,
}
#[derive(Default, pmda::Row)]
struct Interface {
    /// Bytes received
    #[metric(counter, unit = BYTE, name = "in.bytes")]
    received: u64,
    /// Bytes sent
    #[metric(counter, unit = BYTE, name = "out.bytes")]
    sent: u64,
}
impl Agent for Load {
    const NAME: &'static str = "load";
    const DOMAIN: u32 = 400;
    fn start(_: &Env) -> Result<Load> {
        Ok(Load::default())
    }
    fn metrics(m: &mut Metrics<Load>) {
        m.cluster(0).refresh(|s, _| s.read_averages());
        m.fields();
        m.cluster(1).refresh(|s, _| s.read_interfaces());
        let interfaces = m.indom(0, "Network interfaces", |s| &mut s.interfaces);
        m.rows("interface.", interfaces);
    }
}
impl Load {
    fn read_averages(&mut self) -> Result<()> {
        let text = std::fs::read_to_string("/proc/loadavg")?;
        let mut fields = text.split(' ');
        self.one = fields.next().and_then(|field| field.parse().ok()).ok_or(Error::VALUE)?;
        self.forks = fields
            .last()
            .and_then(|field| field.trim().parse().ok())
            .ok_or(Error::VALUE)?;
        Ok(())
    }
    fn read_interfaces(&mut self) -> Result<()> {
        let mut now = self.interfaces.update();
        for line in std::fs::read_to_string("/proc/net/dev")?.lines().skip(2) {
            let Some((name, rest)) = line.trim().split_once(':') else {
                continue;
            };
            let n: Vec<u64> = rest.split_whitespace().flat_map(str::parse).collect();
            now.set(
                name,
                Interface {
                    received: n[0],
                    sent: n[8],
                },
            )?;
        }
        Ok(())
    }
}
fn main() -> std::process::ExitCode {
    pmda::run::<Load>()
}

#[test]
fn fields_are_metrics() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Load>::new()?;
    assert_eq!(
        pmcd.numbers(),
        "load.one 400.0.0\nload.forks 400.0.1\nload.interface.in.bytes 400.1.0\nload.interface.out.bytes 400.1.1\n"
    );
    assert!(pmcd.fetch("load.forks")?.value() > Some(0_u64));
    assert!(pmcd.fetch("load.interface.in.bytes")?.value_of::<u64>("lo").is_some());
    let (line, text) = pmcd.text("load.one")?;
    assert_eq!(line, "Load average of the last minute");
    assert_eq!(text, "Runnable and waiting tasks, as the kernel counts them.");
    assert_eq!(pmcd.desc("load.interface.out.bytes")?.unit, BYTE);
    Ok(())
}
