// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/base/error.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <string>

/// The vendor's libraries are loaded at their first use, so that the package builds and starts without them.
namespace semcache::linalg {

/// Loads the first of these files that there is. @throws ConfigurationError  there is none; the text names them and ends with the remedy
template <std::size_t count>
[[nodiscard]] void* load(const char* what, const char* const (&names)[count], const char* remedy) {
  std::string tried;
  for (const char* const name : names) {
    if (void* const file = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); file != nullptr) return file;
    tried += std::string(tried.empty() ? "" : ", ") + name;
  }
  throw ConfigurationError(std::string(what) + " cannot be loaded: none of " + tried + " was found. " + remedy);
}

/// Finds a function of a loaded file. @throws ConfigurationError  the file has no such function; the text ends with the remedy
template <class Function>
void find(void* file, const char* what, Function& function, const char* name, const char* remedy = "a newer version is needed") {
  function = reinterpret_cast<Function>(::dlsym(file, name));
  if (function == nullptr) throw ConfigurationError(std::string(what) + " has no function " + name + ": " + remedy);
}

}  // namespace semcache::linalg
