# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# semcache_find_kokkos([QUIET] [REQUIRED])
#   Defines the imported target SemCacheUpstream::kokkos from any kind of Kokkos. Its properties are SEMCACHE_HAS_CUDA,
#   SEMCACHE_VERSION, and SEMCACHE_PACKAGE_DIR, the directory of Kokkos' KokkosConfig.cmake. This file is installed, too, because
#   SemCacheConfig.cmake calls the function in the consumer.
#
#   There are three kinds of Kokkos, which are tried in this order:
#   1  Kokkos::all_libs                         Kokkos 4 and later, Trilinos 14 and later
#   2  Kokkos_LIBRARIES, Kokkos_INCLUDE_DIRS    Trilinos 13 and Debian's packages of it; these define Kokkos::kokkos
#                                               with an include directory that does not exist, so 2 precedes 3
#   3  Kokkos::kokkos                           Kokkos 3 on its own, or in the same build
function(semcache_find_kokkos)
  if(TARGET SemCacheUpstream::kokkos)
    return()
  endif()
  cmake_parse_arguments(arg "QUIET;REQUIRED" "" "" ${ARGN})
  if(NOT TARGET Kokkos::all_libs AND NOT Kokkos_LIBRARIES AND NOT TARGET Kokkos::kokkos)
    find_package(Kokkos CONFIG QUIET)
    if(NOT Kokkos_FOUND)
      if(arg_REQUIRED)
        message(FATAL_ERROR "Kokkos is not found. Name its installation by Kokkos_ROOT (environment or "
          "-DKokkos_ROOT=...), or install your distribution's (Debian: libtrilinos-kokkos-dev).")
      elseif(NOT arg_QUIET)
        message(STATUS "Kokkos is not found")
      endif()
      return()
    endif()
  endif()

  set(directories "")
  if(TARGET Kokkos::all_libs)
    set(libraries Kokkos::all_libs)
  elseif(Kokkos_LIBRARIES)
    # libdl, which Trilinos 13 names by the path of libdl.a, is part of the C library.
    set(libraries ${Kokkos_LIBRARIES} ${CMAKE_DL_LIBS})
    set(directories ${Kokkos_INCLUDE_DIRS})
    list(REMOVE_ITEM directories /usr/include)
  else()
    set(libraries Kokkos::kokkos)
  endif()

  set(has_cuda OFF)
  if("CUDA" IN_LIST Kokkos_DEVICES OR Kokkos_ENABLE_CUDA)
    set(has_cuda ON)
  endif()
  if(Kokkos_VERSION AND Kokkos_VERSION VERSION_LESS 3.4)
    message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} is too old: SemCache needs 3.4 or later (${Kokkos_DIR})")
  endif()

  add_library(SemCacheUpstream::kokkos INTERFACE IMPORTED GLOBAL)
  target_link_libraries(SemCacheUpstream::kokkos INTERFACE ${libraries})
  target_include_directories(SemCacheUpstream::kokkos SYSTEM INTERFACE ${directories})
  set_target_properties(SemCacheUpstream::kokkos PROPERTIES
    SEMCACHE_HAS_CUDA ${has_cuda} SEMCACHE_VERSION "${Kokkos_VERSION}" SEMCACHE_PACKAGE_DIR "${Kokkos_DIR}")
  if(NOT arg_QUIET AND Kokkos_DIR)
    message(STATUS "SemCache uses Kokkos ${Kokkos_VERSION} (${Kokkos_DEVICES}) of ${Kokkos_DIR}")
  endif()
endfunction()

# semcache_find_trilinos([QUIET] <package>)
#   Defines the imported target SemCacheUpstream::<package> (KokkosKernels, Tpetra, Belos) from an installed Trilinos, from the
#   Trilinos that SemCache is being built in, or from an installation of Kokkos-Kernels alone. It uses <package>::all_libs
#   (Trilinos 14 and later), otherwise <package>_LIBRARIES and <package>_INCLUDE_DIRS. Its property SEMCACHE_PACKAGE_DIR is the
#   directory of the package's configuration file.
function(semcache_find_trilinos)
  cmake_parse_arguments(arg "QUIET" "" "" ${ARGN})
  set(package ${arg_UNPARSED_ARGUMENTS})
  if(TARGET SemCacheUpstream::${package})
    return()
  endif()
  if(NOT TARGET ${package}::all_libs AND NOT ${package}_LIBRARIES)
    find_package(${package} CONFIG QUIET)
    if(NOT ${package}_FOUND)
      if(NOT arg_QUIET)
        message(FATAL_ERROR "${package} is not found. Name its installation by ${package}_ROOT (environment or "
          "-D${package}_ROOT=...), or install your distribution's (Debian: see docs/how-to/trilinos.md).")
      endif()
      return()
    endif()
  endif()
  # Debian's packages name libraries of packages that they do not depend on, so these libraries may be missing.
  set(missing ${${package}_TPL_LIBRARIES})
  list(FILTER missing INCLUDE REGEX "^/")
  list(FILTER missing EXCLUDE REGEX "/libdl\\.a$")
  foreach(library IN LISTS missing)
    if(EXISTS "${library}")
      list(REMOVE_ITEM missing "${library}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing " and " missing)
    set(reason "${package} of ${${package}_DIR} is linked with what is not there: ${missing}")
    if(NOT arg_QUIET)
      message(FATAL_ERROR "${reason}. Install the packages that hold it (Debian: apt-file names them).")
    endif()
    message(STATUS "SemCache is built without ${package}: ${reason}")
    return()
  endif()
  add_library(SemCacheUpstream::${package} INTERFACE IMPORTED GLOBAL)
  if(TARGET ${package}::all_libs)
    target_link_libraries(SemCacheUpstream::${package} INTERFACE ${package}::all_libs)
  else()
    set(libraries ${${package}_LIBRARIES} ${${package}_TPL_LIBRARIES})
    list(FILTER libraries EXCLUDE REGEX "/libdl\\.a$")
    target_link_libraries(SemCacheUpstream::${package} INTERFACE ${libraries} ${CMAKE_DL_LIBS})
    set(directories ${${package}_INCLUDE_DIRS} ${${package}_TPL_INCLUDE_DIRS})
    list(REMOVE_ITEM directories /usr/include)
    target_include_directories(SemCacheUpstream::${package} SYSTEM INTERFACE ${directories})
  endif()
  set_target_properties(SemCacheUpstream::${package} PROPERTIES SEMCACHE_PACKAGE_DIR "${${package}_DIR}")
endfunction()
