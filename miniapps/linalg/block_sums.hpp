// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "cuda_support.hpp"
#include "gpu_kernels.hpp"

#include "../../packages/linalg/src/block_sums.hpp"

#include <vector>

namespace linalg_miniapps {

/// A device's share of a dot product: the sums of its blocks, which the host adds. Shares begin at multiples of `block` elements.
class BlockSums {
 public:
  BlockSums(int device, std::int64_t elements, std::int64_t block)
      : elements_(elements), block_(block), blocks_((elements + block - 1) / block), sums_(device, blocks_), on_host_(blocks_) {}
  /// The device is the current one.
  void start(const double* x, const double* y, const Stream& stream, Copies& copies) const {
    launch_block_dots(stream, elements_, block_, x, y, sums_.data());
    copies.to_host(on_host_.data(), sums_.data(), blocks_, stream);
  }
  /// What has been started has ended.
  void append_to(std::vector<double>& all) const { all.insert(all.end(), on_host_.data(), on_host_.data() + blocks_); }

 private:
  std::int64_t elements_, block_, blocks_;
  DeviceArray<double> sums_;
  PageLocked<double> on_host_;
};

/// Adds numbers in the order of packages/linalg.
inline double sum_of(const std::vector<double>& all) { return semcache::linalg::sum_of(all.data(), all.size()); }

}  // namespace linalg_miniapps
