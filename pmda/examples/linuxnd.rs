//! The metrics `disk.dev.*` and `network.interface.*` of PCP's agent linux: two kinds of instances
//! that keep their numbers over restarts, files (each metric needs one or several), and names below
//! two roots.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

/// Serials of the instance domains, as in PCP's agent.
const DISK: u32 = 1;
const NET: u32 = 3;
const ADDR: u32 = 17;

/// The path of a file of the kernel. It is below `$LINUX_STATSPATH` if that is set, as with PCP's agent:
/// so tests show the agent a machine that is not there.
fn kernel(path: impl std::fmt::Display) -> String {
    static ROOT: LazyLock<String> = LazyLock::new(|| std::env::var("LINUX_STATSPATH").unwrap_or_default());
    format!("{}{path}", *ROOT)
}

/// Metrics that need a file more than the others of their cluster: the cluster and the items.
const OF_PARTITIONS: (u32, [u32; 1]) = (0, [87]);
const OF_INET6: (u32, [u32; 2]) = (33, [1, 2]);
const OF_HARDWARE: (u32, [u32; 1]) = (33, [3]);

/// Returns whether values of one of these metrics are asked for.
fn wants<const N: usize>(request: &Request<'_>, (cluster, items): (u32, [u32; N])) -> bool {
    items.into_iter().any(|item| request.wants_item(cluster, item))
}

/// A disk: the columns of its line in /proc/diskstats, where sectors are halves of a KiB, and its size
/// in KiB.
struct Disk {
    name: String,
    n: [u64; 17],
    blocks: u64,
}

impl Disk {
    /// The word in brackets.
    fn scheduler(&self) -> String {
        let text =
            fs::read_to_string(kernel(format_args!("/sys/block/{}/queue/scheduler", self.name))).unwrap_or_default();
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        chosen.map_or("unknown", |(name, _)| name).to_owned()
    }
}

/// An interface: the columns of its line in /proc/net/dev. A metric of sysfs reads its own file.
struct Net {
    name: String,
    n: Vec<u64>,
}

impl Net {
    fn file(&self, file: &str) -> Option<String> {
        word(kernel(format_args!("/sys/class/net/{}/{file}", self.name)))
    }
    /// The number in a file; 0 if it has none.
    fn number<N: std::str::FromStr + Default>(&self, file: &str) -> N {
        self.file(file).and_then(|word| word.parse().ok()).unwrap_or_default()
    }
    /// Megabits a second, if they are known: an interface without a cable says -1.
    fn speed(&self) -> Option<u32> {
        self.file("speed")?.parse().ok().filter(|speed| *speed > 0)
    }
    fn duplex(&self) -> Option<u32> {
        match &*self.file("duplex")? {
            "half" => Some(1),
            "full" => Some(2),
            _ => None,
        }
    }
    fn is_up(&self) -> bool {
        let flags = self.file("flags");
        let flags = flags.and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
        flags.unwrap_or(0) & 1 != 0
    }
}

/// The addresses of an interface.
#[derive(Default)]
struct Address {
    inet6: Option<(String, &'static str)>,
    hardware: Option<String>,
}

struct Linux {
    disks: Indom<Disk>,
    nets: Indom<Net>,
    addresses: Indom<Address>,
}

fn word(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.split_whitespace().next()?.to_owned())
}

impl Linux {
    fn read_disks(&mut self, request: &Request<'_>) -> Result<()> {
        let partitions = if wants(request, OF_PARTITIONS) {
            pmda::fs::read_to_string(kernel("/proc/partitions"))?
        } else {
            String::new()
        };
        let sizes: HashMap<&str, u64> = partitions
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace().skip(2);
                let blocks = words.next()?.parse().ok()?;
                Some((words.next()?, blocks))
            })
            .collect();
        let mut now = self.disks.update();
        for line in pmda::fs::read_to_string(kernel("/proc/diskstats"))?.lines() {
            let mut words = line.split_whitespace().skip(2);
            let Some(name) = words.next() else { continue };
            if !is_disk(name) {
                continue;
            }
            let mut n = [0; 17];
            for (number, word) in n.iter_mut().zip(words) {
                *number = word.parse()?;
            }
            let blocks = sizes.get(name).copied().unwrap_or(0);
            now.set(
                name,
                Disk {
                    name: name.to_owned(),
                    n,
                    blocks,
                },
            )?;
        }
        Ok(())
    }
    fn read_nets(&mut self) -> Result<()> {
        let mut now = self.nets.update();
        for line in pmda::fs::read_to_string(kernel("/proc/net/dev"))?.lines().skip(2) {
            let (name, numbers) = line.split_once(':').ok_or(Error::VALUE)?;
            let name = name.trim();
            let net = Net {
                name: name.to_owned(),
                n: numbers.split_whitespace().flat_map(str::parse).collect(),
            };
            if net.n.len() != 16 {
                return Err(Error::VALUE.text(format_args!("/proc/net/dev: {line}")));
            }
            now.set(name, net)?;
        }
        Ok(())
    }
    fn read_addresses(&mut self, request: &Request<'_>) -> Result<()> {
        let (needs_inet6, needs_hardware) = (wants(request, OF_INET6), wants(request, OF_HARDWARE));
        let mut now = self.addresses.update();
        for entry in pmda::fs::read_dir(kernel("/sys/class/net"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let hardware = needs_hardware
                .then(|| word(kernel(format_args!("/sys/class/net/{name}/address"))))
                .flatten();
            now.set(
                &name,
                Address {
                    hardware,
                    ..Address::default()
                },
            )?;
        }
        if !needs_inet6 {
            return Ok(());
        }
        for line in fs::read_to_string(kernel("/proc/net/if_inet6"))
            .unwrap_or_default()
            .lines()
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[hex, _, prefix, scope, _, name] = &words[..] else {
                continue;
            };
            let address = std::net::Ipv6Addr::from(u128::from_str_radix(hex, 16)?);
            let prefix = u8::from_str_radix(prefix, 16)?;
            let scope = match u8::from_str_radix(scope, 16)? & 0xf0 {
                0x00 => "Global",
                0x20 => "Link",
                0x40 => "Site",
                0x80 => "Compat",
                0x10 => "Host",
                _ => "Unknown",
            };
            if let Some(row) = now.row(name, Address::default)? {
                row.inet6 = Some((format!("{address}/{prefix}"), scope));
            }
        }
        Ok(())
    }
}

