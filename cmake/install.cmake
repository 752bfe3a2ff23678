# What is installed where: libraries, headers, and what find_package() and pkg-config read.
#
# Component qgemm_runtime is what programs need to run, qgemm_development what compilers need.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/qgemm")

install(TARGETS qgemm qgemm_gemmlowp qgemm_gemmlowp_abi EXPORT qgemmTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT qgemm_runtime NAMELINK_COMPONENT qgemm_development
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT qgemm_development)
install(TARGETS qgemm_static EXPORT qgemmStaticTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT qgemm_development)
install(DIRECTORY "${root}/include/qgemm"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT qgemm_development FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${root}/include/gemmlowp"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/qgemm" COMPONENT qgemm_development FILES_MATCHING PATTERN "*.h")
install(FILES "${root}/LICENSE-MIT" "${root}/LICENSE-APACHE"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/qgemm" COMPONENT qgemm_runtime)

# Two sets, so that whoever splits the static library off into a package of its own may do so.
foreach(targets qgemmTargets qgemmStaticTargets)
    install(EXPORT ${targets} NAMESPACE qgemm:: DESTINATION "${package_dir}" COMPONENT qgemm_development)
endforeach()
configure_package_config_file(qgemmConfig.cmake.in qgemmConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(qgemmConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/qgemmConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/qgemmConfigVersion.cmake"
    DESTINATION "${package_dir}" COMPONENT qgemm_development)

# pkg-config finds everything from where qgemm.pc lies, so the installed tree may be moved; unless a directory was given
# as an absolute path, which then holds.
function(pkg_config_path name dir)
    if(IS_ABSOLUTE "${dir}")
        set(${name} "${dir}" PARENT_SCOPE)
    else()
        set(${name} "\${prefix}/${dir}" PARENT_SCOPE)
    endif()
endfunction()
pkg_config_path(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
pkg_config_path(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
endif()
list(TRANSFORM system_libraries PREPEND "-l" OUTPUT_VARIABLE pc_libs_private)
list(JOIN pc_libs_private " " pc_libs_private)
configure_file(qgemm.pc.in qgemm.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/qgemm.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT qgemm_development)
