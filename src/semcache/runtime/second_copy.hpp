// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

namespace semcache::runtime {

/// Two copies of the runtime in one process (static in two plugins) would each believe to own every page fault.
/// @throws ConfigurationError  another copy was started in this process
void refuse_second_copy();
/// Handlers and threads of ours cannot go away: a plugin that holds this copy stays loaded when it is closed.
void stay_loaded();

}  // namespace semcache::runtime
