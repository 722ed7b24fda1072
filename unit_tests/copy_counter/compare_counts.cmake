# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# The driver's own count of copies must equal miniFE's report, less what Kokkos copies for itself: the same count for the
# variant that copies nothing, because it keeps everything in managed memory. In the variant semcache the report is the
# runtime's; the variants with hand-placed copies, which it is compared with elsewhere, keep a tally of their own.
#
#   cmake -D COUNTER=<library> -D MINIFE=<program> -D RANKS=<n> -D MPIEXEC=<command with options> -D SCRATCH=<folder>
#         -P compare_counts.cmake
cmake_minimum_required(VERSION 3.23)
set(keys h2d_bytes h2d_count d2h_bytes d2h_count d2d_bytes d2d_count other_bytes other_count)

# counted_run(<name> <processes> <launcher> <command>...): sets <name>_<key> to the sums over its processes.
function(counted_run name processes launcher)
  execute_process(
    COMMAND ${launcher} ${CMAKE_COMMAND} -E env
      CUDA_INJECTION64_PATH=${COUNTER} COPY_COUNTER_FILE=${SCRATCH}/${name}.%p.json ${ARGN}
    COMMAND_ECHO STDOUT
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name} ended with ${result}")
  endif()
  file(GLOB files ${SCRATCH}/${name}.*.json)
  list(LENGTH files found)
  if(NOT found EQUAL processes)
    message(FATAL_ERROR "the driver loaded the counter in ${found} of ${processes} processes of ${name}")
  endif()
  foreach(key ${keys})
    set(sum 0)
    foreach(file ${files})
      file(READ ${file} text)
      string(JSON value GET "${text}" ${key})
      math(EXPR sum "${sum} + ${value}")
    endforeach()
    set(${name}_${key} ${sum} PARENT_SCOPE)
  endforeach()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
separate_arguments(launcher NATIVE_COMMAND "${MPIEXEC}")
counted_run(unified ${RANKS} "${launcher}" ${MINIFE} nx=20 ny=17 nz=23 --variant unified)
set(wrong "")
foreach(variant semcache manual naive)
  set(exchange "")
  if(variant STREQUAL "manual")  # an MPI library that takes device addresses copies by itself, which nobody reports
    set(exchange --exchange host)
  endif()
  set(file ${SCRATCH}/report_${variant}.json)
  counted_run(${variant} ${RANKS} "${launcher}"
    ${MINIFE} nx=20 ny=17 nz=23 --variant ${variant} ${exchange} --verify --report ${file})
  file(READ ${file} report)
  foreach(key ${keys})
    set(expected 0)
    if(NOT key MATCHES "^other")
      string(JSON expected GET "${report}" transfers ${key})
    endif()
    math(EXPR counted "${${variant}_${key}} - ${unified_${key}}")
    message(STATUS "${variant} ${key}: the driver ${${variant}_${key}}, of it Kokkos' own ${unified_${key}}; "
      "the report ${expected}")
    if(NOT counted EQUAL expected)
      list(APPEND wrong "${variant} ${key}")
    endif()
  endforeach()
endforeach()
if(wrong)
  list(JOIN wrong ", " wrong)
  message(FATAL_ERROR "the driver and the report disagree: ${wrong}")
endif()
