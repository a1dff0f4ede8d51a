# SPDX-License-Identifier: Apache-2.0
# One folder, build/portable/portable: the program and, in lib beside it, every library it needs but
# those of glibc, found by relative path. It runs where there is glibc 2.36 or later and nothing else.
find_program(PATCHELF patchelf REQUIRED)
add_custom_target(portable ALL
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:lockwarp>
          "-DCUDA=$<TARGET_FILE:lockwarp_cuda>;$<TARGET_FILE:lockwarp_cudart_12>;$<TARGET_FILE:lockwarp_cudart_13>;$<TARGET_FILE:lockwarp_nvml>;$<TARGET_FILE:lockwarp_start>;$<TARGET_FILE:lockwarp_ptxas>"
          -DBESIDE=$<TARGET_FILE:lockwarp_beside> -DPATCHELF=${PATCHELF}
          -DFOLDER=${CMAKE_BINARY_DIR}/portable -P ${CMAKE_SOURCE_DIR}/tools/portable_copy.cmake
  DEPENDS lockwarp ${LOCKWARP_CUDA_LIBRARIES} lockwarp_beside
  VERBATIM)
