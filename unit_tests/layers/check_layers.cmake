# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# cmake -D SOURCE=<src/semcache> -D EDGES=room=below,below:room=... -P check_layers.cmake
# Reads the #include lines of the core and refuses those that the rooms' order forbids.
cmake_minimum_required(VERSION 3.23)

set(errors 0)
set(files_read 0)
macro(refuse file header why)
  message("${file}: #include <${header}>: ${why}")
  math(EXPR errors "${errors} + 1")
endmacro()

string(REPLACE ":" ";" edges "${EDGES}")
foreach(edge ${edges})
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched "${edge}")
  set(room ${CMAKE_MATCH_1})
  string(REPLACE "," ";" allowed "${CMAKE_MATCH_2}")
  list(APPEND allowed ${room})
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${room}/*.?pp ${SOURCE}/${room}/*.h ${SOURCE}/${room}/*.cu)
  foreach(file ${files})
    math(EXPR files_read "${files_read} + 1")
    file(STRINGS ${SOURCE}/${file} lines REGEX "^ *# *include")
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "include *[<\"]([^>\"]+)[>\"]")
        continue()
      endif()
      set(header ${CMAKE_MATCH_1})
      if(line MATCHES "\"")
        refuse(${file} ${header} "headers are included by their full path, in angle brackets")
      elseif(header MATCHES "^semcache/([a-z_]+)/(.*)$")
        set(other ${CMAKE_MATCH_1})
        set(rest ${CMAKE_MATCH_2})
        if(NOT other IN_LIST allowed)
          refuse(${file} ${header} "room ${other} is not below room ${room}")
        elseif(NOT other STREQUAL room AND rest MATCHES "detail/")
          refuse(${file} ${header} "detail/ belongs to room ${other}")
        endif()
      elseif(header MATCHES "^semcache/" AND NOT room STREQUAL "runtime")
        refuse(${file} ${header} "the public surface is above room ${room}")
      elseif(header STREQUAL "sys/mman.h" AND file MATCHES "^device/emulated/")
        continue()  # its device memory is reserved addresses
      elseif(header MATCHES "^(sys/mman|signal|csignal|ucontext|linux/.*)(\\.h)?$" AND NOT file MATCHES "^platform/linux/")
        refuse(${file} ${header} "belongs to platform/linux")
      elseif(header MATCHES "^(cuda|cu[A-Z]|nv)" AND NOT file MATCHES "^device/cuda/")
        refuse(${file} ${header} "belongs to device/cuda")
      elseif(header MATCHES "^(Kokkos|Tpetra|mpi)")
        refuse(${file} ${header} "belongs to an adapter in packages/")
      elseif(room MATCHES "^(directory|policy)$"
          AND header MATCHES "^(thread|mutex|shared_mutex|condition_variable|future|chrono|unistd.h|pthread.h|fstream|iostream)$")
        refuse(${file} ${header} "room ${room} decides; it knows no thread, clock, or system")
      endif()
    endforeach()
  endforeach()
endforeach()

# All code but the platform's, which is the system's own side of each rule below.
file(GLOB_RECURSE all_files RELATIVE ${SOURCE} ${SOURCE}/*.?pp ${SOURCE}/*.cu ${SOURCE}/*.h)
list(FILTER all_files EXCLUDE REGEX "^platform/")
set(code "^([^/]|/[^/])*")  # what stands in front of a comment

macro(refuse_line file line why)
  message("${file}: ${line}: ${why}")
  math(EXPR errors "${errors} + 1")
endmacro()

# Refuses lines of code that match, in all files but those named. Each of these must have such a line.
function(only_in pattern why)
  set(found 0)
  foreach(file ${all_files})
    file(STRINGS ${SOURCE}/${file} lines REGEX "${code}(${pattern})")
    if(NOT lines)
      continue()
    elseif(file IN_LIST ARGN)
      math(EXPR found "${found} + 1")
    else()
      refuse_line(${file} "${lines}" "${why}")
    endif()
  endforeach()
  set(errors ${errors} PARENT_SCOPE)
  list(LENGTH ARGN expected)
  if(NOT found EQUAL expected)
    message(FATAL_ERROR "'${pattern}' is not where it should be (${ARGN}): the check looks for something else")
  endif()
endfunction()

# The engine's lock belongs to its transactions. All other locks are held for a few instructions, and nobody waits with them, except that the
# runtime's start and end, an emulated device's closed pages, CUPTI's records and the making of lanes are one thread's at a time.
only_in("mutex" "a lock beside the engine's must be named in unit_tests/layers, with its reason"
  engine/transaction.hpp
  trace/recorder.hpp trace/recorder.cpp trace/span_log.hpp trace/span_log.cpp trace/detail/symbol.cpp  # tables of names
  runtime/lifetime.cpp runtime/observed_launches.cpp  # start and end; the observer
  tasks/lanes.cpp
  device/cuda/activities.cpp device/cuda/cuda_device.cpp device/cuda/driver_watch.cpp device/cuda/kernel_arguments.hpp
  device/emulated/emulated_device.cpp)
only_in("(all|_)[.]lock[(][)]" "the engine's lock is taken by a Transaction, and looked behind by a Look" engine/transaction.hpp)
only_in("[^a-z_]lock_[^a-z]|[.]unlock[(]" "a lock is given up by a Transaction" engine/transaction.hpp engine/transaction.cpp
  device/cuda/kernel_arguments.hpp device/emulated/emulated_device.cpp)  # locks of their own
only_in("[^a-z_]unlocked[(]" "an attempt returns an Obstacle" engine/transaction.hpp engine/waiting.cpp
  engine/buffers.cpp   # memory of messages is made and freed
  engine/adoption.cpp  # the driver and the system are asked
  engine/pageable_copies.cpp  # the driver copies, or the program's bytes are staged
  engine/launches.cpp) # unpinning may free arrays
only_in("[^a-z_]project(_soon)?[(][)]" "flags and pages are projected by a Transaction, and by Projection::relax"
  engine/projection.hpp engine/projection.cpp engine/transaction.cpp)
only_in("project_device[(]|(->|[.])project[(][^)]" "flags and pages are projected by a Transaction, and by Projection::relax"
  engine/projection.hpp engine/projection.cpp
  engine/expected_messages.cpp  # flags of an array into which a message has just arrived
  engine/copies.cpp             # pages close before the bytes of a copy at the call are written
  engine/lifetimes.cpp)         # the pages of a new mirror
only_in("pages->relax[(]" "pages are opened by Projection::relax, which projects before" engine/projection.hpp)
only_in("collect_orphans[(][)]" "saved copies are freed at a Transaction's end, and before anybody is evicted"
  engine/arrays.hpp engine/arrays.cpp engine/transaction.cpp engine/residency.cpp)
only_in("device->(copy_to_device|copy_within_device|fill)[(]|copy_by_device[(]|copy_behind[(]|[^ ] ?write_behind[(]|write_unused[(]"
  "bytes of arrays are changed by the executor, step by step" engine/executor.hpp engine/executor.cpp)
only_in("memory->(carry_out|begin_chores|end_chores)[(]" "the driver maps and unmaps memory without the engine's lock" engine/waiting.cpp)
only_in("sleep_for|sleep_until|usleep|nanosleep|condition_variable|futex|yield[(]|std::(future|promise|async|latch|barrier|counting_semaphore)|[.]join[(]|\
sem_([a-z]+)?wait|pthread_(cond|join|barrier|mutex|rwlock|spin)|sigwait|sigsuspend|sched_yield|[^a-z_](p?poll|epoll_p?wait|p?select|sleep|pause)[(]"
  "waiting is for the timeline"
  timeline/queues.cpp
  device/cuda/driver_watch.cpp)  # a watch ends when the driver's callbacks have returned
only_in("synchronize[a-z_]*[(]" "waiting is for the timeline" timeline/queues.cpp timeline/queues.hpp
  device/device.hpp device/cuda/cuda_device.cpp device/emulated/emulated_device.cpp
  runtime/device_times.cpp)  # what is still to be recorded of the devices' work
only_in("wait_for_devices?(_of)?[(]|queues(->|[.])wait_for_queue[(]" "an access waits for devices and queues as a Transaction"
  timeline/queues.hpp timeline/queues.cpp engine/transaction.hpp engine/waiting.cpp
  engine/executor.cpp   # a copy that is refused half-way; contents that SEMCACHE_CHECK compares
  engine/launches.cpp   # the host's virtual time
  engine/engine.cpp     # the engine ends
  runtime/lifetime.cpp) # the runtime ends
only_in("wait_a_moment" "an access that waits is a Transaction" timeline/queues.hpp timeline/queues.cpp engine/transaction.hpp engine/waiting.cpp
  engine/host_access.cpp  # a fault that cannot be served while the process ends
  runtime/lifetime.cpp)   # the runtime ends when others have left it
only_in("pages->(lock|unlock)[(]" "page-locking takes long: without the engine's lock" engine/waiting.cpp engine/arrays.cpp)
only_in("[^n]devices_?[[]0[]]|devices_?[.]front" "a device is named by its number, or is the home device" engine/state.hpp policy/spread.cpp)  # `policy` has a list of its own

# Whoever tries again after a wait is a Transaction: no other loop of the engine has a wait in it. A loop that makes an attempt for one thing
# after the other is listed.
set(waits "unlocked[(]|[a-z_][.]wait[(]|[^a-z_](complete|complete_transfers)[(]")
set(attempts "[a-z_][.](run|try_run)[(]")
set(collected "")
foreach(file ${all_files})
  if(NOT file MATCHES "^engine/" OR file MATCHES "^engine/(transaction[.]hpp|waiting[.]cpp)$")
    continue()
  endif()
  file(READ ${SOURCE}/${file} text)
  string(REGEX REPLACE "[][;]" " " text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(loop -1)  # the indentation of the outermost loop around a line
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^( *)[^ ]")
      continue()
    endif()
    string(LENGTH "${CMAKE_MATCH_1}" indent)
    if(indent LESS_EQUAL loop)
      set(loop -1)
    endif()
    string(REGEX REPLACE "//.*$" "" line "${line}")
    if(loop EQUAL -1 AND line MATCHES "^ *(for|while|do)[ (]")
      set(loop ${indent})
      string(REGEX REPLACE " +" " " header "${line}")
      string(STRIP "${header}" header)
    endif()
    if(loop EQUAL -1)
      continue()
    elseif(line MATCHES "${waits}")
      refuse_line(${file} "${line}" "a loop by hand around a wait: Transaction::run makes an attempt again")
    elseif(line MATCHES "${attempts}")
      list(APPEND collected "${file}=${header}")
    endif()
  endforeach()
endforeach()
set(loops "${collected}")  # `exactly` is defined below

# Collects `what` of each line as "file=what", and compares all with a list.
function(exactly why)
  foreach(one IN LISTS collected)
    if(NOT one IN_LIST ARGN)
      message("${one}: ${why}")
      math(EXPR errors "${errors} + 1")
    endif()
  endforeach()
  foreach(one ${ARGN})
    if(NOT one IN_LIST collected)
      message("${one}: listed in unit_tests/layers, but there is no such thing (any more)")
      math(EXPR errors "${errors} + 1")
    endif()
  endforeach()
  set(errors ${errors} PARENT_SCOPE)
endfunction()

set(collected ${loops})
exactly("a loop by hand around an attempt: Transaction::run makes it again; a loop over several things is listed in unit_tests/layers"
  "engine/launches.cpp=for (std::size_t n = 0 n < needs.size() ++n) {"                              # one stage after the other
  "engine/launches.cpp=for (std::size_t i = 0 queue == unknown_queue && i < count ++i) {"           # one operand after the other
  "engine/host_access.cpp=for (std::size_t i = 0 ++i) {")                                           # one array after the other

# Casts between unlike types: bytes, addresses without a type and numbers may be had of anything. All others are listed.
set(collected "")
foreach(file ${all_files})
  file(STRINGS ${SOURCE}/${file} lines REGEX "${code}(reinterpret_cast<|static_cast<[^>]*[*]>[(]static_cast<(const )?void ?[*]>)")
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "reinterpret_cast<[^(]*[(]|static_cast<[^>]*[*]>[(]static_cast<(const )?void" casts "${line}")
    foreach(cast IN LISTS casts)
      string(REGEX REPLACE "^(reinterpret|static)_cast<(.*)>[(].*$" "\\2" type "${cast}")
      if(NOT type MATCHES "^(std::uintptr_t|(const )?(volatile )?(void|std::byte|unsigned char)[*])$")
        list(APPEND collected "${file}=${type}")
      endif()
    endforeach()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES collected)
exactly("a cast between unlike types: give both one type, or list the cast in unit_tests/layers with its reason"
  "memory/lookup_table.cpp=Memory*" "memory/lookup_table.hpp=Memory*"  # a pointer and two bits in one atomic word
  "memory/lookup_table.cpp=Unit*" "memory/lookup_table.hpp=const std::atomic<Memory*>*"
  "runtime/debuggers.cpp=FunctionForDebuggers"  # functions of several types in one list, which nobody calls
  "device/cuda/activities.cpp=const Record*"    # CUPTI's records begin with their kind
  "device/cuda/cuda_device.cpp=CUdeviceptr" "device/cuda/cuda_device.cpp=EventId" "device/cuda/cuda_device.cpp=CUevent"  # the driver's handles
  "device/cuda/driver_watch.cpp=CUfunction" "device/cuda/driver_watch.cpp=std::uint64_t" "device/cuda/kernel_arguments.hpp=CUkernel"
  "device/cuda/cupti.cpp=reinterpret_cast<std::decay_t<decltype(" "device/cuda/driver_api.cpp=Function"  # functions by their names
  "base/streaming.cpp=__m128i*" "base/streaming.cpp=const __m128i*"  # what the processor's instructions for 16 bytes take
  "device/cuda/kernels.cu=uint4*" "device/cuda/kernels.cu=const std::uint64_t*")  # bytes as words

# A call with `true` in it does not say what is true. A bool that is the value itself, of which the function's name speaks, is listed.
set(collected "")
file(GLOB_RECURSE headers RELATIVE ${SOURCE} ${SOURCE}/*.hpp ${SOURCE}/*.h)
foreach(file ${headers})
  file(STRINGS ${SOURCE}/${file} lines REGEX "${code}(([(,]|/,|^ +) *(const )?bool *(/[*][^*]*[*]/)? *[A-Za-z_0-9]*( = [a-z]+| *{[a-z]*})?[,)])")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "([A-Za-z_0-9]+)[(]([^()]*, )?(const )?bool")
      string(REGEX MATCH "bool[^;]*" CMAKE_MATCH_1 "${line}")
    endif()
    list(APPEND collected "${file}=${CMAKE_MATCH_1}")
  endforeach()
endforeach()
exactly("a bool parameter: make it an enum, whose names say what they mean, or list the function in unit_tests/layers"
  "device/device.hpp=set_accessible" "engine/derivations.hpp=set_spare" "memory/device_memory.hpp=set_spare" "memory/device_memory.hpp=set_accessible"
  "engine/engine.hpp=set_others_are_told" "timeline/queues.hpp=set_others_are_told"
  "engine/projection.hpp=set_reachable" "engine/projection.hpp=set_all_reachable"
  "memory/blocks.hpp=set_mapped" "memory/blocks.hpp=set_asked"
  "timeline/uses.hpp=mode_of")  # makes the enum

# Which kind of device it is, only the device knows; the runtime chooses one.
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/*.?pp)
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} lines REGEX "DeviceKind(::|[({>])|kind[(][)] *[!=]=|[!=]= *[^ ]*kind[(][)]|switch [(].*kind[(][)]")
  if(lines AND NOT file MATCHES "^device/|^runtime/(device_choice[.]cpp|runtime[.]hpp)$")
    message("${file}: ${lines}: ask the device what it does, not what it is")
    math(EXPR errors "${errors} + 1")
  endif()
endforeach()

# Thread-local variables of the core lie in two rooms: platform/per_thread.hpp hands them out.
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/*.?pp ${SOURCE}/*.cu)
set(found 0)
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} lines REGEX "thread_local|__thread ")
  if(lines AND file MATCHES "^(platform|trace)/")
    math(EXPR found "${found} + 1")
  elseif(lines)
    message("${file}: ${lines}: a thread's own state is platform::per_thread")
    math(EXPR errors "${errors} + 1")
  endif()
endforeach()
if(found EQUAL 0)
  message(FATAL_ERROR "no thread-local variable found: the check looks for something else")
endif()

if(files_read LESS 20)
  message(FATAL_ERROR "only ${files_read} files found below ${SOURCE}: the check looks at the wrong place")
elseif(errors GREATER 0)
  message(FATAL_ERROR "${errors} lines where they may not be")
endif()
message(STATUS "${files_read} files keep the order of the rooms")
