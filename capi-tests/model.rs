//! The thread pool and no more of libqgemm, in the orders of events that loom finds:
//! `RUSTFLAGS="--cfg loom" cargo test --test model`. The tests are in src/threads/pool/model.rs.
#![cfg(loom)]
#![allow(dead_code, unused_imports, reason = "the pool has no callers here")]

use source::float_environment;

#[path = "../src"]
mod source {
    pub(crate) mod float_environment;
    mod threads;
}
