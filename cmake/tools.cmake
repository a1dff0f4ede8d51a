# SPDX-License-Identifier: Apache-2.0
# The program lockwarp, what it prints for man and for shells, and the portable folder.
file(GLOB TOOL_SOURCES CONFIGURE_DEPENDS tools/*.cpp tools/commands/*.cpp)
list(FILTER TOOL_SOURCES EXCLUDE REGEX "/main\\.cpp$")
add_library(lockwarp_tools STATIC ${TOOL_SOURCES})
# Commands read options and print: -O3 takes twice as long to build and gains them nothing, nor does
# -O1 under the sanitizers.
target_compile_options(lockwarp_tools PRIVATE $<$<CONFIG:Release>:-O1>
                       $<$<BOOL:${LOCKWARP_SANITIZE}>:-O0>)
lockwarp_target(lockwarp_tools)
lockwarp_without_pointer_checks(lockwarp_tools)
lockwarp_together(lockwarp_tools 6 ${TOOL_SOURCES})
target_link_libraries(lockwarp_tools PUBLIC lockwarp_report)
# Where `lockwarp exec` finds libcuda.so.1 when both are installed.
include(GNUInstallDirs)
file(RELATIVE_PATH cuda_folder /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/lockwarp)
set_source_files_properties(tools/commands/program.cpp PROPERTIES
  COMPILE_DEFINITIONS LOCKWARP_CUDA_FOLDER="${cuda_folder}")
# Lines with history and completion in `lockwarp debug`; without it lines as they come.
find_path(LIBEDIT_INCLUDE histedit.h)
find_library(LIBEDIT_LIBRARY edit)
if(LIBEDIT_INCLUDE AND LIBEDIT_LIBRARY)
  set_source_files_properties(tools/line_editor.cpp PROPERTIES COMPILE_DEFINITIONS LOCKWARP_LIBEDIT)
  target_include_directories(lockwarp_tools PRIVATE ${LIBEDIT_INCLUDE})
  target_link_libraries(lockwarp_tools PRIVATE ${LIBEDIT_LIBRARY})
endif()
add_executable(lockwarp tools/main.cpp)
lockwarp_target(lockwarp)
if(LOCKWARP_SANITIZE)  # so that it begins in two thirds of the time: UBSan's places need no relocation
  target_link_options(lockwarp PRIVATE -no-pie)
endif()
target_link_libraries(lockwarp PRIVATE lockwarp_tools)
add_dependencies(lockwarp ${LOCKWARP_CUDA_LIBRARIES} lockwarp_beside)  # `lockwarp exec` needs them

if(LOCKWARP_INSTALL)
  find_program(GZIP gzip REQUIRED)
  add_custom_command(TARGET lockwarp POST_BUILD WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM
    COMMAND lockwarp completion bash > lockwarp.bash
    COMMAND lockwarp completion zsh > lockwarp.zsh
    COMMAND lockwarp completion man > lockwarp.1
    COMMAND ${GZIP} -9nkf lockwarp.1)
endif()
if(LOCKWARP_PORTABLE)
  include(tools/portable.cmake)
endif()
