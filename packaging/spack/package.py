# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Spack recipe. Copy it to packages/semcache/package.py of a Spack repository, and set `git` to where your clone comes from."""
from spack.package import *


class Semcache(CMakePackage, CudaPackage):
    """Keeps host and GPU copies of data coherent by itself, for Kokkos and Trilinos."""

    git = "file:///path/to/a/clone/of/semcache"

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")

    variant("shared", default=True, description="Build shared libraries (off where Kokkos is static)")
    variant("kokkos", default=True, description="Build the package for Kokkos")
    variant("linalg", default=True, description="Build linear algebra over all devices")
    variant("mpi", default=True, description="Build the MPI layer")
    variant("tpetra", default=False, description="Build Tpetra's classes (takes minutes)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("googletest", type="test")
    depends_on("cli11", type="test")
    depends_on("kokkos@3.4:", when="+kokkos")
    depends_on("kokkos+cuda", when="+kokkos+cuda")
    depends_on("kokkos~cuda", when="+kokkos~cuda")
    depends_on("blas", when="+linalg")
    depends_on("mpi", when="+mpi")
    depends_on("trilinos+tpetra+mpi", when="+tpetra")

    conflicts("~kokkos", when="+tpetra", msg="the package for Tpetra is built on that for Kokkos")
    conflicts("~mpi", when="+tpetra", msg="the package for Tpetra is built on the MPI layer")
    conflicts("platform=darwin", msg="SemCache needs Linux")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("SemCache_ENABLE_KOKKOS", "kokkos"),
            self.define_from_variant("SemCache_ENABLE_LINALG", "linalg"),
            self.define_from_variant("SemCache_ENABLE_MPI", "mpi"),
            self.define_from_variant("SemCache_ENABLE_CUDA", "cuda"),
            self.define_from_variant("SemCache_ENABLE_TPETRA", "tpetra"),
            self.define("SemCache_ENABLE_TESTS", self.run_tests),
            self.define("SemCache_ENABLE_MINIAPPS", False),
        ]
