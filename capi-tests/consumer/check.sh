#!/usr/bin/env bash
#
# Installs libqgemm from a build tree into a temporary directory and uses it there as a stranger would.
#
# Usage: check.sh CHECK, where CHECK is one of the functions below after "The checks". CTest sets:
#
#   QGEMM_BUILD_DIR         the build tree
#   QGEMM_CONFIG            the configuration to install of it
#   QGEMM_SOURCE_DIR        the source tree
#   QGEMM_CARGO_TARGET_DIR  what cargo compiled for that build tree
#   QGEMM_LIBDIR            where below the prefix libraries are installed
#   GEMMLOWP_INCLUDE_DIR    gemmlowp's own headers; empty if there are none
#   CMAKE, CC, CXX          tools; CMAKE_GENERATOR is read by cmake
#   NM, READELF             tools for the platform that was compiled for
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "check.sh: $*" >&2
    exit 1
}

installed() {
    "$CMAKE" --install "$QGEMM_BUILD_DIR" --config "$QGEMM_CONFIG" --prefix "$prefix" "$@" >"$work/install.log" ||
        fail "cmake --install $*: $(cat "$work/install.log")"
}

# Builds and runs the consumer project, with these options.
consumer() {
    "$CMAKE" -S "$here" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
        -DGEMMLOWP_INCLUDE_DIR="$GEMMLOWP_INCLUDE_DIR" "$@"
    "$CMAKE" --build "$work/build" --config Release
    (cd "$work/build" && ctest -C Release --output-on-failure)
}

# Compiles a program with this command, and runs it.
program() {
    "$@" -o "$work/program"
    "$work/program" || fail "$*: the program's exit status is $?"
}

# The same for the program that the header shows.
example() {
    local printed
    printed=$(program "$@")
    [ "$printed" = $'29 32\n70 77' ] || fail "$*: the program prints '$printed'"
}

pkg_config() {
    PKG_CONFIG_PATH=$prefix/$QGEMM_LIBDIR/pkgconfig pkg-config "$@"
}

# The checks

find_package() {
    installed
    consumer -DCONSUMER_FINDS_BY=find_package -DCMAKE_PREFIX_PATH="$prefix"
}

moved_prefix() {
    installed
    mv "$prefix" "$work/elsewhere"
    prefix=$work/elsewhere
    ! grep -rF "$work/prefix" "$prefix" || fail "a file names the prefix that it was installed to"
    consumer -DCONSUMER_FINDS_BY=find_package -DCMAKE_PREFIX_PATH="$prefix"
    pkg_config_shared
}

destdir() {
    local stage=$work/stage
    (prefix=/opt/qgemm DESTDIR=$stage installed)
    [ ! -e /opt/qgemm ] || fail "DESTDIR was ignored"
    consumer -DCONSUMER_FINDS_BY=find_package -DCMAKE_PREFIX_PATH="$stage/opt/qgemm"
}

add_subdirectory() {
    consumer -DCONSUMER_FINDS_BY=add_subdirectory -DQGEMM_SOURCE_DIR="$QGEMM_SOURCE_DIR" \
        -DQGEMM_CARGO_TARGET_DIR="$QGEMM_CARGO_TARGET_DIR"
}

fetch_content() {
    consumer -DCONSUMER_FINDS_BY=FetchContent -DQGEMM_SOURCE_DIR="$QGEMM_SOURCE_DIR" \
        -DQGEMM_CARGO_TARGET_DIR="$QGEMM_CARGO_TARGET_DIR"
}

versions() {
    installed
    local version
    for version in "" 0.1 0.1.0 99 1.0 0.2 0.0; do
        cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(versions LANGUAGES C)
find_package(qgemm $version CONFIG REQUIRED)
END
        rm -rf "$work/build"
        if "$CMAKE" -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
            [[ $version =~ ^(|0\.[01].*)$ ]] || fail "find_package accepts version $version"
        else
            [[ ! $version =~ ^(|0\.[01].*)$ ]] || fail "find_package rejects version '$version': $(cat "$work/log")"
            grep -q "considered but not accepted" "$work/log" || fail "$(cat "$work/log")"
        fi
    done
}

# One component is what programs need, the other what compilers need; and the static library may be left out.
components() {
    installed --component qgemm_runtime
    local files
    files=$(find "$prefix/$QGEMM_LIBDIR" ! -type d | wc -l)
    [ "$files" = 2 ] || fail "the runtime component has $files libraries, not one and its SONAME link"
    [ ! -e "$prefix/include" ] || fail "the runtime component has headers"
    installed --component qgemm_development
    rm "$prefix/$QGEMM_LIBDIR/libqgemm.a" "$prefix/$QGEMM_LIBDIR"/cmake/qgemm/qgemmStatic*
    cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(components LANGUAGES C)
find_package(qgemm CONFIG REQUIRED)
add_executable(example "$here/example.c")
target_link_libraries(example qgemm::qgemm)
END
    "$CMAKE" -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix"
    "$CMAKE" --build "$work/build"
}

