# The libraries, and under which names other projects link to them.

# Both are made of one object, in which only the functions of the C interface are global: an archive of Rust's could not
# be linked into a program together with another one, for both define the symbols of Rust's standard library. (AddressSanitizer
# finds by a global symbol, ___asan_..., what it knows of a library already.)
#
# Merging groups (--force-group-allocation) is what lets a linker accept such local symbols. Bitcode has to go because
# tools with an older LLVM plugin, such as ar, fail on it.
set(object "${CMAKE_CURRENT_BINARY_DIR}/qgemm.o")
add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation --whole-archive "${archive}" -o "${object}"
    COMMAND "${CMAKE_OBJCOPY}" --remove-section=.llvmbc --remove-section=.llvmcmd
        --wildcard "--keep-global-symbol=qgemm_*" "--keep-global-symbol=___asan*" "${object}"
    DEPENDS qgemm_cargo "${archive}"
    COMMENT "Hiding all symbols of libqgemm but qgemm_*"
    VERBATIM)
add_custom_target(qgemm_object DEPENDS "${object}")
set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

# What Rust's standard library asks of the system. The unwinder comes with every C compiler.
set(system_libraries pthread dl m)

add_library(qgemm SHARED "${object}")
add_library(qgemm::qgemm ALIAS qgemm)
set_target_properties(qgemm PROPERTIES
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}"
    LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/qgemm.map")
# Threads and thread-local data may outlive a dlclose(): hence nodelete.
target_link_options(qgemm PRIVATE
    "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/qgemm.map"
    LINKER:--gc-sections LINKER:--as-needed
    LINKER:-z,defs LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack LINKER:-z,nodelete)
target_link_libraries(qgemm PRIVATE ${system_libraries})

add_library(qgemm_static STATIC "${object}")
add_library(qgemm::static ALIAS qgemm_static)
set_target_properties(qgemm_static PROPERTIES OUTPUT_NAME qgemm EXPORT_NAME static)
target_link_libraries(qgemm_static INTERFACE ${system_libraries})

foreach(library qgemm qgemm_static)
    add_dependencies(${library} qgemm_object)
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${library} INTERFACE
        "$<BUILD_INTERFACE:${root}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endforeach()

# Installed, the headers are below qgemm/: gemmlowp/ itself belongs to gemmlowp. They have a thread pool for programs.
find_package(Threads REQUIRED)
add_library(qgemm_gemmlowp INTERFACE)
add_library(qgemm::gemmlowp ALIAS qgemm_gemmlowp)
set_target_properties(qgemm_gemmlowp PROPERTIES EXPORT_NAME gemmlowp)
target_link_libraries(qgemm_gemmlowp INTERFACE qgemm Threads::Threads)
target_include_directories(qgemm_gemmlowp INTERFACE
    "$<BUILD_INTERFACE:${root}/include>"
    "$<BUILD_INTERFACE:${root}/include/gemmlowp>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/qgemm>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/qgemm/gemmlowp>")

# For objects that are compiled already, with gemmlowp's own header. They need no headers: hence PRIVATE.
add_library(qgemm_gemmlowp_abi STATIC "${root}/src/capi/gemmlowp_abi.c")
add_library(qgemm::gemmlowp_abi ALIAS qgemm_gemmlowp_abi)
set_target_properties(qgemm_gemmlowp_abi PROPERTIES
    EXPORT_NAME gemmlowp_abi
    C_STANDARD 99
    C_STANDARD_REQUIRED ON
    POSITION_INDEPENDENT_CODE ON)
target_link_libraries(qgemm_gemmlowp_abi PRIVATE qgemm)
