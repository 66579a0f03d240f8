//! What ends filters: another filter, the end of a client, and the end of a queue.

use std::ffi::c_int;
use std::vec;

use crate::drive::{Machine, NoDropCell, Step};
use crate::events;
use crate::queues::Filter;
use crate::queues::ReleaseCall;
use crate::queues::noted;
use crate::queues::with;
use crate::sys::libpcp::log::{self, Debug};
use pmda_core::error::{Error, Result};
use pmda_core::log::Journal;
use pmda_core::queue::{ClientEndReport, Filters, Leftovers, Queues};

/// Releases filters, and cleans up behind the queues that have gone with them.
pub(crate) struct Release {
    /// A filter that another one has replaced.
    replaced: Option<Filter>,
    /// What is to be said about each queue of a client that has ended, and whether its filter comes
    /// first.
    reports: NoDropCell<vec::IntoIter<ClientEndReport>>,
    /// What to log when the current filter was released.
    lines: NoDropCell<Journal>,
    /// The filters of a client that has ended.
    client: NoDropCell<Filters<Filter>>,
    /// The filters of a queue that has gone.
    queue: NoDropCell<vec::IntoIter<Filter>>,
    /// Whether other queues may have lost their last client.
    reaps: bool,
}

impl Release {
    fn new() -> Release {
        Release {
            replaced: None,
            reports: NoDropCell::none(),
            lines: NoDropCell::none(),
            client: NoDropCell::none(),
            queue: NoDropCell::none(),
            reaps: false,
        }
    }

    /// Installs a filter for a client and a queue, and grants access; the filter before it is
    /// released (QUEUE-25). No filter clears it.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, or a filter without `apply` (E-12).
    pub(crate) fn replaced(context: c_int, handle: c_int, filter: Filter) -> Result<Release> {
        let filtering = !filter.data.0.is_null();
        if filtering && filter.apply.is_none() {
            return Err(Error::INVAL);
        }
        let old = with(|queues| queues.set_filter(context, handle, filter, filtering))?;
        let replaced = noted(handle, old)?;
        Ok(Release {
            replaced,
            ..Release::new()
        })
    }

    /// Lets a queue go as soon as it has no clients (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub(crate) fn queue(handle: c_int) -> Result<Release> {
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            with(|queues| queues.trace_shutdown(handle, &mut journal))?;
            log::flush(&mut journal);
        }
        let leftovers = with(|queues| queues.shutdown(handle))?;
        let mut release = Release::new();
        if let Some(leftovers) = noted(handle, leftovers)? {
            release.clean_up(leftovers);
        }
        Ok(release)
    }

    /// Ends a client: its filters are released, and queues that were shut down go with their last
    /// client (QUEUE-26).
    pub(crate) fn client(context: c_int) -> Release {
        let mut release = Release::new();
        release.reaps = true;
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            let ended = with(|queues| (queues.trace_end(context, &mut journal), queues.end(context)));
            log::flush(&mut journal);
            if let Ok((reports, filters)) = ended {
                release.reports.set(reports.into_iter());
                release.client.set(filters);
            }
        } else if let Ok(filters) = with(|queues| queues.end(context)) {
            release.client.set(filters);
        }
        release
    }

    /// Cleans up behind a queue that has gone.
    fn clean_up(&mut self, leftovers: Leftovers<Filter>) {
        // Somebody may have released it through its handle, which is a small number and no secret.
        let _ = events::release(leftovers.array);
        self.queue.set(leftovers.filters.into_iter());
    }

    /// The next filter to release; what is due to be said about queues without one is said on the
    /// way.
    fn filter(&mut self) -> Option<Filter> {
        if let Some(filter) = self.replaced.take() {
            return Some(filter);
        }
        if let Some(mut lines) = self.lines.take() {
            log::flush(&mut lines);
        }
        while let Some(mut report) = self.reports.get().and_then(Iterator::next) {
            if !report.filter {
                log::flush(&mut report.lines);
                continue;
            }
            self.lines.set(report.lines);
            if let Some(filter) = self.client.get().and_then(Iterator::next) {
                return Some(filter);
            }
        }
        // Those of a client without memory for what was to be said, too.
        let filter = self.client.get().and_then(Iterator::next);
        filter.or_else(|| self.queue.get().and_then(Iterator::next))
    }

    fn step(&mut self) -> Step<ReleaseCall, Result<()>> {
        loop {
            while let Some(filter) = self.filter() {
                if let Some(call) = filter.release() {
                    return Step::Call(call);
                }
            }
            let leftovers = if self.reaps {
                with(Queues::reap).ok().flatten()
            } else {
                None
            };
            let Some(leftovers) = leftovers else { break };
            self.clean_up(leftovers);
        }
        drop((self.reports.take(), self.client.take(), self.queue.take()));
        Step::Done(Ok(()))
    }
}

impl Machine for Release {
    type Call = ReleaseCall;
    type Answer = ();
    type Done = Result<()>;

    fn start(&mut self) -> Step<ReleaseCall, Result<()>> {
        self.step()
    }

    fn resume(&mut self, (): ()) -> Step<ReleaseCall, Result<()>> {
        self.step()
    }
}
