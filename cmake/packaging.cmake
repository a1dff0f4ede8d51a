# SPDX-License-Identifier: Apache-2.0
# cpack: lockwarp_VERSION_ARCH.deb, the program with its manual page and completions;
# liblockwarp0_VERSION_ARCH.deb, the shared library in C; and liblockwarp-dev_VERSION_ARCH.deb, the
# libraries and their headers. What the first two depend on, dpkg-shlibdeps reads from them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockwarp)
set(CPACK_PACKAGE_CONTACT "Lockwarp maintainers <maintainers@lockwarp.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL lockwarp_runtime lockwarp_shared lockwarp_dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LOCKWARP_RUNTIME_PACKAGE_NAME lockwarp)
set(CPACK_DEBIAN_LOCKWARP_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LOCKWARP_RUNTIME_DESCRIPTION
"tensor-core kernels (PTX) on the CPU, bit for bit as on an NVIDIA GPU
 Lockwarp runs a PTX kernel on the CPU with every lane, every register and the
 rounding of an architecture's tensor cores, compares it with a GPU register by
 register, and answers which lane holds which element of a fragment.")
set(SHARED_PACKAGE liblockwarp${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LOCKWARP_SHARED_PACKAGE_NAME ${SHARED_PACKAGE})
set(CPACK_DEBIAN_LOCKWARP_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LOCKWARP_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LOCKWARP_SHARED_DESCRIPTION
"tensor-core kernels (PTX) on the CPU: shared library
 liblockwarp.so, the emulator in C, for programs and languages that call C.")
set(CPACK_DEBIAN_LOCKWARP_DEV_PACKAGE_NAME liblockwarp-dev)
set(CPACK_DEBIAN_LOCKWARP_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LOCKWARP_DEV_PACKAGE_DEPENDS
    "${SHARED_PACKAGE} (= ${PROJECT_VERSION}), libhwy-dev, libtbb-dev")
set(CPACK_DEBIAN_LOCKWARP_DEV_PACKAGE_RECOMMENDS "nlohmann-json3-dev, libexpected-dev, libfmt-dev, libzstd-dev")
set(CPACK_DEBIAN_LOCKWARP_DEV_DESCRIPTION
"tensor-core kernels (PTX) on the CPU: libraries
 lockwarp::c, the emulator in C, lockwarp::emu, the same in C++, and
 lockwarp::lockwarp, with launch files, lanes and comparison: headers, static libraries, CMake and pkg-config files.")
include(CPack)
