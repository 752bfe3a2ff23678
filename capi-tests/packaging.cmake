# The tests of header and packages: header.* compile the header, packaging.* use libqgemm as strangers do.

# The header, in programs, in every language that it is promised for.
foreach(compiler gcc clang)
    find_program(QGEMM_${compiler} ${compiler})
    if(NOT QGEMM_${compiler})
        message(STATUS "qgemm: the header is not tested with ${compiler}, which was not found")
        continue()
    endif()
    foreach(standard c99 c11 c++11 c++20)
        set(source example.c)
        set(warnings -Wall -Wextra -pedantic -Werror)
        if(standard MATCHES "^c[+]")
            set(source program.cc)
            list(APPEND warnings -Wzero-as-null-pointer-constant)
        endif()
        add_test(NAME header.${compiler}.${standard}
            COMMAND "${QGEMM_${compiler}}" -std=${standard} ${warnings} -fsyntax-only
                -I ../../include ${source}
            WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/consumer")
    endforeach()
endforeach()

if(NOT QGEMM_INSTALL)
    return()
endif()
set(checks exports versions components find_package moved_prefix destdir add_subdirectory fetch_content
    pkg_config_shared pkg_config_static beside_other_rust)
set(gemmlowp_headers)
if(gemmlowp_found)
    list(APPEND checks relink)
    set(gemmlowp_headers "${GEMMLOWP_INCLUDE_DIR}")
endif()
# The others run what they compile.
if(CMAKE_CROSSCOMPILING)
    set(checks exports)
endif()
foreach(check IN LISTS checks)
    add_test(NAME packaging.${check} COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.sh" ${check})
    set_property(TEST packaging.${check} PROPERTY ENVIRONMENT
        "QGEMM_BUILD_DIR=${qgemm_BINARY_DIR}"
        "QGEMM_CONFIG=$<CONFIG>"
        "QGEMM_SOURCE_DIR=${qgemm_SOURCE_DIR}/.."
        "QGEMM_CARGO_TARGET_DIR=${QGEMM_CARGO_TARGET_DIR}"
        "QGEMM_LIBDIR=${CMAKE_INSTALL_LIBDIR}"
        "GEMMLOWP_INCLUDE_DIR=${gemmlowp_headers}"
        "CMAKE=${CMAKE_COMMAND}"
        "NM=${CMAKE_NM}"
        "READELF=${CMAKE_READELF}"
        "CMAKE_GENERATOR=${CMAKE_GENERATOR}"
        "CC=${CMAKE_C_COMPILER}"
        "CXX=${CMAKE_CXX_COMPILER}")
endforeach()
