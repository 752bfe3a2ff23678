//! The least and the greatest of many numbers.

use crate::context::Context;
use crate::elements::CHUNK;
use crate::kernel::Loop;
use std::ops::Range;
use std::sync::Mutex;

/// Numbers, none of them NaN, that are looked at once each.
pub(super) trait Numbers: Sync {
    type Number: Copy + PartialOrd + Send;
    /// What is moved for one of them.
    const BYTES: usize;

    /// `N` of them, from `i` on; always inlined, see [`Loop::run`].
    ///
    /// # Safety
    /// No other thread asks for these.
    unsafe fn chunk<const N: usize>(&self, i: usize) -> [Self::Number; N];
}

/// As many at a time as elements are mapped together: of loops over fewer the compiler makes no vectors, but unrolls them first.
const LANES: usize = CHUNK;

/// The least and the greatest of `len` numbers, which are looked at on as many threads as pays; None if there are none.
pub(super) fn extremes<N: Numbers>(context: &Context, numbers: &N, len: usize) -> Option<[N::Number; 2]> {
    let found = Mutex::new(None::<[N::Number; 2]>);
    context.in_pieces(len, N::BYTES, |range| {
        if range.is_empty() {
            return;
        }
        let [least, greatest] = context.kernel.vectors.run(Piece { numbers, range });
        let mut found = found.lock().unwrap();
        *found = Some(match *found {
            None => [least, greatest],
            Some([before, after]) => [lesser(before, least), greater(after, greatest)],
        });
    });
    found.into_inner().unwrap()
}

#[inline(always)]
fn lesser<T: PartialOrd>(x: T, y: T) -> T {
    if y < x { y } else { x }
}

#[inline(always)]
fn greater<T: PartialOrd>(x: T, y: T) -> T {
    if y > x { y } else { x }
}

/// What one thread looks at: at least one.
struct Piece<'a, N> {
    numbers: &'a N,
    range: Range<usize>,
}

impl<N: Numbers> Loop for Piece<'_, N> {
    type Result = [N::Number; 2];

    #[inline(always)]
    fn run(self) -> Self::Result {
        let Self { numbers, range: Range { start: mut i, end } } = self;
        // SAFETY: the pieces of different threads are apart, here and below.
        let [first] = unsafe { numbers.chunk::<1>(i) };
        i += 1;
        let (mut least, mut greatest) = ([first; LANES], [first; LANES]);
        while end - i >= LANES {
            // SAFETY: as above.
            let chunk = unsafe { numbers.chunk::<LANES>(i) };
            for lane in 0..LANES {
                least[lane] = lesser(least[lane], chunk[lane]);
                greatest[lane] = greater(greatest[lane], chunk[lane]);
            }
            i += LANES;
        }
        while i < end {
            // SAFETY: as above.
            let [x] = unsafe { numbers.chunk::<1>(i) };
            (least[0], greatest[0]) = (lesser(least[0], x), greater(greatest[0], x));
            i += 1;
        }
        let mut found = [least[0], greatest[0]];
        for lane in 1..LANES {
            found = [lesser(found[0], least[lane]), greater(found[1], greatest[lane])];
        }
        found
    }
}
