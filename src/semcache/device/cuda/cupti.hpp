// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace semcache::device::cuda {

/// The functions of CUPTI, which is loaded at the first use.
struct Cupti {
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) enable = nullptr;
  decltype(&::cuptiGetResultString) text = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_clock = nullptr;
  decltype(&::cuptiActivityEnable) enable_activity = nullptr;
  decltype(&::cuptiActivityDisable) disable_activity = nullptr;
  decltype(&::cuptiActivityFlushAll) flush = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  std::string failure;  ///< why it could not be loaded; empty if it was

  [[nodiscard]] std::string text_of(CUptiResult result) const;
};
[[nodiscard]] const Cupti& cupti();

/// Notes that the call to the driver with this number is made by the calling thread for its present cause (`ActivityCause`).
void note_cause(std::uint32_t correlation) noexcept;

}  // namespace semcache::device::cuda
