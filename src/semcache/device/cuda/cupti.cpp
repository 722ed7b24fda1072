// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#if __has_include(<cupti.h>) && defined(SEMCACHE_CUPTI_DIRECTORY)

#include <semcache/device/cuda/cupti.hpp>

#include <dlfcn.h>

#include <type_traits>

namespace semcache::device::cuda {
namespace {

Cupti load() {
  Cupti cupti;
  // The major version must be that of the headers, which define the structures of the calls' parameters.
  constexpr int major = CUDA_VERSION / 1000;
  const std::string name = "libcupti.so." + std::to_string(major);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen((SEMCACHE_CUPTI_DIRECTORY "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cupti.failure = name + " is not found. Add its directory (of the CUDA toolkit, or extras/CUPTI/lib64 there) to "
                           "LD_LIBRARY_PATH";
    return cupti;
  }
  const auto bind = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, symbol));
    if (function == nullptr) cupti.failure = name + " lacks " + symbol;
  };
  bind(cupti.subscribe, "cuptiSubscribe");
  bind(cupti.unsubscribe, "cuptiUnsubscribe");
  bind(cupti.enable, "cuptiEnableCallback");
  bind(cupti.text, "cuptiGetResultString");
  bind(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  bind(cupti.register_clock, "cuptiActivityRegisterTimestampCallback");
  bind(cupti.enable_activity, "cuptiActivityEnable");
  bind(cupti.disable_activity, "cuptiActivityDisable");
  bind(cupti.flush, "cuptiActivityFlushAll");
  bind(cupti.next_record, "cuptiActivityGetNextRecord");
  bind(cupti.dropped_records, "cuptiActivityGetNumDroppedRecords");
  return cupti;
}

}  // namespace

const Cupti& cupti() {
  // Leaked, and the library is never closed, because callbacks may be under way until the process ends.
  static const Cupti& loaded = *new Cupti(load());
  return loaded;
}

std::string Cupti::text_of(CUptiResult result) const {
  const char* said = nullptr;
  return text(result, &said) == CUPTI_SUCCESS && said != nullptr ? std::string(said) : std::to_string(result);
}

}  // namespace semcache::device::cuda

#endif