pkg_config_shared() {
    [ -d "$prefix" ] || installed
    local -a flags
    read -ra flags < <(pkg_config --cflags --libs qgemm)
    example "$CC" -Wl,-rpath,"$prefix/$QGEMM_LIBDIR" "$here/example.c" "${flags[@]}"
    [[ $(readelf -VW "$work/program") == *QGEMM_0* ]] || fail "the program does not record the symbol version"
    program "$CXX" -std=c++11 "$here/program.cc" "${flags[@]}" -pthread -Wl,-rpath,"$prefix/$QGEMM_LIBDIR"
}

pkg_config_static() {
    installed
    rm "$prefix/$QGEMM_LIBDIR"/libqgemm.so*
    local -a flags
    read -ra flags < <(pkg_config --static --cflags --libs qgemm)
    example "$CC" "$here/example.c" "${flags[@]}"
    program "$CXX" -std=c++11 "$here/program.cc" "${flags[@]}" -pthread
    example "$CC" -static "$here/example.c" "${flags[@]}"
    example "$CC" -Wl,--gc-sections "$here/example.c" "${flags[@]}"
}

beside_other_rust() {
    installed
    local qgemm=$prefix/$QGEMM_LIBDIR/libqgemm.a other=$work/libother.a
    local -a compile=("$CC" "-I$prefix/include" "$here/two_libraries.c") system=(-lpthread -ldl -lm)
    rustc --edition 2024 --crate-type staticlib -C opt-level=1 -o "$other" "$here/other.rs"
    program "${compile[@]}" "$qgemm" "$other" "${system[@]}"
    program "${compile[@]}" "$other" "$qgemm" "${system[@]}"
    program "${compile[@]}" -static "$qgemm" "$other" "${system[@]}"
}

# An object that was compiled for gemmlowp, linked as with gemmlowp but for the libraries' names.
relink() {
    installed
    local lib=$prefix/$QGEMM_LIBDIR
    local -a instead=("-L$lib" -lqgemm_gemmlowp_abi -lqgemm)
    "$CXX" -std=c++11 -I"$GEMMLOWP_INCLUDE_DIR" -I"$GEMMLOWP_INCLUDE_DIR/.." -c -o "$work/gemmlowp.o" "$here/gemmlowp.cc"
    program "$CXX" "$work/gemmlowp.o" "${instead[@]}" -Wl,-rpath,"$lib"
    readelf -dW "$work/program" | grep -q 'NEEDED.*libqgemm' || fail "the program does not use libqgemm"
    program "$CXX" -static "$work/gemmlowp.o" "${instead[@]}"
    # As part of a shared library.
    "$CXX" -std=c++11 -fPIC -I"$GEMMLOWP_INCLUDE_DIR" -I"$GEMMLOWP_INCLUDE_DIR/.." -Dmain=plugin_main -shared \
        -Wl,-z,defs -o "$work/plugin.so" "$here/gemmlowp.cc" "${instead[@]}"
}

# The files' names, and which symbols leave them.
exports() {
    installed
    local lib=$prefix/$QGEMM_LIBDIR symbols=$QGEMM_SOURCE_DIR/capi-tests/symbols.txt
    local version soversion dynamic
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$QGEMM_SOURCE_DIR/Cargo.toml")
    soversion=${version%%.*}
    [ "$(readlink "$lib/libqgemm.so")" = "libqgemm.so.$soversion" ] || fail "libqgemm.so is no link to the SONAME"
    [ "$(readlink "$lib/libqgemm.so.$soversion")" = "libqgemm.so.$version" ] || fail "the SONAME is no link to the library"

    dynamic=$("$READELF" -dW "$lib/libqgemm.so")
    grep -qF "soname: [libqgemm.so.$soversion]" <<<"$dynamic" || fail "no SONAME: $dynamic"
    grep -q "NOW NODELETE" <<<"$dynamic" || fail "lazily bound, or can be unloaded: $dynamic"
    ! grep NEEDED <<<"$dynamic" | grep -vE '\[(lib(c|m|dl|pthread|gcc_s)\.so\.|ld-linux)' || fail "it needs more than the system"
    [[ ! $("$READELF" -lW "$lib/libqgemm.so" | grep GNU_STACK) =~ RWE ]] || fail "the stack is executable"

    # nm -D lists the version itself as an absolute symbol.
    diff <(sed "s/\$/@@QGEMM_$soversion/" "$symbols") \
        <("$NM" -D --defined-only "$lib/libqgemm.so" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort) ||
        fail "the shared library exports (>) other symbols than capi-tests/symbols.txt lists (<)"
    diff "$symbols" <("$NM" -g --defined-only "$lib/libqgemm.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort) ||
        fail "the static library exports (>) other symbols than capi-tests/symbols.txt lists (<)"
    diff "$QGEMM_SOURCE_DIR/capi-tests/gemmlowp_symbols.txt" \
        <("$NM" -g --defined-only "$lib/libqgemm_gemmlowp_abi.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort) ||
        fail "gemmlowp's place is taken by (>) other symbols than capi-tests/gemmlowp_symbols.txt lists (<)"
}

[[ $# == 1 && $(type -t "$1") == function ]] || fail "usage: check.sh CHECK"
"$1"
