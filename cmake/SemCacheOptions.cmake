# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Defines the options that the user may choose (SemCache_ENABLE_*) and their results (SemCache_WITH_*: ON or OFF, never AUTO).

include(GNUInstallDirs)
include(SemCacheUpstream)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# Makes an option of three values. A value that an enclosing project has set is not written to the cache, because TriBITS takes
# an AUTO in the cache for its own value.
function(semcache_auto_option name text)
  if(DEFINED SemCache_ENABLE_${name} AND NOT DEFINED CACHE{SemCache_ENABLE_${name}})
    return()
  endif()
  set(SemCache_ENABLE_${name} AUTO CACHE STRING "${text} (AUTO, ON or OFF)")
  set_property(CACHE SemCache_ENABLE_${name} PROPERTY STRINGS AUTO ON OFF)
endfunction()

semcache_auto_option(KOKKOS "Build packages/kokkos; AUTO: if Kokkos is found")
semcache_auto_option(KERNELS "Build packages/kernels; AUTO: if Kokkos-Kernels is found beside Kokkos, or is named")
semcache_auto_option(LINALG "Build packages/linalg; AUTO: if a BLAS is found")
semcache_auto_option(MPI "Build what runs under MPI; AUTO: if MPI is found")
semcache_auto_option(CUDA "Build the CUDA device; AUTO: if the Kokkos in use has CUDA")
# Compiling Tpetra's classes takes minutes, so this part is built only on request.
option(SemCache_ENABLE_TPETRA "Build packages/tpetra: Tpetra's classes for our node" OFF)
option(SemCache_ENABLE_DEFAULT_DEVICE
  "semcache::Device is the default of all that links SemCache::kokkos, our node of all that links SemCache::tpetra" OFF)
option(SemCache_ENABLE_TESTS "Build and register unit_tests/" ${PROJECT_IS_TOP_LEVEL})
set(SemCache_TEST_FOLDERS "" CACHE STRING "The folders of unit_tests/ to build and register, with semicolons between them; empty: all")
option(SemCache_ENABLE_MINIAPPS "Build miniapps/" ${PROJECT_IS_TOP_LEVEL})
option(SemCache_ENABLE_DOCS "A target `docs` that builds the documentation, and its installation as the component `doc`" OFF)

# Imported targets must be visible to projects that link SemCache's targets, also from the directory above (add_subdirectory).
# CMake has this variable since 3.24; with 3.23 the directory above must call find_package itself.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
# Kokkos forces this anyway, with a warning, when it is found. It is set here first, so that all targets agree.
set(CMAKE_CXX_EXTENSIONS OFF)

set(SemCache_WITH_KOKKOS OFF)
if(SemCache_ENABLE_KOKKOS STREQUAL "AUTO")
  semcache_find_kokkos()
elseif(SemCache_ENABLE_KOKKOS)
  semcache_find_kokkos(REQUIRED)
endif()
if(TARGET SemCacheUpstream::kokkos)
  set(SemCache_WITH_KOKKOS ON)
  get_target_property(SemCache_KOKKOS_HAS_CUDA SemCacheUpstream::kokkos SEMCACHE_HAS_CUDA)
  get_target_property(SemCache_KOKKOS_DIR SemCacheUpstream::kokkos SEMCACHE_PACKAGE_DIR)
endif()

set(SemCache_WITH_CUDA OFF)
if(SemCache_ENABLE_CUDA STREQUAL "AUTO")
  if(SemCache_KOKKOS_HAS_CUDA)
    set(SemCache_WITH_CUDA ON)
  endif()
elseif(SemCache_ENABLE_CUDA)
  set(SemCache_WITH_CUDA ON)
elseif(SemCache_KOKKOS_HAS_CUDA)
  message(FATAL_ERROR "SemCache_ENABLE_CUDA=OFF, but the Kokkos in use computes on CUDA: "
    "its views could not be kept on the GPU. Use a Kokkos without CUDA, or SemCache_ENABLE_KOKKOS=OFF.")
endif()
if(SemCache_WITH_CUDA)
  find_package(CUDAToolkit REQUIRED)
endif()

set(SemCache_WITH_KERNELS OFF)
if(SemCache_ENABLE_KERNELS AND SemCache_WITH_KOKKOS)
  # Kokkos-Kernels must have been built with this Kokkos, so another place is taken only if the user names it.
  set(directory "${SemCache_KOKKOS_DIR}/../KokkosKernels")
  if(NOT KokkosKernels_ROOT AND NOT DEFINED ENV{KokkosKernels_ROOT} AND NOT KokkosKernels_DIR AND EXISTS "${directory}")
    set(KokkosKernels_DIR "${directory}")
  endif()
  if(NOT SemCache_ENABLE_KERNELS STREQUAL "AUTO")
    semcache_find_trilinos(KokkosKernels)
  elseif(KokkosKernels_DIR OR KokkosKernels_ROOT OR DEFINED ENV{KokkosKernels_ROOT})
    semcache_find_trilinos(QUIET KokkosKernels)
  endif()
  if(TARGET SemCacheUpstream::KokkosKernels)
    set(SemCache_WITH_KERNELS ON)
    get_target_property(SemCache_KERNELS_DIR SemCacheUpstream::KokkosKernels SEMCACHE_PACKAGE_DIR)
  endif()
endif()

set(SemCache_WITH_LINALG OFF)
if(SemCache_ENABLE_LINALG)
  if(SemCache_ENABLE_LINALG STREQUAL "AUTO")
    find_package(BLAS QUIET)
  else()
    find_package(BLAS REQUIRED)
  endif()
  if(BLAS_FOUND)
    set(SemCache_WITH_LINALG ON)
  endif()
endif()

set(SemCache_WITH_MPI OFF)
if(SemCache_ENABLE_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  if(SemCache_ENABLE_MPI STREQUAL "AUTO")
    find_package(MPI COMPONENTS CXX QUIET)
  else()
    find_package(MPI REQUIRED COMPONENTS CXX)
  endif()
  if(MPI_CXX_FOUND)
    set(SemCache_WITH_MPI ON)
  endif()
endif()

set(SemCache_WITH_TPETRA OFF)
set(SemCache_WITH_BELOS OFF)
if(SemCache_ENABLE_TPETRA)
  if(NOT SemCache_WITH_KOKKOS OR NOT SemCache_WITH_MPI)
    message(FATAL_ERROR "SemCache_ENABLE_TPETRA needs SemCache_ENABLE_KOKKOS and SemCache_ENABLE_MPI")
  endif()
  semcache_find_trilinos(Tpetra)
  set(SemCache_WITH_TPETRA ON)
  get_target_property(SemCache_TPETRA_DIR SemCacheUpstream::Tpetra SEMCACHE_PACKAGE_DIR)
  semcache_find_trilinos(QUIET Belos)
  if(TARGET SemCacheUpstream::Belos)
    set(SemCache_WITH_BELOS ON)
  endif()
endif()

message(STATUS "SemCache ${PROJECT_VERSION}: Kokkos ${SemCache_WITH_KOKKOS}"
  ", Kokkos-Kernels ${SemCache_WITH_KERNELS}, CUDA ${SemCache_WITH_CUDA}, linalg ${SemCache_WITH_LINALG}, MPI ${SemCache_WITH_MPI}, Tpetra ${SemCache_WITH_TPETRA}, Belos ${SemCache_WITH_BELOS}")
