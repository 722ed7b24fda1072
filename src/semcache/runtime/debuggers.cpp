// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/runtime/lifetime.hpp>
#include <semcache/semcache.h>

#include <cstdio>

/// What debuggers call, by name, in a process that they have stopped. How: docs/how-to/debug-with-gdb.md.
namespace semcache::runtime {
namespace {

/// A debugger shows this text. It needs no memory, because the process may have stopped where there is none.
char text[1024];

const char* tell(const char* what) noexcept {
  std::snprintf(text, sizeof text, "%s", what);
  return text;
}

}  // namespace
}  // namespace semcache::runtime

extern "C" {

/// Settles every array, as semcache_settle_all does, but waits for nothing that may need a stopped thread.
/// @return an empty text: every array is settled; otherwise what is not, and why
SEMCACHE_C_API const char* semcache_debugger_settle() noexcept {
  using namespace semcache;
  if (platform::inside_runtime()) return runtime::tell("this thread is inside SemCache. Let it go on (finish), then ask again");
  if (runtime::forked.load()) return runtime::tell("a forked child has no arrays of its own: it sees what lay in memory at the fork");
  if (runtime::ending.load()) return runtime::tell("another thread is ending SemCache. Let it go on, then ask again");
  const runtime::Call call;
  runtime::Runtime* const r = runtime::running();
  if (r == nullptr) return "";
  try {
    r->engine->host_access.settle_all_soon();
    return "";
  } catch (const std::exception& e) {
    return runtime::tell(e.what());
  }
}

}  // extern "C"

namespace semcache::runtime {

const FunctionForDebuggers* functions_for_debuggers() noexcept {
  static const FunctionForDebuggers functions[] = {reinterpret_cast<FunctionForDebuggers>(&semcache_debugger_settle),
                                                   reinterpret_cast<FunctionForDebuggers>(&semcache_settle_all)};
  return functions;
}

}  // namespace semcache::runtime
