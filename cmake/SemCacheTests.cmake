# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Tests are named SemCache_<name>, have the label SemCache and the given labels, and declare how many processors they use. These
# are the rules of TriBITS, so a host project's ctest summarises them like its own tests.
#
# Labels with a meaning are mpi, gpu (the test needs a GPU), stress, consume and misuse. The others name the room or package.

find_package(GTest REQUIRED)

# Containers forbid the system call with which Open MPI copies between processes, and several tests share the processors.
set(SemCache_TEST_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  OMPI_MCA_btl_vader_single_copy_mechanism=none
  OMP_NUM_THREADS=2 OMP_PROC_BIND=false
  ${SemCache_TEST_SANITIZER_ENVIRONMENT})

# semcache_compile_tests_with(<option>): compiles what the calling folder adds from now on with this option instead of all
# optimisations, which a debug build has not either.
function(semcache_compile_tests_with option)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    add_compile_options(${option})
  endif()
endfunction()

# semcache_add_program_test(<name> COMMAND <program or target> <arguments>... [LABELS ...] [MPI_RANKS <n>]
#                           [ENVIRONMENT NAME=value ...] [TIMEOUT <seconds>] [PROPERTIES <name> <value> ...])
#   Adds a test that runs a program. It passes if the program exits with 0, unless PROPERTIES define another condition
#   (WILL_FAIL, PASS_REGULAR_EXPRESSION ...). With MPI_RANKS the program runs under mpiexec with n ranks and the label mpi is
#   added; where MPI is off, the test is not registered. The label gpu is added to programs of a Kokkos with CUDA.
function(semcache_add_program_test name)
  # PARSE_ARGV keeps semicolons within an argument, for example in a regular expression.
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MPI_RANKS;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;PROPERTIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "semcache test ${name}: what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  set(launch "")
  set(processors 1)
  if(arg_MPI_RANKS)
    if(NOT SemCache_WITH_MPI)
      return()
    endif()
    set(launch ${MPIEXEC_EXECUTABLE} ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG} ${arg_MPI_RANKS})
    set(processors ${arg_MPI_RANKS})
    list(APPEND arg_LABELS mpi)
    # Open MPI leaks memory in plugins that are unloaded again when the leaks are listed. These leaks cannot be distinguished
    # from SemCache's.
    list(APPEND arg_ENVIRONMENT LSAN_OPTIONS=detect_leaks=0)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "fsanitize")  # sanitizers slow programs down, some of them by a factor of fifty
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    get_target_property(libraries ${program} LINK_LIBRARIES)
    if(SemCache_KOKKOS_HAS_CUDA AND "SemCache::kokkos" IN_LIST libraries)
      list(APPEND arg_LABELS gpu)
    endif()
    set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}>)
    if(CMAKE_CROSSCOMPILING_EMULATOR)
      list(APPEND arg_ENVIRONMENT SEMCACHE_TEST_EMULATOR=1)
    endif()
  endif()
  add_test(NAME SemCache_${name} COMMAND ${launch} ${program} ${arg_COMMAND})
  list(REMOVE_DUPLICATES arg_LABELS)
  set_tests_properties(SemCache_${name} PROPERTIES
    LABELS "SemCache;${arg_LABELS}"
    PROCESSORS ${processors}
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${SemCache_TEST_ENVIRONMENT};${arg_ENVIRONMENT}"
    ${arg_PROPERTIES})
endfunction()

# semcache_add_skipped_test(<name> <reason> [LABELS ...])
#   Adds a test that this build cannot run. ctest lists it as skipped, and its output is the reason, in GoogleTest's form.
function(semcache_add_skipped_test name reason)
  semcache_add_program_test(${name}
    COMMAND sh -c "echo \"$1: Skipped\"\; echo \"$2\"\; exit 77" sh SemCache_${name} ${reason}
    ${ARGN}
    PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# semcache_add_test(<name> SOURCES <files>... [LIBS <targets>...] [LABELS ...] [MPI_RANKS <n>] [ARGS ...]
#                   [ENVIRONMENT NAME=value ...] [TIMEOUT <seconds>] [PROPERTIES ...])
#   Adds a GoogleTest program, target test_<name>, and its test. A source with its own main() replaces GoogleTest's.
#   Tests of a room's internals link SemCache::internals, and tests of the public interface link SemCache::core.
function(semcache_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MPI_RANKS;TIMEOUT" "SOURCES;LIBS;ARGS;LABELS;ENVIRONMENT;PROPERTIES")
  if(arg_MPI_RANKS AND NOT SemCache_WITH_MPI)
    return()
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  semcache_set_defaults(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/unit_tests)
  target_link_libraries(${target} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main)
  if(arg_MPI_RANKS)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
  endif()
  set(values "")
  foreach(keyword MPI_RANKS TIMEOUT)  # CMake 4 warns about keywords without a value
    if(arg_${keyword})
      list(APPEND values ${keyword} ${arg_${keyword}})
    endif()
  endforeach()
  semcache_add_program_test(${name}
    COMMAND ${target} ${arg_ARGS}
    LABELS ${arg_LABELS}
    ${values}
    ENVIRONMENT ${arg_ENVIRONMENT}
    PROPERTIES ${arg_PROPERTIES}
    ${arg_UNPARSED_ARGUMENTS})
endfunction()
