// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

/// Both sides of a system call: a mirror and a file.
namespace semcache::syscalls::testing {

using Bytes = std::vector<char>;

constexpr std::size_t n = 9 * 4096 + 321;
constexpr auto whole = static_cast<ssize_t>(n);
constexpr char content(std::size_t i) { return static_cast<char>(i * 31 / 7 + i); }
constexpr char other(std::size_t i) { return static_cast<char>(i * 17 + 5); }

inline Bytes bytes_of(char (*value)(std::size_t), std::size_t begin = 0, std::size_t end = n) {
  Bytes out;
  for (std::size_t i = begin; i < end; ++i) out.push_back(value(i));
  return out;
}

enum class Pages {
  stale,
  readable,
  adopted,  ///< stale, and memory of the program's own, which shares its first page and its last one with other data
};

/// A host mirror of what a kernel has written: its pages are protected.
class Mirror {
 public:
  explicit Mirror(Pages pages = Pages::stale, std::size_t size = n) : size_(size) {
    device_ = static_cast<char*>(runtime::allocate_device("device", size));
    if (pages == Pages::adopted) {
      block_.resize(size + 1000);
      host_ = block_.data() + 500;
      runtime::adopt(host_, size, "adopted");
    } else {
      host_ = static_cast<char*>(runtime::allocate_host("mirror", size));
    }
    const runtime::Capture capture{device_, nullptr, 0, true, false};
    {
      const runtime::Launch launch(runtime::queue_of(nullptr), "fill", &capture, 1);
      for (std::size_t i = 0; i < size; ++i) device_[i] = content(i);
    }
    runtime::copy(host_, device_, size, {});
    if (pages == Pages::readable) access(host_, size, Access::read);
  }
  ~Mirror() {
    if (block_.empty()) {
      runtime::deallocate(host_);
    } else {
      runtime::release(host_);
    }
    runtime::deallocate(device_);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  [[nodiscard]] char* data() const { return host_; }
  [[nodiscard]] Bytes bytes() const { return {host_, host_ + size_}; }
  /// What a kernel sees after a copy back.
  [[nodiscard]] Bytes on_device() const {
    runtime::copy(device_, host_, size_, {});
    const runtime::Capture capture{device_, nullptr, 0, false, false};
    const runtime::Launch launch(runtime::queue_of(nullptr), "look", &capture, 1);
    return {device_, device_ + size_};
  }

 private:
  std::size_t size_;
  char* device_;
  char* host_;
  Bytes block_;  ///< holds the adopted memory
};

/// A temporary file, opened by descriptor and by stream.
class File {
 public:
  explicit File(const Bytes& bytes = {}) : stream_(std::tmpfile()) { put(bytes); }
  ~File() { std::fclose(stream_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return ::fileno(stream_); }
  [[nodiscard]] FILE* stream() const { return stream_; }
  void put(const Bytes& bytes) const {
    EXPECT_EQ(::pwrite(descriptor(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] Bytes get() const {
    std::fflush(stream_);
    Bytes out(3 * n);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(descriptor(), out.data(), out.size(), 0))));
    return out;
  }

 private:
  FILE* stream_;
};

}  // namespace semcache::syscalls::testing
