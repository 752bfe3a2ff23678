//! What calls share: the kernel, the threads and the scratch memory.

use crate::buffer::Buffer;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::pool::Pool;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// The kernel, the threads and the scratch memory that products use. May be used by several threads at once.
pub struct Context {
    pub(crate) kernel: &'static Kernel,
    pub(crate) pool: Pool,
    /// Buffers that no call uses at the moment.
    spare: Mutex<Vec<Buffer>>,
}

/// Buffers kept for later calls: one for each of so many concurrent callers.
const SPARE: usize = 16;

impl Context {
    /// A context in which up to `threads` threads, the caller included, work on a product.
    pub fn new(kernel: &'static Kernel, threads: usize) -> Self {
        Self { kernel, pool: Pool::new(threads), spare: Mutex::new(Vec::with_capacity(SPARE)) }
    }

    /// How many threads work on a product.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// A buffer of at least `len` bytes for one call.
    pub(crate) fn scratch(&self, len: usize) -> Result<Scratch<'_>, Error> {
        // Never waits: in a child of fork the lock may be held by a thread that is not there.
        let spare = self.spare.try_lock().ok().and_then(|mut spare| spare.pop());
        let mut scratch = Scratch { buffer: spare.unwrap_or(Buffer::empty()), context: self };
        scratch.reserve(len)?;
        Ok(scratch)
    }
}

/// A buffer on loan from a [`Context`].
pub(crate) struct Scratch<'a> {
    buffer: Buffer,
    context: &'a Context,
}

impl Deref for Scratch<'_> {
    type Target = Buffer;
    fn deref(&self) -> &Buffer {
        &self.buffer
    }
}

impl DerefMut for Scratch<'_> {
    fn deref_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.context.spare.try_lock()
            && spare.len() < SPARE
        {
            spare.push(std::mem::replace(&mut self.buffer, Buffer::empty()));
        }
    }
}
