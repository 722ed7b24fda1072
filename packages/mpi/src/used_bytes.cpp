// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "used_bytes.hpp"

#include <semcache/base/error.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace semcache::mpi {
namespace {

/// The bytes that one element of a datatype uses.
struct Layout {
  std::vector<Piece> pieces;
  MPI_Count extent = 0;
  bool one_is_as_the_library_has_it = true;  ///< the library uses the same bytes for one element
  bool several_are = true;                   ///< and for several elements
};
using LayoutPtr = std::shared_ptr<const Layout>;

LayoutPtr layout_of(MPI_Datatype type);

void append(UsedBytes& out, const Layout& element, MPI_Aint at, MPI_Count count) {
  if (element.pieces.size() == 1 && element.pieces[0].end - element.pieces[0].begin == element.extent) {
    out.add({at + element.pieces[0].begin, at + element.pieces[0].begin + count * element.extent});
    return;
  }
  for (MPI_Count i = 0; i < count; ++i) {
    const MPI_Aint here = at + i * element.extent;
    for (const Piece p : element.pieces) out.add({here + p.begin, here + p.end});
  }
}

/// How many arguments a datatype was made from, and by which constructor (MPI_Type_get_envelope).
struct Envelope {
  explicit Envelope(MPI_Datatype type) {
    if (type != MPI_DATATYPE_NULL) PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  }
  /// Returns whether the library made the type: it is predefined, or an F90 type of some precision.
  [[nodiscard]] bool basic() const noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
  }
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
};

