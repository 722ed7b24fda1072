// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

/// CUDA's libraries by name, so that the programs are built without CUDA. They are loaded when they are used.
namespace gemm_chain::cuda {

/// @throws std::runtime_error  none of the files can be loaded
inline void* load(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* const file = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); file != nullptr) return file;
  }
  throw std::runtime_error(std::string(*names.begin()) + " cannot be loaded. Put the folder of CUDA's libraries into LD_LIBRARY_PATH.");
}
inline void* load_runtime() { return load({"libcudart.so.13", "libcudart.so.12", "libcudart.so"}); }
inline void* load_blas() { return load({"libcublas.so.13", "libcublas.so.12", "libcublas.so"}); }

template <class Function>
void find(void* file, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  if (function == nullptr) throw std::runtime_error(std::string("CUDA's libraries have no function ") + name);
}

inline void expect(int status, const char* call) {
  if (status == 0) return;
  throw std::runtime_error(std::string(call) + " failed with status " + std::to_string(status) + "; is there a GPU?");
}

}  // namespace gemm_chain::cuda
