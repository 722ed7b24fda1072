// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "bodies.hpp"

#include <semcache/kokkos.hpp>

namespace microbenchmarks {
namespace {

/// The model of SemCache: without copy, sync, modify or announcement, because the cache keeps both sides coherent.
class SemCacheModel {
 public:
  using Exec = semcache::Exec;
  using View = Kokkos::View<double*, semcache::Device>;
  using ConstView = Kokkos::View<const double*, semcache::Device>;

  class Array {
   public:
    Array(const char* label, std::size_t n) : view_(label, n) {}
    [[nodiscard]] auto device() const { return view_.view_device(); }
    [[nodiscard]] auto host() const { return view_.view_host(); }

   private:
    semcache::DualView<double*, semcache::Device> view_;
  };

  void start() { before_ = now(); }
  void stop() { after_ = now(); }
  void fence() const { Exec().fence(); }

  [[nodiscard]] Counts counts() const {
    Counts c;
    c.h2d_bytes = after_.h2d.bytes - before_.h2d.bytes;
    c.d2h_bytes = after_.d2h.bytes - before_.d2h.bytes;
    c.host_faults = after_.host_faults - before_.host_faults;
    c.saved_link_bytes = after_.saved_link.bytes - before_.saved_link.bytes;
    c.saved_device_bytes = after_.saved_device.bytes - before_.saved_device.bytes;
    c.avoided_bytes = after_.avoided.bytes - before_.avoided.bytes;
    c.unchanged_bytes = after_.unchanged.bytes - before_.unchanged.bytes;
    c.unknown_launches = after_.unknown_launches - before_.unknown_launches;
    return c;
  }

 private:
  static semcache::Counters now() { return semcache::statistics().total; }

  semcache::Counters before_, after_;
};

}  // namespace

Measurement run_semcache(Name name, std::size_t elements) {
  SemCacheModel model;
  Measurement m;
  m.correct = Bodies<SemCacheModel>(model, elements).run(name);
  m.counts = model.counts();
  return m;
}

}  // namespace microbenchmarks
