# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Makes the installed package: find_package(SemCache COMPONENTS core kokkos), and pkg-config for the C interface.
# Libraries and headers are installed by semcache_add_library.

include(CMakePackageConfigHelpers)

function(semcache_install_pkgconfig)
  # With a static library the linker must name the libraries that a shared one would bring along.
  set(private "-lstdc++ -lpthread -ldl")
  get_property(room_libraries GLOBAL PROPERTY SEMCACHE_SYSTEM_LIBRARIES)
  foreach(library IN LISTS room_libraries)
    string(APPEND private " -l${library}")
  endforeach()
  if(BUILD_SHARED_LIBS)
    set(SEMCACHE_PC_LIBS "")
    set(SEMCACHE_PC_LIBS_PRIVATE "Libs.private: ${private}")
  else()
    set(SEMCACHE_PC_LIBS " ${private}")
    set(SEMCACHE_PC_LIBS_PRIVATE "")
  endif()
  # The path is relative to the file, so that an installed tree can be moved.
  set(directory "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
  file(RELATIVE_PATH SEMCACHE_PC_PREFIX "${directory}" "${CMAKE_INSTALL_PREFIX}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/semcache.pc.in ${PROJECT_BINARY_DIR}/semcache.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/semcache.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(semcache_install_package)
  # The target for the whole package has the name that TriBITS gives it.
  add_library(semcache_all_libs INTERFACE)
  add_library(SemCache::all_libs ALIAS semcache_all_libs)
  get_property(libraries GLOBAL PROPERTY SEMCACHE_LIBRARIES)
  target_link_libraries(semcache_all_libs INTERFACE ${libraries})

  set(directory ${CMAKE_INSTALL_LIBDIR}/cmake/SemCache)
  get_property(SemCache_COMPONENTS GLOBAL PROPERTY SEMCACHE_COMPONENTS)
  foreach(component ${SemCache_COMPONENTS})
    install(EXPORT SemCache_${component} NAMESPACE SemCache:: DESTINATION ${directory}
      FILE SemCacheTargets_${component}.cmake)
  endforeach()
  # A host that writes a SemCacheConfig.cmake of its own (TriBITS before 2022) gives this file another name.
  if(NOT SemCache_CONFIG_NAME)
    set(SemCache_CONFIG_NAME SemCacheConfig.cmake)
  endif()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SemCacheConfig.cmake.in
    ${PROJECT_BINARY_DIR}/${SemCache_CONFIG_NAME} INSTALL_DESTINATION ${directory})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/SemCacheConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES
    ${PROJECT_BINARY_DIR}/${SemCache_CONFIG_NAME}
    ${PROJECT_BINARY_DIR}/SemCacheConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/SemCacheUpstream.cmake
    DESTINATION ${directory})
  semcache_install_pkgconfig()
endfunction()
