# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Functions that make the project's libraries and programs.

# Sets the properties that all targets share. Symbols without SEMCACHE_API are hidden. The code is position independent even in
# the static library, so that plugins and the shared library can be made of it.
function(semcache_set_defaults target)
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    CXX_EXTENSIONS OFF)
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Wall -Wextra>)
endfunction()

# semcache_add_room(<name> SOURCES <files>... [DEPENDS <rooms>...] [PRIVATE <targets>...])
#   Adds one room of the core, an object library. The test SemCache_layers reads the dependencies from here, and refuses
#   headers of rooms that are not below this one.
function(semcache_add_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY SEMCACHE_ROOMS ${name})
  set_property(GLOBAL PROPERTY SEMCACHE_ROOM_${name}_DEPENDS ${arg_DEPENDS})
  if(NOT arg_SOURCES)
    return()  # a room of headers only
  endif()
  set(target semcache_room_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  semcache_set_defaults(${target})
  # Functions of other libraries are bound when SemCache is loaded. Binding at the first call takes kilobytes of stack, which a
  # thread in a signal handler may not have.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fno-plt>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY SEMCACHE_OBJECTS $<TARGET_OBJECTS:${target}>)
endfunction()

# semcache_add_library(<name> SOURCES <files>... INCLUDE <directory> PUBLIC <targets>... [PRIVATE <targets>...]
#                      [NAME <file name>])
#   Adds an installed library: target semcache_<name>, alias and export SemCache::<name>, component <name> of the package.
#   BUILD_SHARED_LIBS decides whether it is static or shared. All headers of <directory>/semcache are installed.
function(semcache_add_library name)
  cmake_parse_arguments(arg "" "INCLUDE;NAME" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(target semcache_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(SemCache::${name} ALIAS ${target})
  semcache_set_defaults(${target})
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  # Before 1.0 a minor version may break the binary interface, so it is part of the SONAME.
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${arg_NAME}
    EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH ON)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${arg_INCLUDE}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  install(TARGETS ${target} EXPORT SemCache_${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
  install(DIRECTORY ${arg_INCLUDE}/semcache DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  set_property(GLOBAL APPEND PROPERTY SEMCACHE_COMPONENTS ${name})
  set_property(GLOBAL APPEND PROPERTY SEMCACHE_LIBRARIES ${target})
endfunction()

# semcache_add_miniapp(<name> SOURCES <files>... [LIBS <targets>...])
#   Adds a program of miniapps/. It stays in the build folder that mirrors its source folder and is not installed.
function(semcache_add_miniapp name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  semcache_set_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/miniapps)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
endfunction()
