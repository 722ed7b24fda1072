// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/leads.hpp>
#include <semcache/runtime/runtime.hpp>
#include <semcache/semcache.h>
#include <semcache/semcache.hpp>

#include <fakes/failing_memory.hpp>
#include <platform/address_limit.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

/// I9 where the host has no memory: every allocation of every public call fails once, on the emulated device with real pages
/// and faults. Afterwards the call has worked, or it has failed and all content is what it was.
namespace semcache::runtime {
namespace {

using fakes::FailingMemory;
using Bytes = std::vector<unsigned char>;
constexpr std::size_t page = 4096;
constexpr std::size_t size = 8 * page;

struct Array {
  const char* name;
  unsigned char* at = nullptr;
  Bytes content = Bytes(size);
};

/// One lifetime of the runtime. The k-th allocation of what is attempted fails.
class World {
 public:
  World() {
    for (Array* a : {&d1, &d2, &d3, &pair_d}) a->at = static_cast<unsigned char*>(allocate_device(a->name, size));
    for (Array* a : {&h1, &h2, &h3}) a->at = static_cast<unsigned char*>(allocate_host(a->name, size));
    pair_h.at = static_cast<unsigned char*>(allocate_host(pair_h.name, size, pair_d.at));
    views = allocate_device("views", 16);
    queue = queue_of(nullptr);
    kernel(d1, 0, size, 1);
    kernel(d2, 0, size, 2);
    kernel(d3, 0, size, 3);
    kernel(pair_d, 0, size, 4);
    host_write(h3, 0, size, 5);
    copy(h1, 0, d1, 0, size);
    fill(h2, 0, size, 9);
    for (std::size_t at = 0; at + 2 * page <= size; at += 2 * page) copy(h2, at, d2, at + page, page);
    pair_h.content = pair_d.content;
  }
  ~World() {
    for (Array* a : all()) deallocate(a->at);
    for (void* p : more) deallocate(p);
    deallocate(views);
    EXPECT_EQ(statistics().live_device_bytes, 0u);
    EXPECT_EQ(statistics().live_host_bytes, 0u);
    finalize();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void arm(long k) { k_ = k; }
  long disarm() { return std::exchange(k_, -1); }
  [[nodiscard]] bool fired() const { return k_ < 0; }
  template <class Call>
  bool attempt(const Call& call) {
    bool worked = true;
    const FailingMemory failing(k_);
    try {
      call();
    } catch (const std::bad_alloc&) {
      worked = false;
    } catch (const Error&) {
      worked = false;
    }
    k_ = FailingMemory::left();
    return worked;
  }
  template <class Call>
  bool attempt_in_c(const Call& call) {
    semcache_status status = SEMCACHE_SUCCESS;
    (void)attempt([&] { status = call(); });
    if (status != SEMCACHE_SUCCESS) {
      EXPECT_EQ(status, SEMCACHE_ERROR_OUT_OF_MEMORY) << semcache_last_error();
    }
    return status == SEMCACHE_SUCCESS;
  }

  static Capture capture(const Array& a, bool writable) {
    return {a.at, nullptr, 0, writable, false};
  }
  /// What the kernel does is not attempted: its faults belong to the service thread.
  void run(Array& a, std::size_t begin, std::size_t end, unsigned char value) {
    const long keep = std::exchange(fakes::allocations_until_failure, -1);
    std::memset(a.at + begin, value, end - begin);
    std::memset(a.content.data() + begin, value, end - begin);
    fakes::allocations_until_failure = keep;
  }
  void kernel(Array& a, std::size_t begin, std::size_t end, unsigned char value, bool unknown = false) {
    (void)attempt([&] {
      const Capture captures[] = {capture(a, true), {views, nullptr, 0, false, true}};
      const Launch launch(queue, "kernel", captures, unknown ? 2 : 1);
      run(a, begin, end, value);
    });
  }
  void host_write(Array& a, std::size_t begin, std::size_t end, unsigned char value) { run(a, begin, end, value); }
  void copy(Array& to, std::size_t at, const Array& from, std::size_t from_at, std::size_t n) {
    if (!attempt([&] { runtime::copy(to.at + at, from.at + from_at, n, queue); })) return;
    std::memmove(to.content.data() + at, from.content.data() + from_at, n);
  }
  void fill(Array& a, std::size_t at, std::size_t n, unsigned char value) {
    if (attempt([&] { runtime::fill(a.at + at, n, &value, 1, queue); })) std::memset(a.content.data() + at, value, n);
  }
  void expect_content(const char* when) {
    for (Array* a : {&h1, &h2, &h3, &pair_h}) {
      if (a->at == nullptr) continue;
      EXPECT_EQ(std::memcmp(a->at, a->content.data(), size), 0) << when << ": " << a->name << " is wrong";
    }
    for (Array* a : {&d1, &d2, &d3, &pair_d}) {
      if (a->at == nullptr) continue;
      const Capture c = capture(*a, false);
      const Launch launch(queue, "read", &c, 1);
      EXPECT_EQ(std::memcmp(a->at, a->content.data(), size), 0) << when << ": " << a->name << " is wrong";
    }
  }
  void go_on() {
    kernel(d1, page, 3 * page, 21);
    copy(h1, 0, d1, 0, size);
    host_write(h3, 100, 9000, 22);
    copy(d3, 0, h3, 0, size);
    kernel(pair_d, 0, page, 23);
    pair_h.content = pair_d.content;
    expect_content("later");
  }
  std::vector<Array*> all() { return {&d1, &d2, &d3, &pair_d, &h1, &h2, &h3, &pair_h}; }

  QueueId queue;
  void* views = nullptr;  ///< who captures it may use any array
  Array d1{"d1"}, d2{"d2"}, d3{"d3"}, pair_d{"pair_d"};
  Array h1{"h1"}, h2{"h2"}, h3{"h3"}, pair_h{"pair_h"};
  std::vector<void*> more;

 private:
  long k_ = -1;
};

void message(World& w, Array& a, bool in, bool on_device) {
  const ForeignIo& io = *semcache_foreign_io_1();
  const ByteRange pieces[] = {{0, 700}, {2 * page, 3 * page + 5}};
  Transit transit;
  if (!w.attempt([&] { transit = io.take(4 * page, on_device ? base::Side::device : base::Side::host, nullptr); })) return;
  if (in) {
    std::memset(transit.address, 77, 4 * page);
    if (w.attempt([&] { io.write_in(a.at + 100, pieces, 2, transit, 0); })) {
      for (const ByteRange p : pieces) std::memset(a.content.data() + 100 + p.begin, 77, p.size());
    }
  } else if (w.attempt([&] {
               io.read_out(a.at + 100, pieces, 2, transit, 0);
               io.settle(transit);
               io.expect(a.at + 100, pieces, 2, transit, 0);
               (void)io.valid_here(a.at, pieces, 2);
             })) {
    for (const ByteRange p : pieces) EXPECT_EQ(std::memcmp(transit.address + p.begin, a.content.data() + 100 + p.begin, p.size()), 0);
  }
  (void)w.attempt([&] { io.give(transit); });
}

void beside(World& w) {
  const ForeignIo& io = *semcache_foreign_io_1();
  Transit transits[2];
  for (std::size_t i = 0; i < 2; ++i) {
    (void)w.attempt([&] { transits[i] = io.take_beside(w.d1.at + i * page, page); });
  }
  if (transits[0].buffer != nullptr && transits[1].buffer != nullptr) {
    for (const Transit& t : transits) std::memset(t.address, 78, page);
    const Transit* const both[] = {&transits[0], &transits[1]};
    bool together = false;
    if (w.attempt([&] { together = io.write_in_together(w.d1.at, 2 * page, both, 2); })) {
      EXPECT_TRUE(together);
      std::memset(w.d1.content.data(), 78, 2 * page);
    }
  }
  for (const Transit& t : transits) (void)w.attempt([&] { io.give(t); });
}

using Scenario = std::pair<const char*, std::function<void(World&)>>;

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"copies",
       [](World& w) {
         w.copy(w.d3, 0, w.h3, 0, size);
         w.copy(w.d1, page, w.h3, 3 * page, 4 * page);
         w.copy(w.h3, 10, w.d2, 50, 300);
         w.copy(w.d2, page, w.d2, 0, 5 * page);
         w.copy(w.h1, 0, w.h2, 0, size);
         w.copy(w.pair_h, 0, w.d1, 0, size);
         w.pair_d.content = w.pair_h.content;
       }},
      {"a copy from ordinary memory",
       [](World& w) {
         const Bytes ordinary(size, 66);
         for (Array* a : {&w.d2, &w.h2}) {
           if (w.attempt([&] { copy(a->at + 64, ordinary.data(), 3 * page, w.queue); })) std::memset(a->content.data() + 64, 66, 3 * page);
         }
       }},
      {"a copy to ordinary memory",
       [](World& w) {
         Bytes ordinary(size);
         for (Array* a : {&w.d2, &w.h2, &w.h1}) {
           if (!w.attempt([&] { copy(ordinary.data(), a->at, size, w.queue); })) continue;
           EXPECT_EQ(ordinary, a->content);
         }
       }},
      {"fills", [](World& w) { w.fill(w.d2, 100, 9000, 50); w.fill(w.h1, 0, size, 0); w.fill(w.d1, 0, size, 51); }},
      {"a fill by a kernel",
       [](World& w) {
         const unsigned char value = 52;
         (void)w.attempt([&] {
           const Capture c = World::capture(w.d1, true);
           const Launch launch(w.queue, "fill", &c, 1);
           w.run(w.d1, 0, size, value);
           filled_by_kernel(w.d1.at, size, &value, 1);
         });
       }},
      {"a launch on what a mirror wants", [](World& w) { w.kernel(w.d1, 100, 9000, 60); }},
      {"a launch on what is wanted in pieces", [](World& w) { w.kernel(w.d2, 5000, 20000, 61); }},
      {"a launch that fetches", [](World& w) { w.copy(w.d3, 0, w.h2, 0, size); w.kernel(w.d3, 0, page, 62); }},
      {"an unknown launch", [](World& w) { w.kernel(w.d1, page, 2 * page, 63, true); }},
      {"a launch that is looked through",
       [](World& w) {
         const std::uintptr_t closure[] = {reinterpret_cast<std::uintptr_t>(w.d2.at), reinterpret_cast<std::uintptr_t>(&w)};
         (void)w.attempt([&] {
           Leads leads;
           leads.follow(closure, std::size(closure), closure, nullptr, 0);
           const Launch launch(w.queue, "closure", nullptr, 0, &leads);
           w.run(w.d2, 0, page, 64);
         });
       }},
      {"a launch on many arrays",
       [](World& w) {
         while (w.more.size() < 40) w.more.push_back(allocate_device("one of many", 64));
         std::vector<Capture> captures{World::capture(w.d1, true)};
         for (void* p : w.more) captures.push_back({p, nullptr, 0, true, false});
         (void)w.attempt([&] {
           const Launch launch(w.queue, "many", captures.data(), captures.size());
           w.run(w.d1, 0, page, 65);
         });
         w.kernel(w.d1, page, 2 * page, 66, true);
       }},
      {"a known launch",
       [](World& w) {
         KnownOperand known;
         ASSERT_TRUE(identify(World::capture(w.d2, true), known));
         const Capture beside_it = World::capture(w.d3, false);
         (void)w.attempt([&] {
           const Launch launch(w.queue, "known", &known, 1, 1, epoch(), &beside_it, 1);
           w.run(w.d2, 0, page, 67);
         });
         (void)w.attempt([&] {
           const Launch launch(w.queue, "known once", &known, 1, 1, epoch() - 1, &beside_it, 1);
           w.run(w.d2, 0, page, 68);
         });
       }},
      {"a library's call",
       [](World& w) {
         const LibraryUse uses[] = {{w.d3.at, size, Access::read}, {w.d2.at, size, Access::read_write}};
         (void)w.attempt([&] {
           const Launch launch(w.queue, uses, 2);
           w.run(w.d2, 0, page, 69);
         });
       }},
      {"accesses",
       [](World& w) {
         (void)w.attempt([&] { access(w.h1.at, size, Access::read); });
         if (w.attempt([&] { access(w.h2.at + 10, 9000, Access::read_write); })) w.host_write(w.h2, 10, 9010, 70);
         if (w.attempt([&] { access(w.pair_h.at, size, Access::overwrite); })) w.host_write(w.pair_h, 0, size, 71);
         w.pair_d.content = w.pair_h.content;
         if (w.attempt([&] { access(w.d1.at, size, Access::overwrite); })) w.run(w.d1, 0, size, 72);
         if (w.attempt([&] { access(w.d2.at, size, Access::write); })) w.run(w.d2, 0, page, 73);
       }},
      {"settling",
       [](World& w) {
         w.copy(w.d3, 0, w.h2, 0, size);
         (void)w.attempt([&] { semcache::settle(w.h1.at, size); });
         (void)w.attempt([&] { runtime::settle(w.d3.at); });
         (void)w.attempt([] { semcache::settle(); });
       }},
      {"allocations",
       [](World& w) {
         for (int i = 0; i < 3; ++i) {
           void* d = nullptr;
           void* h = nullptr;
           if (w.attempt([&] { d = allocate_device("a label of some length, and one that nobody has used", 3 * page); })) w.more.push_back(d);
           if (d != nullptr && w.attempt([&] { h = allocate_host("its host's side, with a label of its own", 3 * page, d, i == 1 ? base::Accesses::announced : base::Accesses::watched); })) {
             w.more.insert(w.more.begin(), h);
           }
         }
         void* large = nullptr;
         if (w.attempt([&] { large = allocate_host("large", 5u << 20); })) w.more.push_back(large);
       }},
      {"freeing",
       [](World& w) {
         for (Array* a : {&w.d2, &w.pair_d, &w.h3}) (void)w.attempt([&] { deallocate(std::exchange(a->at, nullptr)); });
         w.expect_content("freed");
         w.d2.at = static_cast<unsigned char*>(allocate_device("d2 again", size));
         w.pair_d.at = static_cast<unsigned char*>(allocate_device("pair_d again", size));
         w.h3.at = static_cast<unsigned char*>(allocate_host("h3 again", size));
         const long keep = w.disarm();
         for (Array* a : {&w.d2, &w.pair_d}) w.kernel(*a, 0, size, 80);
         w.host_write(w.h3, 0, size, 81);
         deallocate(w.pair_h.at);
         w.pair_h.at = static_cast<unsigned char*>(allocate_host("pair_h again", size, w.pair_d.at));
         w.pair_h.content = w.pair_d.content;
         w.arm(keep);
       }},
      {"statistics", [](World& w) { (void)w.attempt([] { (void)statistics(); }); }},
      {"messages",
       [](World& w) {
         message(w, w.d2, false, false);
         message(w, w.h1, false, false);
         message(w, w.d2, false, true);
         message(w, w.d1, true, false);
         message(w, w.h1, true, false);
         message(w, w.d2, true, true);
       }},
      {"messages side by side", [](World& w) { beside(w); }},
      {"queues",
       [](World& w) {
         static char stream;
         QueueId other;
         if (w.attempt([&] { other = queue_of(&stream); })) (void)w.attempt([&] { retire_queue(other); });
         if (w.attempt([&] { other = lease_queue(&stream); })) (void)w.attempt([&] { retire_queue(other); });
       }},
      {"the interface in C",
       [](World& w) {
         if (w.attempt_in_c([&] { return semcache_copy(w.d3.at, w.h3.at, size); })) w.d3.content = w.h3.content;
         (void)w.attempt_in_c([&] { return semcache_access(w.h1.at, size, SEMCACHE_READ); });
         (void)w.attempt_in_c([&] { return semcache_settle(w.h2.at, size); });
         (void)w.attempt_in_c([] { return semcache_settle_all(); });
         void* p = nullptr;
         if (w.attempt_in_c([&] { return semcache_allocate_device("in C", page, &p); })) w.more.push_back(p);
         if (w.attempt_in_c([&] { return semcache_allocate_host("in C, too", page, nullptr, &p); })) w.more.push_back(p);
         (void)w.attempt_in_c([] {
           semcache_statistics_t s{};
           s.size = sizeof s;
           return semcache_statistics(&s);
         });
         (void)w.attempt([&] {
           if (!w.more.empty()) semcache_deallocate(std::exchange(w.more.front(), nullptr));
         });
       }},
  };
  return all;
}

