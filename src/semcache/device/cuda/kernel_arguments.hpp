// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/cuda/driver_api.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace semcache::device::cuda {

/// Calls visit(word, word in front of it or 0) for each word of `bytes` bytes at `data`. `data` need not be aligned; the steps
/// are of a pointer's size, as compilers place pointers.
template <class Visit>
void for_each_word(const void* data, std::size_t bytes, Visit&& visit) {
  const auto* const words = static_cast<const std::byte*>(data);
  std::uintptr_t in_front = 0;
  for (std::size_t i = 0; i < bytes / sizeof(std::uintptr_t); ++i) {
    std::uintptr_t word;
    std::memcpy(&word, words + i * sizeof word, sizeof word);
    visit(word, in_front);
    in_front = word;
  }
}

/// Finds the words that a kernel gets as arguments. Remembers the sizes of each kernel's parameters, because asking the driver
/// costs a microsecond. Threads: any.
class KernelArguments {
 public:
  /// Returns whether the driver reports the sizes of parameters (CUDA 12.4).
  [[nodiscard]] static bool known_to([[maybe_unused]] const DriverApi& api) noexcept {
#if CUDA_VERSION >= 12040
    return api.cuKernelGetParamInfo != nullptr && api.cuFuncGetParamInfo != nullptr;
#else
    return false;
#endif
  }

  /// Calls for_each_word for each argument. The arguments are given as for cuLaunchKernel.
  /// @return false where the driver does not report the kernel's parameters
  template <class Visit>
  bool for_each(CUfunction kernel, void** parameters, void** extra, Visit&& visit) {
    if (parameters == nullptr) {
      const void* buffer = nullptr;
      const std::size_t* bytes = nullptr;
      for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = static_cast<const std::size_t*>(extra[1]);
      }
      if (buffer != nullptr && bytes != nullptr) for_each_word(buffer, *bytes, visit);
      return true;
    }
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto found = sizes_.find(kernel);
    if (found == sizes_.end()) {
      lock.unlock();
      if (!ask(kernel)) return false;
      lock.lock();
      found = sizes_.find(kernel);
      if (found == sizes_.end()) return false;  // the kernel was unloaded meanwhile
    }
    for (std::size_t k = 0; k < found->second.size(); ++k) {
      if (parameters[k] != nullptr) for_each_word(parameters[k], found->second[k], visit);
    }
    return true;
  }

  /// Forgets all sizes. To be called when kernels are unloaded, because other kernels may get their handles.
  void forget() noexcept {
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    sizes_.clear();
  }

 private:
#if CUDA_VERSION >= 12040
  bool ask(CUfunction kernel) {
    const DriverApi& api = driver_api();
    std::vector<std::uint32_t> sizes;
    for (;;) {
      std::size_t offset = 0;
      std::size_t bytes = 0;
      // CUDA's runtime launches a CUkernel under a CUfunction's name; a function of a module is not a CUkernel.
      CUresult result = api.cuKernelGetParamInfo(reinterpret_cast<CUkernel>(kernel), sizes.size(), &offset, &bytes);
      if (result == CUDA_ERROR_INVALID_HANDLE) result = api.cuFuncGetParamInfo(kernel, sizes.size(), &offset, &bytes);
      if (result == CUDA_ERROR_INVALID_VALUE) break;  // the index is behind the last parameter
      if (result != CUDA_SUCCESS) return false;
      sizes.push_back(static_cast<std::uint32_t>(bytes));
    }
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    sizes_.emplace(kernel, std::move(sizes));
    return true;
  }
#else
  bool ask(CUfunction) { return false; }
#endif

  std::shared_mutex mutex_;
  std::unordered_map<CUfunction, std::vector<std::uint32_t>> sizes_;  ///< bytes of each parameter
};

}  // namespace semcache::device::cuda
