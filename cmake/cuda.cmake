# SPDX-License-Identifier: Apache-2.0
# libcuda.so.1: in place of NVIDIA's driver for one process. It lies in a folder of its own, for
# LD_LIBRARY_PATH: nothing finds it that was not told to. It holds the emulator and exports the
# driver's functions and nothing else.
find_package(zstd REQUIRED)
file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS cuda/*.cpp)
add_library(lockwarp_cuda SHARED ${CUDA_SOURCES} $<TARGET_OBJECTS:lockwarp_engine>
            $<TARGET_OBJECTS:lockwarp_emu>)
lockwarp_target(lockwarp_cuda)
target_include_directories(lockwarp_cuda PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_BINARY_DIR}/include)
target_link_libraries(lockwarp_cuda PRIVATE TBB::tbb hwy::hwy Threads::Threads zstd::libzstd_shared ${CMAKE_DL_LIBS})

# Names for programs in which each thread has a default stream of its own: the same functions.
file(STRINGS cuda/functions.inc rows REGEX "ptds|ptsz")
set(same_functions)
foreach(row ${rows})
  if(row MATCHES "\\(([A-Za-z0-9_]+), .*, (ptds|ptsz)\\)")
    string(APPEND same_functions "${CMAKE_MATCH_1}_${CMAKE_MATCH_2} = ${CMAKE_MATCH_1};\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cuda_per_thread.ld CONTENT "${same_functions}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cuda/functions.inc)
set_target_properties(lockwarp_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockwarp
  LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cuda/exported.map;${PROJECT_BINARY_DIR}/cuda_per_thread.ld")
target_link_options(lockwarp_cuda PRIVATE
                    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cuda/exported.map
                    ${PROJECT_BINARY_DIR}/cuda_per_thread.ld)
