// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// Memory of the program's own that is adopted: right content in every order of uses, and refused where it could not be right.
namespace semcache::runtime {
namespace {

using Bytes = std::vector<std::uint8_t>;

const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t pages = 8;  // of each block
alignas(65536) std::uint8_t static_block[pages * 65536];
alignas(65536) std::uint8_t initialised_block[pages * 65536] = {1};

/// A block of memory that begins with a page.
class Block {
 public:
  enum class From { malloc, mmap, bss, data };
  explicit Block(From from = From::mmap) : from_(from) {
    switch (from) {
      case From::malloc: address_ = static_cast<std::uint8_t*>(std::aligned_alloc(page, pages * page)); break;
      case From::mmap: {
        void* const got = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        address_ = got == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(got);
        break;
      }
      case From::bss: address_ = static_block; break;
      case From::data: address_ = initialised_block; break;
    }
    for (std::size_t i = 0; i < pages * page; ++i) address_[i] = static_cast<std::uint8_t>(7 * i + i / 251);
  }
  ~Block() {
    if (from_ == From::malloc) std::free(address_);
    if (from_ == From::mmap) ::munmap(address_, pages * page);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] std::uint8_t* at(std::size_t offset) const { return address_ + offset; }

 private:
  From from_;
  std::uint8_t* address_ = nullptr;
};

/// Adopted bytes of a block.
struct Adopted {
  Adopted(const Block& block, std::size_t begin, std::size_t end, const char* label = "adopted")
      : data(block.at(begin)), bytes(end - begin) {
    adopt(data, bytes, label);
  }
  ~Adopted() { release(data); }
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;
  [[nodiscard]] Bytes content() const { return {data, data + bytes}; }
  std::uint8_t* const data;
  const std::size_t bytes;
};

struct Device {
  explicit Device(std::size_t n) : data(static_cast<std::uint8_t*>(allocate_device("device", n))), bytes(n) {}
  ~Device() { deallocate(data); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// Runs a kernel on the array.
  void run(const std::function<void(std::uint8_t*)>& kernel, bool writes = true) const {
    const LibraryUse use{data, bytes, writes ? Access::read_write : Access::read};
    const Launch launch(queue_of(nullptr), &use, 1);
    kernel(data);
  }
  [[nodiscard]] Bytes content() const {
    Bytes out(bytes);
    run([&](const std::uint8_t* at) { std::memcpy(out.data(), at, bytes); }, false);
    return out;
  }
  void add(std::uint8_t n) const {
    run([&](std::uint8_t* at) {
      for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::uint8_t>(at[i] + n);
    });
  }
  std::uint8_t* const data;
  const std::size_t bytes;
};

Bytes plus(Bytes bytes, std::uint8_t n) {
  for (auto& b : bytes) b = static_cast<std::uint8_t>(b + n);
  return bytes;
}

std::uint64_t sent() { return statistics().total.h2d.bytes; }

template <class Body>
std::string usage_error(const Body& body) {
  try {
    body();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

void expect_error(const std::string& error, std::initializer_list<const char*> parts) {
  for (const char* const part : parts) EXPECT_NE(error.find(part), std::string::npos) << "'" << part << "' is not in: " << error;
}

struct Case {
  Block::From from;
  std::size_t front, behind;  // edges
};

class EveryMemory : public ::testing::TestWithParam<Case> {};

TEST_P(EveryMemory, MovesWhatIsMissing) {
  const Block block(GetParam().from);
  const std::size_t front = GetParam().front, behind = GetParam().behind, edges = front + behind, body = 4 * page;
  const std::size_t begin = 2 * page - front, end = 6 * page + behind;
  const Bytes before(block.at(0), block.at(begin)), after(block.at(end), block.at(pages * page));
  {
    const Device device(end - begin);
    const Adopted host(block, begin, end);
    const bool lazy = notices_host_accesses(host.data);  // otherwise it is copied at every copy
    EXPECT_EQ(is_tracked(host.data), lazy);
    EXPECT_EQ(is_tracked(host.data + host.bytes - 1), lazy);
    EXPECT_FALSE(is_tracked(host.data + host.bytes));
    EXPECT_FALSE(notices_host_accesses(host.data + host.bytes));
    std::uint64_t now = sent();
    Bytes expected = host.content();
    copy(device.data, host.data, host.bytes, {});
    if (lazy) {
      EXPECT_EQ(sent() - now, edges) << "the whole pages go when they are needed";
    }
    EXPECT_EQ(device.content(), expected);
    EXPECT_EQ(sent() - now, edges + body);
    copy(device.data, host.data, host.bytes, {});
    EXPECT_EQ(device.content(), expected);
    if (lazy) {
      EXPECT_EQ(sent() - now, 2 * edges + body) << "a redundant copy";
    }
    // The host writes one byte of each part.
    now = sent();
    const std::uint64_t faults = statistics().total.host_faults;
    const Bytes old = expected;
    for (const std::size_t i : {std::size_t{0}, front + page + 5, host.bytes - 1}) {
      expected[i] = host.data[i] = static_cast<std::uint8_t>(old[i] + 100);
    }
    EXPECT_EQ(statistics().total.host_faults > faults, lazy);
    EXPECT_EQ(device.content(), old) << "a copy has the content of its moment";
    copy(device.data, host.data, host.bytes, {});
    EXPECT_EQ(device.content(), expected);
    if (lazy) {
      EXPECT_LE(sent() - now, edges + 4 * page);
    }
    // The device writes.
    device.add(1);
    expected = plus(expected, 1);
    copy(host.data, device.data, host.bytes, {});
    EXPECT_EQ(host.content(), expected);
    device.add(1);
    EXPECT_EQ(host.content(), expected) << "nobody has copied that";
    copy(host.data, device.data, host.bytes, {});  // pending at the release
    expected = plus(expected, 1);
    release(host.data);
    EXPECT_FALSE(is_tracked(host.data));
    EXPECT_EQ(host.content(), expected);
    std::memset(host.data, 9, host.bytes);
    EXPECT_EQ(device.content(), expected);
    adopt(host.data, host.bytes, "again");
    copy(device.data, host.data, host.bytes, {});  // pending at the release
    release(host.data);
    std::memset(host.data, 8, host.bytes);
    EXPECT_EQ(device.content(), Bytes(host.bytes, 9));
    adopt(host.data, host.bytes, "for the end");
  }
  EXPECT_EQ(Bytes(block.at(0), block.at(begin)), before) << "a neighbour has changed";
  EXPECT_EQ(Bytes(block.at(end), block.at(pages * page)), after) << "a neighbour has changed";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto from : {Block::From::malloc, Block::From::mmap, Block::From::bss, Block::From::data}) {
    for (const std::size_t front : {std::size_t{0}, std::size_t{1}, page - 1}) {
      for (const std::size_t behind : {std::size_t{0}, std::size_t{1}, page - 1}) all.push_back({from, front, behind});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Adopted, EveryMemory, ::testing::ValuesIn(cases()));

TEST(Adopted, WithoutAWholePageItIsCopiedAtTheCall) {
  const Block block;
  const std::size_t begin = page + 5, end = 3 * page - 7 - page;
  const Device device(end - begin);
  const std::uint64_t opened = statistics().total.opened;
  const Adopted host(block, begin, end);
  EXPECT_EQ(statistics().total.opened, opened + 1);
  EXPECT_FALSE(is_tracked(host.data));
  const Bytes expected = host.content();
  copy(device.data, host.data, host.bytes, {});
  std::memset(host.data, 0, host.bytes);
  EXPECT_EQ(device.content(), expected);
  copy(host.data, device.data, host.bytes, {});
  EXPECT_EQ(host.content(), expected);
  access(host.data, host.bytes, Access::read_write);
  settle(host.data);
  const std::uint8_t two[] = {1, 2};
  fill(host.data + 1, host.bytes - 1, two, 2, {});
  EXPECT_EQ(host.data[0], expected[0]);
  EXPECT_EQ(host.data[1], 1);
  EXPECT_EQ(host.data[4], 2);
  EXPECT_NE(usage_error([&] { access(host.data, host.bytes + 1, Access::read); }), "");
}

TEST(Adopted, ItsEdgesAreAPartOfIt) {
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes);
  Bytes expected = host.content();
  const std::uint8_t pattern[] = {1, 2, 3, 4, 5, 6, 7, 8};
  fill(host.data + 3, host.bytes - 5, pattern, 8, {});
  for (std::size_t i = 3; i + 2 < host.bytes; ++i) expected[i] = pattern[(i - 3) % 8];
  EXPECT_EQ(host.content(), expected);
  copy(device.data, host.data, host.bytes, {});
  device.add(1);
  copy(host.data, device.data, host.bytes, {});
  expected = plus(expected, 1);
  const std::uint64_t faults = statistics().total.host_faults;
  access(host.data, host.bytes, Access::read_write);
  EXPECT_EQ(host.content(), expected);
  for (std::size_t i = 0; i < host.bytes; ++i) expected[i] = host.data[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(statistics().total.host_faults, faults) << "it was announced";
  copy(device.data, host.data, host.bytes, {});
  EXPECT_EQ(device.content(), expected);
  device.add(1);
  copy(host.data, device.data, host.bytes, {});
  settle(host.data);  // from its first byte, which is in an edge
  EXPECT_EQ(host.content(), plus(expected, 1));
  EXPECT_EQ(statistics().total.host_faults, faults);
  expect_error(usage_error([&] { access(host.data, host.bytes + 1, Access::read); }), {"leaves the adopted"});
  // Columns, of which some are in an edge, some in the body, and some in both.
  const std::size_t pitch = page / 3 + 1, columns = host.bytes / pitch;
  access_2d(host.data, pitch, pitch - 20, columns, Access::read_write);
  for (std::size_t c = 0; c < columns; ++c) std::memset(host.data + c * pitch, static_cast<int>(c), pitch - 20);
  expected = host.content();
  std::vector<std::uint8_t> dense(columns * (pitch - 20));
  copy_2d(device.data, pitch, host.data, pitch, pitch - 20, columns, {});
  const Bytes on_device = device.content();
  for (std::size_t c = 0; c < columns; ++c) {
    EXPECT_EQ(Bytes(on_device.begin() + static_cast<long>(c * pitch), on_device.begin() + static_cast<long>(c * pitch + pitch - 20)),
              Bytes(pitch - 20, static_cast<std::uint8_t>(c)));
  }
  device.add(3);
  copy_2d(host.data, pitch, device.data, pitch, pitch - 20, columns, {});
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t i = 0; i < pitch - 20; ++i) expected[c * pitch + i] = static_cast<std::uint8_t>(c + 3);
  }
  EXPECT_EQ(host.content(), expected);
}

TEST(Adopted, CopiesWithinItAndBetweenTwo) {
  const Block block, other;
  const Adopted a(block, page + 100, 4 * page + 200), b(other, page / 2, 5 * page + 10);
  Bytes expected = a.content();
  // Overlapping, across the edges.
  copy(a.data + 10, a.data, a.bytes - 10, {});
  std::memmove(expected.data() + 10, expected.data(), a.bytes - 10);
  EXPECT_EQ(a.content(), expected);
  copy(a.data, a.data + 333, a.bytes - 333, {});
  std::memmove(expected.data(), expected.data() + 333, a.bytes - 333);
  EXPECT_EQ(a.content(), expected);
  Bytes there = b.content();
  copy(b.data + 17, a.data, a.bytes, {});
  std::memcpy(there.data() + 17, expected.data(), a.bytes);
  a.data[0] = a.data[page] = 77;
  EXPECT_EQ(b.content(), there);
  Bytes plain(a.bytes + 5);
  copy(plain.data() + 5, b.data + 17, a.bytes, {});
  EXPECT_EQ(Bytes(plain.begin() + 5, plain.end()), expected);
  // More than what is adopted: the program's own memory on both sides of it.
  const Device device(6 * page);
  const Bytes all(block.at(0), block.at(6 * page));
  copy(device.data, block.at(0), 6 * page, {});
  EXPECT_EQ(device.content(), all);
}

TEST(Adopted, ACopyThatLeavesAnArrayChangesNothing) {
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes - 1);
  const Bytes expected = device.content();
  EXPECT_NE(usage_error([&] { copy(device.data, host.data, host.bytes, {}); }), "");
  EXPECT_EQ(device.content(), expected);
  EXPECT_NE(usage_error([&] { copy_2d(host.data, 10, device.data, 20, 15, 100, {}); }), "");
}

TEST(Adopted, TwoNeighboursShareAPage) {
  const Block block;
  const std::size_t border = 3 * page + 1000;
  const Adopted a(block, page, border), b(block, border, 6 * page);
  const Device device_a(a.bytes), device_b(b.bytes);
  std::atomic<bool> ends{false};
  std::uint8_t* const neighbour = b.data;
  std::thread writer([&] {
    for (std::uint8_t n = 0; !ends.load(); ++n) {
      neighbour[0] = n;
      if (neighbour[0] != n) ADD_FAILURE() << "another thread's byte was overwritten";
    }
  });
  Bytes expected = a.content();
  for (int round = 0; round < 100; ++round) {
    copy(device_a.data, a.data, a.bytes, {});
    device_a.add(1);
    copy(a.data, device_a.data, a.bytes, {});
    expected = plus(expected, 1);
    if (round % 10 == 0) {
      EXPECT_EQ(a.content(), expected);
    }
  }
  EXPECT_EQ(a.content(), expected);
  ends.store(true);
  writer.join();
  neighbour[0] = 55;
  copy(device_b.data, b.data, b.bytes, {});
  EXPECT_EQ(device_b.content(), b.content());
}

TEST(Adopted, APageAtAnEndKeepsItsProtection) {
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes);
  const Bytes expected = host.content();
  ASSERT_EQ(::mprotect(block.at(4 * page), page, PROT_READ), 0);
  copy(device.data, host.data, host.bytes, {});
  EXPECT_EQ(device.content(), expected);
  host.data[page] = expected[page];
  release(host.data);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  ASSERT_EQ(::write(pipe_ends[1], "x", 1), 1);
  EXPECT_EQ(::read(pipe_ends[0], block.at(4 * page), 1), -1) << "the program's protection is gone";
  ASSERT_EQ(::mprotect(block.at(4 * page), page, PROT_READ | PROT_WRITE), 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  adopt(host.data, host.bytes, "for the end");
}

TEST(Adopted, OthersReadWhileItIsReleased) {
  const Block block;
  const std::size_t n = 4 * page;
  const Device device(n);
  for (int round = 0; round < 200; ++round) {
    adopt(block.at(page), n, "adopted");
    device.run([&](std::uint8_t* at) { std::memset(at, round, n); });
    copy(block.at(page), device.data, n, {});
    std::atomic<bool> begun{false};
    std::thread reader([&] {
      begun.store(true);
      for (std::size_t i = 0; i < n; i += page / 2) EXPECT_EQ(*block.at(page + i), static_cast<std::uint8_t>(round));
    });
    while (!begun.load()) std::this_thread::yield();
    release(block.at(page));
    reader.join();
    if (HasFailure()) return;
  }
}

TEST(Adopted, ManyRanges) {
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(std::make_unique<Block>(i % 2 == 0 ? Block::From::mmap : Block::From::malloc));
  const Device device(4 * page);
  std::vector<Bytes> expected;
  for (const auto& block : blocks) adopt(block->at(page + 100), 4 * page, "one of many");
  for (const auto& block : blocks) {
    copy(device.data, block->at(page + 100), 4 * page, {});
    device.add(1);
    expected.push_back(device.content());
    copy(block->at(page + 100), device.data, 4 * page, {});
  }
  for (std::size_t i = 0; i < blocks.size(); i += 3) release(blocks[i]->at(page + 100));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(Bytes(blocks[i]->at(page + 100), blocks[i]->at(5 * page + 100)), expected[i]);
    if (i % 3 != 0) release(blocks[i]->at(page + 100));
  }
}

// --- refusals ------------------------------------------------------------------------------------------------------------

TEST(AdoptedRefusals, OfRangesThatAreNone) {
  const Block block;
  expect_error(usage_error([] { adopt(nullptr, 100, "nothing"); }), {"'nothing' (100 bytes", "null pointer"});
  expect_error(usage_error([&] { adopt(block.at(0), 0, "empty"); }), {"'empty' (0 bytes at 0x", "no content"});
  expect_error(usage_error([&] { adopt(block.at(0), SIZE_MAX, "endless"); }), {"'endless'", "last address"});
  expect_error(usage_error([&] { adopt(block.at(0), SIZE_MAX / 4, nullptr); }), {"last address"});
}

TEST(AdoptedRefusals, OfMemoryThatIsFollowedAlready) {
  const Block block;
  void* const mirror = allocate_host("mirror", 2 * page);
  void* const device = allocate_device("device", 2 * page);
  for (void* const ours : {mirror, device}) expect_error(usage_error([&] { adopt(ours, page, "ours"); }), {"SemCache's own"});
  deallocate(mirror);
  deallocate(device);
  const Adopted host(block, page + 100, 4 * page + 200, "first");
  const std::pair<std::size_t, std::size_t> overlapping[] = {
      {page + 100, 4 * page + 200}, {0, page + 101}, {4 * page + 199, 6 * page}, {2 * page, 2 * page + 8}, {0, 8 * page}};
  for (const auto& [begin, end] : overlapping) {
    expect_error(usage_error([&, b = begin, e = end] { adopt(block.at(b), e - b, "second"); }), {"overlaps 'first'", "Release that first"});
  }
  const Device of_it(host.bytes);
  copy(of_it.data, host.data, host.bytes, {});
  host.data[page] = 3;  // still noticed
  EXPECT_NE(of_it.content()[page], 3);
  const Adopted in_front(block, 0, page + 100), behind(block, 4 * page + 200, 6 * page);
}

/// Expects that three pages of a mapping of four cannot be adopted, and that the message says why.
void expect_refused(int access, int flags, int file, const char* why) {
  void* const at = ::mmap(nullptr, 4 * page, access, flags, file, 0);
  ASSERT_NE(at, MAP_FAILED);
  expect_error(usage_error([&] { adopt(at, 3 * page, "mapped"); }), {"'mapped'", why});
  ::munmap(at, 4 * page);
  expect_error(usage_error([&] { adopt(at, 3 * page, "unmapped"); }), {"nothing is mapped"});
}

TEST(AdoptedRefusals, OfMemoryThatMustNotBeProtected) {
  char on_stack[3 * 4096];
  expect_error(usage_error([&] { adopt(on_stack, sizeof on_stack, "local"); }), {"'local'", "stack", "malloc"});
  std::thread([] {
    char there[3 * 4096];
    expect_error(usage_error([&] { adopt(there, sizeof there, "local"); }), {"stack"});
  }).join();
  constexpr int both = PROT_READ | PROT_WRITE;
  expect_refused(both, MAP_SHARED | MAP_ANONYMOUS, -1, "shared");
  expect_refused(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, "cannot be read and written");
  expect_refused(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, "cannot be read and written");
  expect_refused(both | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, "executed");
  char name[] = "/tmp/semcache_adopted_XXXXXX";
  const int file = ::mkstemp(name);
  ASSERT_GE(file, 0);
  ::unlink(name);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(4 * page)), 0);
  expect_refused(both, MAP_PRIVATE, file, "mapped file");
  expect_refused(both, MAP_SHARED, file, "shared");
  ::close(file);
  // A part of the range is enough.
  const Block block;
  ASSERT_EQ(::mprotect(block.at(2 * page), page, PROT_READ), 0);
  expect_error(usage_error([&] { adopt(block.at(page + 7), 4 * page, "partly"); }), {"cannot be read and written"});
  ASSERT_EQ(::mprotect(block.at(2 * page), page, both), 0);
}

