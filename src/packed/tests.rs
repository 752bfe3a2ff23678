//! Packed operands on every kernel against what they were packed from, and loading what is not to be trusted.

use super::*;
use crate::context::Context;
use crate::kernel::Tile;
use crate::kernel::tests::{narrow, noise, odd};
use crate::matrix::{Lines, Order};
use crate::reference;
use crate::span::Spans;
use proptest::prelude::*;
use std::ops::Range;
use std::ptr::NonNull;

mod damage;

/// All kernels that this CPU runs, and some of awkward shapes.
fn kernels() -> impl Iterator<Item = &'static Kernel> {
    Kernel::available().chain(narrow()).chain(odd())
}

/// An operand and how it is packed.
#[derive(Clone, Debug)]
struct Case {
    lines: usize,
    depth: usize,
    order: Order,
    /// Bytes between the end of a run and the start of the next.
    gap: usize,
    encoding: Encoding,
    purpose: Purpose,
    data: Vec<u8>,
    /// One, or one for each line.
    offsets: Vec<i32>,
    bits: Bits,
    /// How long segments are, 0 for none, and whether they have zero points.
    segment: (usize, bool),
}

impl Case {
    fn stride(&self) -> usize {
        self.gap + if self.order == Order::DepthContiguous { self.depth } else { self.lines }
    }

    fn operand(&self) -> Operand<'_> {
        Operand::new(&self.data, (self.lines, self.depth), self.stride(), self.order, self.encoding)
    }

    fn offset(&self) -> Offset<'_> {
        match self.offsets[..] {
            [offset] => Offset::Uniform(offset),
            ref offsets => Offset::PerLine(offsets),
        }
    }

    fn byte(&self, line: usize, d: usize) -> u8 {
        let at = if self.order == Order::DepthContiguous { (line, d) } else { (d, line) };
        self.data[at.0 * self.stride() + at.1]
    }

    /// The number, as the encoding `to` with the top bit flipped has it.
    fn number(&self, line: usize, d: usize, to: Encoding) -> i64 {
        i64::from(self.encoding.decode(self.byte(line, d)) + self.encoding.shift_to(to))
    }

    /// Lines one after the other.
    fn plain(&self) -> Vec<u8> {
        (0..self.lines).flat_map(|line| (0..self.depth).map(move |d| self.byte(line, d))).collect()
    }

    /// The number as a packed operand stores it.
    fn stored(&self, line: usize, d: usize, packed: &Packed) -> i64 {
        let of_7_bits = self.bits.get() == 7 && packed.form() == Form::Panels && packed.stored() == Encoding::S8;
        match self.bits.get() {
            8 if packed.form() == Form::Panels && packed.kernel.groups.are_bytes() => {
                self.number(line, d, self.encoding) - self.centre(packed)
            }
            8 => self.number(line, d, packed.stored()),
            _ => self.code(line, d) - if of_7_bits { 64 } else { 0 },
        }
    }

    /// What becomes 0: the least number, or the zero point, if everything then fits signed bytes, or what is nearest to it; or the
    /// middle.
    fn centre(&self, packed: &Packed) -> i64 {
        let [least, greatest] = [packed.range().least, packed.range().greatest].map(i64::from);
        let zero_point = if let [offset] = self.offsets[..] { -i64::from(offset) } else { 0 };
        match (packed.stored(), packed.label.centre) {
            (Encoding::U8, _) => least,
            (Encoding::S8, Centre::ZeroPoint) => zero_point.max(greatest - 127).min(least + 128),
            (Encoding::S8, Centre::Middle) => (least + greatest + 1).div_euclid(2),
        }
    }

    /// The number less the least of so many bits.
    fn code(&self, line: usize, d: usize) -> i64 {
        let least = if self.encoding == Encoding::U8 { 0 } else { -(1 << (self.bits.get() - 1)) };
        self.number(line, d, self.encoding) - least
    }

    /// Pieces of the depth.
    fn pieces(&self) -> Vec<Range<usize>> {
        let size = if self.segment.0 == 0 { self.depth.max(1) } else { self.segment.0 };
        (0..self.depth.div_ceil(size)).map(|i| i * size..self.depth.min((i + 1) * size)).collect()
    }

    fn scales(&self) -> Vec<f32> {
        (0..self.lines * self.pieces().len()).map(|i| i as f32 * 0.5 - 3.0).collect()
    }

    fn zero_points(&self) -> Vec<i32> {
        (0..self.lines * self.pieces().len()).map(|i| (i as i32 * 37) % 300 - 150).collect()
    }

    /// Does something with how it is packed.
    fn packing<T>(&self, act: impl FnOnce(&Packing) -> T) -> T {
        let (scales, zero_points) = (self.scales(), self.zero_points());
        let (size, has_zero_points) = self.segment;
        let segments = Segments { size, scales: &scales, zero_points: has_zero_points.then_some(&zero_points) };
        let segments = (size > 0).then_some(segments);
        act(&Packing { offset: self.offset(), purpose: self.purpose, bits: self.bits, segments, are_patches: false })
    }

    fn pack(&self, kernel: &'static Kernel) -> Packed {
        self.packing(|packing| Packed::new(kernel, &self.operand(), packing, None).unwrap())
    }

    /// max over the pieces of the lines of Σ |number + offset - zero point|, by definition.
    fn bound(&self, offset: Offset) -> u64 {
        let (pieces, zero_points) = (self.pieces(), self.zero_points());
        let offset_of = |line: usize, piece| {
            let offset = match offset {
                Offset::Uniform(offset) => i64::from(offset),
                Offset::PerLine(offsets) => i64::from(offsets[line]),
            };
            // At the ends of their range offsets are held there.
            let zero_point = i64::from(zero_points[line * pieces.len() + piece]);
            if self.segment.1 { (offset - zero_point).clamp(i32::MIN.into(), i32::MAX.into()) } else { offset }
        };
        let of_piece = |line, piece: usize| {
            let of_number = |d| (self.number(line, d, self.encoding) + offset_of(line, piece)).unsigned_abs();
            pieces[piece].clone().map(of_number).sum::<u64>()
        };
        (0..self.lines).flat_map(|line| (0..pieces.len()).map(move |piece| of_piece(line, piece))).max().unwrap_or(0)
    }
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::U8), Just(Encoding::S8)]
}

