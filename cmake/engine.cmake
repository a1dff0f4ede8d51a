# SPDX-License-Identifier: Apache-2.0
# lockwarp::c: the C face (include/lockwarp.h). liblockwarp.so exports it and nothing else;
# liblockwarp.a is lockwarp::c_static. Both hold the emulator.
find_package(Threads REQUIRED)
file(GLOB ENGINE_SOURCES CONFIGURE_DEPENDS engine/*.cpp)
add_library(lockwarp_engine OBJECT ${ENGINE_SOURCES})
lockwarp_target(lockwarp_engine)
set(lockwarp_alone)
lockwarp_together(lockwarp_engine 5 ${ENGINE_SOURCES})
set_target_properties(lockwarp_engine PROPERTIES CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON)
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(lockwarp_engine PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
target_include_directories(lockwarp_engine PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_BINARY_DIR}/include)

foreach(kind SHARED STATIC)
  string(TOLOWER ${kind} name)
  add_library(lockwarp_c_${name} ${kind} $<TARGET_OBJECTS:lockwarp_engine>
              $<TARGET_OBJECTS:lockwarp_emu>)
  target_include_directories(lockwarp_c_${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" $<INSTALL_INTERFACE:include>)
  target_link_libraries(lockwarp_c_${name} PRIVATE TBB::tbb hwy::hwy Threads::Threads)
  set_target_properties(lockwarp_c_${name} PROPERTIES OUTPUT_NAME lockwarp LINKER_LANGUAGE CXX
                        POSITION_INDEPENDENT_CODE ON)
  if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(lockwarp_c_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()
set_target_properties(lockwarp_c_shared PROPERTIES EXPORT_NAME c VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/engine/exported.map)
set_target_properties(lockwarp_c_static PROPERTIES EXPORT_NAME c_static)
target_link_options(lockwarp_c_shared PRIVATE
                    LINKER:--version-script=${PROJECT_SOURCE_DIR}/engine/exported.map)
if(LOCKWARP_SANITIZE)
  target_link_options(lockwarp_c_shared PUBLIC $<BUILD_INTERFACE:-fsanitize=address,undefined>)
  target_link_options(lockwarp_c_static PUBLIC $<BUILD_INTERFACE:-fsanitize=address,undefined>)
endif()
add_library(lockwarp::c ALIAS lockwarp_c_shared)
add_library(lockwarp::c_static ALIAS lockwarp_c_static)
