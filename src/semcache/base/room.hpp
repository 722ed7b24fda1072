// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <algorithm>
#include <cstddef>

namespace semcache::base {

/// Makes room for `more` further elements, so that adding them cannot fail. The capacity grows as with push_back.
/// A function that must not fail half-way (I9) makes room before its first change.
template <class Vector>
void make_room(Vector& vector, std::size_t more) {
  const std::size_t needed = vector.size() + more;
  if (vector.capacity() < needed) vector.reserve(std::max(needed, 2 * vector.capacity()));
}

/// Makes room for `all` elements in total.
template <class Vector>
void make_room_for(Vector& vector, std::size_t all) {
  if (vector.size() < all) make_room(vector, all - vector.size());
}

}  // namespace semcache::base
