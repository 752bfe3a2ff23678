# To cross-build for 64-bit Arm with the compilers of Debian and Ubuntu, and run the tests under qemu-user:
#
#   cmake -B build-arm -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake
#
# Cargo's compiler needs the standard library for aarch64-unknown-linux-gnu: rustup target add, or QGEMM_CARGO for another.
# The environment variable QEMU_CPU chooses the processor that qemu is: cortex-a53, neoverse-n1, max.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Where libraries for Arm are; programs are this machine's.
set(system_root /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH "${system_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()

find_program(QGEMM_QEMU NAMES qemu-aarch64-static qemu-aarch64 DOC "What runs programs for Arm")
if(QGEMM_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${QGEMM_QEMU}" -L "${system_root}")
endif()
