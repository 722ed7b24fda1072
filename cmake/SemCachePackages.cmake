# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Debian packages by CPack, one for each component of the installation: runtime (the shared libraries), dev (headers, CMake files, man page of the
# library), tools (what users of a program call or preload) and doc (the built documentation). `./dev package` makes and checks them. What is
# installed without a component belongs to dev.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)

# Debian's rules ask for compressed pages and more; see packaging/README.md.
option(SemCache_DEBIAN_FILES "Install what a Debian package has beside the software (./dev package)" OFF)

# Man pages. A new tool adds its own here.
set(semcache_man_pages packaging/man/semcache.7 packaging/man/semcache-report.1 packaging/man/semcache-run.1)
foreach(page IN LISTS semcache_man_pages)
  cmake_path(GET page EXTENSION LAST_ONLY section)
  string(SUBSTRING ${section} 1 -1 section)  # without the dot
  cmake_path(GET page FILENAME name)
  if(SemCache_DEBIAN_FILES)
    set(compressed ${PROJECT_BINARY_DIR}/packaging/${name}.gz)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/packaging)
    execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/${page} OUTPUT_FILE ${compressed} COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${compressed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT tools)
  else()
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT tools)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
endforeach()

# bash looks here for what completes a command, under the command's name.
foreach(tool IN ITEMS semcache-run semcache-report)
  install(FILES packaging/completion/${tool}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${tool} COMPONENT tools)
endforeach()

if(NOT SemCache_DEBIAN_FILES)
  return()
endif()

set(soname_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(release 1)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME semcache)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VENDOR "The SemCache contributors")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)

# Debian's own variables name who builds a package. The project has no address of its own.
set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if("$ENV{DEBFULLNAME}" STREQUAL "" OR "$ENV{DEBEMAIL}" STREQUAL "")
  set(maintainer "The SemCache contributors <nobody@localhost.invalid>")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}")

# semcache_debian_package(<component> <package> <section> <description>): the first line of the description is the short one.
function(semcache_debian_package component package section description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
  set(folder ${PROJECT_BINARY_DIR}/packaging/${package})
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${folder}/changelog.Debian "semcache (${PROJECT_VERSION}-${release}) unstable; urgency=medium\n\n"
    "  * Version ${PROJECT_VERSION}; changelog.gz has what has changed.\n\n -- ${maintainer}  ${date}\n")
  execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${folder}/changelog.gz
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${folder}/changelog.Debian.gz ${folder}/changelog.gz packaging/debian/copyright DESTINATION ${documents} COMPONENT ${component})
  if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/debian/${component}.lintian-overrides)
    install(FILES packaging/debian/${component}.lintian-overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides
      RENAME ${package} COMPONENT ${component})
  endif()
endfunction()

string(CONCAT about "SemCache keeps the host's and the device's copy of an array coherent by itself:\n"
  "it moves the bytes that are missing, when they are needed, and reports what it\n"
  "moved and why. Programs use it through Kokkos, or through a C interface.")
set(CPACK_COMPONENTS_ALL runtime dev tools)
semcache_debian_package(runtime libsemcache${soname_version} libs
  "coherent host and GPU copies of data, shared libraries\n${about}\n\nThis package has the shared libraries.")
semcache_debian_package(dev libsemcache-dev libdevel
  "coherent host and GPU copies of data, development files\n${about}\n\nThis package has the headers, and files for CMake and pkg-config.")
semcache_debian_package(tools semcache-tools devel
  "coherent host and GPU copies of data, tools\n${about}\n\n\
This package has semcache-report, which makes a page of what a program moved,\nsemcache-run, which puts a program's BLAS on the GPU, an advisor for stock\n\
Kokkos programs, and libraries to preload for system calls and MPI.")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libsemcache${soname_version} (= ${PROJECT_VERSION}-${release})")
# The component kokkos needs Kokkos' headers, mpi MPI's; core needs neither.
set(suggested "")
foreach(part IN ITEMS "KOKKOS:libtrilinos-kokkos-dev" "KERNELS:libtrilinos-kokkos-kernels-dev" "MPI:libopenmpi-dev")
  string(REPLACE ":" ";" part "${part}")
  list(POP_FRONT part name)
  if(SemCache_WITH_${name})
    list(APPEND suggested ${part})
  endif()
endforeach()
list(JOIN suggested ", " CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS)
# semcache-report needs them when it runs.
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "python3, python3-jinja2, libjs-d3")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libsemcache-dev")
if(SemCache_ENABLE_DOCS)
  list(APPEND CPACK_COMPONENTS_ALL doc)
  semcache_debian_package(doc semcache-doc doc
    "coherent host and GPU copies of data, documentation\n${about}\n\nThis package has the documentation as web pages.")
  set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
include(CPack)
