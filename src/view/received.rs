//! What arrived, in the structures and the memory that methods expect (the table of ownership below
//! MAIN-12).

use std::ptr;

use crate::view::block::Block;
use crate::view::block::CVec;
use crate::view::types::{pmID, pmInDomProfile, pmProfile, pmValue, pmValueBlock, pmValueSet, pmdaResult};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::wire::decode::Profile;
use pmda_core::wire::store::{Store, Value};

/// A part of a block that is laid out piece by piece; every piece starts at a multiple of 8 bytes.
struct Plan {
    size: usize,
}

impl Plan {
    fn add(&mut self, size: usize) -> Result<usize> {
        let start = self.size;
        let end = start.checked_add(size).and_then(|end| end.checked_next_multiple_of(8));
        self.size = end.ok_or(Error::NOMEM)?;
        Ok(start)
    }

    fn block(&self) -> Result<Block<u64>> {
        Block::zeroed(self.size / 8)
    }
}

/// A profile in one block from malloc: it stays where it is, as the default method keeps its
/// address.
pub(crate) struct OwnedProfile {
    block: Block<u64>,
}

// SAFETY: the block is memory from malloc, which any thread may free, and belongs to this value
// alone. The agent may look at it, on the thread that has called us.
unsafe impl Send for OwnedProfile {}

impl OwnedProfile {
    /// The profile as C sees it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(profile: Profile<'_>) -> Result<OwnedProfile> {
        let mut plan = Plan { size: 0 };
        plan.add(size_of::<pmProfile>())?;
        let entries = plan.add(
            profile
                .len()
                .checked_mul(size_of::<pmInDomProfile>())
                .ok_or(Error::NOMEM)?,
        )?;
        let total = profile.iter().map(|entry| entry.instances().len()).sum::<usize>();
        let ids = plan.add(total.checked_mul(4).ok_or(Error::NOMEM)?)?;
        let block = plan.block()?;
        let start = block.as_ptr().cast::<u8>();
        // SAFETY: the plan has room for the header, as many entries as the profile has, and all
        // their identifiers; each part is aligned to 8 bytes. Counts fit an int: they came in as
        // such.
        unsafe {
            let mut entry = start.add(entries).cast::<pmInDomProfile>();
            let mut next = start.add(ids).cast::<i32>();
            start.cast::<pmProfile>().write(pmProfile {
                state: profile.state,
                profile_len: profile.len() as i32,
                profile: if profile.is_empty() { ptr::null_mut() } else { entry },
            });
            for selection in profile.iter() {
                let instances = selection.instances();
                let len = instances.len();
                entry.write(pmInDomProfile {
                    indom: selection.indom.0,
                    state: selection.state,
                    instances_len: len as i32,
                    instances: if len == 0 { ptr::null_mut() } else { next },
                });
                entry = entry.add(1);
                for inst in instances {
                    next.write(inst);
                    next = next.add(1);
                }
            }
        }
        Ok(OwnedProfile { block })
    }

    /// The structure for the method.
    pub(crate) fn as_ptr(&self) -> *mut pmProfile {
        self.block.as_ptr().cast()
    }
}

/// The metrics of a FETCH; the method may change them.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn metrics(metrics: impl ExactSizeIterator<Item = MetricId>) -> Result<Block<pmID>> {
    let mut list = CVec::with_capacity(metrics.len())?;
    for metric in metrics {
        list.push(metric.0)?;
    }
    Ok(list.into_block())
}

/// Size of a value set, in bytes; the structure has room for one value in any case.
fn set_size(numval: i32) -> Result<usize> {
    let values = usize::try_from(numval).unwrap_or(0).max(1);
    let size = values.checked_mul(size_of::<pmValue>());
    size.and_then(|size| size.checked_add(SET_HEAD)).ok_or(Error::NOMEM)
}

/// Bytes of a value set in front of its values.
const SET_HEAD: usize = size_of::<pmValueSet>() - size_of::<pmValue>();

/// Bytes of a result in front of its value sets.
const RESULT_HEAD: usize = size_of::<pmdaResult>() - size_of::<*mut pmValueSet>();

/// A store as C sees it, in one block that lives during the call (WIRE-53).
pub(crate) struct OwnedResult(Block<u64>);

impl OwnedResult {
    /// The result as C sees it.
    ///
    /// # Errors
    /// `PM_ERR_IPC` when a block of it is shorter than its type (WIRE-51); `-ENOMEM`.
    pub(crate) fn new(store: Store<'_>) -> Result<OwnedResult> {
        result(store).map(OwnedResult)
    }

    /// The structure for the method.
    pub(crate) fn as_ptr(&self) -> *mut pmdaResult {
        self.0.as_ptr().cast()
    }
}

fn result(store: Store<'_>) -> Result<Block<u64>> {
    let mut plan = Plan { size: 0 };
    let pointers = store.metrics.max(1).checked_mul(size_of::<*mut pmValueSet>());
    plan.add(
        pointers
            .and_then(|size| size.checked_add(RESULT_HEAD))
            .ok_or(Error::NOMEM)?,
    )?;
    for set in store.sets() {
        plan.add(set_size(set.numval)?)?;
        for (_, value) in set.values() {
            plan.add(value.block_len())?;
        }
    }
    let block = plan.block()?;
    let start = block.as_ptr().cast::<u8>();
    let header = start.cast::<pmdaResult>();
    let mut plan = Plan { size: 0 };
    plan.add(store.metrics.max(1) * size_of::<*mut pmValueSet>() + RESULT_HEAD)?;
    // SAFETY: the same plan gave the size of the block, so every part lies inside it and is aligned
    // to 8 bytes. The number of metrics came in as an int.
    unsafe {
        (*header).timestamp.tv_sec = store.sec.into();
        (*header).timestamp.tv_usec = store.usec.into();
        (*header).numpmid = store.metrics as i32;
        let mut slot = (&raw mut (*header).vset).cast::<*mut pmValueSet>();
        for set in store.sets() {
            let place = start.add(plan.add(set_size(set.numval)?)?).cast::<pmValueSet>();
            slot.write(place);
            slot = slot.add(1);
            (*place).pmid = set.metric.0;
            (*place).numval = set.numval;
            (*place).valfmt = set.format;
            let mut target = (&raw mut (*place).vlist).cast::<pmValue>();
            for (inst, value) in set.values() {
                (*target).inst = inst;
                match value {
                    Value::Word(word) => (*target).value.lval = word as i32,
                    Value::Block(..) => {
                        let place = start.add(plan.add(value.block_len())?);
                        value.write(std::slice::from_raw_parts_mut(place, value.block_len()))?;
                        (*target).value.pval = place.cast::<pmValueBlock>();
                    }
                }
                target = target.add(1);
            }
        }
    }
    Ok(block)
}