fn is_disk(name: &str) -> bool {
    let starts = [
        "sd", "vd", "nvme", "hd", "xvd", "mmcblk", "dasd", "sr", "fio", "cciss", "rd", "nbd", "rbd", "drbd",
    ];
    let excluded = ["loop", "ram", "dm-", "md", "zram"]
        .iter()
        .any(|start| name.starts_with(start));
    !excluded
        && starts.iter().any(|start| name.starts_with(start))
        && Path::new(&kernel("/sys/block")).join(name).exists()
}

impl Agent for Linux {
    const NAME: &'static str = "linuxnd";
    const DOMAIN: u32 = 416;
    fn root(_: &Env) -> String {
        String::new()
    }
    fn start(env: &Env) -> Result<Linux> {
        Ok(Linux {
            disks: Indom::persistent_in(env, DISK),
            nets: Indom::persistent_in(env, NET),
            addresses: Indom::persistent_in(env, ADDR),
        })
    }
    fn metrics(m: &mut Metrics<Linux>) {
        m.cluster(0).refresh(|s, request| s.read_disks(request));
        let disks = m.indom(DISK, "Disks", |s| &mut s.disks);
        m.indom_label(disks, "device_type", "block")
            .indom_label(disks, "indom_name", "per disk");
        m.instance_labels(disks, |name, _| Labels::new().add("device_name", name));
        let mut long = |name: &str, item, unit, of: fn(&[u64; 17]) -> u64| {
            m.each(format!("disk.dev.{name}"), disks, move |disk| of(&disk.n))
                .item(item)
                .counter()
                .unit(unit)
                .help(name);
        };
        long("read", 4, COUNT, |n| n[0]);
        long("write", 5, COUNT, |n| n[4]);
        long("total", 28, COUNT, |n| n[0] + n[4]);
        long("blkread", 6, COUNT, |n| n[2]);
        long("blkwrite", 7, COUNT, |n| n[6]);
        long("blktotal", 36, COUNT, |n| n[2] + n[6]);
        long("read_bytes", 38, KBYTE, |n| n[2] / 2);
        long("write_bytes", 39, KBYTE, |n| n[6] / 2);
        long("total_bytes", 40, KBYTE, |n| (n[2] + n[6]) / 2);
        long("read_merge", 49, COUNT, |n| n[1]);
        long("write_merge", 50, COUNT, |n| n[5]);
        long("discard", 88, COUNT, |n| n[11]);
        long("blkdiscard", 89, COUNT, |n| n[13]);
        long("discard_bytes", 90, KBYTE, |n| n[13] / 2);
        long("discard_merge", 91, COUNT, |n| n[12]);
        long("flush", 93, COUNT, |n| n[15]);
        let mut word = |name: &str, item, of: fn(&[u64; 17]) -> u64| {
            m.each(format!("disk.dev.{name}"), disks, move |disk| of(&disk.n) as u32)
                .item(item)
                .counter()
                .unit(MSEC)
                .help(name);
        };
        word("avactive", 46, |n| n[9]);
        word("aveq", 47, |n| n[10]);
        word("read_rawactive", 72, |n| n[3]);
        word("write_rawactive", 73, |n| n[7]);
        word("total_rawactive", 79, |n| n[3] + n[7]);
        word("discard_rawactive", 92, |n| n[14]);
        word("flush_rawactive", 94, |n| n[16]);
        m.each("disk.dev.inflight", disks, |disk| disk.n[8] as u32)
            .item(95)
            .help("inflight");
        m.each("disk.dev.scheduler", disks, Disk::scheduler)
            .item(59)
            .discrete()
            .help("scheduler");
        m.each("disk.dev.capacity", disks, |disk| {
            (disk.blocks > 0).then_some(disk.blocks)
        })
        .item(87)
        .discrete()
        .unit(KBYTE)
        .help("capacity");

        m.cluster(3).refresh(|s, _| s.read_nets());
        let nets = m.indom(NET, "Network interfaces", |s| &mut s.nets);
        m.indom_label(nets, "device_type", "interface")
            .indom_label(nets, "indom_name", "per interface");
        m.instance_labels(nets, |name, _| Labels::new().add("interface", name));
        let columns = [
            "in.bytes",
            "in.packets",
            "in.errors",
            "in.drops",
            "in.fifo",
            "in.frame",
            "in.compressed",
            "in.mcasts",
            "out.bytes",
            "out.packets",
            "out.errors",
            "out.drops",
            "out.fifo",
            "collisions",
            "out.carrier",
            "out.compressed",
        ];
        for (column, name) in columns.into_iter().enumerate() {
            let unit = if name.ends_with("bytes") { BYTE } else { COUNT };
            m.each(format!("network.interface.{name}"), nets, move |net| net.n[column])
                .item(column as u32)
                .counter()
                .unit(unit)
                .help(name);
        }
        for (column, name) in ["bytes", "packets", "errors", "drops"].into_iter().enumerate() {
            let unit = if name == "bytes" { BYTE } else { COUNT };
            m.each(format!("network.interface.total.{name}"), nets, move |net| {
                net.n[column] + net.n[column + 8]
            })
            .item(16 + column as u32)
            .counter()
            .unit(unit)
            .help(name);
        }
        m.each("network.interface.total.mcasts", nets, |net| net.n[7])
            .counter()
            .unit(COUNT)
            .item(20)
            .help("mcasts");
        m.each("network.interface.mtu", nets, |net| net.number::<u32>("mtu"))
            .item(21)
            .unit(BYTE)
            .help("mtu");
        m.each("network.interface.speed", nets, |net| {
            net.speed().map(|speed| speed as f32)
        })
        .item(22)
        .discrete()
        .unit(MBYTE.per(SEC))
        .help("speed");
        m.each("network.interface.baudrate", nets, |net| {
            net.speed().map(|speed| 1_000_000 * u64::from(speed) / 8)
        })
        .item(23)
        .discrete()
        .unit(BYTE.per(SEC))
        .help("baudrate");
        m.each("network.interface.duplex", nets, Net::duplex)
            .item(24)
            .discrete()
            .help("duplex");
        m.each("network.interface.up", nets, Net::is_up).item(25).help("up");
        m.each("network.interface.running", nets, |net| {
            net.number::<u32>("carrier") == 1
        })
        .item(26)
        .help("running");
        m.each("network.interface.wireless", nets, |net| {
            Path::new(&kernel(format_args!("/sys/class/net/{}/wireless", net.name))).exists()
        })
        .item(28)
        .discrete()
        .help("wireless");
        m.each("network.interface.type", nets, |net| net.number::<u32>("type"))
            .item(29)
            .discrete()
            .help("type");
        m.each("network.interface.virtual", nets, |net| {
            Path::new(&kernel(format_args!("/sys/devices/virtual/net/{}", net.name))).exists()
        })
        .item(30)
        .discrete()
        .help("virtual");

        m.cluster(33).refresh(|s, request| s.read_addresses(request));
        let addresses = m.indom(ADDR, "Network addresses", |s| &mut s.addresses);
        m.indom_label(addresses, "device_type", "interface")
            .indom_label(addresses, "indom_name", "per interface");
        m.try_each_text("network.interface.ipv6_addr", addresses, |row| {
            Ok(row.inet6.as_ref().map(|a| a.0.as_str()))
        })
        .item(1)
        .discrete()
        .help("ipv6");
        m.try_each_text("network.interface.ipv6_scope", addresses, |row| {
            Ok(row.inet6.as_ref().map(|a| a.1))
        })
        .item(2)
        .discrete()
        .help("scope");
        m.try_each_text("network.interface.hw_addr", addresses, |row| {
            Ok(row.hardware.as_deref())
        })
        .item(3)
        .discrete()
        .help("hardware");
    }
}

fn main() -> ExitCode {
    pmda::run::<Linux>()
}

#[test]
fn interfaces() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Linux>::new()?;
    assert!(
        pmcd.fetch("network.interface.in.bytes")?
            .value_of::<u64>("lo")
            .is_some()
    );
    assert_eq!(
        pmcd.fetch("network.interface.up")?
            .value_of::<u32>("lo")
            .map(|up| up <= 1),
        Some(true)
    );
    let labels = pmcd.instance_labels("network.interface.in.bytes")?;
    assert!(
        labels.contains(&("lo".to_owned(), r#"{"interface":"lo"}"#.to_owned())),
        "{labels:?}"
    );
    // Both roots have their names, whatever disks this machine has.
    for name in ["disk.dev.read", "network.interface.hw_addr"] {
        assert!(pmcd.names()?.iter().any(|other| other == name), "{name}");
    }
    pmcd.fetch("disk.dev.total")?;
    Ok(())
}