TEST(AdoptedRefusals, OfHugePagesThatWereAskedFor) {
  constexpr std::size_t bytes = 2 << 20;
  void* const huge = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (huge == MAP_FAILED) GTEST_SKIP() << "this machine has no huge pages to give (vm.nr_hugepages); platform_linux tests the kernel's text of them";
  expect_error(usage_error([&] { adopt(huge, bytes, "huge"); }), {"hugetlb"});
  ::munmap(huge, bytes);
}

TEST(AdoptedRefusals, OfMappingsThatGrowDownwards) {
  constexpr int both = PROT_READ | PROT_WRITE;
  expect_refused(both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, "MAP_GROWSDOWN");
  // A part of the range is enough. The part in front of it is no such mapping.
  void* const at = ::mmap(nullptr, 4 * page, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  auto* const second = static_cast<std::uint8_t*>(at) + 2 * page;
  ASSERT_EQ(::mmap(second, 2 * page, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0), second);
  expect_error(usage_error([&] { adopt(at, 3 * page, "partly"); }), {"MAP_GROWSDOWN", "'partly'"});
  adopt(at, 2 * page, "in front");
  release(at);
  ::munmap(at, 4 * page);
}

TEST(AdoptedRefusals, OfReleases) {
  const Block block;
  expect_error(usage_error([&] { release(block.at(0)); }), {"no adopted range begins there"});
  {
    const Adopted host(block, page + 100, 4 * page + 200);
    expect_error(usage_error([&] { release(block.at(2 * page)); }), {"no adopted range begins there"});
    deallocate(block.at(2 * page));  // says that it does nothing
    EXPECT_TRUE(is_tracked(host.data));
  }
  EXPECT_NE(usage_error([&] { release(block.at(page + 100)); }), "");
}

// --- the process -----------------------------------------------------------------------------------------------------------

TEST(AdoptedProcess, EndsAndStartsAgain) {
  const Block block;
  const std::size_t begin = page + 100, n = 3 * page + 100;
  {
    const Device device(n);
    adopt(block.at(begin), n, "adopted");
    device.run([&](std::uint8_t* at) { std::memset(at, 42, n); });
    copy(block.at(begin), device.data, n, {});
  }
  finalize();
  release(block.at(begin));  // does nothing
  EXPECT_EQ(Bytes(block.at(begin), block.at(begin + n)), Bytes(n, 42));
  std::memset(block.at(begin), 1, n);
  const Device device(n);
  const Adopted host(block, begin, begin + n);
  copy(device.data, host.data, n, {});
  EXPECT_EQ(device.content(), Bytes(n, 1));
}

TEST(AdoptedProcess, AChildCanUseWhatWasSettledAndOpened) {
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes);
  void* const mirror = allocate_host("mirror", host.bytes);
  device.run([&](std::uint8_t* at) { std::memset(at, 42, host.bytes); });
  copy(host.data, device.data, host.bytes, {});
  copy(mirror, device.data, host.bytes, {});
  settle_and_open();
  const pid_t child = ::fork();
  if (child == 0) {
    bool right = host.content() == Bytes(host.bytes, 42) && std::memcmp(mirror, host.data, host.bytes) == 0;
    int pipe_ends[2];  // the kernel reaches it, too
    right = right && ::pipe(pipe_ends) == 0 && ::write(pipe_ends[1], host.data + page, 3) == 3 &&
            ::read(pipe_ends[0], host.data + 2 * page, 3) == 3;
    std::memset(host.data, 1, host.bytes);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(host.content(), Bytes(host.bytes, 42));
  host.data[2 * page] = 43;
  copy(device.data, host.data, host.bytes, {});
  EXPECT_EQ(device.content(), host.content());
  deallocate(mirror);
}

TEST(AdoptedProcess, AChildCanWriteWhatCanBeRead) {
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes);
  copy(device.data, host.data, host.bytes, {});  // read-only from now on
  const pid_t child = ::fork();
  if (child == 0) {
    std::memset(host.data, 1, host.bytes);
    ::_exit(host.content() == Bytes(host.bytes, 1) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(device.content(), host.content());
}

class AdoptedDeath : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(AdoptedDeath, AChildThatTouchesStalePagesEndsWithAMessage) {
  EXPECT_DEATH(
      {
        const Block block;
        const Adopted host(block, page + 100, 4 * page + 200, "of the parent");
        const Device device(host.bytes);
        device.add(1);
        copy(host.data, device.data, host.bytes, {});
        const pid_t child = ::fork();
        if (child == 0) ::_exit(host.data[page] == 0 ? 1 : 2);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) std::abort();
        ::_exit(0);
      },
      "a forked child touched array 'of the parent'");
}

TEST_F(AdoptedDeath, UnmappedBeforeTheRelease) {
  EXPECT_DEATH(
      {
        void* const at = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        adopt(at, 4 * page, "gone");
        const Device device(4 * page);
        ::munmap(at, 4 * page);
        copy(device.data, at, 4 * page, {});
      },
      "'gone' at 0x.* was unmapped");
  EXPECT_DEATH(
      {
        void* const at = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        adopt(at, 4 * page, "wanted");
        const Device device(4 * page);
        copy(device.data, at, 4 * page, {});
        ::munmap(at, 4 * page);
        release(at);
      },
      "'wanted' at 0x.* was unmapped .*other arrays want");
}

/// Whether the memory is still there must be found out without a file descriptor. (Found by a review.)
TEST(AdoptedProcess, ReleasedWhileNoFileDescriptorIsFree) {
  auto* const at = static_cast<std::uint8_t*>(::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(at, 7, 4 * page);
  void* const on_device = allocate_device("device", 4 * page);
  adopt(at, 4 * page, "kept");
  copy(on_device, at, 4 * page, {});
  access(on_device, 4 * page, Access::read_write);
  static_cast<std::uint8_t*>(on_device)[0] = 8;
  copy(at, on_device, 4 * page, {});
  std::vector<int> files;
  for (int file = ::dup(2); file >= 0; file = ::dup(2)) files.push_back(file);
  release(at);
  for (const int file : files) ::close(file);
  EXPECT_EQ(at[0], 8);
  EXPECT_EQ(at[4 * page - 1], 7);
  deallocate(on_device);
  ::munmap(at, 4 * page);
}

TEST(AdoptedProcess, UnmappedBeforeTheReleaseAndWantedByNobody) {
  void* const at = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  adopt(at, 4 * page, "gone");
  ::munmap(at, 4 * page);
  ::testing::internal::CaptureStderr();
  release(at);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("'gone' at 0x"), std::string::npos);
  EXPECT_FALSE(is_tracked(at));
}

/// Did the process crash? (A sanitizer reports a crash itself, and exits, unless its report needs more than the stack of a signal handler.)
bool ended_by_a_crash(int status) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
#else
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
#endif
}