/// The arguments that a derived datatype was made from (MPI_Type_get_contents).
struct Contents {
  Contents(MPI_Datatype type, const Envelope& envelope)
      : i(envelope.integers), a(envelope.addresses), types(envelope.types) {
    PMPI_Type_get_contents(type, envelope.integers, envelope.addresses, envelope.types, i.data(), a.data(),
                           types.data());
  }
  ~Contents() {
    for (MPI_Datatype t : types) {
      if (!Envelope(t).basic()) PMPI_Type_free(&t);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  std::vector<int> i;
  std::vector<MPI_Aint> a;
  std::vector<MPI_Datatype> types;
};

void append_subarray(UsedBytes& out, const Layout& element, const Contents& c) {
  const int dimensions = c.i[0];
  const int* sizes = &c.i[1];
  const int* lengths = sizes + dimensions;
  const int* starts = lengths + dimensions;
  const bool last_runs = c.i[1 + 3 * static_cast<std::size_t>(dimensions)] == MPI_ORDER_C;
  // Dimensions from the one that runs fastest to the slowest.
  const auto dimension = [&](int k) { return last_runs ? dimensions - 1 - k : k; };
  std::vector<int> index(static_cast<std::size_t>(dimensions), 0);
  for (int d = 0; d < dimensions; ++d) {
    if (lengths[d] == 0) return;
  }
  for (;;) {
    MPI_Count at = 0;
    MPI_Count stride = 1;
    for (int k = 0; k < dimensions; ++k) {
      const int d = dimension(k);
      at += (starts[d] + index[static_cast<std::size_t>(d)]) * stride;
      stride *= sizes[d];
    }
    append(out, element, static_cast<MPI_Aint>(at * element.extent), lengths[dimension(0)]);
    int k = 1;
    for (; k < dimensions; ++k) {
      int& position = index[static_cast<std::size_t>(dimension(k))];
      if (++position < lengths[dimension(k)]) break;
      position = 0;
    }
    if (k >= dimensions) return;
  }
}

Piece hull_around(const std::vector<Piece>& pieces) noexcept {
  Piece hull = pieces.empty() ? Piece{0, 0} : pieces.front();
  for (const Piece p : pieces) hull = {std::min(hull.begin, p.begin), std::max(hull.end, p.end)};
  return hull;
}

/// Lets the library unpack messages of `count` elements of a datatype. The type need not be committed (types that are parts
/// of others often are not), because a committed duplicate is used.
class Trial {
 public:
  Trial(MPI_Datatype type, int count) : count_(count) {
    PMPI_Type_dup(type, &type_);
    PMPI_Type_commit(&type_);
    int bytes = 0;
    PMPI_Pack_size(count, type_, MPI_COMM_SELF, &bytes);
    message.resize(static_cast<std::size_t>(bytes), '\xff');
  }
  ~Trial() { PMPI_Type_free(&type_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Unpacks `message` so that the byte at displacement `low` of the datatype comes to `memory`.
  void unpack(char* memory, MPI_Aint low) const {
    int position = 0;
    // The base of a type with absolute addresses is far from the memory, where C++ pointer arithmetic must not lead.
    const auto base = reinterpret_cast<std::uintptr_t>(memory) - static_cast<std::uintptr_t>(low);
    PMPI_Unpack(message.data(), static_cast<int>(message.size()), &position, reinterpret_cast<void*>(base), count_, type_,
                MPI_COMM_SELF);
  }

  std::vector<char> message;

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int count_;
};

/// Appends the bytes that a datatype of any other kind uses. The library itself shows, by unpacking trial messages, which
/// bytes these are and in which order a message fills them.
void append_by_trial(UsedBytes& out, MPI_Datatype type) {
  const Piece hull = hull_of(type);
  Trial trial(type, 1);
  std::vector<char> seen(static_cast<std::size_t>(hull.end - hull.begin));
  const auto unpack = [&] {
    std::fill(seen.begin(), seen.end(), '\0');
    trial.unpack(seen.data(), hull.begin);
  };
  struct Place {
    std::uint32_t in_message;
    MPI_Aint in_memory;
  };
  std::vector<Place> places;
  unpack();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != '\0') places.push_back({0, static_cast<MPI_Aint>(i)});
  }
  // In each round every byte of the message carries one bit of its own position.
  for (int bit = 0; bit < 31 && trial.message.size() >> bit != 0; ++bit) {
    for (std::size_t k = 0; k < trial.message.size(); ++k) trial.message[k] = (k >> bit & 1) != 0 ? '\xff' : '\0';
    unpack();
    for (Place& p : places) {
      if (seen[static_cast<std::size_t>(p.in_memory)] != '\0') p.in_message |= std::uint32_t{1} << bit;
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.in_message < b.in_message; });
  for (const Place& p : places) out.add({hull.begin + p.in_memory, hull.begin + p.in_memory + 1});
}

Layout make_layout(MPI_Datatype type, const Envelope& envelope) {
  UsedBytes out;
  Layout layout;
  MPI_Count lower = 0;
  PMPI_Type_get_extent_x(type, &lower, &layout.extent);
  if (envelope.basic()) {
    MPI_Count begin = 0;
    MPI_Count hull = 0;
    MPI_Count bytes = 0;
    PMPI_Type_get_true_extent_x(type, &begin, &hull);
    PMPI_Type_size_x(type, &bytes);
    if (hull == bytes) {
      out.add(Piece{begin, begin + bytes});
    } else {
      append_by_trial(out, type);  // MPI_SHORT_INT
    }
    layout.pieces = out.pieces();
    return layout;
  }
  const Contents c(type, envelope);
  const LayoutPtr first = c.types.empty() ? nullptr : layout_of(c.types[0]);
  const auto n = static_cast<std::size_t>(c.i.empty() ? 0 : c.i[0]);
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      append(out, *first, 0, 1);
      break;
    case MPI_COMBINER_CONTIGUOUS:
      append(out, *first, 0, c.i[0]);
      break;
    case MPI_COMBINER_VECTOR:
      for (std::size_t b = 0; b < n; ++b)
        append(out, *first, static_cast<MPI_Aint>(b) * c.i[2] * first->extent, c.i[1]);
      break;
    case MPI_COMBINER_HVECTOR:
      for (std::size_t b = 0; b < n; ++b) append(out, *first, static_cast<MPI_Aint>(b) * c.a[0], c.i[1]);
      break;
    case MPI_COMBINER_INDEXED:
      for (std::size_t b = 0; b < n; ++b) append(out, *first, c.i[1 + n + b] * first->extent, c.i[1 + b]);
      break;
    case MPI_COMBINER_HINDEXED:
      for (std::size_t b = 0; b < n; ++b) append(out, *first, c.a[b], c.i[1 + b]);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      for (std::size_t b = 0; b < n; ++b) append(out, *first, c.i[2 + b] * first->extent, c.i[1]);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      for (std::size_t b = 0; b < n; ++b) append(out, *first, c.a[b], c.i[1]);
      break;
    case MPI_COMBINER_STRUCT:
      for (std::size_t b = 0; b < n; ++b) append(out, *layout_of(c.types[b]), c.a[b], c.i[1 + b]);
      break;
    case MPI_COMBINER_SUBARRAY:
      append_subarray(out, *first, c);
      break;
    default:
      append_by_trial(out, type);
  }
  layout.pieces = out.pieces();
  return layout;
}

/// Returns whether the library writes exactly the bytes that the type's definition names. Open MPI 4.1 does not for strides
/// below zero and for some structs with empty members, and then its own extents are wrong, too. The library is asked only for
/// types of at most 64 KiB and for types whose extents differ from the library's.
bool is_as_the_library_has_it(MPI_Datatype type, const Layout& layout, int count) {
  constexpr MPI_Count small = 64 << 10;
  constexpr MPI_Count most = 64 << 20;
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  if (bytes == 0) return layout.pieces.empty();
  const Piece theirs = hull_of(type);
  const Piece ours = layout.pieces.empty() ? theirs : hull_around(layout.pieces);
  // With several elements the distance between them counts. The memory on either side makes wrong bytes visible.
  const MPI_Count low = std::min(ours.begin, theirs.begin) + std::min<MPI_Count>(0, layout.extent);
  const MPI_Count high = std::max(ours.end, theirs.end) + std::max<MPI_Count>(0, layout.extent);
  const MPI_Count room = high - low;
  if (ours.begin == theirs.begin && ours.end == theirs.end && room > small) return true;
  if (room > most) return false;
  std::vector<char> seen(static_cast<std::size_t>(3 * room));
  std::vector<char> expected(seen.size());
  Trial(type, count).unpack(seen.data() + room, static_cast<MPI_Aint>(low));
  for (int element = 0; element < count; ++element) {
    for (const Piece p : layout.pieces) {
      const auto at = expected.begin() + static_cast<std::ptrdiff_t>(room - low + element * layout.extent + p.begin);
      std::fill(at, at + (p.end - p.begin), '\xff');
    }
  }
  return seen == expected;
}

// The layout of a derived datatype is an attribute of the type, so MPI frees it with the type.
std::mutex layouts_mutex;
int layout_key = MPI_KEYVAL_INVALID;

int delete_layout(MPI_Datatype, int, void* layout, void*) {
  delete static_cast<LayoutPtr*>(layout);
  return MPI_SUCCESS;
}

LayoutPtr layout_of(MPI_Datatype type) {
  const Envelope envelope(type);
  if (envelope.basic()) return std::make_shared<const Layout>(make_layout(type, envelope));
  {
    const std::lock_guard<std::mutex> lock(layouts_mutex);
    if (layout_key == MPI_KEYVAL_INVALID) {
      PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &delete_layout, &layout_key, nullptr);
    }
    void* known = nullptr;
    int found = 0;
    PMPI_Type_get_attr(type, layout_key, &known, &found);
    if (found != 0) return *static_cast<LayoutPtr*>(known);
  }
  Layout made = make_layout(type, envelope);
  made.one_is_as_the_library_has_it = is_as_the_library_has_it(type, made, 1);
  made.several_are = is_as_the_library_has_it(type, made, 2);
  auto layout = std::make_shared<const Layout>(std::move(made));
  const std::lock_guard<std::mutex> lock(layouts_mutex);
  PMPI_Type_set_attr(type, layout_key, new LayoutPtr(layout));
  return layout;
}

