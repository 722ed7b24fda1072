// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>

namespace benchmark {

/// Kernels on 32 tiles of a matrix that the host has written, each as long as the tile's transfer: launches that use a tile each, over
/// one launch that uses the whole array. @param n  rows of the matrix; it has a quarter as many columns
nlohmann::json tiles(std::size_t n, int pairs);
/// Memory of the program's own that it has lent, over a mirror: host sweeps of stale content, and announced reads.
nlohmann::json adopted(std::size_t bytes, int pairs);
/// Copies between the device and memory from malloc that nobody lent, in both directions: deep_copy on SemCache's space over deep_copy on the native
/// one. @param largest  bytes of the largest copy
nlohmann::json ordinary(std::size_t largest, int pairs);
/// Sweeps, part by part, over an array 1.5 times as large as the device's budget, over the same by hand with page-locked memory and three
/// buffers on the device. @param part_bytes  of a part
nlohmann::json beyond(std::size_t part_bytes, int pairs);

}  // namespace benchmark
