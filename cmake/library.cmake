# SPDX-License-Identifier: Apache-2.0
# lockwarp::lockwarp: launch files, lanes, GPUs, program makers, comparison, debugger, evidence.
set(missing)
foreach(package nlohmann_json tl-expected fmt zstd)
  if(LOCKWARP_LIBRARY STREQUAL "AUTO")
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      list(APPEND missing ${package})
    endif()
  elseif(LOCKWARP_LIBRARY)
    find_package(${package} REQUIRED)
  endif()
endforeach()
if(NOT LOCKWARP_LIBRARY)
  return()
endif()
if(missing)
  list(JOIN missing ", " missing)
  message(STATUS "lockwarp::lockwarp is left out: no ${missing}")
  return()
endif()

# The kernels of `lockwarp special` and the page of `lockwarp explorer` are part of the library.
file(GLOB SPECIAL_PTX CONFIGURE_DEPENDS gpu/kernels/special_check.sm_*.ptx)
foreach(ptx ${SPECIAL_PTX})
  string(REGEX REPLACE ".*sm_([0-9]+)\\.ptx" "\\1" target ${ptx})
  file(READ ${ptx} text)
  string(APPEND SPECIAL_PTX_ROWS "    Text{${target}, R\"ptx(${text})ptx\"sv},\n")
endforeach()
configure_file(gpu/special_ptx.cpp.in ${PROJECT_BINARY_DIR}/special_ptx.cpp @ONLY)
file(READ lanes/explorer.html EXPLORER_HTML)
configure_file(lanes/explorer_template.cpp.in ${PROJECT_BINARY_DIR}/explorer_template.cpp @ONLY)

# What was recorded is part of the program.
file(READ evidence/recorded.tsv RECORDED_TSV)
configure_file(evidence/recorded_text.cpp.in ${PROJECT_BINARY_DIR}/recorded_text.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SPECIAL_PTX} lanes/explorer.html
             evidence/recorded.tsv)

# gpu opens NVIDIA's driver when it runs; nothing of CUDA is needed to build it.
file(GLOB LIBRARY_SOURCES CONFIGURE_DEPENDS launch/*.cpp lanes/*.cpp gpu/*.cpp programs/*.cpp
     validate/*.cpp why/*.cpp debug/*.cpp evidence/*.cpp)
lockwarp_library(lockwarp_library lockwarp ${LIBRARY_SOURCES}
                 ${PROJECT_BINARY_DIR}/special_ptx.cpp ${PROJECT_BINARY_DIR}/explorer_template.cpp
                 ${PROJECT_BINARY_DIR}/recorded_text.cpp)
set(lockwarp_alone gpu/driver.cpp gpu/trace.cpp launch/launch_file.cpp launch/source_text.cpp
    validate/faults.cpp validate/one_run.cpp validate/probes.cpp validate/schedules.cpp
    validate/text_report.cpp why/addresses.cpp why/data.cpp why/hypothesis.cpp why/registers.cpp)
lockwarp_without_pointer_checks(lockwarp_library)
lockwarp_together(lockwarp_library 6 ${LIBRARY_SOURCES})
set_target_properties(lockwarp_library PROPERTIES OUTPUT_NAME lockwarp_cxx)
target_link_libraries(lockwarp_library PUBLIC lockwarp_emu nlohmann_json::nlohmann_json tl::expected
                      PRIVATE fmt::fmt zstd::libzstd_shared ${CMAKE_DL_LIBS})
