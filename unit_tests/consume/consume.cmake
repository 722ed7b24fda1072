# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# One route to SemCache: installs it (ROUTE static or shared) or adds its source (ROUTE subdirectory), then builds and
# runs consumers. Variables: see CMakeLists.txt.
cmake_minimum_required(VERSION 3.23)
include(${CMAKE_CURRENT_LIST_DIR}/../runtime/check_thread_storage.cmake)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " text)
    message(FATAL_ERROR "${output}\nfailed (${result}): ${text}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(common -G ${CMAKE_GENERATOR})
foreach(name BUILD_TYPE CXX_COMPILER CXX_COMPILER_LAUNCHER CXX_FLAGS)
  list(APPEND common "-DCMAKE_${name}=${CMAKE_${name}}")
endforeach()

# build_consumer(<folder> [SOURCE <directory>] <arguments of cmake>...): configures, builds and runs a project, by default the one beside
# this file.
function(build_consumer folder)
  cmake_parse_arguments(arg "" "SOURCE" "" ${ARGN})
  if(NOT arg_SOURCE)
    set(arg_SOURCE ${CMAKE_CURRENT_LIST_DIR}/project)
  endif()
  run(${CMAKE_COMMAND} -S ${arg_SOURCE} -B ${SCRATCH}/${folder} ${common} ${arg_UNPARSED_ARGUMENTS})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/${folder})
  run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/${folder} --output-on-failure --no-tests=error)
  message(STATUS "${folder}: built and run")
endfunction()

# What a shared library must be: loadable into a running program, known by its SONAME, and silent about everything that is not SemCache's, or is named in
# ARGN (a regular expression).
function(check_shared_library library soname)
  file(REAL_PATH ${library} file)
  check_thread_storage(${file})
  run(${CMAKE_OBJDUMP} -p ${file})
  if(NOT output MATCHES "SONAME +${soname}\n")
    message(FATAL_ERROR "${library}: SONAME is not ${soname}\n${output}")
  endif()
  run(${CMAKE_NM} -D -C --defined-only ${file})
  string(REGEX REPLACE "\n$" "" output "${output}")
  string(REPLACE ";" "," output "${output}")
  string(REPLACE "\n" ";" symbols "${output}")
  set(ours 0)
  foreach(symbol IN LISTS symbols)
    if(symbol MATCHES "semcache(::|_)" OR symbol MATCHES " SEMCACHE_" OR (ARGN AND symbol MATCHES "${ARGN}"))
      math(EXPR ours "${ours} + 1")
    # Weak symbols of templates of the standard library and of Kokkos: every library that uses them has them.
    # A static Kokkos is part of the shared library and must stay visible: the loader then takes one of all its copies.
    elseif(NOT symbol MATCHES " [uVvW] " AND NOT symbol MATCHES "[Kk]okkos|desul")
      message(FATAL_ERROR "${library} exports what is not its own: ${symbol}")
    endif()
  endforeach()
  if(ours EQUAL 0)
    message(FATAL_ERROR "${library} exports nothing")
  endif()
  message(STATUS "${library}: ${ours} symbols, all its own")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(components core)
if(KOKKOS)
  string(APPEND components ",kokkos")
  # Also where the user has set Kokkos_ROOT to something else: the same as in the build under test.
  set(kokkos -DKokkos_DIR=${KOKKOS_DIR})
endif()
if(MPI)
  string(APPEND components ",mpi")
endif()
# The program of its documentation.
if(LINALG)
  string(APPEND components ",linalg")
  file(READ ${SOURCE}/docs/how-to/linear-algebra.md text)
  if(NOT text MATCHES "\n```cpp\n([^`]+)```")
    message(FATAL_ERROR "docs/how-to/linear-algebra.md: no program found")
  endif()
  file(WRITE ${SCRATCH}/sum.cpp "${CMAKE_MATCH_1}")
  set(linalg -DLINALG_EXAMPLE=${SCRATCH}/sum.cpp)
endif()
# Where this linkage's headers are: Kokkos-Kernels is found as it was for the build under test.
if(KERNELS AND ROUTE STREQUAL THIS_LINKAGE)
  string(APPEND components ",kernels")
endif()
# The complete program of the documentation.
if(KOKKOS)
  file(READ ${SOURCE}/docs/how-to/switch-over.md text)
  if(NOT text MATCHES "\n```cpp\n([^`]+)```")
    message(FATAL_ERROR "docs/how-to/switch-over.md: no program found")
  endif()
  file(WRITE ${SCRATCH}/axpy.cpp "${CMAKE_MATCH_1}")
  set(example -DEXAMPLE=${SCRATCH}/axpy.cpp)
endif()
# Tpetra's classes are not compiled again for this: the route of the build under test.
if(TPETRA AND ROUTE STREQUAL THIS_LINKAGE)
  string(APPEND components ",tpetra")
endif()

if(ROUTE STREQUAL "subdirectory")
  build_consumer(subdirectory -DSEMCACHE_SOURCE=${SOURCE} -DCOMPONENTS=${components} ${kokkos}
    -DSemCache_ENABLE_DEFAULT_DEVICE=ON -DDEFAULT_DEVICE=ON ${example} ${linalg}
    -DSemCache_ENABLE_KOKKOS=${KOKKOS} -DSemCache_ENABLE_CUDA=${CUDA} -DSemCache_ENABLE_MPI=${MPI} -DSemCache_ENABLE_LINALG=${LINALG})
  return()
endif()

set(shared OFF)
if(ROUTE STREQUAL "shared")
  set(shared ON)