fn purpose() -> impl Strategy<Value = Purpose> {
    let side = prop_oneof![Just(Side::Lhs), Just(Side::Rhs)];
    let result = prop_oneof![Just(ResultOrder::RowMajor), Just(ResultOrder::ColMajor)];
    (side, result, encoding()).prop_map(|(side, result, other)| Purpose { side, result, other })
}

fn an_offset() -> impl Strategy<Value = i32> {
    prop_oneof![2 => Just(0), 4 => -260i32..=260, 1 => any::<i32>(), 1 => prop_oneof![Just(i32::MIN), Just(i32::MAX)]]
}

fn offsets(lines: usize) -> impl Strategy<Value = Vec<i32>> {
    prop_oneof![an_offset().prop_map(|offset| vec![offset]), proptest::collection::vec(an_offset(), lines),]
}

/// Lengths around every edge of panels and of the blocks in which packing works, and none at all.
fn lines() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0usize..20, 2 => 28usize..36, 2 => 60usize..70, 1 => 120usize..135]
}

fn depth() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0usize..70, 2 => 120usize..140, 1 => 1015usize..1035]
}

fn case_of(lines: impl Strategy<Value = usize>, depth: impl Strategy<Value = usize>) -> impl Strategy<Value = Case> {
    let order = prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)];
    let gap = prop_oneof![Just(0usize), 1usize..9];
    let bytes = (any::<u64>(), proptest::bool::weighted(0.2));
    let shape = (lines, depth).prop_flat_map(|(lines, depth)| (Just((lines, depth)), offsets(lines)));
    // Values may have fewer bits than they are packed in: then narrow kernels may suit them.
    let bits = (bits(), prop_oneof![Just(8), 1usize..8]);
    (shape, order, gap, encoding(), purpose(), bytes, bits, segment()).prop_map(
        |(((lines, depth), offsets), order, gap, encoding, purpose, (seed, extreme), (bits, most), segment)| {
            let mut data = noise(seed, extreme, (lines + gap) * (depth + gap));
            confine(&mut data, Bits::new(bits.get().min(most)).unwrap(), encoding);
            Case { lines, depth, order, gap, encoding, purpose, data, offsets, bits, segment }
        },
    )
}

fn bits() -> impl Strategy<Value = Bits> {
    prop_oneof![Just(8), 1usize..9].prop_map(|bits| Bits::new(bits).unwrap())
}

fn segment() -> impl Strategy<Value = (usize, bool)> {
    prop_oneof![2 => Just((0, false)), 1 => (1usize..80, any::<bool>()), 1 => (Just(32usize), any::<bool>())]
}

