//! The user that the agent runs as.

use std::ffi::CString;

use nix::unistd::{Uid, User, geteuid, initgroups, setgid, setuid};

/// The user that PCP's daemons and agents run as: `$PCP_USER`.
pub(super) fn pcp_user() -> String {
    let setting = crate::env::pcp_setting("PCP_USER");
    setting
        .filter(|user| !user.is_empty())
        .unwrap_or_else(|| "pcp".to_owned())
}

/// Becomes the user of `-U`, by default PCP's, with all groups of that user. An agent that was not
/// started by root keeps its user, unless it has the option `-U`; likewise an agent that is to stay
/// root.
///
/// # Errors
/// A line for the log: the user does not exist, or the system refuses.
pub(super) fn become_user(wanted: Option<&str>, stays_root: bool) -> Result<(), String> {
    let now = geteuid();
    let Some(name) = user(wanted, stays_root, now.is_root()) else {
        return Ok(());
    };
    let user = match User::from_name(&name) {
        Ok(Some(user)) => user,
        Ok(None) => return Err(format!("cannot find the {name} user to switch to")),
        Err(errno) => return Err(format!("cannot find the {name} user to switch to: {}", errno.desc())),
    };
    if user.uid == now && (!now.is_root() || user.uid == Uid::from_raw(0)) {
        return Ok(());
    }
    let switch = || {
        let name = CString::new(user.name.as_str()).map_err(|_| nix::errno::Errno::EINVAL)?;
        initgroups(&name, user.gid)?;
        setgid(user.gid)?;
        setuid(user.uid)
    };
    switch().map_err(|errno| format!("cannot switch to the {name} user: {}", errno.desc()))
}

/// The user that the agent becomes, if it changes.
fn user(wanted: Option<&str>, stays_root: bool, is_root: bool) -> Option<String> {
    match wanted {
        Some(wanted) => Some(wanted.to_owned()),
        None => (is_root && !stays_root).then(pcp_user),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_becomes_whom() {
        let pcp = pcp_user();
        assert_eq!(user(None, false, true), Some(pcp));
        assert_eq!(user(None, true, true), None);
        assert_eq!(user(None, false, false), None);
        for stays_root in [false, true] {
            assert_eq!(user(Some("nobody"), stays_root, true).as_deref(), Some("nobody"));
            assert_eq!(user(Some("nobody"), stays_root, false).as_deref(), Some("nobody"));
        }
    }
}
