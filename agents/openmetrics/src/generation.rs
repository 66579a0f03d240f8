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
    V6_1,
    /// A metric that is no longer in a source is forgotten until it comes back (OM-13, OM-63), and
    /// names have an age limit (OM-14).
    #[default]
    V7,
}

impl Generation {
    /// The generation of this host's PCP; without one, the newest.
    #[must_use]
    pub fn of_the_host(env: &Env) -> Generation {
        env.setting("PCP_VERSION")
            .map_or_else(Generation::default, |version| Generation::of(&version))
    }

    /// The generation of a version, such as `6.3.8`.
    #[must_use]
    pub fn of(version: &str) -> Generation {
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        match (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) {
            version if version < (6, 1) => Generation::V6_0,
            version if version < (7, 0) => Generation::V6_1,
            _ => Generation::V7,
        }
    }

    /// Returns whether it forgets what a source does not have any more.
    #[must_use]
    pub fn forgets(self) -> bool {
        self >= Generation::V7
    }
}

#[cfg(test)]
mod tests {
    use super::Generation;

    #[test]
    fn versions() {
        for (versions, generation) in [
            (["5.2.6", "6.0.3", "6"], Generation::V6_0),
            (["6.1.0", "6.3.8", "6.10"], Generation::V6_1),
            (["7", "7.2.2", "10.0.1"], Generation::V7),
        ] {
            for version in versions {
                assert_eq!(Generation::of(version), generation, "{version}");
                assert_eq!(generation.forgets(), generation == Generation::V7);
            }
        }
    }
}
