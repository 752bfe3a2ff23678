//! Functions and operations of floats, by their numbers in C.

use super::super::function::*;
use super::super::stage::*;
use super::check_finite;
use crate::error::Error;
use crate::output::{Activation, Operation};

pub(super) fn activation(raw: StageActivationF32) -> Result<Activation, Error> {
    let StageActivationF32 { function, alpha, beta } = raw;
    let (has_alpha, has_beta) = match function {
        QGEMM_FUNCTION_RELU | QGEMM_FUNCTION_SWISH | QGEMM_FUNCTION_ELU => (true, false),
        QGEMM_FUNCTION_HARDSWISH | QGEMM_FUNCTION_HARDSIGMOID | QGEMM_FUNCTION_LINEAR => (true, true),
        _ => (false, false),
    };
    let parameters = [("u.activation_f32.alpha", alpha, has_alpha), ("u.activation_f32.beta", beta, has_beta)];
    for (argument, value, is_used) in parameters {
        if is_used {
            check_finite(argument, value)?;
        }
        if function == QGEMM_FUNCTION_CLIP && value.is_nan() {
            return Err(Error::Parameter { argument, value: value.into(), expected: "a number" });
        }
    }
    Ok(match function {
        QGEMM_FUNCTION_RELU => Activation::Relu { alpha },
        QGEMM_FUNCTION_TANH => Activation::Tanh,
        QGEMM_FUNCTION_LOGISTIC => Activation::Logistic,
        QGEMM_FUNCTION_GELU_ERF => Activation::GeluErf,
        QGEMM_FUNCTION_GELU_TANH => Activation::GeluTanh,
        QGEMM_FUNCTION_SWISH => Activation::Swish { alpha },
        QGEMM_FUNCTION_HARDSWISH => Activation::HardSwish { alpha, beta },
        QGEMM_FUNCTION_HARDSIGMOID => Activation::HardSigmoid { alpha, beta },
        QGEMM_FUNCTION_ELU => Activation::Elu { alpha },
        QGEMM_FUNCTION_EXP => Activation::Exp,
        QGEMM_FUNCTION_MISH => Activation::Mish,
        QGEMM_FUNCTION_LINEAR => Activation::Linear { alpha, beta },
        QGEMM_FUNCTION_CLIP => Activation::Clip { least: alpha, most: beta },
        value => return Err(Error::Option { argument: "u.activation_f32.function", value }),
    })
}

pub(super) fn operation(value: u32) -> Result<Operation, Error> {
    match value {
        QGEMM_BINARY_ADD => Ok(Operation::Add),
        QGEMM_BINARY_SUB => Ok(Operation::Subtract),
        QGEMM_BINARY_MUL => Ok(Operation::Multiply),
        QGEMM_BINARY_DIV => Ok(Operation::Divide),
        QGEMM_BINARY_MIN => Ok(Operation::Min),
        QGEMM_BINARY_MAX => Ok(Operation::Max),
        value => Err(Error::Option { argument: "u.binary_f32.operation", value }),
    }
}
