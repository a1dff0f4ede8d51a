# SPDX-License-Identifier: Apache-2.0
# libcuda.so.1: in place of NVIDIA's driver for one process. It lies in a folder of its own, for
# LD_LIBRARY_PATH: nothing finds it that was not told to. It holds the emulator and exports the
# driver's functions and nothing else.
find_package(zstd REQUIRED)
file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS cuda/*.cpp cuda/runtime/*.cpp)
list(FILTER CUDA_SOURCES EXCLUDE REGEX "/runtime/shared.cpp$")
add_library(lockwarp_cuda SHARED ${CUDA_SOURCES} $<TARGET_OBJECTS:lockwarp_engine>
            $<TARGET_OBJECTS:lockwarp_emu>)
lockwarp_target(lockwarp_cuda)
set(lockwarp_alone cuda/functions.cpp cuda/graph.cpp cuda/graph_nodes.cpp cuda/merge.cpp
    cuda/nvjitlink.cpp cuda/nvml.cpp cuda/user_object.cpp cuda/runtime/copy.cpp
    cuda/runtime/functions.cpp cuda/runtime/memory.cpp cuda/runtime/registration.cpp)
lockwarp_together(lockwarp_cuda 8 ${CUDA_SOURCES})
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

# In place of libcudart.so.12 and .13: jumps into libcuda.so.1, in the same folder. Their symbols have
# the version that programs ask for.
foreach(toolkit 12 13)
  set(name lockwarp_cudart_${toolkit})
  add_library(${name} SHARED cuda/runtime/shared.cpp)
  lockwarp_target(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE LOCKWARP_TOOLKIT=${toolkit})
  target_link_libraries(${name} PRIVATE lockwarp_cuda)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cudart_${toolkit}.map CONTENT
       "libcudart.so.${toolkit} {\nglobal:\n    cuda*;\n    __cuda*;\nlocal:\n    *;\n};\n" @ONLY)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME cudart SUFFIX .so.${toolkit}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockwarp
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON)
  target_link_options(${name} PRIVATE
    LINKER:--version-script=${PROJECT_BINARY_DIR}/cudart_${toolkit}.map
    LINKER:-soname,libcudart.so.${toolkit})
endforeach()

# libnvidia-ml.so.1, for programs that ask NVML what GPUs there are: its functions stand in
# libcuda.so.1, in the same folder, which the loader looks through too.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/nvml_name.cpp CONTENT "" @ONLY)
add_library(lockwarp_nvml SHARED ${PROJECT_BINARY_DIR}/nvml_name.cpp)
target_link_libraries(lockwarp_nvml PRIVATE lockwarp_cuda)
set_target_properties(lockwarp_nvml PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockwarp
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON)
target_link_options(lockwarp_nvml PRIVATE LINKER:--no-as-needed LINKER:-soname,libnvidia-ml.so.1)

# What programs are started with (LD_PRELOAD). `lockwarp exec`: it needs nothing but libc and is
# initialised before all others. `--keep-ptx`: a ptxas leaves its PTX.
file(GLOB START_SOURCES CONFIGURE_DEPENDS cuda/start/*.cpp)
list(FILTER START_SOURCES EXCLUDE REGEX "/start/ptxas.cpp$")
add_library(lockwarp_start SHARED ${START_SOURCES})
add_library(lockwarp_ptxas SHARED cuda/start/ptxas.cpp)
foreach(name lockwarp_start lockwarp_ptxas)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wshadow -Werror -fno-exceptions -fno-rtti
                         -fno-threadsafe-statics -fvisibility=hidden)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockwarp)
  target_link_options(${name} PRIVATE LINKER:--as-needed)
endforeach()
target_link_options(lockwarp_start PRIVATE LINKER:-z,initfirst)

# All that lies in the folder.
set(LOCKWARP_CUDA_LIBRARIES lockwarp_cuda lockwarp_cudart_12 lockwarp_cudart_13 lockwarp_nvml
    lockwarp_start lockwarp_ptxas)

# What `lockwarp capture` and `lockwarp validate -- ./program` put before the GPU's own driver: a
# libcuda.so.1 in a folder of its own, which hands all calls on and watches launches.
file(GLOB BESIDE_SOURCES CONFIGURE_DEPENDS cuda/beside/*.cpp)
add_library(lockwarp_beside SHARED ${BESIDE_SOURCES} cuda/image.cpp cuda/large_numbers.cpp cuda/launch_file.cpp
            cuda/merge.cpp cuda/names.cpp $<TARGET_OBJECTS:lockwarp_engine> $<TARGET_OBJECTS:lockwarp_emu>)
lockwarp_target(lockwarp_beside)
target_include_directories(lockwarp_beside PRIVATE ${PROJECT_SOURCE_DIR}
                           ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_compile_definitions(lockwarp_beside PRIVATE
                           LOCKWARP_FORWARD_VARIABLE="LOCKWARP_BESIDE_DRIVER")
target_link_libraries(lockwarp_beside PRIVATE TBB::tbb hwy::hwy Threads::Threads
                      zstd::libzstd_shared ${CMAKE_DL_LIBS})
set_target_properties(lockwarp_beside PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockwarp/beside
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cuda/beside/exported.map)
target_link_options(lockwarp_beside PRIVATE
                    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cuda/beside/exported.map)
