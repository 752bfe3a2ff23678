//! Loading bytes that nobody should trust.

use super::*;
use crate::pack::Groups;
use proptest::sample::Index;

fn kernel() -> &'static Kernel {
    Kernel::available().next().unwrap()
}

/// Both forms of an operand.
fn forms(case: &Case, kernel: &'static Kernel) -> [Vec<u8>; 2] {
    let packed = case.pack(kernel);
    [packed.blob().to_vec(), portable(&packed)]
}

fn small_case() -> impl Strategy<Value = Case> {
    case_of(0usize..5, 0usize..9)
}

/// Makes the checksums fit what they are of.
fn seal(form: &mut [u8]) {
    if let Some((head, content)) = form.split_first_chunk_mut::<{ header::LEN }>() {
        head[120..124].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
        let checksum = crc32fast::hash(&head[..124]);
        head[124..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Bytes that end where an inaccessible page begins: reading on is a fault. They start on a cache line if `aligned`, and
/// then may end a little before.
struct Fenced {
    pages: *mut u8,
    len: usize,
    bytes: Lent,
}

impl Fenced {
    fn new(bytes: &[u8], aligned: bool) -> Self {
        const PAGE: usize = 1 << 16;
        let inside = bytes.len().max(1).next_multiple_of(PAGE);
        let (len, flags) = (inside + PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: asks for new memory.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) }.cast::<u8>();
        assert_ne!(pages.addr(), usize::MAX, "memory for a test");
        // SAFETY: it is the test's.
        let opened = unsafe { libc::mprotect(pages.cast(), inside, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(opened, 0);
        let start = inside - bytes.len();
        let start = if aligned { start / ALIGN * ALIGN } else { start };
        // SAFETY: within the pages that were opened.
        let to = unsafe { std::slice::from_raw_parts_mut(pages.add(start), bytes.len()) };
        to.copy_from_slice(bytes);
        // SAFETY: the tests keep the pages while they are lent, and change them only to see what happens.
        let bytes = unsafe { Lent::new(NonNull::from_mut(to).cast(), to.len()) };
        Self { pages, len, bytes }
    }

    /// Changes the bytes behind the back of whoever has them.
    fn scramble(&mut self, seed: u64) {
        Memory::Lent(self.bytes).as_mut_slice().copy_from_slice(&noise(seed, false, self.bytes.as_slice().len()));
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: `new` mapped them.
        unsafe { libc::munmap(self.pages.cast(), self.len) };
    }
}

/// Reads everything that there is to read of it.
fn use_up(packed: &Packed) {
    let sum = |bytes: &[u8]| bytes.iter().map(|&b| u64::from(b)).sum::<u64>();
    let Prepared { bytes, sums, .. } = packed.prepared();
    std::hint::black_box((sum(bytes), sums.iter().map(|&sum| i64::from(sum)).sum::<i64>()));
    std::hint::black_box((sum(packed.blob()), sum(&unpacked(packed))));
    // Lines without numbers, of which there may be any number, take a byte each.
    if packed.portable_size() <= 1 << 24 {
        std::hint::black_box(sum(&portable(packed)));
    }
    std::hint::black_box((packed.bound(Offset::Uniform(5)), packed.bound(packed.declared())));
}

fn load(form: &[u8], kernel: &'static Kernel) -> Result<(), Error> {
    let fenced = Fenced::new(form, true);
    Packed::load(fenced.bytes, kernel).map(|packed| use_up(&packed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..config() })]

    #[test]
    fn every_single_byte_that_changes_is_noticed(case in small_case(), other in 1u8..) {
        for kernel in kernels() {
            for mut form in forms(&case, kernel) {
                for at in 0..form.len() {
                    for change in [1, 0x80, other] {
                        form[at] ^= change;
                        let error = Packed::load(Copy::of(&form).all(), kernel).err();
                        let is_refused = matches!(error, Some(Error::PackedDamaged { .. }));
                        prop_assert!(is_refused, "{} {change} at {at}: {error:?}", kernel.name);
                        form[at] ^= change;
                    }
                }
            }
        }
    }

    #[test]
    fn every_other_length_is_refused(case in small_case(), more in 1usize..200) {
        for kernel in kernels() {
            for form in forms(&case, kernel) {
                let longer = [&form[..], &vec![0; more]].concat();
                for len in (0..longer.len()).filter(|&len| len != form.len()) {
                    let mut cut = longer[..len].to_vec();
                    prop_assert!(load(&cut, kernel).is_err(), "{} of {} bytes", len, form.len());
                    seal(&mut cut);
                    let error = load(&cut, kernel).err();
                    let is_refused = matches!(error, Some(Error::PackedDamaged { .. }));
                    prop_assert!(is_refused, "{} of {} bytes: {error:?}", len, form.len());
                }
            }
        }
    }

    #[test]
    fn memory_that_changes_after_it_was_loaded_harms_nobody(case in case(), seed in any::<u64>()) {
        for kernel in kernels() {
            for form in forms(&case, kernel) {
                let mut fenced = Fenced::new(&form, true);
                let packed = Packed::load(fenced.bytes, kernel).unwrap();
                fenced.scramble(seed);
                use_up(&packed);
            }
        }
    }
}

/// A field's place and length.
const FIELDS: [(usize, usize); 23] = [
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 1),
    (17, 1),
    (18, 1),
    (19, 1),
    (20, 1),
    (21, 1),
    (22, 1),
    (23, 1),
    (24, 4),
    (28, 4),
    (32, 8),
    (40, 8),
    (48, 8),
    (56, 8),
    (66, 1),
    (67, 1),
    (72, 8),
    (112, 8),
    (120, 4),
    (16, 8),
];

fn a_value() -> impl Strategy<Value = u64> {
    let near_a_power = (0u32..64, -3i64..4).prop_map(|(power, more)| (1u64 << power).wrapping_add_signed(more));
    prop_oneof![4 => 0u64..8, 2 => 0u64..300, 3 => near_a_power, 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..config() })]

    #[test]
    fn whatever_a_header_says_nothing_else_is_read(
        case in case_of(0usize..20, 0usize..40),
        changes in proptest::collection::vec((any::<Index>(), a_value()), 1..4),
        (content, which, kernel) in (any::<bool>(), 0usize..2, any::<Index>()),
    ) {
        let kernels: Vec<_> = kernels().collect();
        let kernel = *kernel.get(&kernels);
        let mut form = forms(&case, kernel)[which].clone();
        for (field, value) in &changes {
            let &(at, len) = field.get(&FIELDS);
            form[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        if content {
            let rest = noise(changes[0].1, false, form.len() - header::LEN);
            form[header::LEN..].copy_from_slice(&rest);
        }
        seal(&mut form);
        for kernel in kernels {
            let _ = load(&form, kernel);
            let _ = Packed::load(Fenced::new(&form, false).bytes, kernel).map(|packed| use_up(&packed));
        }
    }

    #[test]
    fn whatever_the_bytes_are_nothing_else_is_read(len in 0usize..300, seed in any::<u64>()) {
        let mut bytes = noise(seed, false, len);
        prop_assert!(load(&bytes, kernel()).is_err());
        let magic = *b"\x89QGEMM\r\n\x02\0\0\0\x04\x03\x02\x01";
        if let Some(start) = bytes.first_chunk_mut() {
            *start = magic;
        }
        seal(&mut bytes);
        prop_assert!(load(&bytes, kernel()).is_err());
    }
}

fn a_case(purpose: Purpose) -> Case {
    let (lines, depth) = (3, 5);
    let (order, encoding) = (Order::DepthContiguous, Encoding::U8);
    let (data, offsets) = (noise(3, false, 15), vec![0]);
    Case { lines, depth, order, gap: 0, encoding, purpose, data, offsets, bits: Bits::ALL, segment: (0, false) }
}

const FOR_PANELS: Purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: Encoding::U8 };
const FOR_LINES: Purpose = Purpose { side: Side::Lhs, ..FOR_PANELS };

fn error(form: &[u8], kernel: &'static Kernel) -> Error {
    Packed::load(Copy::of(form).all(), kernel).err().expect("it is refused")
}

#[test]
fn another_version_is_told_from_damage() {
    for mut form in forms(&a_case(FOR_PANELS), kernel()) {
        for version in [0u32, 1, 2, 4, u32::MAX] {
            form[8..12].copy_from_slice(&version.to_le_bytes());
            assert!(matches!(error(&form, kernel()), Error::PackedDamaged { .. }));
            seal(&mut form);
            let error = error(&form, kernel());
            assert_eq!(error, Error::PackedLayout { why: Foreign::Version(version) });
            assert!(error.to_string().contains(&format!("version {version} ")), "{error}");
        }
    }
}

#[test]
fn another_byte_order_is_told_from_damage() {
    let [mut packed, mut portable] = forms(&a_case(FOR_LINES), kernel());
    for form in [&mut packed, &mut portable] {
        form[12..16].reverse();
        seal(form);
    }
    assert_eq!(error(&packed, kernel()), Error::PackedLayout { why: Foreign::ByteOrder });
    assert!(matches!(error(&portable, kernel()), Error::PackedDamaged { .. }));
}

#[test]
fn what_was_packed_for_other_kernels_says_for_which() {
    for (purpose, ours, other) in [
        (FOR_PANELS, "scalar", "avx2"),
        (FOR_PANELS, "scalar", "avx512vnni"),
        (FOR_LINES, "scalar", "avxvnni"),
        (FOR_PANELS, "scalar", "neon"),
        (FOR_PANELS, "neon", "dotprod"),
        (FOR_PANELS, "dotprod", "i8mm"),
    ] {
        let [ours, other] = [ours, other].map(|name| kernels().find(|kernel| kernel.name == name));
        let (Some(ours), Some(other)) = (ours, other) else { continue };
        let [form, portable] = forms(&a_case(purpose), other);
        let error = error(&form, ours);
        assert!(matches!(error, Error::PackedLayout { why: Foreign::Layout { .. } }), "{error}");
        for part in [ours.name, other.name, "portable"] {
            assert!(error.to_string().contains(part), "{part} in {error}");
        }
        assert!(!a_case(purpose).pack(ours).is_for(other));
        assert!(Packed::load(Copy::of(&portable).all(), ours).unwrap().is_for(ours));
    }
}

#[test]
fn kernels_of_one_layout_read_each_others() {
    let quads: Vec<_> = kernels().filter(|kernel| matches!(kernel.groups, Groups::Quads | Groups::FreeQuads)).collect();
    for &one in &quads {
        for &other in &quads {
            let [form, _] = forms(&a_case(FOR_LINES), one);
            let mut copy = Copy::of(&form);
            let loaded = Packed::load(copy.all(), other).unwrap();
            assert!(loaded.is_for(one) && loaded.is_for(other));
            assert_eq!(unpacked(&loaded), a_case(FOR_LINES).plain());
        }
    }
}

#[test]
fn a_blob_has_to_start_on_a_cache_line() {
    let [form, _] = forms(&a_case(FOR_PANELS), kernel());
    for shift in [1, 4, 16, 32, 63] {
        let mut shifted = Copy::of(&[&vec![0; shift][..], &form].concat());
        let error = Packed::load(shifted.lend(shift..shift + form.len()), kernel()).err();
        assert_eq!(error, Some(Error::Alignment { argument: "bytes", unit: 64 }));
    }
}

/// A few bytes must not make the library ask for the memory of many lines.
#[test]
fn a_short_portable_form_of_many_lines_is_refused() {
    let [_, mut form] = forms(&a_case(FOR_LINES), kernel());
    form.truncate(header::LEN);
    for lines in [1u64, 1 << 20, 1 << 40, 1 << 60, u64::MAX] {
        form[32..40].copy_from_slice(&lines.to_le_bytes());
        form[40..56].fill(0);
        seal(&mut form);
        assert!(matches!(error(&form, kernel()), Error::PackedDamaged { .. }));
    }
}

#[test]
fn so_many_lines_without_numbers_that_no_portable_form_has_them_are_refused() {
    let case = Case { depth: 0, data: Vec::new(), bits: Bits::new(4).unwrap(), ..a_case(FOR_LINES) };
    let [packed, _] = forms(&case, kernel());
    for (lines, is_possible) in [(1u64 << 20, true), (1 << 60, true), (1 << 63, false), (u64::MAX - 64, false)] {
        let mut form = packed.clone();
        form[32..40].copy_from_slice(&lines.to_le_bytes());
        seal(&mut form);
        assert_eq!(load(&form, kernel()).is_ok(), is_possible, "{lines}");
    }
}

#[test]
fn a_header_that_makes_no_sense_is_refused() {
    let [packed, portable] = forms(&a_case(FOR_PANELS), kernel());
    // Enumerations and reserved bytes, then what contradicts the rest.
    let everywhere = (16..24).chain(66..72).chain(80..120).map(|at| (at, 9));
    let in_packed = [(12, 0), (16, 1), (17, 1), (18, 1), (69, 1)];
    let in_portable = [(12, 0), (21, 2), (22, 4), (24, 2), (48, 4), (56, 1), (64, 1), (65, 1), (68, 1), (69, 1)];
    for (form, odd) in [(packed, &in_packed[..]), (portable, &in_portable[..])] {
        for (at, value) in everywhere.clone().chain(odd.iter().copied()) {
            let mut form = form.clone();
            form[at] = value;
            seal(&mut form);
            let error = error(&form, kernel());
            // Groups of another size, and numbers of another encoding, may be those of other kernels.
            let is_refused = matches!(error, Error::PackedDamaged { .. }) || [16, 21, 22].contains(&at);
            assert!(is_refused, "{value} at {at}: {error}");
        }
    }
    // Kernels that widen the bytes read none but signed ones.
    for kernel in kernels().filter(|kernel| kernel.groups == Groups::Pairs) {
        let [mut form, _] = forms(&a_case(FOR_PANELS), kernel);
        form[21] = 3 - form[21];
        seal(&mut form);
        assert!(matches!(error(&form, kernel), Error::PackedLayout { .. }), "{}", kernel.name);
    }
    // For the other side, whose lines would have the same encoding.
    let [mut form, _] = forms(&Case { encoding: Encoding::S8, ..a_case(FOR_PANELS) }, kernel());
    form[17] = 1;
    seal(&mut form);
    assert!(matches!(error(&form, kernel()), Error::PackedDamaged { .. }));
    // With a least element beyond the greatest.
    let [mut form, _] = forms(&a_case(FOR_PANELS), kernel());
    form[64..66].copy_from_slice(&[200, 56]);
    seal(&mut form);
    assert!(matches!(error(&form, kernel()), Error::PackedDamaged { .. }));
    // Per line, but with an offset for all.
    let [_, mut form] = forms(&Case { offsets: vec![1, 2, 3], ..a_case(FOR_PANELS) }, kernel());
    form[28] = 1;
    seal(&mut form);
    assert!(matches!(error(&form, kernel()), Error::PackedDamaged { .. }));
}
