// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cstdlib>

namespace semcache::platform::testing {

/// What qemu-user (7.2) does not do: it obeys no limit on addresses and keeps a record of each page of a mapping, does not tell a
/// handler whether an access writes, and ends where a forked child starts a thread.
inline bool in_qemu_user() { return std::getenv("SEMCACHE_TEST_EMULATOR") != nullptr; }

}  // namespace semcache::platform::testing
