// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/cuda/driver_api.hpp>

#include <dlfcn.h>

// Two steps, so that the macros of cuda.h are followed: cuMemGetInfo becomes "cuMemGetInfo_v2".
#define SEMCACHE_CUDA_TEXT(name) #name
#define SEMCACHE_CUDA_NAME(name) SEMCACHE_CUDA_TEXT(name)

namespace semcache::device::cuda {
namespace {

template <class Function>
void bind(void* library, const char* name, Function& function, std::string& missing) {
  // Looks among preloaded libraries first, so that a preloaded tool that counts the driver's calls sees ours too.
  void* found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) found = ::dlsym(library, name);
  if (found == nullptr) missing += missing.empty() ? name : std::string(", ") + name;
  function = reinterpret_cast<Function>(found);
}

DriverApi load() {
  DriverApi api;
  // Never closed, because streams and memory may live until the process ends.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    api.failure = "the CUDA driver (libcuda.so.1) is not installed";
    return api;
  }
  std::string missing;
#define SEMCACHE_CUDA_BIND(name) bind(library, SEMCACHE_CUDA_NAME(name), api.name, missing);
  SEMCACHE_CUDA_FUNCTIONS(SEMCACHE_CUDA_BIND)
  if (!missing.empty()) {
    api.failure = "the CUDA driver is too old: it lacks " + missing;
    return api;
  }
  SEMCACHE_CUDA_OPTIONAL_FUNCTIONS(SEMCACHE_CUDA_BIND)
#undef SEMCACHE_CUDA_BIND
  if (const CUresult result = api.cuInit(0); result != CUDA_SUCCESS) api.failure = error_text(api, result, "cuInit");
  return api;
}

}  // namespace

const DriverApi& driver_api() {
  // Leaked on purpose, because destructors of static objects use it.
  static const DriverApi& api = *new DriverApi(load());
  return api;
}

std::string error_text(const DriverApi& api, CUresult result, const char* call) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown CUDA error";
  if (api.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return std::string(name) + " (" + text + ") in " + call;
}

}  // namespace semcache::device::cuda
