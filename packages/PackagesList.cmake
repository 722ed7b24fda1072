# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# Makes this folder a TriBITS repository: -D Trilinos_EXTRA_REPOSITORIES=SemCache/packages
tribits_repository_define_packages(
  SemCache semcache ST)
