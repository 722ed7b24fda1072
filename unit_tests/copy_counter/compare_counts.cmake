# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# The driver's own count of copies must equal miniFE's report. Kokkos' own copies (headers of allocations, locks) do not
# depend on the size of the problem: what the driver counts beyond the report must be the same at two sizes. In the variant
# semcache, whose report is the runtime's, it must also be what the driver counts in the variant unified, where the program
# copies nothing.
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
set(small nx=12 ny=9 nz=11)
set(large nx=20 ny=17 nz=23)
counted_run(unified ${RANKS} "${launcher}" ${MINIFE} ${small} --variant unified)
set(wrong "")
foreach(variant semcache manual naive)
  set(exchange "")
  if(variant STREQUAL "manual")  # an MPI library that takes device addresses copies by itself, which nobody reports
    set(exchange --exchange host)
  endif()
  foreach(size small large)
    set(file ${SCRATCH}/report_${variant}_${size}.json)
    counted_run(${variant}_${size} ${RANKS} "${launcher}"
      ${MINIFE} ${${size}} --variant ${variant} ${exchange} --verify --report ${file})
    file(READ ${file} report_${size})
  endforeach()
  foreach(key ${keys})
    foreach(size small large)
      set(expected 0)
      if(NOT key MATCHES "^other")
        string(JSON expected GET "${report_${size}}" transfers ${key})
      endif()
      set(counted ${${variant}_${size}_${key}})
      math(EXPR beyond_${size} "${counted} - ${expected}")
      message(STATUS "${variant} ${size} ${key}: the driver ${counted}, the report ${expected}, "
        "Kokkos' own in unified ${unified_${key}}")
    endforeach()
    if(NOT beyond_small EQUAL beyond_large OR
       (variant STREQUAL "semcache" AND NOT beyond_small EQUAL unified_${key}))
      list(APPEND wrong "${variant} ${key}")
    endif()
  endforeach()
endforeach()
if(wrong)
  list(JOIN wrong ", " wrong)
  message(FATAL_ERROR "the driver and the report disagree: ${wrong}")
endif()
