//! Real numbers that are packed a few lines at a time against bytes of them that are packed.

use super::*;
use crate::elements::Strided;
use crate::kernel::Kernel;
use crate::kernel::tests::odd;
use crate::matrix::Offset;
use crate::packed::{Bits, Purpose, ResultOrder, Side};
use crate::quantize::Scheme;
use crate::tensor::ToInteger;

/// Some of either sign, and a few that are not finite.
fn number(i: usize) -> f32 {
    match i % 97 {
        11 => f32::NAN,
        _ => ((i * 7919) % 2003) as f32 / 10.0 - 77.0,
    }
}

fn all(
    kernels: impl Iterator<Item = &'static Kernel>,
    (count, depth, at_once, threads): (usize, usize, usize, usize),
    (order, scheme): (Order, Option<Scheme>),
    (encoding, purpose): (Encoding, Purpose),
) {
    let (runs, len) = if order == Order::DepthContiguous { (count, depth) } else { (depth, count) };
    let numbers: Vec<f32> = (0..runs * (len + 2)).map(number).collect();
    // SAFETY: the vector has so many.
    let from = unsafe { Strided::from_raw(numbers.as_ptr(), (runs, len), len + 2) };
    let (rule, range) = (ToInteger::Divide, ElementRange::all(encoding));
    let lines = Lines { from, order, lines: count, depth, segment: None, rule, scheme, range };
    let packing = Packing { offset: Offset::Uniform(0), purpose, bits: Bits::ALL, segments: None, are_patches: false };
    for kernel in kernels {
        // So great that few bytes are used, if they are not found.
        let mut scales = [vec![11.0f32; count], vec![11.0; count]];
        let mut zeros = [vec![3; count], vec![3; count]];
        let mut rooms = [vec![0; count * depth], vec![0; count * depth]];
        let [want, got] = &mut scales;
        let [want_zeros, got_zeros] = &mut zeros;
        let [quantized, room] = &mut rooms;
        let found = |scales, zeros| Found { scales, zero_points: Some(zeros), sign: -1 };
        let context = Context::new(kernel, threads);
        let wanted = found(ElementsMut::from(&mut want[..]), ElementsMut::from(&mut want_zeros[..]));
        lines.quantize(&context, &wanted, &ElementsMut::from(&mut quantized[..]));
        let operand = Operand::new(quantized, (count, depth), len, order, encoding);
        let wanted = Packed::new(kernel, &operand, &packing, None).unwrap();
        let found = found(ElementsMut::from(&mut got[..]), ElementsMut::from(&mut got_zeros[..]));
        let room = ElementsMut::from(&mut room[..]);
        let reals = Reals { lines: &lines, found: &found, encoding, room, at_once };
        let made = Packed::of_reals(&context, &reals, &packing, None).unwrap();
        let case = format!("{} {order:?} {scheme:?} {encoding:?} {purpose:?} {count} x {depth}", kernel.name);
        let is_asked = order == Order::DepthContiguous && count > at_once && depth > 0;
        let may_be_narrow = wanted.label.proven(kernel).is_some();
        assert_eq!(made.is_some(), is_asked && !may_be_narrow, "{case}");
        let Some(made) = made else { continue };
        assert!(made.blob() == wanted.blob(), "{case}");
        assert_eq!((made.range, made.bound), (wanted.range, wanted.bound), "{case}");
        assert_eq!((want, want_zeros), (got, got_zeros), "{case}");
    }
}

#[test]
fn every_kernel_packs_them_as_bytes_are_packed() {
    let schemes = [Some(Scheme::Affine), Some(Scheme::Symmetric), None];
    let encodings = [Encoding::U8, Encoding::S8];
    for (count, depth, at_once, threads) in [(150, 37, 40, 1), (70, 300, 1, 3), (600, 9, 500, 1), (7, 5, 3, 1)] {
        for scheme in schemes {
            for (encoding, other) in encodings.into_iter().flat_map(|a| encodings.map(|b| (a, b))) {
                for result in [ResultOrder::RowMajor, ResultOrder::ColMajor] {
                    let purpose = Purpose { side: Side::Rhs, result, other };
                    let kernels = Kernel::available().chain(odd());
                    all(
                        kernels,
                        (count, depth, at_once, threads),
                        (Order::DepthContiguous, scheme),
                        (encoding, purpose),
                    );
                }
            }
        }
    }
}

#[test]
fn few_or_no_numbers_and_those_side_by_side_are_left_to_others() {
    let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: Encoding::U8 };
    for shape in [(40, 10, 40, 1), (5, 0, 1, 1), (0, 5, 0, 1)] {
        all(Kernel::available(), shape, (Order::DepthContiguous, Some(Scheme::Symmetric)), (Encoding::S8, purpose));
    }
    let side_by_side = (Order::LineContiguous, Some(Scheme::Symmetric));
    all(Kernel::available(), (80, 10, 40, 1), side_by_side, (Encoding::S8, purpose));
}
