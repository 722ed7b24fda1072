# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# cmake -P configure_twice.cmake <build folder> <arguments of cmake>...
# From nothing, then with what CMake remembers: the same must come of it.
cmake_minimum_required(VERSION 3.23)
set(arguments "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE 4 ${last})
  list(APPEND arguments ${CMAKE_ARGV${i}})
endforeach()
file(REMOVE_RECURSE ${CMAKE_ARGV3})
foreach(time first second)
  execute_process(COMMAND ${CMAKE_COMMAND} -B ${CMAKE_ARGV3} ${arguments} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the ${time} configuration failed")
  endif()
endforeach()
