// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/linalg/cut.hpp>
#include <semcache/linalg/dense.hpp>
#include <semcache/linalg/sparse.hpp>
#include <semcache/linalg/spread.hpp>
#include <semcache/linalg/vectors.hpp>
