# SPDX-License-Identifier: Apache-2.0
# lockwarp._core, the extension module of the Python package. pyproject.toml asks for it; pip brings
# nanobind. From Python 3.12 on it keeps to the stable ABI: one module for all later versions.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB PYTHON_SOURCES CONFIGURE_DEPENDS python/core/*.cpp)
nanobind_add_module(lockwarp_python STABLE_ABI NB_STATIC NOMINSIZE ${PYTHON_SOURCES})
lockwarp_target(lockwarp_python)
set_target_properties(lockwarp_python PROPERTIES OUTPUT_NAME _core)
target_link_libraries(lockwarp_python PRIVATE lockwarp_report)
# Nothing of ours is visible to other modules of the process, and no library is needed for nothing.
target_link_options(lockwarp_python PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
foreach(target nanobind-static nanobind-static-abi3)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES SYSTEM ON)
  endif()
endforeach()
# What type checkers read of it.
nanobind_add_stub(lockwarp_python_stub MODULE _core OUTPUT ${PROJECT_BINARY_DIR}/_core.pyi
                  PYTHON_PATH $<TARGET_FILE_DIR:lockwarp_python> DEPENDS lockwarp_python)
install(FILES ${PROJECT_BINARY_DIR}/_core.pyi DESTINATION lockwarp COMPONENT lockwarp_python)
install(TARGETS lockwarp_python LIBRARY DESTINATION lockwarp COMPONENT lockwarp_python)
# `python -m lockwarp.exec`: its libraries, in a folder of their own, without links.
add_dependencies(lockwarp_python ${LOCKWARP_CUDA_LIBRARIES})
foreach(library ${LOCKWARP_CUDA_LIBRARIES})
  install(FILES $<TARGET_FILE:${library}> RENAME $<TARGET_SONAME_FILE_NAME:${library}>
          DESTINATION lockwarp/cuda
          PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
          COMPONENT lockwarp_python)
endforeach()
