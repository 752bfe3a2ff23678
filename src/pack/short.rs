//! Copying few bytes without the cost of a call.

/// Copies up to 64 bytes.
#[inline(always)]
pub(super) fn copy_short(from: &[u8], to: &mut [u8]) {
    let _ = copy_ends::<32>(from, to)
        || copy_ends::<16>(from, to)
        || copy_ends::<8>(from, to)
        || copy_ends::<4>(from, to)
        || copy_ends::<2>(from, to)
        || copy_ends::<1>(from, to);
}

/// Fewer than 8 bytes, and zeros. Not by way of memory: what was just written in parts takes long to be read as a whole.
#[inline(always)]
pub(super) fn few_of(bytes: &[u8]) -> [u8; 8] {
    let len = bytes.len();
    let ends = |first: u64, last: u64, size: usize| first | last << (8 * (len - size));
    let word = if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        ends(u32::from_le_bytes(first).into(), u32::from_le_bytes(last).into(), 4)
    } else if let (Some(&first), Some(&last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        ends(u16::from_le_bytes(first).into(), u16::from_le_bytes(last).into(), 2)
    } else {
        bytes.first().copied().unwrap_or(0).into()
    };
    word.to_le_bytes()
}

/// Copies `N` to `2 * N` bytes: the first and the last `N`, which may overlap. Does nothing if there are fewer.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    debug_assert!(from.len() == to.len() && from.len() <= 64);
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else { return false };
    if let Some(to) = to.first_chunk_mut() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
    true
}
