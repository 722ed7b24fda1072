// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include <semcache/device/device.hpp>

#include <gtest/gtest.h>

#include <string>

/// Passes with and without CUDA, driver and GPU.
namespace semcache::device::testing {
namespace {

TEST(CudaDeviceFactory, TheCountIsNeverNegativeAndStaysTheSame) {
  const int count = cuda_device_count();
  EXPECT_GE(count, 0);
  EXPECT_EQ(cuda_device_count(), count);
}

TEST(CudaDeviceFactory, ADeviceThatIsNotThereIsAnErrorThatSaysSo) {
  try {
    (void)make_cuda_device(cuda_device_count() + 100);
    FAIL() << "made a device that does not exist";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("CUDA"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace semcache::device::testing
