// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::runtime {

/// Claims the process for this copy of the runtime. Two copies in one process (static in two plugins) would each believe that
/// they own every page fault.
/// @throws ConfigurationError  another copy was started in this process
void refuse_second_copy();
/// Keeps a plugin that holds this copy loaded after it is closed, because the runtime's handlers and threads cannot be removed.
void stay_loaded();

}  // namespace semcache::runtime
