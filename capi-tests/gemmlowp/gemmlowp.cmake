# The tests of include/gemmlowp/public and of the headers beside it: gemmlowp.*
#
#   pipelines.*     random products and pipelines: one source, compiled with gemmlowp's headers and with ours, prints the
#                   same; once for each kernel, and once more for each way to compile gemmlowp's
#   downstream.*    programs in the style of those that use gemmlowp, compared likewise
#   upstream.*      gemmlowp's own tests, compiled unchanged with our headers
#   bit_depths      what rounds to fewer bits, and what is promised
#   edges           what gemmlowp leaves undefined or does not have, against a definition
#   aborts          undefined calls end the program, and say why
#   neighbours      a program of two halves, compiled with gemmlowp's headers and with ours
#   headers.*       each header by itself, and all ways to include them: no warnings; see also fixedpoint.headers.*
#   rejects.*       what gemmlowp's headers do not compile, ours do not either
#   refuses.*       gemmlowp's headers and ours in one source file are an error
set(directory "${CMAKE_CURRENT_SOURCE_DIR}/gemmlowp")
set(headers "${CMAKE_CURRENT_SOURCE_DIR}/../include")
set(results "${CMAKE_CURRENT_BINARY_DIR}/gemmlowp")
file(MAKE_DIRECTORY "${results}")

# qgemm_gemmlowp_program(NAME SOURCE...): with our headers. What is slow in it is in the library, or is compared with it.
function(qgemm_gemmlowp_program name)
    qgemm_test_program(${name} ${ARGN} LIBRARIES qgemm::gemmlowp)
    target_compile_options(${name} PRIVATE -O0)
endfunction()

# qgemm_gemmlowp_oracle(NAME SOURCE [FLAG...]): a program with gemmlowp's headers, and the test gemmlowp.oracle.NAME, which
# writes what it prints to a file for the tests that require the fixture NAME. Sums that overflow are meant to wrap, which
# gemmlowp leaves to the compiler.
function(qgemm_gemmlowp_oracle name source)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE "${GEMMLOWP_INCLUDE_DIR}")
    target_link_libraries(${name} PRIVATE "${GEMMLOWP_LIBRARY}" Threads::Threads)
    target_compile_options(${name} PRIVATE -w -O0 -fwrapv ${ARGN})
    add_test(NAME gemmlowp.oracle.${name}
        COMMAND sh -c "\"$0\" > \"$1\"" $<TARGET_FILE:${name}> "${results}/${name}.txt")
    set_tests_properties(gemmlowp.oracle.${name} PROPERTIES FIXTURES_SETUP ${name} SKIP_RETURN_CODE 77)
endfunction()

# qgemm_gemmlowp_comparison(TEST PROGRAM ORACLE)
function(qgemm_gemmlowp_comparison test program oracle)
    add_test(NAME gemmlowp.${test} COMMAND ${program} "${results}/${oracle}.txt")
    set_tests_properties(gemmlowp.${test} PROPERTIES FIXTURES_REQUIRED ${oracle} SKIP_RETURN_CODE 77)
endfunction()

# ---- Random pipelines, and what is beyond them ----

set(scalar -DGEMMLOWP_ALLOW_SLOW_SCALAR_FALLBACK)
qgemm_gemmlowp_program(pipelines gemmlowp/pipelines.cc)
qgemm_gemmlowp_program(edges gemmlowp/edges.cc)
# Its definition is slow.
target_compile_options(edges PRIVATE -O1)
list(APPEND per_kernel edges)

# By the names for products with fewer bits, those that gemmlowp had included.
qgemm_gemmlowp_program(bit_depths gemmlowp/bit_depths.cc)
list(APPEND per_kernel bit_depths)
if(gemmlowp_found)
    list(APPEND per_kernel pipelines)
    qgemm_gemmlowp_oracle(pipelines_scalar gemmlowp/pipelines.cc ${scalar})
    if(QGEMM_CXX_HAS_AVX2)
        qgemm_gemmlowp_oracle(pipelines_avx2 gemmlowp/pipelines.cc -mavx2 -mfma -DGEMMLOWP_ENABLE_AVX2)
        qgemm_gemmlowp_comparison(pipelines.as_compiled_for_avx2 pipelines pipelines_avx2)

        qgemm_gemmlowp_program(pipelines_of_sse4 gemmlowp/pipelines.cc)
        target_compile_definitions(pipelines_of_sse4 PRIVATE WITHOUT_WHAT_SSE4_LACKS)
        qgemm_gemmlowp_oracle(pipelines_sse4 gemmlowp/pipelines.cc -msse4.1 -DWITHOUT_WHAT_SSE4_LACKS)
        qgemm_gemmlowp_comparison(pipelines.as_compiled_for_sse4.1 pipelines_of_sse4 pipelines_sse4)
    endif()