endif()
if(NOT ROUTE STREQUAL THIS_LINKAGE)
  set(BUILD_OTHER ${SCRATCH}/semcache)
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD_OTHER} ${common} ${kokkos} -DBUILD_SHARED_LIBS=${shared}
    -DSemCache_ENABLE_TESTS=OFF -DSemCache_ENABLE_MINIAPPS=OFF -DSemCache_ENABLE_MPI=${MPI} -DSemCache_ENABLE_LINALG=${LINALG}
    -DSemCache_ENABLE_KOKKOS=${KOKKOS} -DSemCache_ENABLE_CUDA=${CUDA})
  run(${CMAKE_COMMAND} --build ${BUILD_OTHER})
  set(BUILD ${BUILD_OTHER})
  set(DEFAULT_DEVICE OFF)
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
# An installed tree can be moved.
file(RENAME ${SCRATCH}/first ${SCRATCH}/prefix)

build_consumer(core -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCOMPONENTS=core
  -DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
# What there is not is refused with what there is.
function(expect_refusal what)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${SCRATCH}/refused_${what} ${common}
      -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCOMPONENTS=core,${what}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake breaks lines
  if(result EQUAL 0)
    message(FATAL_ERROR "the component ${what} was found")
  endif()
  foreach(part "Components of this SemCache: core" ${ARGN})
    if(NOT output MATCHES "${part}")
      message(FATAL_ERROR "the component ${what} was refused without '${part}':\n${output}")
    endif()
  endforeach()
  message(STATUS "the component ${what}: refused with a reason")
endfunction()
expect_refusal(cuda "cuda is no component of SemCache" "here: (ON|OFF|TRUE|FALSE)")
expect_refusal(Kokkos "SemCache has no component Kokkos")
if(NOT KOKKOS)
  expect_refusal(kokkos "-DSemCache_ENABLE_KOKKOS=ON")
endif()
if(NOT TPETRA)
  expect_refusal(tpetra "-DSemCache_ENABLE_TPETRA=ON")
endif()

# The tutorial, as a reader follows it: its files, and what its commands print. The bytes are those of the emulated device.
if(KOKKOS AND NOT CUDA AND ROUTE STREQUAL THIS_LINKAGE)
  find_program(python3 python3 REQUIRED)
  set(page ${SOURCE}/docs/tutorial/heat.md)
  set(tutorial ${SCRATCH}/tutorial)
  run(${python3} ${CMAKE_CURRENT_LIST_DIR}/page.py extract ${page} ${tutorial})
  run(${CMAKE_COMMAND} -S ${tutorial} -B ${tutorial}/build ${common} ${kokkos} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
  run(${CMAKE_COMMAND} --build ${tutorial}/build)
  run(${python3} ${CMAKE_CURRENT_LIST_DIR}/page.py check ${page} ${tutorial})
  message(STATUS "the tutorial: built, and prints what it says")
endif()

if(KOKKOS OR MPI OR LINALG)
  build_consumer(components -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCOMPONENTS=${components}
    -DDEFAULT_DEVICE=${DEFAULT_DEVICE} ${example} ${linalg})
endif()

# The examples that this installation has the components for. They take a while to compile, so only one linkage has them.
if(KOKKOS AND ROUTE STREQUAL THIS_LINKAGE)
  build_consumer(examples SOURCE ${SOURCE}/examples -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix ${kokkos})
endif()

# The C interface by pkg-config, with a C compiler and no CMake.
file(GLOB_RECURSE pkgconfig ${SCRATCH}/prefix/*/semcache.pc)
cmake_path(GET pkgconfig PARENT_PATH directory)
cmake_path(GET directory PARENT_PATH library_directory)
set(ENV{PKG_CONFIG_PATH} ${directory})
run(pkg-config --cflags --libs semcache)
separate_arguments(flags UNIX_COMMAND "${output}")
separate_arguments(compiler_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
run(${CMAKE_C_COMPILER} -std=c11 -Wall -Wextra -Werror ${compiler_flags}
  ${CMAKE_CURRENT_LIST_DIR}/c_user.c -o ${SCRATCH}/c_user ${flags} -Wl,-rpath,${library_directory})
run(${SCRATCH}/c_user)
message(STATUS "pkg-config: built and run")
# The page about adopted memory, as a reader follows it: without the flags that a sanitizer needs.
if(NOT CUDA AND NOT CMAKE_CXX_FLAGS MATCHES "sanitize")
  find_program(python3 python3 REQUIRED)
  set(page ${SOURCE}/docs/how-to/adopt-memory.md)
  set(ENV{LD_LIBRARY_PATH} ${library_directory})
  run(${python3} ${CMAKE_CURRENT_LIST_DIR}/page.py extract ${page} ${SCRATCH}/adopted)
  run(${python3} ${CMAKE_CURRENT_LIST_DIR}/page.py check ${page} ${SCRATCH}/adopted)
  unset(ENV{LD_LIBRARY_PATH})
  message(STATUS "the page about adopted memory: built, and prints what it says")
endif()

if(shared)
  check_shared_library(${library_directory}/libsemcache.so "libsemcache\\.so\\.0\\.1")
  if(KOKKOS)
    check_shared_library(${library_directory}/libsemcache_kokkos.so "libsemcache_kokkos\\.so\\.0\\.1")
  endif()
  if(MPI)
    check_shared_library(${library_directory}/libsemcache_mpi.so "libsemcache_mpi\\.so\\.0\\.1" " T (MPIX?|mpi)_")
  endif()
  if(LINALG)
    check_shared_library(${library_directory}/libsemcache_linalg.so "libsemcache_linalg\\.so\\.0\\.1")
  endif()
  if(components MATCHES "tpetra")
    check_shared_library(${library_directory}/libsemcache_tpetra.so "libsemcache_tpetra\\.so\\.0\\.1")
  endif()
endif()
