use crate::kernel::Kernel;
use crate::kernel::tests::{noise, odd};
use crate::matrix::{Encoding, Lines, Operand, Order};
use crate::reading::Reading;
use proptest::prelude::*;

proptest! {
    /// Where a number of a line lies is said by the definition of panels and lines, not by how they are filled.
    #[test]
    fn every_kernel_agrees_on_where_numbers_lie(
        (lines, depth) in (1usize..200, 1usize..150), part in (0usize..3, 0usize..200), gap in 0usize..9, seed in any::<u64>(),
        (is_signed, is_kept, by_line) in any::<(bool, bool, bool)>(),
    ) {
        let from = if is_signed { Encoding::S8 } else { Encoding::U8 };
        let to = if is_kept { from } else { from.other() };
        let reading = Reading::plain(from, to);
        let order = if by_line { Order::LineContiguous } else { Order::DepthContiguous };
        let (runs, len) = if by_line { (depth, lines) } else { (lines, depth) };
        let data = noise(seed, false, runs * (len + gap));
        let src = Operand::new(&data, (lines, depth), len + gap, order, from);
        let byte = |line: usize, d: usize| data[if by_line { d * (len + gap) + line } else { line * (len + gap) + d }];
        let number = |line, d| if line < lines && d < depth { from.decode(byte(line, d)) + reading.shift } else { 0 };
        for kernel in Kernel::available().chain(odd()).flat_map(|kernel| [Some(kernel), kernel.narrow]).flatten() {
            // Panels of the lines from one on, the lines of that part being all or few.
            let first = (part.0 * kernel.width).min(lines / kernel.width * kernel.width);
            let some = first..(first + part.1).min(lines).max(first);
            let room = kernel.room_for_panels(some.len(), depth);
            let packed = |pack: fn(&Kernel, &Operand, &Reading, _, &mut [u8], &mut [i32])| {
                let (mut bytes, mut sums) = (vec![0xaa; room.bytes], vec![7; room.sums]);
                pack(kernel, &src, &reading, some.clone(), &mut bytes, &mut sums);
                (bytes, sums)
            };
            let (bytes, sums) = packed(Kernel::pack_panels);
            // One line is taken for one whose depth is contiguous if nothing lies between its numbers.
            let has_runs = src.order == Order::LineContiguous;
            prop_assert!(!has_runs || packed(Kernel::pack_runs) == (bytes.clone(), sums.clone()), "{}", kernel.name);
            let (group, padded) = (kernel.groups.len(), kernel.pad(depth));
            for (line, sum) in sums.into_iter().enumerate() {
                let (panel, w) = (line / kernel.width, line % kernel.width);
                let place = |d: usize| panel * kernel.width * padded + (d / group * kernel.width + w) * group + d % group;
                let expected: Vec<i32> = (0..padded).map(|d| number(first + line, d)).collect();
                let found: Vec<i32> = (0..padded).map(|d| to.decode(bytes[place(d)])).collect();
                prop_assert_eq!(&found, &expected, "{}, line {} from {}", kernel.name, line, first);
                prop_assert_eq!(sum, expected.iter().sum::<i32>(), "{}, line {}", kernel.name, line);
            }
            let (pitch, size) = (kernel.pitch(depth), kernel.groups.lhs_size());
            let (mut bytes, mut sums) = (vec![0xaa; some.len() * pitch], vec![7; some.len()]);
            kernel.pack_lines(&src, &reading, some.clone(), &mut bytes, &mut sums);
            for ((line, bytes), sum) in some.zip(bytes.chunks_exact(pitch)).zip(sums) {
                let expected: Vec<i32> = (0..pitch / size).map(|d| number(line, d)).collect();
                let numbers = bytes.chunks_exact(size);
                let found: Vec<i32> = match size {
                    1 => numbers.map(|b| to.decode(b[0])).collect(),
                    _ => numbers.map(|b| i16::from_ne_bytes([b[0], b[1]]).into()).collect(),
                };
                prop_assert_eq!(found, &expected[..], "{}, line {} of an LHS", kernel.name, line);
                prop_assert_eq!(sum, expected.iter().sum::<i32>(), "{}, line {} of an LHS", kernel.name, line);
            }
        }
    }
}

