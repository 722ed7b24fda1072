# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# The reports of SemCache from a run of minife --solver kernels, ${REPORTS}0.json and so on, say that of RANKS ranks on a node rank r has used DEVICES
# devices: r, r + RANKS, and so on.
cmake_minimum_required(VERSION 3.23)
math(EXPR last_rank "${RANKS} - 1")
math(EXPR last_device "${DEVICES} - 1")
foreach(rank RANGE ${last_rank})
  file(READ ${REPORTS}${rank}.json report)
  string(JSON length LENGTH "${report}" devices)
  if(NOT length EQUAL DEVICES)
    message(FATAL_ERROR "rank ${rank} has used ${length} devices, not ${DEVICES}")
  endif()
  foreach(i RANGE ${last_device})
    math(EXPR wanted "${rank} + ${i} * ${RANKS}")
    string(JSON found GET "${report}" devices ${i} ordinal)
    if(NOT found EQUAL wanted)
      message(FATAL_ERROR "rank ${rank}'s device ${i} is device ${found} of the node, not ${wanted}")
    endif()
  endforeach()
endforeach()
