// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

// What Kokkos' tests expect from the header of a backend: on which execution space they are, and the names of their
// suites, which are the same on both spaces.
#ifdef SEMCACHE_UPSTREAM_NATIVE
#include <Kokkos_Core.hpp>
#define TEST_EXECSPACE Kokkos::DefaultExecutionSpace
#else
#include <semcache/kokkos.hpp>
#define TEST_EXECSPACE semcache::Exec
#endif

#include <gtest/gtest.h>

#define TEST_CATEGORY exec
// Kokkos' own numbers of its backends: what is below 4 may use the host's memory.
#ifdef KOKKOS_ENABLE_CUDA
#define TEST_CATEGORY_NUMBER 5
#else
#define TEST_CATEGORY_NUMBER 0
#endif
#define TEST_CATEGORY_DEATH exec_DeathTest
#define TEST_CATEGORY_FIXTURE(name) exec_##name
