// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <cstdint>

#define SEMCACHE_DIGEST_FUNCTION __host__ __device__
#include <semcache/device/detail/digest.hpp>

/// Kernels for work that the driver has no call for. Embedded as a binary and loaded through the driver interface.

namespace {

__device__ std::uint64_t first_index() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t index_step() { return std::uint64_t{gridDim.x} * blockDim.x; }

__device__ std::uint64_t word_of_bytes(const unsigned char* p, std::uint64_t bytes) {
  std::uint64_t word = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) word |= std::uint64_t{p[i]} << (8 * i);
  return word;
}

}  // namespace

/// Fills memory, which is faster where `to` is aligned to 16. `pattern` is the caller's pattern, repeated to 16 bytes.
extern "C" __global__ void semcache_fill(unsigned char* to, std::uint64_t bytes, uint4 pattern) {
  const std::uint64_t blocks = reinterpret_cast<std::uintptr_t>(to) % 16 == 0 ? bytes / 16 : 0;
  for (std::uint64_t i = first_index(); i < blocks; i += index_step()) reinterpret_cast<uint4*>(to)[i] = pattern;
  const auto* const from = reinterpret_cast<const unsigned char*>(&pattern);
  for (std::uint64_t i = 16 * blocks + first_index(); i < bytes; i += index_step()) to[i] = from[i % 16];
}

/// Adds the digest's sum over all words to `sum`.
extern "C" __global__ void semcache_digest(const unsigned char* from, std::uint64_t bytes, unsigned long long* sum) {
  using namespace semcache::device::detail;
  const std::uint64_t words = bytes / 8;
  const bool aligned = reinterpret_cast<std::uintptr_t>(from) % 8 == 0;
  std::uint64_t part = 0;
  for (std::uint64_t i = first_index(); i < words; i += index_step()) {
    const std::uint64_t word =
        aligned ? reinterpret_cast<const std::uint64_t*>(from)[i] : word_of_bytes(from + 8 * i, 8);
    part += digest_term(word, i);
  }
  if (first_index() == 0 && bytes % 8 != 0) part += digest_term(word_of_bytes(from + 8 * words, bytes % 8), words);
  for (int offset = 16; offset > 0; offset /= 2) part += __shfl_down_sync(0xffffffffU, part, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, static_cast<unsigned long long>(part));
}
