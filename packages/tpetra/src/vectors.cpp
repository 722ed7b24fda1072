// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "vectors.hpp"

namespace Tpetra {
TPETRA_INSTANTIATE_SLG_NO_ORDINAL_SCALAR(SEMCACHE_VECTORS)
}
