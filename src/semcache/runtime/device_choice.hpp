// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/runtime/configuration.hpp>
#include <semcache/runtime/runtime.hpp>

#include <memory>
#include <vector>

namespace semcache::runtime {

/// The devices that the variables, the program's own framework and the machine agree on.
/// @param framework  nullptr: the program has none, or has not said so yet
/// @throws ConfigurationError  they do not agree; it names both
[[nodiscard]] std::vector<std::unique_ptr<device::Device>> make_devices(const Configuration& configuration,
                                                                       const FrameworkDevice* framework);

}  // namespace semcache::runtime
