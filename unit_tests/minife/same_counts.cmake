# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Two reports of minife, ONE and TWO (of a run with one device and with two for each rank), hold the same counts and numbers, because
# the program uses one device alone: number DEVICE of each process in TWO.
cmake_minimum_required(VERSION 3.23)
file(READ ${ONE} one)
file(READ ${TWO} two)
foreach(key ranks rows transfers cg_transfers between_devices peer_launches host_faults evictions avoided saved unknown_launches iterations residual_history)
  string(JSON wanted GET "${one}" ${key})
  string(JSON found GET "${two}" ${key})
  if(NOT found STREQUAL wanted)
    message(FATAL_ERROR "${key} with one device: ${wanted}\nwith two: ${found}")
  endif()
endforeach()
string(JSON device GET "${two}" device of_process)
if(NOT device EQUAL DEVICE)
  message(FATAL_ERROR "the arrays were on device ${device}, not on device ${DEVICE}")
endif()
foreach(path IN ITEMS between_devices/bytes between_devices/count peer_launches)
  string(REPLACE "/" ";" path ${path})
  string(JSON count GET "${two}" ${path})
  if(NOT count EQUAL 0)
    message(FATAL_ERROR "${path}: ${count}")
  endif()
endforeach()
# The comparison is of something.
string(JSON bytes GET "${two}" transfers h2d_bytes)
if(bytes EQUAL 0)
  message(FATAL_ERROR "no byte has moved: this is not the run that was asked for")
endif()
