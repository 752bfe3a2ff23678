//! Functions of real numbers, by number.

/// Function: max(x, 0), and where alpha is not 0, alpha * x below 0 (leaky).
pub const QGEMM_FUNCTION_RELU: u32 = 1;
/// Function: tanh(x).
pub const QGEMM_FUNCTION_TANH: u32 = 2;
/// Function: 1 / (1 + exp(-x)), the sigmoid.
pub const QGEMM_FUNCTION_LOGISTIC: u32 = 3;
/// Function: x / 2 * (1 + erf(x / sqrt(2))).
pub const QGEMM_FUNCTION_GELU_ERF: u32 = 4;
/// Function: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
pub const QGEMM_FUNCTION_GELU_TANH: u32 = 5;
/// Function: x / (1 + exp(-alpha * x)); alpha is 1 for SiLU.
pub const QGEMM_FUNCTION_SWISH: u32 = 6;
/// Function: x * min(max(alpha * x + beta, 0), 1); alpha is 1/6 and beta 1/2 in MobileNet.
pub const QGEMM_FUNCTION_HARDSWISH: u32 = 7;
/// Function: min(max(alpha * x + beta, 0), 1).
pub const QGEMM_FUNCTION_HARDSIGMOID: u32 = 8;
/// Function: x, and below 0 alpha * (exp(x) - 1).
pub const QGEMM_FUNCTION_ELU: u32 = 9;
/// Function: exp(x).
pub const QGEMM_FUNCTION_EXP: u32 = 10;
/// Function: x * tanh(ln(1 + exp(x))).
pub const QGEMM_FUNCTION_MISH: u32 = 11;
/// Function: alpha * x + beta.
pub const QGEMM_FUNCTION_LINEAR: u32 = 12;
/// Function: min(max(x, alpha), beta).
pub const QGEMM_FUNCTION_CLIP: u32 = 13;
