# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Writes the entries of libsemcache_blas_preload.so: all functions that libsemcache_blas.so has, and those that it watches.
# cmake -DNM=<nm> -DLIBRARY=<libsemcache_blas.so> -DOUTPUT=<header> -P preload_entries.cmake
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} cannot list the names of ${LIBRARY}: build it anew")
endif()
string(REGEX MATCHALL "[A-Za-z0-9_]+ T " symbols "${symbols}")
set(of_c)
set(of_blas)
foreach(symbol IN LISTS symbols)
  string(REPLACE " T " "" name ${symbol})
  if(name MATCHES "^(scipy_|cblas_)|_$")
    list(APPEND of_blas ${name})
  elseif(NOT name MATCHES "^semcache_")
    list(APPEND of_c ${name})
  endif()
endforeach()
# First those that end memory, so that nothing can be given out by the library and end elsewhere.
set(ends free realloc malloc_usable_size munmap mremap)
list(REMOVE_ITEM of_c ${ends})
list(PREPEND of_c ${ends})
set(waking dlopen pthread_create thrd_create)
set(named)
set(number 0)
set(entries)
foreach(name IN LISTS of_c waking of_blas)
  string(APPEND entries " \\\n  \"entry ${name} ${number}\\n\"")
  if(name MATCHES "^(dlopen|free|pthread_sigmask|sigprocmask|__register_atfork)$")
    string(REGEX REPLACE "^__" "" plain ${name})
    string(APPEND named "constexpr unsigned entry_of_${plain} = ${number};\n")
  endif()
  math(EXPR number "${number} + 1")
endforeach()
list(LENGTH of_c first_waking)
list(LENGTH waking first_of_blas)
math(EXPR first_of_blas "${first_waking} + ${first_of_blas}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
// Written by preload_entries.cmake
#pragma once
namespace semcache::blas {
constexpr unsigned of_c = @first_waking@;     ///< entries of the C library's functions; behind them those that this library watches
constexpr unsigned of_blas = @first_of_blas@;  ///< the first one of BLAS
constexpr unsigned entries = @number@;
@named@}  // namespace semcache::blas
#define SEMCACHE_BLAS_ENTRIES@entries@
]])
