// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// A program that replaces operator new. All its objects lie in one large block, between the operands, and its records of them, too.
#include "programs.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace programs;

std::mutex mutex;
std::atomic<long> calls{0};

/// Free memory of one size in the large block; the next piece's address lies within.
struct Piece {
  Piece* next;
};
constexpr std::size_t most_bits = 27;
Piece* free_pieces[most_bits] = {};
char *unused = nullptr, *end = nullptr;

std::size_t size_class(std::size_t size) {
  std::size_t bits = 4;
  while ((std::size_t{1} << bits) < size + 16) ++bits;
  return bits;
}

}  // namespace

void* operator new(std::size_t size) {
  ++calls;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::size_t bits = size_class(size);
  if (unused == nullptr) {
    constexpr std::size_t all = std::size_t{64} << 20;
    unused = static_cast<char*>(std::malloc(all));
    end = unused + all;
  }
  Piece* piece = free_pieces[bits];
  if (piece != nullptr) {
    free_pieces[bits] = piece->next;
  } else {
    if (unused + (std::size_t{1} << bits) > end) throw std::bad_alloc();
    piece = reinterpret_cast<Piece*>(unused);
    unused += std::size_t{1} << bits;
  }
  char* const front = reinterpret_cast<char*>(piece);
  *reinterpret_cast<std::size_t*>(front) = bits;
  return front + 16;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex);
  char* const front = static_cast<char*>(memory) - 16;
  const std::size_t bits = *reinterpret_cast<std::size_t*>(front);
  auto* const piece = reinterpret_cast<Piece*>(front);
  piece->next = free_pieces[bits];
  free_pieces[bits] = piece;
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

int main() {
  std::vector<double> a(small_count), b(small_count);
  fill(a.data(), 1, small_count);
  fill(b.data(), 2, small_count);
  std::vector<std::string> between(20, std::string(3000, 'x'));
  std::vector<double> c(small_count), d(small_count);
  const long before = calls;
  for (int i = 0; i < 5; ++i) {
    small_product(a.data(), b.data(), c.data());
    small_product(b.data(), c.data(), d.data(), 0.5);
    std::memset(between[7].data(), i, 3000);
  }
  std::printf("operator new during calls of BLAS: %ld\n", calls - before);
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) between[static_cast<std::size_t>(i) % 20] = std::string(static_cast<std::size_t>(i) * 3, 'y');
  });
  for (int i = 0; i < 20; ++i) {
    small_product(a.data(), c.data(), d.data());
    std::vector<double>(d).swap(c);
    c[17] = 1;
  }
  other.join();
  show("c", c.data(), small_bytes);
  show("d", d.data(), small_bytes);
  show("between", between[13].data(), between[13].size());
}
