//! The PCP of this host. What clients see of its agent has changed with time, and archives have it
//! as it was; so this agent is the one of the PCP that it finds.

use pmda::Env;

/// The agents that differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Generation {
    /// Before PCP 6.1.
    V6_0,
    /// Names of instances keep their doubled backslashes (OM-61), and instances have no label
    /// `instname` (OM-67).
    #[default]
    V6_1,
}

impl Generation {
    /// That of this host's PCP; without one, the newest.
    #[must_use]
    pub fn of_the_host(env: &Env) -> Generation {
        env.setting("PCP_VERSION")
            .map_or_else(Generation::default, |version| Generation::of(&version))
    }

    /// That of a version, such as `6.3.8`.
    #[must_use]
    pub fn of(version: &str) -> Generation {
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        match (parts.next(), parts.next()) {
            (Some(major), minor) if (major, minor.unwrap_or_default()) < (6, 1) => Generation::V6_0,
            _ => Generation::V6_1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Generation;

    /// OM-61, OM-67.
    #[test]
    fn versions() {
        for version in ["5.2.6", "6.0.3", "6.0", "6"] {
            assert_eq!(Generation::of(version), Generation::V6_0, "{version}");
        }
        for version in ["6.1.0", "6.3.8", "7", "7.2.2", "10.0.1"] {
            assert_eq!(Generation::of(version), Generation::V6_1, "{version}");
        }
    }
}
