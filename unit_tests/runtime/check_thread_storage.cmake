# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# cmake -D CMAKE_OBJDUMP=... -D LIBRARIES=file:file -P check_thread_storage.cmake
# A library with static thread-local storage (initial-exec) takes all of its storage from a small reserve of the program's
# when it is loaded late: at most 16 bytes of it can be expected there. What is asked for when a thread needs it has no limit.
cmake_minimum_required(VERSION 3.23)

function(check_thread_storage library)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  if(NOT headers MATCHES "Dynamic Section")
    message(FATAL_ERROR "${library}: not a shared library\n${headers}")
  endif()
  set(bytes 0)
  if(headers MATCHES "TLS off[^\n]*\n[^\n]*memsz (0x[0-9a-f]+)")
    math(EXPR bytes "${CMAKE_MATCH_1}")
  endif()
  string(REGEX MATCH "\n +FLAGS +0x([0-9a-f]+)" flags "${headers}")
  set(static 0)
  if(flags)
    math(EXPR static "0x${CMAKE_MATCH_1} & 0x10")
  endif()
  message(STATUS "${library}: ${bytes} bytes of thread-local storage, static: ${static}")
  if(static AND bytes GREATER 16)
    message(FATAL_ERROR "${library}: ${bytes} bytes of static thread-local storage: it cannot be loaded into a running program")
  endif()
endfunction()

if(LIBRARIES)
  string(REPLACE ":" ";" libraries "${LIBRARIES}")
  foreach(library IN LISTS libraries)
    check_thread_storage(${library})
  endforeach()
endif()
