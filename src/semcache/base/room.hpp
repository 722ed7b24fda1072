// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <algorithm>
#include <cstddef>

namespace semcache::base {

/// Room for `more` further elements: adding them cannot fail then. It grows as push_back does.
/// Whoever must not fail half-way (I9) asks for room before the first change.
template <class Vector>
void make_room(Vector& vector, std::size_t more) {
  const std::size_t needed = vector.size() + more;
  if (vector.capacity() < needed) vector.reserve(std::max(needed, 2 * vector.capacity()));
}

/// Room for `all` elements.
template <class Vector>
void make_room_for(Vector& vector, std::size_t all) {
  if (vector.size() < all) make_room(vector, all - vector.size());
}

}  // namespace semcache::base