endif()

# ---- Programs in the style of others ----

foreach(name caffe2 mace onnxruntime qnnpack renderscript shared_pool tensorflow tflite torch7)
    qgemm_gemmlowp_program(${name} gemmlowp/downstream/${name}.cc)
    if(gemmlowp_found)
        qgemm_gemmlowp_oracle(${name}_gemmlowp gemmlowp/downstream/${name}.cc ${scalar})
        qgemm_gemmlowp_comparison(downstream.${name} ${name} ${name}_gemmlowp)
    endif()
endforeach()

# ---- gemmlowp's own tests, which Debian installs as examples ----

option(QGEMM_EXHAUSTIVE_TESTS "Run gemmlowp's test.cc with the part that takes minutes" OFF)
find_path(GEMMLOWP_TEST_DIR test_blocking_counter.cc
    HINTS "${GEMMLOWP_INCLUDE_DIR}/../../share/doc/libgemmlowp-dev/examples/test" NO_DEFAULT_PATH)
if(GEMMLOWP_TEST_DIR)
    foreach(name test test_allocator test_blocking_counter test_fixedpoint test_math_helpers)
        set(sources "${GEMMLOWP_TEST_DIR}/${name}.cc")
        if(name STREQUAL "test")
            list(APPEND sources "${GEMMLOWP_TEST_DIR}/test_data.cc")
        endif()
        add_executable(gemmlowp_${name} ${sources})
        target_link_libraries(gemmlowp_${name} PRIVATE qgemm::gemmlowp Threads::Threads)
        # They include "../internal/...".
        target_include_directories(gemmlowp_${name} PRIVATE "${headers}/gemmlowp/public")
        target_compile_options(gemmlowp_${name} PRIVATE -w -O1 -UNDEBUG)
        add_test(NAME gemmlowp.upstream.${name} COMMAND gemmlowp_${name})
    endforeach()
    if(QGEMM_EXHAUSTIVE_TESTS)
        # That part asks of the presets with fewer bits what gemmlowp makes of them now.
        target_compile_options(gemmlowp_test PRIVATE -include "${directory}/since_2017.h")
        set_property(TEST gemmlowp.upstream.test PROPERTY ENVIRONMENT QGEMM_A5B7=exact)
    else()
        target_compile_definitions(gemmlowp_test PRIVATE GEMMLOWP_SKIP_EXHAUSTIVE_TESTS)
    endif()
    set_property(TEST gemmlowp.upstream.test PROPERTY PASS_REGULAR_EXPRESSION "All tests passed")
else()
    message(STATUS "qgemm: the tests gemmlowp.upstream.* are left out: gemmlowp's tests were not found "
        "(Debian has them in libgemmlowp-dev; elsewhere set GEMMLOWP_TEST_DIR)")
endif()

# ---- Errors ----

qgemm_gemmlowp_program(gemmlowp_aborts gemmlowp/aborts.cc)
target_compile_options(gemmlowp_aborts PRIVATE -fno-exceptions)
add_test(NAME gemmlowp.aborts COMMAND gemmlowp_aborts)

set(include_options "-I${headers}" "-I${headers}/gemmlowp")
set(compile "${CMAKE_CXX_COMPILER}" -std=c++11 -fsyntax-only ${include_options})
foreach(number RANGE 1 6)
    add_test(NAME gemmlowp.rejects.${number} COMMAND ${compile} -DREJECTED=${number} "${directory}/rejected.cc")
endforeach()
set_tests_properties(gemmlowp.rejects.1 gemmlowp.rejects.2 PROPERTIES
    PASS_REGULAR_EXPRESSION "a cast must be the last stage")
set_tests_properties(gemmlowp.rejects.3 gemmlowp.rejects.4 gemmlowp.rejects.5 PROPERTIES
    PASS_REGULAR_EXPRESSION "not of the type that the output pipeline gives")
set_tests_properties(gemmlowp.rejects.6 PROPERTIES PASS_REGULAR_EXPRESSION "error: no matching function")
add_test(NAME gemmlowp.rejects.nothing_else COMMAND ${compile} "${directory}/rejected.cc")

