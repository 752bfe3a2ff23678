//! Numbers in pairs of 16 bits, a pair for each channel of a panel.

/// What is multiplied together, pair by pair, and each pair's two products added.
pub(crate) type Pairs<const L: usize> = [[i16; 2]; L];

/// The bytes, which begin on a cache line, as pairs.
pub(super) fn pairs<const L: usize>(bytes: &[u8]) -> &[Pairs<L>] {
    // SAFETY: any bytes are integers.
    let (before, pairs, after) = unsafe { bytes.align_to() };
    debug_assert!(before.is_empty() && after.is_empty());
    pairs
}

/// As [`pairs`], to write them.
pub(super) fn pairs_mut<const L: usize>(bytes: &mut [u8]) -> &mut [Pairs<L>] {
    // SAFETY: any bytes are integers, and the other way round.
    let (before, pairs, after) = unsafe { bytes.align_to_mut() };
    debug_assert!(before.is_empty() && after.is_empty());
    pairs
}
