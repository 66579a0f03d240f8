//! Who is asked when, and by which thread: the requests of a source that are under way, and the
//! documents that wait.

pub(super) mod aside;
pub(super) mod attempts;
pub(super) mod work;
