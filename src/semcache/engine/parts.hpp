// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/engine/state.hpp>

namespace semcache::engine {

class Projection;
class Executor;
class Hazards;
class Arrays;
class Transfers;
class Buffers;
class Residency;
class Preparation;
class DualViews;
class Transactions;
class Shapes;
class ExpectedMessages;
class Lifetimes;
class Launches;
class HostUses;
class HostAccess;

/// Where a part finds the other parts. A part can use those alone whose headers it includes, which are above it in this list. Of
/// all others it has no more than the names.
struct Parts {
  State& s_;
  Projection& projection_;
  Executor& executor_;
  Hazards& hazards_;
  Arrays& arrays_;
  Transfers& transfers_;
  Buffers& buffers_;
  Residency& residency_;
  Preparation& preparation_;
  DualViews& dual_views_;
  Transactions& transactions_;
  Shapes& shapes_;
  ExpectedMessages& expected_;
  Lifetimes& lifetimes_;
  Launches& launches_;
  HostUses& host_uses_;
  HostAccess& host_access_;
};

}  // namespace semcache::engine