/// The first lines, packed at once, are as those of each panel.
fn assert_panels_are_packed_alike(kernel: &Kernel, src: &Operand, lines: usize) {
    let reading = Reading::plain(src.encoding, Encoding::S8);
    let room = kernel.room_for_panels(lines, src.depth);
    let (mut all, mut sums) = (vec![0xaa; room.bytes], vec![7; room.sums]);
    kernel.pack_panels(src, &reading, 0..lines, &mut all, &mut sums);
    let panel = kernel.room_for_panels(1, src.depth);
    for (i, (all, sums)) in all.chunks_exact(panel.bytes).zip(sums.chunks_exact(panel.sums)).enumerate() {
        let (mut one, mut own) = (vec![0; panel.bytes], vec![0; panel.sums]);
        let first = i * kernel.width;
        kernel.pack_panels(src, &reading, first..lines.min(first + kernel.width), &mut one, &mut own);
        assert!(one == all && own == sums, "{}, {:?}, panel {i} of {lines} lines", kernel.name, src.order);
    }
}

/// Of an operand that no cache holds long runs are copied before they are packed, or fetched ahead.
#[test]
fn long_runs_are_packed_as_short_ones() {
    // Of runs that overlap little memory makes so large an operand.
    let (lines, depth, stride) = (40_000, 301, 7);
    let data = noise(6, false, lines + (depth - 1) * stride);
    let src = Operand::new(&data, (lines, depth), stride, Order::LineContiguous, Encoding::U8);
    for kernel in Kernel::available().chain(odd()) {
        let reading = Reading::plain(Encoding::U8, Encoding::S8);
        let piece = |is_fetched| super::lines_of_piece(&src, &reading, 1 << 20, 128, is_fetched);
        assert!(piece(false).is_none() && piece(true).is_some());
        // One panel, pairs and an odd one, as many as are copied together, and more.
        for count in [1, 2, 3, 4, 512 / kernel.width, 1024 / kernel.width + 1] {
            assert_panels_are_packed_alike(kernel, &src, count * kernel.width);
        }
    }
}

/// What is packed at once is as what is packed in parts, however much or little of it there is.
#[test]
fn all_lines_are_packed_as_one() {
    let shapes = [(1100, 303), (2, 303), (3, 303), (4, 303), (4, 16), (3, 5), (5, 303)];
    let data = noise(5, false, 1100 * 303);
    for (kernel, (lines, depth)) in
        Kernel::available().chain(odd()).flat_map(|kernel| shapes.map(|shape| (kernel, shape)))
    {
        for order in [Order::DepthContiguous, Order::LineContiguous] {
            let stride = if order == Order::DepthContiguous { depth } else { lines };
            let src = Operand::new(&data, (lines, depth), stride, order, Encoding::U8);
            assert_panels_are_packed_alike(kernel, &src, lines);
            let (reading, pitch) = (Reading::plain(Encoding::U8, Encoding::S8), kernel.pitch(depth));
            let (mut all, mut sums) = (vec![0xaa; lines * pitch], vec![7; lines]);
            kernel.pack_lines(&src, &reading, 0..lines, &mut all, &mut sums);
            for (i, (all, sum)) in all.chunks_exact(pitch).zip(sums).enumerate() {
                let (mut one, mut own) = (vec![0; pitch], [0]);
                kernel.pack_lines(&src, &reading, i..i + 1, &mut one, &mut own);
                assert!(one == all && own == [sum], "{}, {order:?}, line {i}", kernel.name);
            }
        }
    }
}

/// However many lines there are, more than sixteen, too, which some kernels sum at once, and wherever they end.
#[test]
fn every_kernel_sums_the_numbers_of_lines() {
    let (most, pitch) = (18, 150);
    let data = noise(3, false, most * pitch);
    for kernel in Kernel::available().chain(odd()).filter(|kernel| kernel.groups.are_bytes()) {
        for (lines, depth) in (1..=most).flat_map(|lines| (0..=pitch).map(move |depth| (lines, depth))) {
            for encoding in [Encoding::U8, Encoding::S8] {
                let mut sums = vec![7; lines];
                kernel.sum_lines(Lines::packed(&data, lines, pitch, 0..depth), encoding, &mut sums);
                let sum = |line: &[u8]| line[..depth].iter().map(|&byte| encoding.decode(byte)).sum::<i32>();
                let expected: Vec<i32> = data.chunks(pitch).take(lines).map(sum).collect();
                assert_eq!(sums, expected, "{}, {encoding:?}, {lines} lines of {depth}", kernel.name);
            }
        }
    }
}
