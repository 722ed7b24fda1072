// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include "arrays.hpp"
#include "bytes.hpp"

#include <semcache/linalg.hpp>

#include <gtest/gtest.h>

#include <utility>

/// What the tests of packages/linalg begin with.
namespace semcache::linalg {

using test::Array;
using test::Bytes;
using test::bytes_go_between_devices;
using test::kib_of_addresses;
using test::moved;
using test::on_devices;
using test::Setting;
using test::Where;

/// Calls have these options, which spread them over all devices unless a test says otherwise. The runtime ends with the test.
/// @tparam Base  ::testing::Test, or one with parameters
template <class Base = ::testing::Test>
class LinalgTest : public Base {
 protected:
  explicit LinalgTest(Options options = {Spread::always, 0, 0}) : options_(std::move(options)) {}
  void SetUp() override { set_options(options_); }
  void TearDown() override { finalize(); }

 private:
  const Options options_;
};

}  // namespace semcache::linalg
