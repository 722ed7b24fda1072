# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Two reports of minife, ONE_HOST and TWO_HOSTS, hold the same numbers, to the last bit: Open MPI's sums are taken in an
# order that depends on the number of ranks, not on where they are.
cmake_minimum_required(VERSION 3.23)
file(READ ${ONE_HOST} one_host)
file(READ ${TWO_HOSTS} two_hosts)
foreach(key ranks rows nonzeros iterations final_residual_norm residual_history)
  string(JSON wanted GET "${one_host}" ${key})
  string(JSON found GET "${two_hosts}" ${key})
  if(NOT found STREQUAL wanted)
    message(FATAL_ERROR "${key} on one host: ${wanted}\non two hosts: ${found}")
  endif()
endforeach()
# The comparison is of something.
string(JSON ranks GET "${two_hosts}" ranks)
string(JSON rows GET "${two_hosts}" rows)
string(JSON norms LENGTH "${two_hosts}" residual_history)
if(NOT ranks EQUAL 4 OR NOT rows EQUAL 68921 OR norms LESS 10)
  message(FATAL_ERROR "${ranks} ranks, ${rows} rows, ${norms} residual norms: this is not the solve that was asked for")
endif()
