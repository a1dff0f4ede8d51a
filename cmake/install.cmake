# SPDX-License-Identifier: Apache-2.0
# cmake --install and cpack: the libraries with their headers, CMake and pkg-config files (component
# lockwarp_dev), the program with its manual page and completions (lockwarp_runtime).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests need not be built to install
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/lockwarp)
set(LOCKWARP_STATIC TRUE)
if(BUILD_SHARED_LIBS)
  set(LOCKWARP_STATIC FALSE)
endif()

function(lockwarp_install target export_file)
  install(TARGETS ${target} EXPORT ${export_file}
          ARCHIVE COMPONENT lockwarp_dev
          LIBRARY COMPONENT lockwarp_runtime NAMELINK_COMPONENT lockwarp_dev)
  install(EXPORT ${export_file} NAMESPACE lockwarp:: FILE ${export_file}.cmake
          DESTINATION ${PACKAGE_FOLDER} COMPONENT lockwarp_dev)
endfunction()

# pkg-config: who links a static library links what it needs too. PRIVATE: it is a shared one.
function(lockwarp_pkg_config PC_NAME PC_DESCRIPTION PC_LIBS needs)
  file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" PC_PREFIX ${PC_PREFIX})
  set(PC_REQUIRES "Requires: ${needs}")
  if(BUILD_SHARED_LIBS OR "PRIVATE" IN_LIST ARGN)
    set(PC_REQUIRES "Requires.private: ${needs}")
  endif()
  configure_file(cmake/lockwarp.pc.in ${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT lockwarp_dev)
endfunction()

lockwarp_install(lockwarp_emu lockwarp-emu-targets)
lockwarp_pkg_config(lockwarp-emu "PTX kernels on the CPU, bit for bit as on an NVIDIA GPU: the emulator"
                    -llockwarp_emu "libhwy, tbb")
# The C face: the shared library is a component of its own (lockwarp_shared).
install(TARGETS lockwarp_c_shared lockwarp_c_static EXPORT lockwarp-c-targets
        ARCHIVE COMPONENT lockwarp_dev
        LIBRARY COMPONENT lockwarp_shared NAMELINK_COMPONENT lockwarp_dev)
install(EXPORT lockwarp-c-targets NAMESPACE lockwarp:: FILE lockwarp-c-targets.cmake
        DESTINATION ${PACKAGE_FOLDER} COMPONENT lockwarp_dev)
install(FILES include/lockwarp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT lockwarp_dev)
lockwarp_pkg_config(lockwarp-c "PTX kernels on the CPU, bit for bit as on an NVIDIA GPU: in C"
                    "-llockwarp\nLibs.private: -lstdc++ -lm -pthread" "libhwy, tbb" PRIVATE)
set(FACES lockwarp/emu.hpp lockwarp/testing.hpp lockwarp/version.hpp)
if(TARGET lockwarp_library)
  lockwarp_install(lockwarp_library lockwarp-targets)
  lockwarp_pkg_config(lockwarp "PTX kernels on the CPU, bit for bit as on an NVIDIA GPU"
                      -llockwarp_cxx "lockwarp-emu = ${PROJECT_VERSION}, nlohmann_json, fmt, libzstd")
  list(APPEND FACES lockwarp/lockwarp.hpp)
endif()

set(ROOTS ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
install(CODE "
  set(FACES \"${FACES}\")
  set(ROOTS \"${ROOTS}\")
  set(FOLDER \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\")"
  COMPONENT lockwarp_dev)

configure_package_config_file(cmake/lockwarpConfig.cmake.in lockwarpConfig.cmake
  INSTALL_DESTINATION ${PACKAGE_FOLDER} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lockwarpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockwarpConfig.cmake ${PROJECT_BINARY_DIR}/lockwarpConfigVersion.cmake
        DESTINATION ${PACKAGE_FOLDER} COMPONENT lockwarp_dev)

if(LOCKWARP_TOOLS)
  install(TARGETS lockwarp RUNTIME COMPONENT lockwarp_runtime)
  install(TARGETS ${LOCKWARP_CUDA_LIBRARIES} LIBRARY COMPONENT lockwarp_runtime
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockwarp)
  install(TARGETS lockwarp_beside LIBRARY COMPONENT lockwarp_runtime
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockwarp/beside)
  install(FILES launch/launch.schema.json COMPONENT lockwarp_runtime
          DESTINATION ${CMAKE_INSTALL_DATADIR}/lockwarp)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH to_libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(lockwarp PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/lockwarp.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT lockwarp_runtime)
  install(FILES ${PROJECT_BINARY_DIR}/lockwarp.bash RENAME lockwarp COMPONENT lockwarp_runtime
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/lockwarp.zsh RENAME _lockwarp COMPONENT lockwarp_runtime
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
foreach(package lockwarp liblockwarp-dev liblockwarp${PROJECT_VERSION_MAJOR})
  set(component lockwarp_runtime)
  if(package MATCHES dev)
    set(component lockwarp_dev)
  elseif(package MATCHES "^lib")
    set(component lockwarp_shared)
  endif()
  install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component})
endforeach()

include(cmake/packaging.cmake)
