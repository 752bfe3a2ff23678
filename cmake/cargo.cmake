# The archive that cargo builds, whatever CMAKE_BUILD_TYPE says: a product that is not optimized is of no use to anybody.
#
# Sets `archive`, the file, and defines `qgemm_cargo`, the target that brings it up to date.

set(QGEMM_ARCHIVE "" CACHE FILEPATH "The archive, where cargo compiled one already; empty: it is compiled")
if(QGEMM_ARCHIVE)
    set(archive "${QGEMM_ARCHIVE}")
    add_custom_target(qgemm_cargo)
    return()
endif()

find_program(QGEMM_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin" DOC "cargo, of Rust 1.89 or later")
if(NOT QGEMM_CARGO)
    message(FATAL_ERROR "qgemm: cargo was not found. Install Rust, or set QGEMM_CARGO.")
endif()

# Several build trees may share one directory: then only the first of them compiles.
set(QGEMM_CARGO_TARGET_DIR "${CMAKE_CURRENT_BINARY_DIR}/cargo" CACHE PATH "Where cargo keeps what it compiled")

# Of aarch64-linux-gnu, as C compilers call it, Rust's name is aarch64-unknown-linux-gnu.
set(triple "")
if(CMAKE_CROSSCOMPILING)
    set(triple "${CMAKE_C_COMPILER_TARGET}")
    if(NOT triple)
        execute_process(COMMAND "${CMAKE_C_COMPILER}" -dumpmachine
            OUTPUT_VARIABLE triple OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    string(REGEX REPLACE "^([^-]+)-(.*-)?linux-" "\\1-unknown-linux-" triple "${triple}")
endif()
set(QGEMM_CARGO_TARGET "${triple}" CACHE STRING "Rust's name of the platform to compile for; empty for this one")

set(target_option)
if(QGEMM_CARGO_TARGET)
    set(target_option --target "${QGEMM_CARGO_TARGET}")
endif()
set(archive "${QGEMM_CARGO_TARGET_DIR}/${QGEMM_CARGO_TARGET}/release/libqgemm.a")

# The compiler beside it is the one that goes with it.
get_filename_component(cargo_directory "${QGEMM_CARGO}" DIRECTORY)

# Only cargo knows whether anything is to be done, so it is always asked.
add_custom_target(qgemm_cargo
    COMMAND "${CMAKE_COMMAND}" -E env "PATH=${cargo_directory}:$ENV{PATH}"
        "${QGEMM_CARGO}" rustc -p qgemm --lib --release --crate-type staticlib --locked
        --target-dir "${QGEMM_CARGO_TARGET_DIR}" ${target_option}
    WORKING_DIRECTORY "${root}"
    BYPRODUCTS "${archive}"
    COMMENT "Compiling libqgemm with cargo"
    USES_TERMINAL VERBATIM)