/// Returns the layout of the type. @throws UsageError  the library uses other bytes for `count` elements
LayoutPtr usable_layout_of(MPI_Datatype type, MPI_Count count) {
  LayoutPtr layout = layout_of(type);
  if (!layout->one_is_as_the_library_has_it || (count > 1 && !layout->several_are)) {
    throw UsageError("this MPI library does not use the bytes that the derived datatype's maker named (Open MPI errs with "
                     "strides below zero and with empty members of structs). Make it with strides above zero and without "
                     "empty members, or give MPI ordinary memory");
  }
  return layout;
}

}  // namespace

UsedBytes::UsedBytes(MPI_Count count, MPI_Datatype type) {
  if (count > 0) append(*this, *usable_layout_of(type, count), 0, count);
}

UsedBytes::UsedBytes(const Blocks& blocks) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  LayoutPtr layout;
  for (const Block& b : blocks) {
    if (b.count <= 0) continue;
    if (layout == nullptr || b.type != type || b.count > 1) layout = usable_layout_of(b.type, b.count);
    type = b.type;
    append(*this, *layout, b.displacement, b.count);
  }
}

void UsedBytes::cut(std::uint64_t bytes) {
  std::size_t kept = 0;
  for (; kept < pieces_.size() && bytes > 0; ++kept) {
    const auto size = static_cast<std::uint64_t>(pieces_[kept].end - pieces_[kept].begin);
    if (size > bytes) pieces_[kept].end = pieces_[kept].begin + static_cast<std::int64_t>(bytes);
    bytes -= std::min(bytes, size);
  }
  pieces_.resize(kept);
}

Piece UsedBytes::hull() const noexcept { return hull_around(pieces_); }

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

bool is_derived(MPI_Datatype type) { return !Envelope(type).basic(); }

Piece hull_of(MPI_Datatype type) {
  MPI_Aint begin = 0;
  MPI_Aint bytes = 0;
  PMPI_Type_get_true_extent(type, &begin, &bytes);
  return {begin, begin + bytes};
}

bool is_part_of_one_array(MPI_Datatype type) {
  const Envelope envelope(type);
  if (envelope.basic()) return true;
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      return is_part_of_one_array(Contents(type, envelope).types[0]);
    default:
      return false;
  }
}

std::shared_ptr<const std::vector<Piece>> pieces_of(MPI_Datatype type) {
  const LayoutPtr layout = layout_of(type);
  return {layout, &layout->pieces};
}

}  // namespace semcache::mpi