/// The program protects its own memory: its accesses are crashes of its own, and never waits without an end.
TEST_F(AdoptedDeath, ACrashStaysACrash) {
  const auto crash = [](bool while_adopted) {
    const Block block;
    adopt(block.at(page), 4 * page, "adopted");
    if (!while_adopted) release(block.at(page));
    ::mprotect(block.at(2 * page), page, PROT_NONE);
    *static_cast<volatile std::uint8_t*>(block.at(2 * page)) = 1;
  };
  EXPECT_EXIT(crash(true), ended_by_a_crash, "the program has closed a page of the adopted memory 'adopted' at 0x.* itself \\(mprotect\\)");
  EXPECT_EXIT(crash(false), ended_by_a_crash, "");
  EXPECT_EXIT(
      {
        const Block block;
        adopt(block.at(page), 2 * page, "adopted");
        ::mprotect(block.at(4 * page), page, PROT_READ);
        *static_cast<volatile std::uint8_t*>(block.at(4 * page)) = 1;
      },
      ended_by_a_crash, "");
}

// --- what libraries in front of MPI and of system calls do --------------------------------------------------------------------

TEST(AdoptedMessages, HaveTheContentOfEdgesAndBody) {
  const ForeignIo& io = *semcache_foreign_io_1();
  const Block block;
  const Adopted host(block, page + 100, 4 * page + 200);
  const Device device(host.bytes);
  copy(device.data, host.data, host.bytes, {});
  device.add(1);
  copy(host.data, device.data, host.bytes, {});
  TrackedArray array;
  for (const std::size_t at : {std::size_t{0}, page, host.bytes - 1}) {
    ASSERT_TRUE(io.find(host.data + at, array));
    EXPECT_EQ(array.address, reinterpret_cast<std::byte*>(host.data));
    EXPECT_EQ(array.bytes, host.bytes);
    EXPECT_TRUE(array.on_host);
  }
  EXPECT_FALSE(io.find(host.data + host.bytes, array));
  EXPECT_FALSE(io.find(host.data - 1, array));
  EXPECT_TRUE(io.overlaps(host.data, host.data + host.bytes - 1));
  const Transit transit = io.take(host.bytes, base::Side::host, nullptr);
  const ByteRange pieces[] = {{0, 50}, {60, page + 500}, {page + 600, host.bytes - 10}};
  EXPECT_FALSE(io.valid_here(host.data, pieces, 3));
  EXPECT_TRUE(io.valid_here(host.data, pieces, 1));
  io.expect(host.data, pieces, 3, transit, 0);
  io.read_out(host.data, pieces, 3, transit, 0);
  io.settle(transit);
  const Bytes expected = device.content();
  for (const ByteRange p : pieces) EXPECT_EQ(std::memcmp(transit.address + p.begin, expected.data() + p.begin, p.size()), 0);
  std::memset(transit.address, 99, host.bytes);
  io.write_in(host.data, pieces, 3, transit, 0);
  Bytes now = expected;
  for (const ByteRange p : pieces) {
    std::fill(now.begin() + static_cast<long>(p.begin), now.begin() + static_cast<long>(p.end), std::uint8_t{99});
  }
  EXPECT_EQ(host.content(), now);
  io.give(transit);
}

}  // namespace
}  // namespace semcache::runtime
