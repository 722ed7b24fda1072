# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# cmake -D SOURCE=<clone> -D SCRATCH=<folder> -D CMAKE_CXX_COMPILER=<compiler> -P check_presets.cmake
# CMake accepts CMakePresets.json, and two of its presets are configured as they say.
cmake_minimum_required(VERSION 3.23)

function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} ${ARGN} WORKING_DIRECTORY ${SOURCE}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " text)
    message(FATAL_ERROR "${output}\nfailed (${result}): cmake ${text}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(--list-presets=all)
foreach(preset release cuda asan tsan)
  string(REGEX MATCHALL "\"${preset}\"" mentions "${output}")
  list(LENGTH mentions count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "the preset ${preset} is not one for configuring, building and testing:\n${output}")
  endif()
endforeach()

# The core alone, without tests: what is looked at is what the preset's settings become.
function(check_preset preset pattern)
  file(REMOVE_RECURSE ${SCRATCH}/${preset})
  run(--preset ${preset} -B ${SCRATCH}/${preset} -D CMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -D SemCache_ENABLE_KOKKOS=OFF -D SemCache_ENABLE_MPI=OFF -D SemCache_ENABLE_LINALG=OFF
    -D SemCache_ENABLE_TESTS=OFF -D SemCache_ENABLE_MINIAPPS=OFF)
  file(STRINGS ${SCRATCH}/${preset}/CMakeCache.txt found REGEX "${pattern}")
  if(NOT found)
    message(FATAL_ERROR "the preset ${preset} has not set ${pattern}")
  endif()
  message(STATUS "${preset}: ${found}")
endfunction()
check_preset(release "^CMAKE_BUILD_TYPE:STRING=Release$")
check_preset(asan "^CMAKE_CXX_FLAGS:STRING=.*-fsanitize=address")
