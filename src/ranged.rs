//! Tensors whose codes are spread over an interval of real numbers: TensorFlow's and nnlib's way of quantizing.

mod add_to_32;
mod add_to_8;
mod extremes;
mod requantize;
mod tensorflow;

pub(crate) use add_to_8::{AddTo8, Way8};
pub(crate) use add_to_32::{AddTo32, Way32};
pub(crate) use requantize::{Requantize, WayDown, range_of};
