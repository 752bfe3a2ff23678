//! What the pseudorandom rounding modes add to an element, by where it stands.
//!
//! A generator gives a sequence of period 255 in which each number from 0 to 254 occurs once. The element at depth d of
//! line i takes the one at (d · depth_step + i · line_step) modulo 255, with other steps for the LHS than for the RHS. So
//! over 255 depths, or lines, each number is added once, and no sum is biased; and the errors of the two sides have no
//! fixed phase along the depth, so they do not add up.

const PERIOD: usize = 255;

/// Elements whose numbers are looked up together: whole vectors.
pub(super) const WINDOW: usize = 256;

/// A window may begin anywhere in a period.
const LEN: usize = PERIOD + WINDOW;

/// What is added to each element of one side of a product.
#[derive(Debug)]
pub(super) struct Lattice {
    /// What line 0 takes at each depth.
    along_depth: [u8; LEN],
    /// What each line takes at depth 0.
    along_lines: [u8; LEN],
    /// How many depths farther a line is than the one before.
    depths_per_line: usize,
    /// How many lines farther a depth is than the one before.
    lines_per_depth: usize,
}

/// Line 0 as gemmlowp.
pub(super) static ADD_MOD_LHS: Lattice = Lattice::add_mod(97, 157);
/// One of the steps that, with 97, spread the pairs of both sides' errors most evenly.
pub(super) static ADD_MOD_RHS: Lattice = Lattice::add_mod(154, 101);
/// Line 0 as gemmlowp.
pub(super) static XORSHIFT_LHS: Lattice = Lattice::new(xorshift(), 0, 1, 79);
/// Backwards by 8: the generator is linear, and so is the relation between most pairs of steps, but hardly this one.
pub(super) static XORSHIFT_RHS: Lattice = Lattice::new(xorshift(), 0, 247, 209);

impl Lattice {
    /// (1 + depth_step (d + 1) + line_step · i) modulo 255.
    const fn add_mod(depth_step: usize, line_step: usize) -> Self {
        let mut identity = [0; PERIOD];
        let mut i = 0;
        while i < PERIOD {
            identity[i] = i as u8;
            i += 1;
        }
        Self::new(identity, 1 + depth_step, depth_step, line_step)
    }

    const fn new(sequence: [u8; PERIOD], first: usize, depth_step: usize, line_step: usize) -> Self {
        let (mut along_depth, mut along_lines) = ([0; LEN], [0; LEN]);
        let mut i = 0;
        while i < LEN {
            along_depth[i] = sequence[(first + i * depth_step) % PERIOD];
            along_lines[i] = sequence[(first + i * line_step) % PERIOD];
            i += 1;
        }
        Self {
            along_depth,
            along_lines,
            depths_per_line: inverse(depth_step) * line_step % PERIOD,
            lines_per_depth: inverse(line_step) * depth_step % PERIOD,
        }
    }

    /// What a line's elements from `depth` on take.
    #[inline(always)]
    pub(super) fn along_depth(&self, line: usize, depth: usize) -> &[u8; WINDOW] {
        let at = (line % PERIOD * self.depths_per_line + depth) % PERIOD;
        self.along_depth[at..].first_chunk().expect("a window from anywhere in a period")
    }

    /// What the elements of lines from `line` on take at one depth.
    #[inline(always)]
    pub(super) fn along_lines(&self, line: usize, depth: usize) -> &[u8; WINDOW] {
        let at = (depth % PERIOD * self.lines_per_depth + line) % PERIOD;
        self.along_lines[at..].first_chunk().expect("a window from anywhere in a period")
    }
}

/// The number by which `step` is 1 modulo 255.
const fn inverse(step: usize) -> usize {
    let mut x = 1;
    while x * step % PERIOD != 1 {
        // Fails to compile if there is none, because not all numbers would be added then.
        assert!(x < PERIOD);
        x += 1;
    }
    x
}

/// Each number less one of the generator x ^= x << 7, x ^= x >> 5, x ^= x << 3 of bytes, from 128 on.
const fn xorshift() -> [u8; PERIOD] {
    let mut sequence = [0; PERIOD];
    let (mut x, mut i) = (128u8, 0);
    while i < PERIOD {
        sequence[i] = x - 1;
        x ^= x << 7;
        x ^= x >> 5;
        x ^= x << 3;
        i += 1;
    }
    sequence
}
