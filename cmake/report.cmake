# SPDX-License-Identifier: Apache-2.0
# What the program and the Python package say of a run: texts, JSON, pictures.
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
if(NOT TARGET lockwarp_library)
  message(FATAL_ERROR "LOCKWARP_TOOLS and LOCKWARP_PYTHON need LOCKWARP_LIBRARY")
endif()

file(GLOB REPORT_SOURCES CONFIGURE_DEPENDS tools/report/*.cpp)
add_library(lockwarp_report STATIC ${REPORT_SOURCES})
# They read options and print: -O3 takes twice as long to build and gains them nothing, nor does
# -O1 under the sanitizers.
target_compile_options(lockwarp_report PRIVATE $<$<CONFIG:Release>:-O1>
                       $<$<BOOL:${LOCKWARP_SANITIZE}>:-O0>)
lockwarp_target(lockwarp_report)
lockwarp_without_pointer_checks(lockwarp_report)
lockwarp_together(lockwarp_report 6 ${REPORT_SOURCES})
target_link_libraries(lockwarp_report PUBLIC lockwarp_library CLI11::CLI11 fmt::fmt spdlog::spdlog
                      Eigen3::Eigen)
