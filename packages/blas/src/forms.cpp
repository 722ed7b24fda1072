// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#include "forms.hpp"

#include "loading.hpp"  // of packages/linalg

#include <cstring>

namespace semcache::blas {
namespace {

void copy_on_gpu(const runtime::Stream& stream, void* to, const void* from, std::size_t bytes) {
  using Copy = int(unsigned long long, unsigned long long, std::size_t, void*);
  static Copy* const copy = [] {
    constexpr const char* names[] = {"libcuda.so.1"};
    Copy* found = nullptr;
    linalg::find(linalg::load("the CUDA driver", names, "Install NVIDIA's driver"), "the CUDA driver", found, "cuMemcpyDtoDAsync_v2");
    return found;
  }();
  const auto number = [](const void* at) { return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(at)); };
  const int status = copy(number(to), number(from), bytes, stream.native);
  if (status != 0) throw DeviceError("the form of an operand cannot be copied: cuMemcpyDtoDAsync failed with status " + std::to_string(status));
}

}  // namespace

Formed::Formed(const Operand& operand, const runtime::Stream& stream, const void* value, const void* datum)
    : of_(operand), stream_(stream), value_(value), datum_(datum) {
  if (of_.form->forward != nullptr && of_.mode != Access::overwrite) {
    derive();
    if (!form_->is_computed()) {
      const runtime::LibraryUse uses[] = {this->value(Access::read), {form_->data(), bytes(), Access::overwrite}};
      {
        const runtime::Launch launch(stream_.queue, uses, 2);
        const runtime::OnDevice on(stream_.device);
        of_.form->forward(of_.form->arguments, stream_.native, value_, form_->data());
      }
      form_->note_computed();
    }
  }
  if (!writes(of_.mode)) return;
  written_ = runtime::allocate_device("form of an operand", bytes());
  if (!form_) return;
  const runtime::LibraryUse uses[] = {{form_->data(), bytes(), Access::read}, {written_, bytes(), Access::overwrite}};
  const runtime::Launch launch(stream_.queue, uses, 2);
  copy(written_, form_->data());
}

Formed::~Formed() {
  form_.reset();
  if (written_ != nullptr) runtime::deallocate(written_);
}

void Formed::derive() {
  const runtime::DerivedValue::Input input{datum_, of_.width(), of_.columns, of_.pitch()};
  form_.reset();
  form_.emplace(of_.form->name, of_.form->parameters.data(), sizeof of_.form->parameters, &input, 1, bytes(), stream_.device);
}

void Formed::reverse() {
  if (written_ == nullptr) return;
  {
    const runtime::LibraryUse uses[] = {{written_, bytes(), Access::read}, value(of_.mode)};
    const runtime::Launch launch(stream_.queue, uses, 2);
    const runtime::OnDevice on(stream_.device);
    of_.form->reverse(of_.form->arguments, stream_.native, written_, const_cast<void*>(value_));
  }
  if (of_.form->forward == nullptr) return;
  derive();
  if (form_->is_computed()) return;
  const runtime::LibraryUse uses[] = {{written_, bytes(), Access::read}, {form_->data(), bytes(), Access::overwrite}};
  {
    const runtime::Launch launch(stream_.queue, uses, 2);
    copy(form_->data(), written_);
  }
  form_->note_computed();
}

void Formed::copy(void* to, const void* from) const {
  const runtime::OnDevice on(stream_.device);
  if (runtime::devices_are_emulated()) std::memcpy(to, from, bytes());
  else copy_on_gpu(stream_, to, from, bytes());
}

}  // namespace semcache::blas