# ---- Headers ----

foreach(compiler g++ clang++)
    if(NOT QGEMM_${compiler})
        continue()
    endif()
    foreach(standard c++11 c++20)
        add_test(NAME gemmlowp.headers.${compiler}.${standard}
            COMMAND "${QGEMM_${compiler}}" -std=${standard} -Wall -Wextra -pedantic -Werror -fsyntax-only
                ${include_options} "${directory}/include_forms.cc")
    endforeach()
endforeach()
qgemm_gemmlowp_program(include_forms gemmlowp/include_forms.cc)
add_test(NAME gemmlowp.headers.all_forms COMMAND include_forms)

file(GLOB_RECURSE each RELATIVE "${headers}/gemmlowp" "${headers}/gemmlowp/*.h")
list(FILTER each EXCLUDE REGEX "fixedpoint|third_party")
add_test(NAME gemmlowp.headers.each
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only "-I${headers}"
        -x c++-header ${each}
    WORKING_DIRECTORY "${headers}/gemmlowp")

# By the macros that guard gemmlowp's headers.
foreach(header internal/allocator.h internal/kernel.h internal/kernel_default.h internal/kernel_reference.h
        internal/multi_thread_gemm.h internal/single_thread_gemm.h profiling/instrumentation.h profiling/profiler.h
        public/bit_depth.h public/gemmlowp.h public/map.h public/output_stages.h test/test.h)
    string(REGEX REPLACE "[/.]" "_" guard "GEMMLOWP_${header}_")
    string(TOUPPER "${guard}" guard)
    add_test(NAME gemmlowp.refuses.${header}
        COMMAND "${CMAKE_CXX_COMPILER}" -E ${include_options} -D${guard} -x c++ "${headers}/gemmlowp/${header}")
    set_property(TEST gemmlowp.refuses.${header} PROPERTY PASS_REGULAR_EXPRESSION "include either")
endforeach()

if(gemmlowp_found)
    # The real ones: first, and second.
    foreach(header public/gemmlowp.h public/map.h public/output_stages.h fixedpoint/fixedpoint.h)
        add_test(NAME gemmlowp.refuses.after.${header}
            COMMAND ${compile} ${scalar} -include "${GEMMLOWP_INCLUDE_DIR}/${header}" -x c++
                "${headers}/gemmlowp/${header}")
        set_property(TEST gemmlowp.refuses.after.${header} PROPERTY PASS_REGULAR_EXPRESSION "error.*include either")
        add_test(NAME gemmlowp.refuses.before.${header}
            COMMAND ${compile} ${scalar} -include "${headers}/gemmlowp/${header}" -x c++
                "${GEMMLOWP_INCLUDE_DIR}/${header}")
        set_property(TEST gemmlowp.refuses.before.${header} PROPERTY PASS_REGULAR_EXPRESSION "error:.*ambiguous")
    endforeach()

    # One program of both.
    add_library(neighbour_gemmlowp OBJECT gemmlowp/neighbours/product.cc)
    target_include_directories(neighbour_gemmlowp PRIVATE "${GEMMLOWP_INCLUDE_DIR}")
    target_compile_definitions(neighbour_gemmlowp PRIVATE PRODUCT=ProductByGemmlowp)
    target_compile_options(neighbour_gemmlowp PRIVATE -w -O0 ${scalar})
    add_library(neighbour_qgemm OBJECT gemmlowp/neighbours/product.cc)
    target_link_libraries(neighbour_qgemm PRIVATE qgemm::gemmlowp)
    target_compile_definitions(neighbour_qgemm PRIVATE PRODUCT=ProductByLibqgemm)
    target_compile_options(neighbour_qgemm PRIVATE -O0)
    foreach(order "gemmlowp;qgemm" "qgemm;gemmlowp")
        list(TRANSFORM order REPLACE "(.+)" "$<TARGET_OBJECTS:neighbour_\\1>" OUTPUT_VARIABLE objects)
        list(JOIN order "_before_" name)
        qgemm_gemmlowp_program(neighbours_${name} gemmlowp/neighbours/main.cc ${objects})
        add_test(NAME gemmlowp.neighbours.${name} COMMAND neighbours_${name})
    endforeach()
endif()

# ---- The example ----

qgemm_test_program(example_gemmlowp examples/gemmlowp.cc LIBRARIES qgemm::gemmlowp)
add_test(NAME example.gemmlowp COMMAND example_gemmlowp)
