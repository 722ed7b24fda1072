// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

/// System calls on protected mirrors, without the preloaded library and without an announcement: the tracker serves what
/// the kernel does. The environment chooses it.
namespace {

namespace runtime = semcache::runtime;
using Bytes = std::vector<char>;

constexpr std::size_t n = 9 * 4096 + 321;
constexpr auto whole = static_cast<ssize_t>(n);
char content(std::size_t i) { return static_cast<char>(i * 31 / 7 + i); }
char other(std::size_t i) { return static_cast<char>(i * 17 + 5); }

Bytes bytes_of(char (*value)(std::size_t), std::size_t begin = 0, std::size_t end = n) {
  Bytes out;
  for (std::size_t i = begin; i < end; ++i) out.push_back(value(i));
  return out;
}

enum class Pages { stale, readable };

/// A host mirror of what a kernel has written.
class Mirror {
 public:
  explicit Mirror(Pages pages) {
    device_ = static_cast<char*>(runtime::allocate_device("device", n));
    host_ = static_cast<char*>(runtime::allocate_host("mirror", n));
    const runtime::Capture capture{device_, nullptr, 0, true, false};
    {
      const runtime::Launch launch(runtime::queue_of(nullptr), "fill", &capture, 1, nullptr, 0);
      for (std::size_t i = 0; i < n; ++i) device_[i] = content(i);
    }
    runtime::copy(host_, device_, n, {});
    if (pages == Pages::readable) semcache::access(host_, n, semcache::Access::read);
  }
  ~Mirror() {
    runtime::deallocate(host_);
    runtime::deallocate(device_);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  [[nodiscard]] char* data() const { return host_; }
  [[nodiscard]] Bytes bytes() const { return {host_, host_ + n}; }
  /// What a kernel sees after a copy back.
  [[nodiscard]] Bytes on_device() const {
    runtime::copy(device_, host_, n, {});
    const runtime::Capture capture{device_, nullptr, 0, false, false};
    const runtime::Launch launch(runtime::queue_of(nullptr), "look", &capture, 1, nullptr, 0);
    return {device_, device_ + n};
  }

 private:
  char* device_;
  char* host_;
};

class File {
 public:
  explicit File(const Bytes& bytes = {}) : stream_(std::tmpfile()) {
    EXPECT_EQ(::pwrite(descriptor(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  ~File() { std::fclose(stream_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return ::fileno(stream_); }
  [[nodiscard]] FILE* stream() const { return stream_; }
  [[nodiscard]] Bytes get() const {
    std::fflush(stream_);
    Bytes out(3 * n);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(descriptor(), out.data(), out.size(), 0))));
    return out;
  }

 private:
  FILE* stream_;
};

class SystemCalls : public testing::TestWithParam<Pages> {};

TEST_P(SystemCalls, TheTrackerIsNamed) {
  const Mirror mirror(GetParam());
  EXPECT_EQ(semcache::statistics().tracker, "userfaultfd");
}

TEST_P(SystemCalls, WriteAndPwrite) {
  const Mirror mirror(GetParam());
  const File file;
  EXPECT_EQ(::write(file.descriptor(), mirror.data(), 100), 100);
  EXPECT_EQ(::pwrite(file.descriptor(), mirror.data() + 100, n - 100, 100), whole - 100);
  EXPECT_EQ(file.get(), bytes_of(&content));
  EXPECT_EQ(mirror.on_device(), bytes_of(&content));
}

TEST_P(SystemCalls, ReadAndPread) {
  const Mirror mirror(GetParam());
  const Mirror second(GetParam());
  const File file(bytes_of(&other));
  EXPECT_EQ(::read(file.descriptor(), mirror.data(), n), whole);
  EXPECT_EQ(mirror.bytes(), bytes_of(&other));
  EXPECT_EQ(mirror.on_device(), bytes_of(&other));
  EXPECT_EQ(::pread(file.descriptor(), second.data() + 1, 5000, 1), 5000);
  Bytes after = bytes_of(&content);
  for (std::size_t i = 1; i < 5001; ++i) after[i] = other(i);
  EXPECT_EQ(second.on_device(), after);
  EXPECT_EQ(second.bytes(), after);
}

TEST_P(SystemCalls, ReadvAndWritev) {
  const Mirror mirror(GetParam());
  const Mirror second(GetParam());
  const File file;
  const iovec out[] = {{mirror.data() + 5, 10000}, {second.data(), 2000}};
  Bytes expected = bytes_of(&content, 5, 10005);
  const Bytes rest = bytes_of(&content, 0, 2000);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(::writev(file.descriptor(), out, 2), 12000);
  EXPECT_EQ(file.get(), expected);

  const File from(bytes_of(&other));
  const iovec in[] = {{second.data() + 7, 9000}, {mirror.data(), 4000}};
  EXPECT_EQ(::readv(from.descriptor(), in, 2), 13000);
  Bytes after = bytes_of(&content);
  for (std::size_t i = 0; i < 9000; ++i) after[7 + i] = other(i);
  EXPECT_EQ(second.on_device(), after);
  after = bytes_of(&content);
  for (std::size_t i = 0; i < 4000; ++i) after[i] = other(9000 + i);
  EXPECT_EQ(mirror.on_device(), after);
}

TEST_P(SystemCalls, FreadAndFwrite) {
  const Mirror mirror(GetParam());
  const File file;
  EXPECT_EQ(std::fwrite(mirror.data(), 1, n, file.stream()), n);
  EXPECT_EQ(file.get(), bytes_of(&content));
  const File from(bytes_of(&other));
  EXPECT_EQ(std::fread(mirror.data(), 1, n, from.stream()), n);
  EXPECT_EQ(mirror.on_device(), bytes_of(&other));
}

TEST_P(SystemCalls, SendAndRecv) {
  const Mirror from(GetParam());
  const Mirror to(GetParam());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread sender([&] { EXPECT_EQ(::send(ends[0], from.data() + 1, n - 1, 0), whole - 1); });
  EXPECT_EQ(::recv(ends[1], to.data(), n - 1, MSG_WAITALL), whole - 1);
  sender.join();
  Bytes after = bytes_of(&content, 1, n);
  after.push_back(content(n - 1));
  EXPECT_EQ(to.on_device(), after);
  for (const int end : ends) ::close(end);
}

INSTANTIATE_TEST_SUITE_P(OnMirrors, SystemCalls, testing::Values(Pages::stale, Pages::readable),
                         [](const auto& info) { return info.param == Pages::stale ? "Stale" : "Readable"; });

TEST(SystemCallsAndKernels, ACallMayBeMadeWhileAKernelOverwritesTheArray) {
  char* const device = static_cast<char*>(runtime::allocate_device("both", n));
  char* const host = static_cast<char*>(runtime::allocate_host("both", n, device));
  std::atomic<bool> stop{false};
  std::atomic<int> launches{0};
  std::thread kernels([&] {
    const runtime::Capture capture{device, nullptr, 0, true, false};
    while (!stop) {
      const runtime::Launch launch(runtime::queue_of(nullptr), "kernel", &capture, 1, nullptr, 0);
      std::fill(device + 8192, device + n, 'k');
      ++launches;
    }
  });
  while (launches == 0) std::this_thread::yield();
  for (int round = 0; round < 300; ++round) {
    const Bytes line(4096, static_cast<char>('a' + round % 26));
    const File file(line);
    ASSERT_EQ(::pread(file.descriptor(), host, 4096, 0), 4096) << round;
    ASSERT_EQ(::pwrite(file.descriptor(), host, 4096, 4096), 4096) << round;
    const Bytes got = file.get();
    ASSERT_EQ(Bytes(got.begin() + 4096, got.end()), line) << round;
  }
  stop = true;
  kernels.join();
  EXPECT_EQ(host[n - 1], 'k');
  runtime::deallocate(host);
  runtime::deallocate(device);
}

}  // namespace
