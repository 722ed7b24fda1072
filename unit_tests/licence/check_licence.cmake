# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# cmake -D GIT=<program> -D SOURCE=<clone> -P check_licence.cmake
# Every tracked file names its licence and its owners within its first lines.
cmake_minimum_required(VERSION 3.23)

# The text of the licence, and what has no comments.
set(exceptions "^LICENSE$|\\.(json|png)$")

execute_process(
  COMMAND ${GIT} -c safe.directory=* -c core.quotePath=off ls-files
  WORKING_DIRECTORY ${SOURCE}
  OUTPUT_VARIABLE files
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" files "${files}")
string(REPLACE "\n" ";" files "${files}")

set(read 0)
set(without "")
foreach(file IN LISTS files)
  # A file may be deleted and not yet committed.
  if(file MATCHES "${exceptions}" OR NOT EXISTS ${SOURCE}/${file})
    continue()
  endif()
  math(EXPR read "${read} + 1")
  file(READ ${SOURCE}/${file} head LIMIT 400)
  foreach(line "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" "SPDX-FileCopyrightText: The SemCache contributors")
    string(FIND "${head}" "${line}" at)
    if(at EQUAL -1)
      list(APPEND without "${file}: no \"${line}\"")
    endif()
  endforeach()
endforeach()

if(read LESS 100)
  message(FATAL_ERROR "only ${read} files are tracked below ${SOURCE}: the check looks at the wrong place")
elseif(without)
  list(JOIN without "\n  " without)
  message(FATAL_ERROR "licence missing:\n  ${without}")
endif()
message(STATUS "${read} files name their licence and their owners")