/// Leaves of each number what so many bits hold.
pub(crate) fn confine(data: &mut [u8], bits: Bits, encoding: Encoding) {
    for b in data {
        *b = match encoding {
            Encoding::U8 => *b >> (8 - bits.get()),
            Encoding::S8 => (*b as i8 >> (8 - bits.get())) as u8,
        };
    }
}

fn case() -> impl Strategy<Value = Case> {
    case_of(lines(), depth())
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// What anybody may see of a packed operand.
fn assert_same(one: &Packed, other: &Packed, who: &str) {
    assert_eq!(one.label, other.label, "{who}");
    assert_eq!((one.layout, one.stored, one.bound), (other.layout, other.stored, other.bound), "{who}");
    assert_eq!(one.range(), other.range(), "{who}");
    assert_eq!(one.blob(), other.blob(), "{who}");
    assert_eq!(one.prepared().sums, other.prepared().sums, "{who}");
    assert_eq!(one.prepared().bytes, other.prepared().bytes, "{who}");
}

fn unpacked(packed: &Packed) -> Vec<u8> {
    let mut bytes = vec![0xAA; packed.lines() * packed.depth()];
    packed.unpack(0..packed.lines(), &mut bytes);
    bytes
}

fn portable(packed: &Packed) -> Vec<u8> {
    let mut bytes = vec![0xAA; packed.portable_size()];
    packed.save_portable(&mut bytes);
    bytes
}

/// A copy of bytes that starts on a cache line, lent.
struct Copy {
    memory: Memory,
}

impl Copy {
    fn of(bytes: &[u8]) -> Self {
        let mut memory = Memory::own(bytes.len().max(1)).unwrap();
        memory.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        Self { memory }
    }

    fn lend(&mut self, range: Range<usize>) -> Lent {
        let bytes = &mut self.memory.as_mut_slice()[range];
        // SAFETY: the tests keep the copy while it is lent, and change it only to see what happens.
        unsafe { Lent::new(NonNull::from_mut(bytes).cast(), bytes.len()) }
    }

    fn all(&mut self) -> Lent {
        self.lend(0..self.memory.as_slice().len())
    }
}

/// If it does, somebody has to sum the other operand's lines.
#[test]
fn to_numbers_of_like_signs_nothing_is_added_where_kernels_read_any() {
    let (lines, depth) = (64, 256);
    for kernel in kernels().filter(|kernel| kernel.packs_for_any(lines, depth)) {
        // Signed numbers can be no others, unsigned ones of all 8 bits are signed ones if 128 is taken off.
        let whole =
            [(Encoding::S8, 0, Encoding::S8), (Encoding::U8, 0, Encoding::U8), (Encoding::U8, -128, Encoding::S8)];
        for (encoding, offset, stored) in whole {
            let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: encoding };
            let (order, data) = (Order::DepthContiguous, noise(1, false, lines * depth));
            let (bits, segment) = (Bits::ALL, (0, false));
            let case =
                Case { lines, depth, order, gap: 0, encoding, purpose, data, offsets: vec![offset], bits, segment };
            let packed = case.pack(kernel);
            assert_eq!((packed.stored(), packed.reading().shift), (stored, offset), "{} {encoding:?}", kernel.name);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_kernel_gives_back_what_it_packed(case in case(), cut in any::<proptest::sample::Index>()) {
        let plain = case.plain();
        for kernel in kernels() {
            let packed = case.pack(kernel);
            let who = format!("{}: {case:?}", kernel.name);
            prop_assert_eq!((packed.lines(), packed.depth(), packed.encoding()), (case.lines, case.depth, case.encoding));
            prop_assert!(packed.is_for(packed.kernel) && packed.purpose() == case.purpose);
            prop_assert_eq!(packed.form() == Form::Panels,
                (case.purpose.side == Side::Rhs) == (case.purpose.result == ResultOrder::RowMajor));
            let size = case.packing(|packing| Packed::size(kernel, (case.lines, case.depth), packing));
            if packed.form() == Form::Panels && packed.line().is_plain() && kernel.narrow.is_some() {
                prop_assert!(size.unwrap() >= packed.blob().len(), "{}", who);
            } else {
                prop_assert_eq!(size, Ok(packed.blob().len()));
            }
            prop_assert!(unpacked(&packed) == plain, "{}", who);
            let from = cut.index(case.lines + 1);
            let mut rest = vec![0; (case.lines - from) * case.depth];
            packed.unpack(from..case.lines, &mut rest);
            prop_assert!(rest == plain[from * case.depth..], "from line {}: {}", from, who);
        }
    }

    #[test]
    fn the_sums_are_those_of_the_numbers_as_stored(case in case()) {
        for kernel in kernels() {
            let packed = case.pack(kernel);
            if packed.form() == Form::Lines && !packed.line().is_plain() {
                prop_assert!(packed.prepared().sums.is_empty());
                continue;
            }
            let pieces = case.pieces();
            let mut sums = vec![0; case.lines.next_multiple_of(packed.layout.width) * pieces.len().max(1)];
            for (line, piece) in (0..case.lines).flat_map(|line| (0..pieces.len()).map(move |piece| (line, piece))) {
                let sum: i64 = pieces[piece].clone().map(|d| case.stored(line, d, &packed)).sum();
                sums[packed.place_of(line, piece)] = sum as i32;
            }
            prop_assert_eq!(packed.prepared().sums, &sums[..], "{}: {:?}", kernel.name, case);
        }
    }

    #[test]
    fn the_packed_form_is_the_one_that_is_documented(case in case()) {
        for kernel in kernels() {
            let packed = case.pack(kernel);
            let blob = packed.blob();
            let (header, content) = blob.split_at(128);
            prop_assert_eq!(&header[24..28], &(packed.layout.width as u32).to_le_bytes());
            prop_assert_eq!(&header[48..56], &(packed.layout.pitch as u64).to_le_bytes());
            prop_assert_eq!(&header[56..64], &case.bound(case.offset()).to_le_bytes());
            prop_assert!(content == content_by_definition(&case, &packed), "{}: {:?}", kernel.name, case);
        }
    }

    #[test]
    fn what_is_packed_multiplies_as_its_numbers_do(
        lhs in case_of(0usize..9, 0usize..80), rhs in case_of(lines(), Just(0)), bytes in any::<u64>(),
    ) {
        let lhs_purpose = Purpose { side: Side::Lhs, result: ResultOrder::RowMajor, other: rhs.encoding };
        let rhs_purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: lhs.encoding };
        let depth = lhs.depth.max(1);
        let data = noise(bytes, false, (rhs.lines + rhs.gap) * (depth + rhs.gap));
        let whole = (Bits::ALL, (0, false));
        let rhs = Case { depth, purpose: rhs_purpose, offsets: vec![0], data, bits: whole.0, segment: whole.1, ..rhs };
        let data = noise(!bytes, false, (lhs.lines + lhs.gap) * (depth + lhs.gap));
        let lhs = Case { depth, purpose: lhs_purpose, offsets: vec![0], data, bits: whole.0, segment: whole.1, ..lhs };
        for kernel in kernels() {
            let panels = rhs.pack(kernel);
            let kernel = panels.kernel;
            let lines = lhs.pack(kernel);
            let (rows, cols) = (lhs.lines, rhs.lines.next_multiple_of(kernel.width));
            let stored = panels.stored();
            let read_as = kernel.groups.lhs_encoding(stored).unwrap_or(lines.stored());
            let mut lhs_bytes = lines.prepared().bytes.to_vec();
            // Signed bytes are read as unsigned ones where they lie; the other way round they are not.
            let is_turned = read_as == Encoding::U8 && lines.stored() == Encoding::S8;
            if read_as == Encoding::S8 && lines.stored() == Encoding::U8 {
                lhs_bytes.iter_mut().for_each(|b| *b ^= 0x80);
            }
            let mut found = vec![0; rows * cols];
            let pitch = kernel.pitch(depth);
            let used = kernel.pad(depth) * kernel.groups.lhs_size();
            for row in 0..rows {
                let panels = panels.prepared().bytes.chunks_exact(kernel.width * kernel.pad(depth));
                for (panel, acc) in panels.zip(found[row * cols..].chunks_exact_mut(kernel.width)) {
                    let mut tile = Tile {
                        lhs: Lines::packed(&lhs_bytes[row * pitch..], 1, pitch, 0..used),
                        height: kernel.rows,
                        lhs_encoding: read_as,
                        rhs_encoding: stored,
                        is_turned,
                        rhs: panel,
                        cols: kernel.width,
                        reach: 0,
                        is_far: false,
                        fresh: true,
                        spans: Spans::Uniform(0),
                        sums: None,
                    };
                    // SAFETY: whoever has a kernel has a CPU that runs it.
                    unsafe { kernel.multiply(&mut tile, acc) }
                }
            }
            let number = |j, d| if j < rhs.lines { rhs.stored(j, d, &panels) } else { 0 };
            let expected = reference::product(
                (rows, cols, depth), |i, d| lhs.number(i, d, read_as), |d, j| number(j, d));
            prop_assert!(found == expected, "{}: {:?} {:?}", kernel.name, lhs, rhs);
        }
    }

    #[test]
    fn the_bound_is_exact_for_what_was_declared_and_holds_for_all_else(
        (case, others) in case().prop_flat_map(|case| { let lines = case.lines; (Just(case), offsets(lines)) }),
    ) {
        let packed = case.pack(kernels().next().unwrap());
        prop_assert_eq!(packed.bound(case.offset()), case.bound(case.offset()));
        let other = Case { offsets: others, ..case.clone() };
        let (bound, exact) = (packed.bound(other.offset()), case.bound(other.offset()));
        prop_assert!(bound >= exact, "{} < {}", bound, exact);
        if let (&[one], &[another]) = (&case.offsets[..], &other.offsets[..]) {
            let farthest = u64::from(one.abs_diff(another)) * case.depth as u64;
            prop_assert!(bound <= case.bound(case.offset()) + farthest);
        }
    }

    #[test]
    fn the_range_is_that_of_the_elements_and_the_first_stray_is_found(case in case()) {
        let elements: Vec<i32> = case.plain().iter().map(|&b| case.encoding.decode(b)).collect();
        for kernel in kernels() {
            let packed = case.pack(kernel);
            let [Some(&least), Some(&greatest)] = [elements.iter().min(), elements.iter().max()] else {
                prop_assert_eq!(packed.range(), ElementRange::all(case.encoding));
                continue;
            };
            prop_assert_eq!(packed.range(), ElementRange { least, greatest });
            prop_assert_eq!(packed.stray(&packed.range()), Ok(None));
            for range in [ElementRange { least: least + 1, greatest }, ElementRange { least, greatest: greatest - 1 }] {
                let at = elements.iter().position(|x| !(range.least..=range.greatest).contains(x)).unwrap();
                let stray = Stray { line: at / case.depth, depth: at % case.depth, value: elements[at] };
                prop_assert_eq!(packed.stray(&range), Ok(Some(stray)), "{}: {:?}", kernel.name, case);
                prop_assert_eq!(range.stray(&case.operand()), Some(stray), "{:?}", case);
            }
        }
    }

    #[test]
    fn a_blob_is_used_where_it_lies(case in case()) {
        for kernel in kernels() {
            let packed = case.pack(kernel);
            let mut copy = Copy::of(packed.blob());
            let loaded = Packed::load(copy.all(), kernel).unwrap();
            assert_same(&loaded, &packed, kernel.name);
            prop_assert_eq!(loaded.blob().as_ptr(), copy.memory.as_slice().as_ptr());
            prop_assert!(unpacked(&loaded) == case.plain(), "{}: {:?}", kernel.name, case);
        }
    }

    #[test]
    fn what_is_packed_into_lent_memory_is_the_same_and_ends_where_it_should(case in case(), spare in 0usize..200) {
        for kernel in kernels() {
            let packed = case.pack(kernel);
            let len = packed.blob().len();
            let size = case.packing(|packing| Packed::size(kernel, (case.lines, case.depth), packing)).unwrap();
            let mut memory = Copy::of(&noise(7, false, size + spare));
            let before = memory.memory.as_slice()[len..].to_vec();
            let lent = Some(memory.all());
            let in_memory = case.packing(|packing| Packed::new(kernel, &case.operand(), packing, lent).unwrap());
            assert_same(&in_memory, &packed, kernel.name);
            prop_assert_eq!(&memory.memory.as_slice()[len..], &before[..]);
        }
    }

    #[test]
    fn the_portable_form_of_one_kernel_loads_on_every_other(case in case()) {
        let forms: Vec<_> = kernels().map(|kernel| portable(&case.pack(kernel))).collect();
        prop_assert!(forms.iter().all(|form| *form == forms[0]), "{:?}", case);
        for kernel in kernels() {
            let mut copy = Copy::of(&forms[0]);
            let loaded = Packed::load(copy.all(), kernel).unwrap();
            assert_same(&loaded, &case.pack(kernel), kernel.name);
        }
    }

    #[test]
    fn a_portable_form_need_not_be_aligned(case in case_of(0usize..9, 0usize..9), shift in 1usize..64) {
        let form = portable(&case.pack(kernels().next().unwrap()));
        let mut shifted = Copy::of(&[&vec![0; shift][..], &form].concat());
        let kernel = Kernel::available().next().unwrap();
        let loaded = Packed::load(shifted.lend(shift..shift + form.len()), kernel).unwrap();
        prop_assert_eq!(unpacked(&loaded), case.plain());
    }

    #[test]
    fn sizes_beyond_the_address_space_are_refused(
        lines in prop_oneof![any::<usize>(), 0usize..100, Just(usize::MAX), Just(isize::MAX as usize)],
        depth in prop_oneof![any::<usize>(), 0usize..100, Just(usize::MAX), Just(isize::MAX as usize)],
        purpose in purpose(),
        bits in bits(),
        size in prop_oneof![Just(0usize), 1usize..100, any::<usize>()],
    ) {
        let segments = (size > 0).then_some(Segments { size, scales: &[], zero_points: Some(&[]) });
        for kernel in kernels() {
            for offset in [Offset::Uniform(0), Offset::PerLine(&[])] {
                match Packed::size(kernel, (lines, depth), &Packing { offset, purpose, bits, segments, are_patches: false }) {
                    Ok(size) => prop_assert!(size as u128 >= lines as u128 * depth as u128 / 8 * bits.get() as u128),
                    Err(error) => prop_assert!(error == TOO_LARGE && lines as u128 * depth as u128 > 1 << 50
                        || lines > 1 << 50 || depth > 1 << 50),
                }
            }
        }
    }
}

/// What follows the header of a packed form, by the words above the header's table.
fn content_by_definition(case: &Case, packed: &Packed) -> Vec<u8> {
    let kernel = packed.kernel;
    let number = |line, d| if line < case.lines && d < case.depth { case.stored(line, d, packed) } else { 0 };
    let ints = |ints: &[i32]| ints.iter().flat_map(|int| int.to_ne_bytes()).collect::<Vec<u8>>();
    let (group, pieces, is_few) = (kernel.groups.len(), case.pieces(), case.bits != Bits::ALL);
    let mut bytes = Vec::new();
    let width = if packed.form() == Form::Panels { kernel.width } else { 1 };
    match packed.form() {
        Form::Lines if is_few => {
            for line in 0..case.lines {
                for from in (0..case.depth).step_by(512) {
                    let len = (case.depth - from).min(512);
                    let codes = from..from + len.next_multiple_of(8);
                    let codes = codes.map(|d| if d < case.depth { case.code(line, d) as u8 } else { 0 });
                    bytes.extend(planes_by_definition(&codes.collect::<Vec<_>>(), case.bits.get()));
                }
            }
        }
        Form::Lines => {
            let size = if group == 2 { 2 } else { 1 };
            for line in 0..case.lines {
                let begin = bytes.len();
                for number in (0..case.depth).map(|d| number(line, d)) {
                    match size {
                        2 => bytes.extend((number as i16).to_ne_bytes()),
                        _ => bytes.push(number as u8),
                    }
                }
                // An odd number of cache lines.
                let cache_lines = (case.depth.next_multiple_of(group) * size).div_ceil(64);
                bytes.resize(begin + (cache_lines + (cache_lines + 1) % 2) * 64, 0);
            }
        }
        Form::Panels => {
            let zero = if case.bits.get() == 7 && packed.stored() == Encoding::S8 { 64 } else { 0 };
            let unit = if is_few || case.segment.0 > 0 { 8 } else { group };
            for (panel, piece) in
                (0..case.lines.div_ceil(width)).flat_map(|i| pieces.iter().map(move |piece| (i, piece)))
            {
                let mut numbers = Vec::new();
                for from in (0..piece.len().next_multiple_of(unit)).step_by(group) {
                    for line in panel * width..(panel + 1) * width {
                        let depths = (from..from + group).map(|d| piece.start + d);
                        numbers.extend(depths.map(|d| if d < piece.end { number(line, d) as u8 } else { 0 }));
                    }
                }
                if is_few {
                    let codes: Vec<u8> = numbers.iter().map(|number| number.wrapping_add(zero)).collect();
                    let blocks = codes.chunks(64 * width);
                    bytes.extend(blocks.flat_map(|block| planes_by_definition(block, case.bits.get())));
                } else {
                    bytes.extend(numbers);
                }
            }
        }
    }
    let by_panel = |value: &dyn Fn(usize, usize) -> i32| {
        let mut values = Vec::new();
        for panel in 0..case.lines.div_ceil(width) {
            for piece in 0..pieces.len() {
                let lines = panel * width..(panel + 1) * width;
                values.extend(lines.map(|line| if line < case.lines { value(line, piece) } else { 0 }));
            }
        }
        ints(&values)
    };
    let sum = |line: usize, depths: Range<usize>| depths.map(|d| number(line, d)).sum::<i64>() as i32;
    let sums = match packed.form() {
        Form::Lines if is_few || case.segment.0 > 0 => Vec::new(),
        Form::Lines => ints(&(0..case.lines).map(|line| sum(line, 0..case.depth)).collect::<Vec<_>>()),
        Form::Panels if case.depth == 0 => ints(&vec![0; case.lines.next_multiple_of(width)]),
        Form::Panels => by_panel(&|line, piece| sum(line, pieces[piece].clone())),
    };
    let (scales, zero_points) = (case.scales(), case.zero_points());
    let (scale, zero_point) = (
        |line: usize, piece: usize| scales[line * pieces.len() + piece].to_bits() as i32,
        |line: usize, piece: usize| zero_points[line * pieces.len() + piece],
    );
    let none = Vec::<u8>::new;
    let mut content = Vec::<u8>::new();
    for part in [
        sums,
        if let Offset::PerLine(offsets) = case.offset() { ints(offsets) } else { none() },
        if case.segment.0 > 0 { by_panel(&scale) } else { none() },
        if case.segment.1 { by_panel(&zero_point) } else { none() },
        // Of which the tests of spans know more.
        packed.spans().map_or(none(), <[u8]>::to_vec),
        bytes,
    ] {
        content.resize(content.len().next_multiple_of(64), 0);
        content.extend(part);
    }
    content
}

/// A block of codes, by the table in planes.rs.
fn planes_by_definition(codes: &[u8], bits: usize) -> Vec<u8> {
    let n = codes.len() / 8;
    let mut rows = vec![0; n * bits];
    for (i, code) in codes.iter().enumerate() {
        let (p, x) = (i / n, i % n);
        let (twos, ones) = (bits & 4, bits & 6);
        if bits & 4 > 0 {
            rows[p % 4 * n + x] |= (code & 15) << (4 * (p / 4));
        }
        if bits & 2 > 0 {
            rows[(twos + p % 2) * n + x] |= (code >> twos & 3) << (2 * (p / 2));
        }
        if bits & 1 > 0 {
            rows[ones * n + x] |= (code >> ones & 1) << p;
        }
    }
    rows
}

/// Made by hand from the table in `header.rs`; the checksums are zlib's.
#[test]
fn the_portable_form_is_the_one_that_is_documented() {
    let purpose = Purpose { side: Side::Rhs, result: ResultOrder::ColMajor, other: Encoding::S8 };
    let operand = Operand::new(&[1, 2, 3, 4, 5, 6], (2, 3), 3, Order::DepthContiguous, Encoding::U8);
    for (offset, per_line, header_sum, content_sum) in [
        (Offset::Uniform(-7), &[][..], 0xfe68_8aaeu32, 0x81f6_7724u32),
        (Offset::PerLine(&[-1, 0x0102_0304]), &[255, 255, 255, 255, 4, 3, 2, 1][..], 0x0f8a_738c, 0x1bff_b90e),
    ] {
        let mut form = b"\x89QGEMM\r\n\x03\0\0\0\x04\x03\x02\x01\x03\x02\x01\x02\x01\x01\x01".to_vec();
        form.push(u8::from(!per_line.is_empty()));
        form.extend([1, 0, 0, 0]);
        form.extend(if per_line.is_empty() { [249, 255, 255, 255] } else { [0; 4] });
        form.extend([2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        form.extend([0; 8]);
        form.extend([0, 0, 8, 0]);
        form.extend([0; 52]);
        form.extend(content_sum.to_le_bytes());
        form.extend(header_sum.to_le_bytes());
        form.extend(per_line);
        form.extend([1, 2, 3, 4, 5, 6]);
        let packing = Packing { offset, purpose, bits: Bits::ALL, segments: None, are_patches: false };
        let packed = Packed::new(Kernel::chosen().unwrap(), &operand, &packing, None).unwrap();
        assert_eq!(portable(&packed), form);
    }
}

/// As above: 3 bits, two segments for each line, with zero points.
#[test]
fn the_portable_form_of_few_bits_is_the_one_that_is_documented() {
    let purpose = Purpose { side: Side::Rhs, result: ResultOrder::ColMajor, other: Encoding::S8 };
    let numbers = [1, -2, 3, -4, 0, 2].map(|number: i8| number as u8);
    let operand = Operand::new(&numbers, (2, 3), 3, Order::DepthContiguous, Encoding::S8);
    let segments = Segments { size: 2, scales: &[0.5, -1.0, 2.0, 0.25], zero_points: Some(&[1, -2, 3, -4]) };
    let mut form = b"\x89QGEMM\r\n\x03\0\0\0\x04\x03\x02\x01\x03\x02\x01\x02\x02\x02\x01\0\x01\0\0\0".to_vec();
    form.extend((-7i32).to_le_bytes());
    form.extend([2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    form.extend([0; 8]);
    form.extend([0, 0, 3, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    form.extend([0; 40]);
    form.extend([0xe8, 0x29, 0x40, 0xc6, 0x63, 0xc7, 0xca, 0x53]);
    form.extend([0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf, 0, 0, 0, 0x40, 0, 0, 0x80, 0x3e]);
    form.extend([1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0xfc, 0xff, 0xff, 0xff]);
    form.extend([0b1111_0001, 0, 0b1000_0100, 0]);
    let packing = Packing {
        offset: Offset::Uniform(-7),
        purpose,
        bits: Bits::new(3).unwrap(),
        segments: Some(segments),
        are_patches: false,
    };
    for kernel in kernels() {
        let packed = Packed::new(kernel, &operand, &packing, None).unwrap();
        assert_eq!(portable(&packed), form, "{}", kernel.name);
    }
}

#[test]
fn an_element_of_more_bits_is_named() {
    let data = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 8];
    for (order, stride, rhs, lhs) in
        [(Order::DepthContiguous, 4, (0, 2), (2, 0)), (Order::LineContiguous, 3, (2, 2), (2, 2))]
    {
        for (side, (row, col)) in [(Side::Rhs, rhs), (Side::Lhs, lhs)] {
            let operand = Operand::new(&data, (3, 4), stride, order, Encoding::U8);
            let bits = Bits::new(3).unwrap();
            assert_eq!(bits.check(&operand, side), Err(Error::Element { row, col, value: 8, bits }));
            assert_eq!(Bits::new(4).unwrap().check(&operand, side), Ok(()));
        }
    }
    for (byte, bits, fits) in
        [(63u8, 7, true), (64, 7, false), (192, 7, true), (191, 7, false), (255, 1, true), (1, 1, false)]
    {
        let data = [byte];
        let operand = Operand::new(&data, (1, 1), 1, Order::DepthContiguous, Encoding::S8);
        assert_eq!(Bits::new(bits).unwrap().check(&operand, Side::Rhs).is_ok(), fits, "{byte} in {bits} bits");
    }
}

#[test]
fn threads_pack_what_one_does() {
    let (lines, depth) = (1500, 450);
    let data = noise(5, false, lines * depth);
    for (kernel, order) in
        Kernel::available().flat_map(|k| [Order::DepthContiguous, Order::LineContiguous].map(|o| (k, o)))
    {
        let stride = if order == Order::DepthContiguous { depth } else { lines };
        let context = Context::new(kernel, 3);
        for (side, segment, encoding) in
            [(Side::Lhs, 0, Encoding::U8), (Side::Rhs, 0, Encoding::S8), (Side::Lhs, 200, Encoding::S8)]
        {
            let operand = Operand::new(&data, (lines, depth), stride, order, encoding);
            let purpose = Purpose { side, result: ResultOrder::RowMajor, other: Encoding::U8 };
            let scales = vec![1.0; lines * 3];
            let segments = (segment > 0).then_some(Segments { size: segment, scales: &scales, zero_points: None });
            let packing =
                Packing { offset: Offset::Uniform(-3), purpose, bits: Bits::ALL, segments, are_patches: false };
            let [one, three] = [Crew::Alone(kernel), Crew::Together(&context)]
                .map(|crew| Packed::by(crew, &operand, &packing, None).unwrap());
            assert!(one.blob() == three.blob(), "{} {order:?} {side:?} {segment}", kernel.name);
        }
    }
}
