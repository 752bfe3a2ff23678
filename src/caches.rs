//! The sizes of the caches, as the system tells them.

use once_cell::sync::Lazy;
use std::fs::read_to_string;
use std::ops::RangeInclusive;

/// Bytes of data cache that one core can count on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caches {
    pub l1: usize,
    pub l2: usize,
}

impl Caches {
    /// Of this machine, asked once.
    pub(crate) fn get() -> &'static Self {
        static CACHES: Lazy<Caches> = Lazy::new(|| Caches {
            l1: size(libc::_SC_LEVEL1_DCACHE_SIZE, "1", 32 << 10, 16 << 10..=256 << 10),
            l2: size(libc::_SC_LEVEL2_CACHE_SIZE, "2", 512 << 10, 128 << 10..=4 << 20),
        });
        &CACHES
    }

    /// Bytes of the third cache, which cores may share; asked once, but only by who has as many: it takes some files to read.
    pub(crate) fn l3() -> usize {
        // Not what the C library says: that may be the sum of several, of which a core fills but one.
        static L3: Lazy<usize> = Lazy::new(|| of_level(FIRST_CORE, "3").unwrap_or(32 << 20).clamp(4 << 20, 256 << 20));
        *L3
    }
}

/// Where the kernel tells of the caches of a core.
const FIRST_CORE: &str = "/sys/devices/system/cpu/cpu0/cache";

/// What the system says, within reason; `default` if it does not know.
fn size(name: libc::c_int, level: &str, default: usize, reason: RangeInclusive<usize>) -> usize {
    // SAFETY: sysconf takes any name and only returns a number.
    let answer = usize::try_from(unsafe { libc::sysconf(name) }).ok().filter(|&bytes| bytes > 0);
    // On Arm the C library does not know, but the kernel may.
    let found = answer.or_else(|| of_level(FIRST_CORE, level));
    found.map_or(default, |bytes| bytes.clamp(*reason.start(), *reason.end()))
}

/// The size of the data cache of a level, by what the files in this directory say of each cache.
fn of_level(directory: &str, level: &str) -> Option<usize> {
    (0..8).find_map(|index| {
        let read = |what| read_to_string(format!("{directory}/index{index}/{what}")).ok();
        let is_it = read("level")?.trim() == level && read("type")?.trim() != "Instruction";
        if is_it { bytes(read("size")?.trim()) } else { None }
    })
}

/// A number of bytes, as the kernel writes it.
fn bytes(size: &str) -> Option<usize> {
    let (digits, unit) = match size.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (size.strip_suffix('M')?, 1 << 20),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!(["64K", "2M", "0K", "64", "K", ""].map(bytes), [Some(65536), Some(2 << 20), None, None, None, None]);
    }

    #[test]
    fn the_data_cache_of_a_level_is_found() {
        let directory = std::env::temp_dir().join(format!("qgemm-caches-{}", std::process::id()));
        for (index, (level, kind, size)) in
            [("1", "Instruction", "48K"), ("1", "Data", "64K"), ("2", "Unified", "1024K")].into_iter().enumerate()
        {
            let cache = directory.join(format!("index{index}"));
            std::fs::create_dir_all(&cache).unwrap();
            for (what, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(cache.join(what), format!("{text}\n")).unwrap();
            }
        }
        let found = ["1", "2", "3"].map(|level| of_level(directory.to_str().unwrap(), level));
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, [Some(64 << 10), Some(1 << 20), None]);
    }
}