TEST(AllocFailure, PublicCalls) {
  for (const Scenario& scenario : scenarios()) {
    bool fired = true;
    for (long k = 0; fired; ++k) {
      SCOPED_TRACE(std::string(scenario.first) + ", allocation " + std::to_string(k));
      World w;
      w.arm(k);
      scenario.second(w);
      fired = w.fired();
      w.disarm();
      w.expect_content("behind the call");
      w.go_on();
      if (HasFailure()) return;
    }
  }
}

/// Starting fails, and starts at the next call.
TEST(AllocFailure, TheStart) {
  for (long k = 0;; ++k) {
    SCOPED_TRACE(k);
    void* p = nullptr;
    bool failed = false;
    {
      const FailingMemory failing(k);
      try {
        p = allocate_device("first", size);
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      failed = FailingMemory::left() < 0;
    }
    if (p == nullptr) p = allocate_device("second", size);
    auto* const h = static_cast<unsigned char*>(allocate_host("mirror", size, p));
    {
      const Capture c{p, nullptr, 0, true, false};
      const Launch launch(queue_of(nullptr), "write", &c, 1);
      std::memset(p, 3, size);
    }
    EXPECT_EQ(h[size - 1], 3);
    deallocate(h);
    deallocate(p);
    finalize();
    if (HasFailure() || !failed) return;
  }
}

/// Ending fails, and everything goes on; or it works, and mirrors that are still there are open and right. They keep their
/// runtime's addresses: each of these hundreds takes little, for ThreadSanitizer leaves little in all.
TEST(AllocFailure, TheEnd) {
  for (long k = 0;; ++k) {
    SCOPED_TRACE(k);
    const platform::testing::FewAddresses few(std::uint64_t{8} << 30);
    auto* const d = static_cast<unsigned char*>(allocate_device("device", size));
    auto* const h = static_cast<unsigned char*>(allocate_host("left over", size));
    auto* const side = static_cast<unsigned char*>(allocate_host("left over, too", size, d));
    {
      const Capture c{d, nullptr, 0, true, false};
      const Launch launch(queue_of(nullptr), "write", &c, 1);
      std::memset(d, static_cast<int>(k % 100 + 1), size);
    }
    for (std::size_t at = 0; at + 2 * page <= size; at += 2 * page) copy(h + at, d + at, 2 * page, {});
    bool failed = false;
    bool ended = true;
    {
      const FailingMemory failing(k);
      try {
        finalize();
      } catch (const std::bad_alloc&) {
        ended = false;
      }
      failed = FailingMemory::left() < 0;
    }
    if (!ended) finalize();
    for (const unsigned char* mirror : {h, side}) {
      for (std::size_t at = 0; at < size; at += page) ASSERT_EQ(mirror[at], k % 100 + 1);
    }
    if (HasFailure() || !failed) return;
  }
}

}  // namespace
}  // namespace semcache::runtime
