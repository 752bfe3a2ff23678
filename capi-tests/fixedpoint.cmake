# The tests of include/gemmlowp/fixedpoint and of the headers beside it: fixedpoint.*
#
#   same_as_gemmlowp.*   one source, compiled with gemmlowp's headers and with ours, prints the same
#   lanes.*              each lane of a vector gets what the scalar gets, also where gemmlowp's does not
#   undefined            nothing that C++ leaves undefined happens, and every assertion holds
#   headers.*            each header by itself, and all ways to include them: no warnings
#   refuses.*            gemmlowp's headers and ours in one source file are an error that says so
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

set(headers "${CMAKE_CURRENT_SOURCE_DIR}/../include")
find_path(GEMMLOWP_INCLUDE_DIR fixedpoint/fixedpoint.h PATH_SUFFIXES gemmlowp)
if(NOT GEMMLOWP_INCLUDE_DIR)
    message(STATUS "qgemm: the tests fixedpoint.same_as_gemmlowp.* are left out: gemmlowp's headers were not found "
        "(Debian has them in libgemmlowp-dev; elsewhere set GEMMLOWP_INCLUDE_DIR)")
endif()

# The vector types to test, by the flags that they need. Plain is scalars alone on x86, and NEON on Arm.
set(variants plain)
set(flags_plain "")
check_cxx_compiler_flag(-mavx2 QGEMM_CXX_HAS_AVX2)
if(QGEMM_CXX_HAS_AVX2)
    list(APPEND variants sse4.1 avx2)
    set(flags_sse4.1 -msse4.1)
    set(flags_avx2 -mavx2 -DGEMMLOWP_ENABLE_AVX2)
endif()

# Either library's program: sums that overflow are meant to wrap, which gemmlowp leaves to the compiler.
function(add_fixedpoint_program name variant)
    add_executable(${name} fixedpoint_diff.cc)
    set_target_properties(${name} PROPERTIES CXX_STANDARD 11 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE -O1 ${flags_${variant}})
    if(CMAKE_CROSSCOMPILING)
        target_compile_definitions(${name} PRIVATE FEW_INPUTS)
    endif()
endfunction()

string(CONCAT same
    "other=$1; shift; ours=$(\"$@\" \"$0\") || exit; theirs=$(\"$@\" \"$other\") || exit; "
    "diff <(echo \"$ours\") <(echo \"$theirs\") && tail -n 1 <<<\"$ours\"")
foreach(variant IN LISTS variants)
    add_fixedpoint_program(fixedpoint_${variant} ${variant})
    target_include_directories(fixedpoint_${variant} PRIVATE "${headers}/gemmlowp")
    target_compile_options(fixedpoint_${variant} PRIVATE -Wall -Wextra -pedantic -Werror)
    if(NOT (variant STREQUAL plain AND QGEMM_CXX_HAS_AVX2))
        add_test(NAME fixedpoint.lanes.${variant} COMMAND fixedpoint_${variant} lanes)
        set_property(TEST fixedpoint.lanes.${variant} PROPERTY SKIP_RETURN_CODE 77)
    endif()

    if(GEMMLOWP_INCLUDE_DIR)
        add_fixedpoint_program(fixedpoint_${variant}_gemmlowp ${variant})
        target_include_directories(fixedpoint_${variant}_gemmlowp SYSTEM PRIVATE "${GEMMLOWP_INCLUDE_DIR}")
        target_compile_options(fixedpoint_${variant}_gemmlowp PRIVATE
            -w -fwrapv -DGEMMLOWP_ALLOW_SLOW_SCALAR_FALLBACK)
        add_test(NAME fixedpoint.same_as_gemmlowp.${variant} COMMAND bash -c "${same}"
            $<TARGET_FILE:fixedpoint_${variant}> $<TARGET_FILE:fixedpoint_${variant}_gemmlowp>
            ${CMAKE_CROSSCOMPILING_EMULATOR})
        set_property(TEST fixedpoint.same_as_gemmlowp.${variant} PROPERTY SKIP_RETURN_CODE 77)
    endif()
endforeach()

set(CMAKE_REQUIRED_FLAGS "-fsanitize=undefined -fno-sanitize-recover=all")
check_cxx_source_compiles("int main() { return 0; }" QGEMM_CXX_HAS_UBSAN)
unset(CMAKE_REQUIRED_FLAGS)
# Not with NEON: gcc's own intrinsics negate the least integer, which is defined for them.
if(QGEMM_CXX_HAS_UBSAN AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm)")
    add_fixedpoint_program(fixedpoint_undefined plain)
    target_include_directories(fixedpoint_undefined PRIVATE "${headers}/gemmlowp")
    target_compile_options(fixedpoint_undefined PRIVATE -fsanitize=undefined -fno-sanitize-recover=all
        -UNDEBUG -DGEMMLOWP_ENABLE_FIXEDPOINT_CONSTANTS_CHECKS)
    target_link_options(fixedpoint_undefined PRIVATE -fsanitize=undefined)
    add_test(NAME fixedpoint.undefined COMMAND fixedpoint_undefined)
endif()

foreach(compiler g++ clang++)
    find_program(QGEMM_${compiler} ${compiler})
    if(NOT QGEMM_${compiler})
        message(STATUS "qgemm: the fixed-point headers are not tested with ${compiler}, which was not found")
        continue()
    endif()
    foreach(variant IN LISTS variants)
        # The oldest standard and a newer one; the vectors of AVX2 bring those of SSE4.1 with them.
        set(standard c++11)
        if(variant STREQUAL avx2)
            set(standard c++20)
        elseif(variant STREQUAL sse4.1)
            continue()
        endif()
        add_test(NAME fixedpoint.headers.${compiler}.${variant}
            COMMAND "${QGEMM_${compiler}}" -std=${standard} ${flags_${variant}} -Wall -Wextra -pedantic -Werror
                -fsyntax-only -I "${headers}" -I "${headers}/gemmlowp" fixedpoint_includes.cc
            WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    endforeach()
endforeach()

add_test(NAME fixedpoint.headers.each
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++-header
        fixedpoint.h fixedpoint/fixedpoint.h fixedpoint/fixedpoint_functions.h fixedpoint/fixedpoint_number.h
        fixedpoint/fixedpoint_raw.h internal/common.h internal/detect_platform.h internal/platform.h
        profiling/instrumentation.h
    WORKING_DIRECTORY "${headers}/gemmlowp")
if(QGEMM_CXX_HAS_AVX2)
    add_test(NAME fixedpoint.headers.vectors
        COMMAND "${CMAKE_CXX_COMPILER}" -std=c++11 -mavx2 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++-header
            fixedpoint/fixedpoint_sse.h fixedpoint/fixedpoint_avx.h
        WORKING_DIRECTORY "${headers}/gemmlowp")
endif()

# By the macros that guard gemmlowp's headers.
foreach(guard FIXEDPOINT:fixedpoint/fixedpoint.h DETECT_PLATFORM:internal/detect_platform.h
        COMMON:internal/common.h PLATFORM:internal/platform.h)
    string(REPLACE ":" ";" guard ${guard})
    list(GET guard 0 macro)
    list(GET guard 1 header)
    add_test(NAME fixedpoint.refuses.${header}
        COMMAND "${CMAKE_CXX_COMPILER}" -fsyntax-only -DGEMMLOWP_INTERNAL_${macro}_H_
            -x c++ "${headers}/gemmlowp/${header}")
    set_property(TEST fixedpoint.refuses.${header} PROPERTY PASS_REGULAR_EXPRESSION "include either")
endforeach()
