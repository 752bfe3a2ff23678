//! The parameters of quantized arithmetic, from real numbers.
//!
//! A quantized matrix holds integers; the integer x stands for the real number `scale · (x - zero_point)`. A product of
//! two such matrices stands for sums in units of `lhs_scale · rhs_scale`, and what brings them to units of `result_scale`
//! is a real multiplier. These functions choose scales and zero points, and turn the multiplier into integers.

mod derivation;
mod multiplier;
mod quantization;
mod scheme;

pub use derivation::Derivation;
pub use multiplier::Multiplier;
pub use quantization::Quantization;
pub use scheme::Scheme;
