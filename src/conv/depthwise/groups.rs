//! Groups of taps, one for each channel of a panel.

use crate::kernel::Group;

pub(crate) type Groups<const L: usize> = [Group; L];

/// The bytes, which begin on a cache line, as groups.
pub(super) fn groups<const L: usize>(bytes: &[u8]) -> &[Groups<L>] {
    // SAFETY: any bytes are integers.
    let (before, groups, after) = unsafe { bytes.align_to() };
    debug_assert!(before.is_empty() && after.is_empty());
    groups
}

/// As [`groups`], to write them.
pub(super) fn groups_mut<const L: usize>(bytes: &mut [u8]) -> &mut [Groups<L>] {
    // SAFETY: any bytes are integers, and the other way round.
    let (before, groups, after) = unsafe { bytes.align_to_mut() };
    debug_assert!(before.is_empty() && after.is_empty());
    groups
}
