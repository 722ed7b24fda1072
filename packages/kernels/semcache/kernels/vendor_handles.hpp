// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/kernels/compat.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
#include <KokkosBlas_tpl_spec.hpp>
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
#include <KokkosKernels_tpl_handles_decl.hpp>
#endif
#endif

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

/// Calls of the vendor's libraries on each GPU of the process. A handle of cuBLAS or cuSPARSE belongs to one GPU, and Kokkos-Kernels has one of
/// each, which it makes for Kokkos' own GPU. For a call on another GPU this package puts a handle of that GPU in its place until the call returns.
namespace semcache::kernels::detail {

#if defined(KOKKOS_ENABLE_CUDA) && SEMCACHE_KERNELS_INSTANCES
#define SEMCACHE_KERNELS_VENDOR_HANDLES

/// Makes the GPU of an instance the calling thread's current one.
template <class Native>
void make_current(const Native& native) {
  if constexpr (std::is_same<Native, Kokkos::Cuda>::value) (void)native.cuda_stream();
}

/// The handles of one GPU, or nullptr where Kokkos-Kernels was built without the library.
struct VendorHandles {
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
  cublasHandle_t blas = nullptr;
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
  cusparseHandle_t sparse = nullptr;
#endif

  /// Makes the handles of Kokkos-Kernels, where it has none yet, for the GPU that is current.
  static void let_kokkos_kernels_make_its_own() {
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
    (void)KokkosBlas::Impl::CudaBlasSingleton::singleton();
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
    (void)KokkosKernels::Impl::CusparseSingleton::singleton();
#endif
  }
  /// Exchanges these handles for those of Kokkos-Kernels.
  /// @pre Kokkos-Kernels has its handles
  void exchange() {
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
    std::swap(blas, KokkosBlas::Impl::CudaBlasSingleton::singleton().handle);
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
    std::swap(sparse, KokkosKernels::Impl::CusparseSingleton::singleton().cusparseHandle);
#endif
  }
  /// Makes those that are missing, for the GPU that is current.
  /// @throws DeviceError  a library makes none
  void make([[maybe_unused]] std::uint32_t device) {
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
    if (blas == nullptr && cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) refuse("cuBLAS", device);
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
    if (sparse == nullptr && cusparseCreate(&sparse) != CUSPARSE_STATUS_SUCCESS) refuse("cuSPARSE", device);
#endif
  }
  void destroy() {
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUBLAS
    if (blas != nullptr) cublasDestroy(blas);
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_CUSPARSE
    if (sparse != nullptr) cusparseDestroy(sparse);
#endif
    *this = VendorHandles();
  }

 private:
  [[noreturn]] static void refuse(const char* library, std::uint32_t device) {
    throw DeviceError("Kokkos-Kernels on device " + std::to_string(device) + ": " + library +
                      " makes no handle there (no memory: lower SEMCACHE_DEVICE_MEMORY, so that it finds room)");
  }
};

/// The handles of all GPUs but Kokkos' own. They are made at the first call on a GPU and destroyed by Kokkos::finalize.
class VendorHandlesOfGpus {
 public:
  static VendorHandlesOfGpus& instance() {
    static VendorHandlesOfGpus all;
    return all;
  }

  /// Makes the instance's GPU current, and returns its handles; nullptr for Kokkos' own GPU.
  /// @throws DeviceError  a library makes none
  VendorHandles* of(const Exec& exec) {
    const std::uint32_t device = kokkos::detail::device_of_instance(exec);
    if (device == 0 || !kokkos::native_is_device) {
      make_current(exec.native());  // Kokkos-Kernels may make its handles now
      return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_ready_) {
      make_current(on(0).native());
      VendorHandles::let_kokkos_kernels_make_its_own();
      Kokkos::push_finalize_hook([this] { destroy(); });
      is_ready_ = true;
    }
    VendorHandles& handles = handles_[device];
    make_current(exec.native());
    handles.make(device);
    return &handles;
  }
  /// Held while a call of Kokkos-Kernels uses the handles that it finds.
  std::mutex& mutex() { return mutex_; }

 private:
  void destroy() {
    for (auto& [device, handles] : handles_) handles.destroy();
    handles_.clear();
    is_ready_ = false;
  }

  std::mutex mutex_;
  bool is_ready_ = false;  ///< Kokkos-Kernels has its own handles, and Kokkos::finalize destroys these
  std::map<std::uint32_t, VendorHandles> handles_;
};

/// While it lives Kokkos-Kernels calls libraries with the given handles. In a process with several devices, other threads that make one wait.
class VendorHandlesInUse {
 public:
  explicit VendorHandlesInUse(VendorHandles* handles) : handles_(handles) {
    if (device_count() > 1) lock_ = std::unique_lock<std::mutex>(VendorHandlesOfGpus::instance().mutex());
    if (handles_ != nullptr) handles_->exchange();
  }
  ~VendorHandlesInUse() {
    if (handles_ != nullptr) handles_->exchange();
  }
  VendorHandlesInUse(const VendorHandlesInUse&) = delete;
  VendorHandlesInUse& operator=(const VendorHandlesInUse&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  VendorHandles* handles_;
};

#endif

}  // namespace semcache::kernels::detail
