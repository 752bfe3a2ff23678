//! Where workers work: each at a desk of its own, in a share of a call's scratch memory, until no piece is left.

use crate::buffer::Carver;
use crate::context::Context;
use crate::threads::Shares;
use std::sync::{Mutex, PoisonError};

/// So many desks, with so many bytes each.
#[derive(Clone, Copy)]
pub(crate) struct Desks {
    pub workers: usize,
    pub len: usize,
}

impl Desks {
    /// How many bytes they take together.
    pub(crate) fn scratch_len(self) -> usize {
        self.workers * self.len
    }

    /// Does all pieces, each once: whoever has laid out a desk claims those of its share, and then what others leave.
    pub(crate) fn work<'s, D>(
        self,
        context: &Context,
        carver: &mut Carver<'s>,
        pieces: usize,
        lay_out: impl Fn(&mut Carver<'s>) -> D + Sync,
        work: impl Fn(&mut D, usize) + Sync,
    ) {
        // One function, not a copy in either branch.
        let work: &(dyn Fn(&mut D, usize) + Sync) = &work;
        if self.workers == 1 {
            // Nobody shares them.
            let mut desk = lay_out(&mut Carver::new(carver.bytes(self.len)));
            return (0..pieces).for_each(|piece| work(&mut desk, piece));
        }
        let memory = Mutex::new(carver.bytes(self.scratch_len()).chunks_exact_mut(self.len));
        let shares = Shares::new(pieces, self.workers);
        context.threads.run(self.workers, |worker| {
            let memory = memory.lock().unwrap_or_else(PoisonError::into_inner).next();
            let mut desk = lay_out(&mut Carver::new(memory.expect("a desk for each worker")));
            shares.claims(worker).for_each(|piece| work(&mut desk, piece));
        });
    }
}
