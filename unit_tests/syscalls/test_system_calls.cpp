// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// System calls on protected mirrors, without an announcement: with the preloaded library under any tracker, and without
// it under one that serves what the kernel does.
#include <syscalls/mirror.hpp>

#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace semcache::syscalls::testing {
namespace {

class SystemCalls : public ::testing::TestWithParam<Pages> {};

TEST_P(SystemCalls, TheTrackerIsNamed) {
  const Mirror mirror(GetParam());
  const char* const chosen = std::getenv("SEMCACHE_TRACKER");
  EXPECT_EQ(statistics().tracker, chosen != nullptr ? chosen : "mprotect");
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

TEST_P(SystemCalls, AShortFileChangesOnlyWhatItBrings) {
  const Mirror mirror(GetParam());
  const File file(bytes_of(&other, 0, 4000));

  EXPECT_EQ(::pread(file.descriptor(), mirror.data() + 10, n - 10, 0), 4000);

  Bytes after = bytes_of(&content);
  for (std::size_t i = 0; i < 4000; ++i) after[10 + i] = other(i);
  EXPECT_EQ(mirror.bytes(), after);
  EXPECT_EQ(mirror.on_device(), after);
  EXPECT_EQ(::pread(file.descriptor(), mirror.data(), n, 4000), 0);
  EXPECT_EQ(mirror.bytes(), after);
}

TEST_P(SystemCalls, SeveralBuffersAtOnce) {
  const Mirror mirror(GetParam());
  const Mirror second(GetParam());
  const File file;
  Bytes plain(50, 'p');
  const iovec out[] = {{mirror.data() + 5, 10000}, {plain.data(), 50}, {second.data(), 2000}};
  Bytes expected = bytes_of(&content, 5, 10005);
  expected.insert(expected.end(), 50, 'p');
  const Bytes rest = bytes_of(&content, 0, 2000);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(::writev(file.descriptor(), out, 3), 12050);
  EXPECT_EQ(file.get(), expected);

  const File from(bytes_of(&other));
  const iovec in[] = {{second.data() + 7, 9000}, {plain.data(), 50}, {mirror.data(), 4000}};
  EXPECT_EQ(::readv(from.descriptor(), in, 3), 13050);
  EXPECT_EQ(plain, bytes_of(&other, 9000, 9050));
  Bytes after = bytes_of(&content);
  for (std::size_t i = 0; i < 9000; ++i) after[7 + i] = other(i);
  EXPECT_EQ(second.on_device(), after);
  EXPECT_EQ(second.bytes(), after);
  after = bytes_of(&content);
  for (std::size_t i = 0; i < 4000; ++i) after[i] = other(9050 + i);
  EXPECT_EQ(mirror.on_device(), after);
  EXPECT_EQ(mirror.bytes(), after);
  EXPECT_EQ(::preadv(from.descriptor(), in, 3, 100), 13050);
  EXPECT_EQ(mirror.data()[0], other(9150));
}

TEST_P(SystemCalls, Streams) {
  const Mirror mirror(GetParam());
  const Mirror second(GetParam());
  const File file;
  EXPECT_EQ(std::fwrite(mirror.data(), 3, n / 3, file.stream()), n / 3);
  EXPECT_EQ(file.get(), bytes_of(&content, 0, n / 3 * 3));
  const File from(bytes_of(&other));
  EXPECT_EQ(std::fread(second.data(), 1, n, from.stream()), n);
  EXPECT_EQ(second.on_device(), bytes_of(&other));

  file.put(bytes_of(&other, 0, 100));
  ASSERT_EQ(::ftruncate(file.descriptor(), 100), 0);
  std::rewind(file.stream());
  EXPECT_EQ(std::fread(mirror.data(), 8, n / 8, file.stream()), 100u / 8);
  EXPECT_NE(std::feof(file.stream()), 0);
  EXPECT_EQ(Bytes(mirror.data(), mirror.data() + 96), bytes_of(&other, 0, 96));
  EXPECT_EQ(mirror.data()[100], content(100));
}

TEST_P(SystemCalls, CppStreams) {
  const Mirror mirror(GetParam());
  const char* folder = std::getenv("TMPDIR");
  const std::string path =
      std::string(folder != nullptr ? folder : "/tmp") + "/semcache_syscalls_" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(mirror.data(), whole);
  const Mirror again(GetParam());
  std::ifstream(path, std::ios::binary).read(again.data() + 1, whole - 1);
  ::unlink(path.c_str());

  Bytes after = bytes_of(&content);
  std::copy_n(bytes_of(&content).begin(), n - 1, after.begin() + 1);
  EXPECT_EQ(again.bytes(), after);
}

TEST_P(SystemCalls, SocketsAndPipes) {
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
  EXPECT_EQ(to.bytes(), after);

  // A pipe has less than was asked for, and reading on would block.
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  EXPECT_EQ(::write(pipe_ends[1], from.data(), 300), 300);
  EXPECT_EQ(::read(pipe_ends[0], to.data(), n), 300);
  EXPECT_EQ(Bytes(to.data(), to.data() + 300), bytes_of(&content, 0, 300));
  for (const int end : {ends[0], ends[1], pipe_ends[0], pipe_ends[1]}) ::close(end);
}

const char* name_of(const ::testing::TestParamInfo<Pages>& info) {
  constexpr const char* names[] = {"Stale", "Readable", "Adopted"};
  return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(OnMirrors, SystemCalls, ::testing::Values(Pages::stale, Pages::readable, Pages::adopted), &name_of);

TEST(SystemCallsAndKernels, ACallMayBeMadeWhileAKernelOverwritesTheArray) {
  char* const device = static_cast<char*>(runtime::allocate_device("both", n));
  char* const host = static_cast<char*>(runtime::allocate_host("both", n, device));
  std::atomic<bool> stop{false};
  std::atomic<int> launches{0};
  std::thread kernels([&] {
    const runtime::Capture capture{device, nullptr, 0, true, false};
    while (!stop) {
      const runtime::Launch launch(runtime::queue_of(nullptr), "kernel", &capture, 1);
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

/// The runtime's own threads make calls that are looked at, too, also while it ends.
TEST(SystemCallsAndTheEnd, TheRuntimeEndsUnderThePreloadedLibrary) {
  void* const host = runtime::allocate_host("mirror", n);
  runtime::deallocate(host);
  finalize();
}

}  // namespace
}  // namespace semcache::syscalls::testing
