// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace runtime = semcache::runtime;

constexpr std::size_t n = 5 * 4096 + 321;
char content(std::size_t i) { return static_cast<char>(i * 31 / 7 + i); }
char other(std::size_t i) { return static_cast<char>(i * 17 + 5); }

std::vector<char> bytes_of(char (*value)(std::size_t), std::size_t begin = 0, std::size_t end = n) {
  std::vector<char> out;
  for (std::size_t i = begin; i < end; ++i) out.push_back(value(i));
  return out;
}

/// A mirror whose content is on the device: its pages are protected.
class Mirror {
 public:
  explicit Mirror(std::size_t size = n) : size_(size) {
    device_ = static_cast<char*>(runtime::allocate_device("device", size));
    host_ = static_cast<char*>(runtime::allocate_host("mirror", size));
    const runtime::Capture capture{device_, nullptr, 0, true, false};
    {
      const runtime::Launch launch(runtime::queue_of(nullptr), "fill", &capture, 1, nullptr, 0);
      for (std::size_t i = 0; i < size; ++i) device_[i] = content(i);
    }
    runtime::copy(host_, device_, size, {});
  }
  ~Mirror() {
    runtime::deallocate(host_);
    runtime::deallocate(device_);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  [[nodiscard]] char* data() const { return host_; }
  [[nodiscard]] std::vector<char> bytes() const { return {host_, host_ + size_}; }
  /// What a kernel sees after a copy back.
  [[nodiscard]] std::vector<char> on_device() const {
    runtime::copy(device_, host_, size_, {});
    const runtime::Capture capture{device_, nullptr, 0, false, false};
    const runtime::Launch launch(runtime::queue_of(nullptr), "look", &capture, 1, nullptr, 0);
    return {device_, device_ + size_};
  }

 private:
  std::size_t size_;
  char* device_;
  char* host_;
};

/// A temporary file, opened by descriptor and by stream.
class File {
 public:
  File() : stream_(std::tmpfile()) {}
  ~File() { std::fclose(stream_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return ::fileno(stream_); }
  [[nodiscard]] FILE* stream() const { return stream_; }
  void put(const std::vector<char>& bytes) const {
    EXPECT_EQ(::pwrite(descriptor(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] std::vector<char> get() const {
    std::fflush(stream_);
    std::vector<char> out(2 * n);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(descriptor(), out.data(), out.size(), 0))));
    return out;
  }

 private:
  FILE* stream_;
};

constexpr auto whole = static_cast<ssize_t>(n);

std::uint64_t fetched() { return semcache::statistics().total.d2h.bytes; }

// What docs/mpi.md promises without the library: an error, never wrong bytes.
TEST(WithoutPreload, TheKernelAnswersEfault) {
  const Mirror mirror;
  const File file;
  file.put(bytes_of(&other));

  errno = 0;
  EXPECT_EQ(::write(file.descriptor(), mirror.data(), n), -1);
  EXPECT_EQ(errno, EFAULT);
  errno = 0;
  EXPECT_EQ(::read(file.descriptor(), mirror.data(), n), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(file.get(), bytes_of(&other));
  EXPECT_EQ(mirror.bytes(), bytes_of(&content));
}

TEST(WithPreload, AFileIsWrittenFromAProtectedMirror) {
  const Mirror mirror;
  const File file;
  const std::uint64_t before = fetched();

  EXPECT_EQ(::write(file.descriptor(), mirror.data(), 100), 100);
  EXPECT_EQ(fetched() - before, 100u) << "exactly the used bytes";
  EXPECT_EQ(::pwrite(file.descriptor(), mirror.data() + 100, n - 100, 100), whole - 100);
  EXPECT_EQ(file.get(), bytes_of(&content));
  EXPECT_EQ(fetched() - before, n);
}

TEST(WithPreload, AFileIsReadIntoAProtectedMirrorWithoutFetchingIt) {
  const Mirror mirror;
  const File file;
  file.put(bytes_of(&other));
  const std::uint64_t before = fetched();

  EXPECT_EQ(::read(file.descriptor(), mirror.data(), n), whole);
  EXPECT_EQ(fetched(), before);
  EXPECT_EQ(mirror.bytes(), bytes_of(&other));
  EXPECT_EQ(mirror.on_device(), bytes_of(&other));
}

TEST(WithPreload, AShortFileChangesOnlyWhatItBrings) {
  const Mirror mirror;
  const File file;
  file.put(bytes_of(&other, 0, 4000));

  EXPECT_EQ(::pread(file.descriptor(), mirror.data() + 10, n - 10, 0), 4000);

  std::vector<char> after = bytes_of(&content);
  for (std::size_t i = 0; i < 4000; ++i) after[10 + i] = other(i);
  EXPECT_EQ(mirror.bytes(), after);
  EXPECT_EQ(mirror.on_device(), after);
  EXPECT_EQ(::pread(file.descriptor(), mirror.data(), n, 4000), 0);
  EXPECT_EQ(mirror.bytes(), after);
}

TEST(WithPreload, ErrorsOfTheCallAreTheCallers) {
  const Mirror mirror;
  errno = 0;
  EXPECT_EQ(::read(-1, mirror.data(), n), -1);
  EXPECT_EQ(errno, EBADF);
  errno = 0;
  EXPECT_EQ(::write(-1, mirror.data(), n), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(::write(-1, mirror.data() + n - 5, 100), -1) << "the range leaves the mirror";
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(mirror.bytes(), bytes_of(&content));
}

TEST(WithPreload, SeveralBuffersAtOnce) {
  const Mirror mirror;
  const Mirror second;
  const File file;
  std::vector<char> plain(50, 'p');
  const iovec out[] = {{mirror.data() + 5, 1000}, {plain.data(), 50}, {second.data(), 2000}};
  std::vector<char> expected = bytes_of(&content, 5, 1005);
  expected.insert(expected.end(), 50, 'p');
  const std::vector<char> rest = bytes_of(&content, 0, 2000);
  expected.insert(expected.end(), rest.begin(), rest.end());

  EXPECT_EQ(::writev(file.descriptor(), out, 3), 3050);
  EXPECT_EQ(file.get(), expected);

  file.put(bytes_of(&other));
  ::lseek(file.descriptor(), 0, SEEK_SET);
  const iovec in[] = {{second.data() + 7, 3000}, {plain.data(), 50}, {mirror.data(), 4000}};
  EXPECT_EQ(::readv(file.descriptor(), in, 3), 7050);
  EXPECT_EQ(plain, bytes_of(&other, 3000, 3050));
  std::vector<char> after = bytes_of(&content);
  std::copy_n(bytes_of(&other).begin(), 3000, after.begin() + 7);
  EXPECT_EQ(second.bytes(), after);
  EXPECT_EQ(std::vector<char>(mirror.data(), mirror.data() + 4000), bytes_of(&other, 3050, 7050));
  EXPECT_EQ(::preadv(file.descriptor(), in, 3, 100), 7050);
  EXPECT_EQ(mirror.data()[0], other(3150));
}

TEST(WithPreload, Streams) {
  const Mirror mirror;
  const File file;
  EXPECT_EQ(std::fwrite(mirror.data(), 3, n / 3, file.stream()), n / 3);
  EXPECT_EQ(file.get(), bytes_of(&content, 0, n / 3 * 3));

  file.put(bytes_of(&other, 0, 100));
  ASSERT_EQ(::ftruncate(file.descriptor(), 100), 0);
  std::rewind(file.stream());
  EXPECT_EQ(std::fread(mirror.data(), 8, n / 8, file.stream()), 100u / 8);
  EXPECT_NE(std::feof(file.stream()), 0);
  EXPECT_EQ(std::vector<char>(mirror.data(), mirror.data() + 96), bytes_of(&other, 0, 96));
  EXPECT_EQ(mirror.data()[100], content(100));
}

TEST(WithPreload, CppStreams) {
  const Mirror mirror;
  const char* folder = std::getenv("TMPDIR");
  const std::string path =
      std::string(folder != nullptr ? folder : "/tmp") + "/semcache_syscalls_" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(mirror.data(), whole);
  const Mirror again;
  std::ifstream(path, std::ios::binary).read(again.data() + 1, whole - 1);
  ::unlink(path.c_str());

  std::vector<char> after = bytes_of(&content);
  std::copy_n(bytes_of(&content).begin(), n - 1, after.begin() + 1);
  EXPECT_EQ(again.bytes(), after);
}

TEST(WithPreload, SocketsAndPipes) {
  const Mirror from;
  const Mirror to;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread sender([&] { EXPECT_EQ(::send(ends[0], from.data() + 1, n - 1, 0), whole - 1); });
  EXPECT_EQ(::recv(ends[1], to.data(), n - 1, MSG_WAITALL), whole - 1);
  sender.join();
  EXPECT_EQ(std::vector<char>(to.data(), to.data() + n - 1), bytes_of(&content, 1, n));
  EXPECT_EQ(to.data()[n - 1], content(n - 1));

  // A pipe has less than was asked for, and reading on would block.
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  EXPECT_EQ(::write(pipe_ends[1], from.data(), 300), 300);
  EXPECT_EQ(::read(pipe_ends[0], to.data(), n), 300);
  EXPECT_EQ(std::vector<char>(to.data(), to.data() + 300), bytes_of(&content, 0, 300));
  for (const int end : {ends[0], ends[1], pipe_ends[0], pipe_ends[1]}) ::close(end);
}

TEST(WithPreload, MoreThanOneChunk) {
  constexpr std::size_t large = (std::size_t{17} << 20) + 5;
  const Mirror mirror(large);
  const File file;
  ASSERT_EQ(::write(file.descriptor(), mirror.data(), large), static_cast<ssize_t>(large));
  const Mirror again(large + 1);
  ::lseek(file.descriptor(), 0, SEEK_SET);
  ASSERT_EQ(::read(file.descriptor(), again.data() + 1, large), static_cast<ssize_t>(large));

  const std::vector<char> got = again.bytes();
  ASSERT_EQ(got[0], content(0));
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(got[i + 1], content(i)) << i;
}

TEST(WithPreload, SeveralBuffersOfMoreThanOneChunk) {
  constexpr std::size_t large = (std::size_t{9} << 20) + 11;
  const Mirror first(large);
  const Mirror second(large);
  const File file;
  std::vector<char> plain(50, 'p');
  const iovec out[] = {{first.data() + 3, large - 3}, {plain.data(), 50}, {nullptr, 0}, {second.data(), large}};
  constexpr std::size_t all = 2 * large + 47;
  ASSERT_EQ(::writev(file.descriptor(), out, 4), static_cast<ssize_t>(all));
  std::vector<char> written(all);
  ASSERT_EQ(::pread(file.descriptor(), written.data(), all, 0), static_cast<ssize_t>(all));
  for (std::size_t i = 0; i < large - 3; ++i) ASSERT_EQ(written[i], content(i + 3)) << i;
  EXPECT_EQ(std::vector<char>(written.begin() + large - 3, written.begin() + large + 47), plain);
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(written[large + 47 + i], content(i)) << i;

  ::lseek(file.descriptor(), 0, SEEK_SET);
  const iovec in[] = {{plain.data(), 7}, {second.data(), large}, {first.data(), large}};
  ASSERT_EQ(::readv(file.descriptor(), in, 3), static_cast<ssize_t>(2 * large + 7));
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(second.data()[i], written[7 + i]) << i;
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(first.data()[i], written[large + 7 + i]) << i;
}

/// Something has arrived in the first buffer: whoever waited for the second one would wait for ever.
TEST(WithPreload, AVectoredReadReturnsWhatAPipeHas) {
  const Mirror mirror(std::size_t{16} << 20);
  char head[4096];
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::vector<char> sent = bytes_of(&other, 0, 4100);
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{4100}}) {
    ASSERT_EQ(::write(ends[1], sent.data(), bytes), static_cast<ssize_t>(bytes));
    const iovec in[] = {{head, sizeof head}, {mirror.data() + 10, (std::size_t{16} << 20) - 10}};
    ASSERT_EQ(::readv(ends[0], in, 2), static_cast<ssize_t>(bytes));
    EXPECT_EQ(std::vector<char>(head, head + sizeof head), bytes_of(&other, 0, sizeof head));
  }
  EXPECT_EQ(std::vector<char>(mirror.data() + 10, mirror.data() + 14), bytes_of(&other, 4096, 4100));
  EXPECT_EQ(mirror.data()[9], content(9));
  EXPECT_EQ(mirror.data()[14], content(14));
  for (const int end : ends) ::close(end);
}

TEST(WithPreload, ACallMayBeMadeWhileAKernelOverwritesTheArray) {
  char* const device = static_cast<char*>(runtime::allocate_device("both", n));
  char* const host = static_cast<char*>(runtime::allocate_host("both", n, device));
  const File file;
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
    const std::vector<char> line(4096, static_cast<char>('a' + round % 26));
    file.put(line);
    ASSERT_EQ(::pread(file.descriptor(), host, 4096, 0), 4096) << round;
    ASSERT_EQ(::pwrite(file.descriptor(), host, 4096, 4096), 4096) << round;
    const std::vector<char> got = file.get();
    ASSERT_EQ(std::vector<char>(got.begin() + 4096, got.begin() + 8192), line) << round;
  }
  stop = true;
  kernels.join();
  EXPECT_EQ(host[n - 1], 'k');
  runtime::deallocate(host);
  runtime::deallocate(device);
}

}  // namespace
