# SPDX-License-Identifier: Apache-2.0
# Copies PROGRAM into FOLDER with the libraries it needs in FOLDER/lib, CUDA, the libraries of
# `lockwarp exec`, into FOLDER/lib/lockwarp, and BESIDE, which watches a GPU's, into a folder there.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/lib)
file(COPY ${PROGRAM} DESTINATION ${FOLDER})
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} LIBRARIES ${CUDA} ${BESIDE}
     RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^libcuda\\.so" POST_EXCLUDE_REGEXES "/(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv)\\.so")
if(missing)
  message(FATAL_ERROR "libraries not found: ${missing}")
endif()
foreach(library ${needed})
  file(COPY ${library} DESTINATION ${FOLDER}/lib FOLLOW_SYMLINK_CHAIN)
  get_filename_component(name ${library} NAME)
  execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN" ${FOLDER}/lib/${name}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(MAKE_DIRECTORY ${FOLDER}/lib/lockwarp)
foreach(library ${CUDA})
  get_filename_component(name ${library} NAME)
  if(name MATCHES "^libcuda\\.so")
    set(name libcuda.so.1)  # its name, not that of the file behind it
  endif()
  file(COPY_FILE ${library} ${FOLDER}/lib/lockwarp/${name})
  execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN:$ORIGIN/.." ${FOLDER}/lib/lockwarp/${name}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(CREATE_LINK libcuda.so.1 ${FOLDER}/lib/lockwarp/libcuda.so SYMBOLIC)
file(MAKE_DIRECTORY ${FOLDER}/lib/lockwarp/beside)
file(COPY_FILE ${BESIDE} ${FOLDER}/lib/lockwarp/beside/libcuda.so.1)
execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN/../.." ${FOLDER}/lib/lockwarp/beside/libcuda.so.1
                COMMAND_ERROR_IS_FATAL ANY)
file(CREATE_LINK libcuda.so.1 ${FOLDER}/lib/lockwarp/beside/libcuda.so SYMBOLIC)  # Warp opens this name
get_filename_component(name ${PROGRAM} NAME)
execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN/lib" ${FOLDER}/${name}
                COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "portable folder: ${FOLDER}")
