// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/cuda/kernel_arguments.hpp>

#include <mutex>

namespace semcache::device::cuda {

#if CUDA_VERSION >= 12040

bool KernelArguments::known_to(const DriverApi& api) noexcept {
  return api.cuKernelGetParamInfo != nullptr && api.cuFuncGetParamInfo != nullptr;
}

bool KernelArguments::ask(CUfunction kernel) {
  const DriverApi& api = driver_api();
  std::vector<std::uint32_t> sizes;
  for (;;) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    // CUDA's runtime launches a CUkernel under a CUfunction's name; a function of a module is none.
    CUresult result = api.cuKernelGetParamInfo(reinterpret_cast<CUkernel>(kernel), sizes.size(), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_HANDLE) result = api.cuFuncGetParamInfo(kernel, sizes.size(), &offset, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // behind the last one
    if (result != CUDA_SUCCESS) return false;
    sizes.push_back(static_cast<std::uint32_t>(bytes));
  }
  const std::lock_guard<std::shared_mutex> lock(mutex_);
  sizes_.emplace(kernel, std::move(sizes));
  return true;
}

#else

bool KernelArguments::known_to(const DriverApi&) noexcept { return false; }
bool KernelArguments::ask(CUfunction) { return false; }

#endif

void KernelArguments::forget() noexcept {
  const std::lock_guard<std::shared_mutex> lock(mutex_);
  sizes_.clear();
}

}  // namespace semcache::device::cuda
