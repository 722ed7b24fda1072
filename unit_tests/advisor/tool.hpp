// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <advisor/reports.hpp>

#include "../../packages/advisor/src/tools_interface.hpp"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace semcache::test {

/// The advisor's library, loaded as Kokkos loads it.
class Tool {
 public:
  Tool() : library_(::dlopen(ADVISOR, RTLD_NOW | RTLD_GLOBAL)) {
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    find("kokkosp_init_library", init);
    find("kokkosp_finalize_library", finalize);
    find("kokkosp_request_tool_settings", settings);
    find("kokkosp_begin_parallel_for", begin_for);
    find("kokkosp_allocate_data", allocate);
    find("kokkosp_deallocate_data", deallocate);
    find("kokkosp_begin_deep_copy", begin_copy);
    find("kokkosp_end_deep_copy", end_copy);
  }
  static Tool& loaded() {
    static Tool& tool = *new Tool;
    return tool;
  }

  decltype(&kokkosp_init_library) init = nullptr;
  decltype(&kokkosp_finalize_library) finalize = nullptr;
  decltype(&kokkosp_request_tool_settings) settings = nullptr;
  decltype(&kokkosp_begin_parallel_for) begin_for = nullptr;
  decltype(&kokkosp_allocate_data) allocate = nullptr;
  decltype(&kokkosp_deallocate_data) deallocate = nullptr;
  decltype(&kokkosp_begin_deep_copy) begin_copy = nullptr;
  decltype(&kokkosp_end_deep_copy) end_copy = nullptr;

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("not exported: ") + name);
  }
  void* library_;
};

inline SpaceHandle space(const char* name) {
  SpaceHandle s{};
  std::strncpy(s.name, name, sizeof s.name - 1);
  return s;
}

/// A run of Kokkos, as a tool sees it, from its start to its report.
class Session {
 public:
  Session() : file_(fresh_name(".json")) {
    ::setenv("SEMCACHE_ADVISOR_REPORT", file_.c_str(), 1);
    ::setenv("PMI_RANK", "1", 1);  // no summaries in the test's output
    tool_.init(0, 20210225, 0, nullptr);
  }
  ~Session() { tool_.finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void allocate(const char* label, const void* p, std::size_t bytes, const char* in = "Host") { tool_.allocate(space(in), label, p, bytes); }
  void deallocate(const char* label, const void* p, std::size_t bytes, const char* in = "Host") { tool_.deallocate(space(in), label, p, bytes); }
  void kernel(const char* name = "kernel") {
    std::uint64_t id = 0;
    tool_.begin_for(name, 0, &id);
  }
  void begin(const void* to, const void* from, std::size_t bytes, const char* to_space = "Host", const char* from_space = "Host") {
    tool_.begin_copy(space(to_space), "to", to, space(from_space), "from", from, bytes);
  }
  void end() { tool_.end_copy(); }
  /// A copy between host memories, carried out.
  void copy(void* to, const void* from, std::size_t bytes) {
    begin(to, from, bytes);
    std::memcpy(to, from, bytes);
    end();
  }

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  Json report() {
    tool_.finalize();
    return take_report(file_);
  }

 private:
  Tool& tool_ = Tool::loaded();
  std::string file_;
};

}  // namespace semcache::test
