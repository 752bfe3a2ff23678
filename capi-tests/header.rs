//! include/qgemm/qgemm.h is what cbindgen makes of src/capi/. `QGEMM_BLESS=1 cargo test --test header` rewrites it.

use cbindgen::{Bindings, Builder, Config};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The files of src/capi/, in the order in which the header has them.
const NOUNS: [&str; 31] = [
    "version",
    "verbose",
    "status",
    "matrix",
    "stage",
    "function",
    "pipeline",
    "bit_depth",
    "gemm",
    "blas",
    "fully_connected",
    "quantize",
    "range",
    "add",
    "add_ranges",
    "elements",
    "channels",
    "integers",
    "quantization",
    "requantization",
    "scheme",
    "table",
    "packed",
    "lines",
    "conv_plan",
    "conv",
    "prepared",
    "context",
    "shared",
    "eight_bit_int_gemm",
    "versioned",
];

const HEADER: &str = "include/qgemm/qgemm.h";

#[test]
fn the_header_is_what_the_sources_say() {
    let rendered = rendered();
    if env::var_os("QGEMM_BLESS").is_some() {
        fs::write(in_package(HEADER), &rendered).expect("the header can be written");
    }
    let checked_in = fs::read_to_string(in_package(HEADER)).unwrap_or_default();
    let differs = rendered.lines().zip(checked_in.lines().chain(std::iter::repeat(""))).find(|(new, old)| new != old);
    assert_eq!(differs, None, "{HEADER} is out of date: QGEMM_BLESS=1 cargo test --test header");
    assert_eq!(rendered.len(), checked_in.len(), "{HEADER} has more than it should");
}

#[test]
fn every_file_of_the_c_layer_is_in_the_header() {
    let files = fs::read_dir(in_package("src/capi")).expect("the C layer is a directory");
    let paths = files.map(|file| file.expect("it can be listed").path());
    let found: BTreeSet<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    assert_eq!(found, NOUNS.map(source).into());
}

#[test]
fn the_functions_are_the_exported_symbols() {
    let symbols = fs::read_to_string(in_package("capi-tests/symbols.txt")).expect("the list of symbols");
    let bindings = bindings();
    let mut functions: Vec<&str> = bindings.dynamic_symbols_names().collect();
    functions.sort_unstable();
    assert_eq!(functions, symbols.lines().collect::<Vec<_>>());
}

#[test]
fn nothing_looks_like_rust() {
    for line in rendered().lines() {
        let odd = ["`", "# Safety", "# Errors", "# Panics", "::", "Rust"].iter().find(|odd| line.contains(**odd));
        let in_cmake = line.contains("qgemm::qgemm");
        assert!(odd.is_none() || in_cmake, "{odd:?} in {line:?}: reword its doc comment");
    }
}

/// The text of the header.
fn rendered() -> String {
    let mut text = Vec::new();
    bindings().write(&mut text);
    let text = with_short_comments(&String::from_utf8(text).expect("cbindgen writes UTF-8"));
    // What an `unsafe fn` demands is in C a precondition, and whoever returns a status wants it looked at.
    text.replace(" * # Safety\n * ", " * @pre ")
        .replace("\nqgemm_status qgemm_", "\nQGEMM_NODISCARD\nqgemm_status qgemm_")
}

/// A comment of one line takes one line, not three.
fn with_short_comments(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if let [.., open, only] = &lines[..]
            && open.trim() == "/**"
            && line.trim() == "*/"
        {
            let comment = format!("{open}{} */", only.trim_start().trim_start_matches('*'));
            lines.truncate(lines.len() - 2);
            lines.push(comment);
        } else {
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.join("\n") + "\n"
}

/// What cbindgen finds in the C layer: only the files named, so that nothing of the Rust API leaks into C.
fn bindings() -> Bindings {
    let mut config = Config::from_file(in_package("capi-tests/cbindgen.toml")).expect("a valid cbindgen.toml");
    config.header = config.header.map(|text| text.trim().replace("@EXAMPLE@", &example()));
    config.after_includes = config.after_includes.map(with_version);
    let builder = NOUNS.into_iter().map(source).fold(Builder::new().with_config(config), Builder::with_src);
    builder.generate().expect("cbindgen understands the C layer")
}

/// The program in the header's first comment is one that the consumers compile and run.
fn example() -> String {
    let program = fs::read_to_string(in_package("capi-tests/consumer/example.c")).expect("the example");
    program.lines().map(|line| format!(" * {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn with_version(text: String) -> String {
    text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
}

fn source(noun: &str) -> PathBuf {
    in_package("src/capi").join(noun).with_extension("rs")
}

fn in_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(path)
}
