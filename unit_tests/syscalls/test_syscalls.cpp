// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// What is the preloaded library's own, and what there is without it. test_system_calls.cpp has the rest.
#include <syscalls/mirror.hpp>

#include <sys/uio.h>

#include <cerrno>

namespace semcache::syscalls::testing {
namespace {

std::uint64_t fetched() { return statistics().total.d2h.bytes; }

// What docs/how-to/system-calls.md promises without the library: an error, never wrong bytes.
TEST(WithoutPreload, TheKernelAnswersEfault) {
  const Mirror mirror;
  const File file(bytes_of(&other));

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
  const File file(bytes_of(&other));
  const std::uint64_t before = fetched();

  EXPECT_EQ(::read(file.descriptor(), mirror.data(), n), whole);
  EXPECT_EQ(fetched(), before);
  EXPECT_EQ(mirror.bytes(), bytes_of(&other));
  EXPECT_EQ(mirror.on_device(), bytes_of(&other));
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

TEST(WithPreload, MoreThanOneChunk) {
  constexpr std::size_t large = (std::size_t{17} << 20) + 5;
  const Mirror mirror(Pages::stale, large);
  const File file;
  ASSERT_EQ(::write(file.descriptor(), mirror.data(), large), static_cast<ssize_t>(large));
  const Mirror again(Pages::stale, large + 1);
  ::lseek(file.descriptor(), 0, SEEK_SET);
  ASSERT_EQ(::read(file.descriptor(), again.data() + 1, large), static_cast<ssize_t>(large));

  const Bytes got = again.bytes();
  ASSERT_EQ(got[0], content(0));
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(got[i + 1], content(i)) << i;
}

TEST(WithPreload, SeveralBuffersOfMoreThanOneChunk) {
  constexpr std::size_t large = (std::size_t{9} << 20) + 11;
  const Mirror first(Pages::stale, large);
  const Mirror second(Pages::stale, large);
  const File file;
  Bytes plain(50, 'p');
  const iovec out[] = {{first.data() + 3, large - 3}, {plain.data(), 50}, {nullptr, 0}, {second.data(), large}};
  constexpr std::size_t all = 2 * large + 47;
  ASSERT_EQ(::writev(file.descriptor(), out, 4), static_cast<ssize_t>(all));
  Bytes written(all);
  ASSERT_EQ(::pread(file.descriptor(), written.data(), all, 0), static_cast<ssize_t>(all));
  for (std::size_t i = 0; i < large - 3; ++i) ASSERT_EQ(written[i], content(i + 3)) << i;
  EXPECT_EQ(Bytes(written.begin() + large - 3, written.begin() + large + 47), plain);
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(written[large + 47 + i], content(i)) << i;

  ::lseek(file.descriptor(), 0, SEEK_SET);
  const iovec in[] = {{plain.data(), 7}, {second.data(), large}, {first.data(), large}};
  ASSERT_EQ(::readv(file.descriptor(), in, 3), static_cast<ssize_t>(2 * large + 7));
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(second.data()[i], written[7 + i]) << i;
  for (std::size_t i = 0; i < large; ++i) ASSERT_EQ(first.data()[i], written[large + 7 + i]) << i;
}

/// Something has arrived in the first buffer: whoever waited for the second one would wait for ever.
TEST(WithPreload, AVectoredReadReturnsWhatAPipeHas) {
  const Mirror mirror(Pages::stale, std::size_t{16} << 20);
  char head[4096];
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Bytes sent = bytes_of(&other, 0, 4100);
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{4100}}) {
    ASSERT_EQ(::write(ends[1], sent.data(), bytes), static_cast<ssize_t>(bytes));
    const iovec in[] = {{head, sizeof head}, {mirror.data() + 10, (std::size_t{16} << 20) - 10}};
    ASSERT_EQ(::readv(ends[0], in, 2), static_cast<ssize_t>(bytes));
    EXPECT_EQ(Bytes(head, head + sizeof head), bytes_of(&other, 0, sizeof head));
  }
  EXPECT_EQ(Bytes(mirror.data() + 10, mirror.data() + 14), bytes_of(&other, 4096, 4100));
  EXPECT_EQ(mirror.data()[9], content(9));
  EXPECT_EQ(mirror.data()[14], content(14));
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace semcache::syscalls::testing
