// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The kernels of packages/linalg. CMake makes a string of this file, and gpu_kernels.cpp compiles that by NVRTC at first use, so it includes
// nothing. Its plain C++ parts also compile for the host, where a unit test runs the kernels thread by thread.
//
// Every sum has a fixed order, which its own length decides and nothing else: neither the grid, nor the other sums of the call, nor the place of
// the entries in memory. Products are fused by calls of fma alone (NVRTC gets --fmad=false), so no compiler chooses where to round.

constexpr int threads = 128;              // of a thread block, in all kernels
constexpr int tile = threads;             // rows that a thread block works on at a time
constexpr int tiles_per_block = 2;        // so that the row pointers of the second come with those of the first
constexpr int chunk = 1024;               // entries that are staged at a time; a tile of a 7-point stencil has 896
constexpr int entries_of_thread = 32;     // a row of up to so many entries is summed by one thread
constexpr int entries_of_group = 1024;    // a longer one of up to so many by some neighbouring lanes, the others by the whole thread block
constexpr int lanes_of_group = 8;
constexpr int elements_in_flight = 8;     // that a thread asks for before it waits for them; half as many complex ones
constexpr int blocks_at_once = 10;        // of a multiprocessor, so 48 registers a thread: with 40 the loads in flight would not fit on sm_90

template <class R>
struct Complex {
  R re, im;
};
using ComplexFloat = Complex<float>;
using ComplexDouble = Complex<double>;

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<Complex<R>> {
  using Type = R;
};

template <class R>
__device__ __forceinline__ R add(R a, R b) { return a + b; }
template <class R>
__device__ __forceinline__ Complex<R> add(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }

template <class R>
__device__ __forceinline__ R multiply(R a, R b) { return a * b; }
template <class R>
__device__ __forceinline__ Complex<R> multiply(Complex<R> a, Complex<R> b) {
  return {fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
}

template <class R>
__device__ __forceinline__ R add_product(R a, R b, R sum) { return fma(a, b, sum); }
template <class R>
__device__ __forceinline__ Complex<R> add_product(Complex<R> a, Complex<R> b, Complex<R> sum) {
  return {fma(-a.im, b.im, fma(a.re, b.re, sum.re)), fma(a.im, b.re, fma(a.re, b.im, sum.im))};
}

template <class R>
__device__ __forceinline__ R conjugate(R a) { return a; }
template <class R>
__device__ __forceinline__ Complex<R> conjugate(Complex<R> a) { return {a.re, -a.im}; }

template <class R>
__device__ __forceinline__ bool is_zero(R a) { return a == R(0); }
template <class R>
__device__ __forceinline__ bool is_zero(Complex<R> a) { return a.re == R(0) && a.im == R(0); }

// Returns to lane 0 of each `width` neighbouring threads (a power of two) the sum of what they pass. All threads of the block call it.
template <class T>
__device__ __forceinline__ T sum_of_lanes(T own, T* partial, int width) {
  const int lane = threadIdx.x % width;
  __syncthreads();  // what the array was used for before has ended
  partial[threadIdx.x] = own;
  for (int half = width / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[threadIdx.x] = add(partial[threadIdx.x], partial[threadIdx.x + half]);
  }
  return partial[threadIdx.x];
}

// --- dot products of blocks --------------------------------------------------------------------------------------
// As many lanes as a block has elements, at most all threads, add the elements with their number modulo the lanes. Lanes of a block that is
// shorter than `block` may add nothing.
template <class T>
__device__ __forceinline__ void block_dots(unsigned long long n, unsigned block, const T* __restrict__ x, const T* __restrict__ y, T* sums) {
  constexpr int in_flight = elements_in_flight * sizeof(typename RealOf<T>::Type) / sizeof(T) / 2;  // of each vector
  __shared__ T partial[threads];
  const unsigned width = block < threads ? block : threads;
  const unsigned long long index = blockIdx.x * static_cast<unsigned long long>(threads / width) + threadIdx.x / width;
  const unsigned long long first = index * block;
  const unsigned length = first >= n ? 0 : n - first < block ? static_cast<unsigned>(n - first) : block;
  const unsigned lane = threadIdx.x % width;
  T sum = {};
  for (unsigned i = lane; i < length; i += width * in_flight) {
    T left[in_flight], right[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const unsigned at = i + k * width < length ? i + k * width : length - 1;
      left[k] = x[first + at];
      right[k] = y[first + at];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const T next = add_product(conjugate(left[k]), right[k], sum);
      if (i + k * width < length) sum = next;
    }
  }
  sum = sum_of_lanes(sum, partial, static_cast<int>(width));
  if (lane == 0 && length > 0) sums[index] = sum;
}

// --- sparse matrix by vector -------------------------------------------------------------------------------------
// Copies `count` neighbouring elements, to be awaited by wait_for_copies. Compute capability 8.0 and later do so without registers, so that many
// bytes are in flight. Copies of 16 bytes bypass the first cache and are the first to leave the second one, which is for the vectors.
template <int count, class E>
__device__ __forceinline__ void copy_to_shared(E* shared, const E* global, [[maybe_unused]] unsigned long long policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  constexpr int bytes = count * sizeof(E);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "l"(policy) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes) : "memory");
  }
#else
  for (int k = 0; k < count; ++k) shared[k] = global[k];
#endif
}
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Copies `count` elements into shared memory, 16 bytes at a time, but for both ends. `shared` is aligned to 16 bytes and has room for 16 bytes
// more. Returns how many elements behind its begin the first one lies: addresses are equal modulo 16 in both memories.
template <class E>
__device__ __forceinline__ int stage(E* shared, const E* global, int count) {
  constexpr int unit = 16 / sizeof(E);
  const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(global) % 16 / sizeof(E));
  unsigned long long policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  for (int i = static_cast<int>(threadIdx.x) * unit - shift; i < count; i += threads * unit) {
    if (i >= 0 && i + unit <= count) {
      copy_to_shared<unit>(shared + shift + i, global + i, policy);
    } else {
      for (int k = i; k < i + unit; ++k) {
        if (k >= 0 && k < count) copy_to_shared<1>(shared + shift + k, global + k, policy);
      }
    }
  }
  return shift;
}

// Returns sum + values[i] x[columns[i]] for i = first, first + step ... < last, added in this order.
template <class T>
__device__ __forceinline__ T add_products(const T* values, const int* columns, unsigned first, unsigned last, unsigned step, const T* x, T sum) {
  constexpr int in_flight = elements_in_flight * sizeof(typename RealOf<T>::Type) / sizeof(T);
  for (unsigned i = first; i < last; i += step * in_flight) {
    T value[in_flight], element[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const unsigned at = i + k * step < last ? i + k * step : last - 1;
      value[k] = values[at];
      element[k] = x[columns[at]];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const T next = add_product(value[k], element[k], sum);
      if (i + k * step < last) sum = next;
    }
  }
  return sum;
}

// Whether the condition holds for any thread of the warp; on the host, for the calling one.
__device__ __forceinline__ bool any_of_warp(bool condition) {
#if defined(__CUDA_ARCH__)
  return __any_sync(0xffffffffU, condition);
#else
  return condition;
#endif
}
// Loads before it are not moved behind those that follow. All threads of the warp call it.
__device__ __forceinline__ void end_of_loads() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#endif
}

// The same for entries in shared memory, one after the other; there is one at `values` and `columns` at least. All threads of the warp call it.
// The values are read behind the elements of x: the compiler would otherwise ask for the last of these when it has used the first ones.
template <class T>
__device__ __forceinline__ T add_staged_products(const T* values, const int* columns, int first, int last, const T* x, T sum) {
  constexpr int in_flight = elements_in_flight * sizeof(typename RealOf<T>::Type) / sizeof(T);
  for (int i = first; any_of_warp(i < last); i += in_flight) {
    T element[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) element[k] = x[columns[i + k < last ? i + k : 0]];
    end_of_loads();
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const T next = add_product(values[i + k < last ? i + k : 0], element[k], sum);
      if (i + k < last) sum = next;
    }
  }
  return sum;
}

template <class T>
__device__ __forceinline__ void store(T* y, T alpha, T sum, T beta) {
  *y = is_zero(beta) ? multiply(alpha, sum) : add_product(beta, *y, multiply(alpha, sum));
}

// A thread block works on some tiles of rows. Where no row of a tile is long, the tile's entries pass through shared memory in chunks, which
// neighbouring threads load from neighbouring addresses, and each thread adds the entries of its own row in their order. In a tile with long rows
// the threads read the short ones from where they are, in the same order, so that the sums have the same bits.
template <class T>
__device__ __forceinline__ void spmv(unsigned long long rows, T alpha, const int* __restrict__ row_pointers, const int* __restrict__ columns,
                                     const T* __restrict__ values, const T* x, T beta, T* y) {
  using Real = typename RealOf<T>::Type;
  constexpr int parts = sizeof(T) / sizeof(Real);
  __shared__ __align__(16) Real staged_values[chunk * parts + 16 / sizeof(Real)];
  __shared__ __align__(16) int staged_columns[chunk + 4];
  __shared__ int starts[tiles_per_block * tile + 1];
  const int thread = static_cast<int>(threadIdx.x);

  const unsigned long long first_row = blockIdx.x * static_cast<unsigned long long>(tiles_per_block * tile);
  const int count = rows - first_row < tiles_per_block * tile ? static_cast<int>(rows - first_row) : tiles_per_block * tile;
  y += first_row;
  for (int i = thread; i <= count; i += threads) starts[i] = row_pointers[first_row + i];
  __syncthreads();
  const auto length_of = [&](int row) { return row < count ? starts[row + 1] - starts[row] : 0; };

  for (int first = 0; first < count; first += tile) {
    const int row = first + thread;
    const int length = length_of(row);
    if (!__syncthreads_or(length > entries_of_thread)) {
      const int begin = row < count ? starts[row] : 0;
      const int end_of_tile = starts[first + tile < count ? first + tile : count];
      T sum = {};
      int staged = 0;
      for (int from = starts[first]; from < end_of_tile; from += staged) {
        staged = end_of_tile - from < chunk ? end_of_tile - from : chunk;
        const int shift_of_values = stage(staged_values, reinterpret_cast<const Real*>(values + from), staged * parts);
        const int shift_of_columns = stage(staged_columns, columns + from, staged);
        wait_for_copies();
        __syncthreads();
        // The part of the row that lies in this chunk, counted from the chunk's begin; both may be outside.
        const int here = begin - from > 0 ? begin - from : 0;
        const int up_to = begin - from + length < staged ? begin - from + length : staged;
        sum = add_staged_products(reinterpret_cast<const T*>(staged_values + shift_of_values), staged_columns + shift_of_columns, here, up_to, x,
                                  sum);
        __syncthreads();  // the next chunk takes the place of this one
      }
      if (row < count) store(y + row, alpha, sum, beta);
      continue;
    }

    T* const partial = reinterpret_cast<T*>(staged_values);
    const bool in_groups = __syncthreads_or(length > entries_of_thread && length <= entries_of_group);
    const bool in_blocks = __syncthreads_or(length > entries_of_group);
    if (row < count && length <= entries_of_thread) {
      const T sum = add_products(values + starts[row], columns + starts[row], 0U, static_cast<unsigned>(length), 1U, x, T{});
      store(y + row, alpha, sum, beta);
    }
    for (int r = first + thread / lanes_of_group; in_groups && r < first + tile; r += threads / lanes_of_group) {
      const int entries = length_of(r), lane = thread % lanes_of_group;
      const bool is_ours = entries > entries_of_thread && entries <= entries_of_group;
      T sum = {};
      if (is_ours) {
        sum = add_products(values + starts[r], columns + starts[r], static_cast<unsigned>(lane), static_cast<unsigned>(entries),
                           static_cast<unsigned>(lanes_of_group), x, sum);
      }
      sum = sum_of_lanes(sum, partial, lanes_of_group);
      if (is_ours && lane == 0) store(y + r, alpha, sum, beta);
    }
    for (int r = first; in_blocks && r < first + tile; ++r) {
      const int entries = length_of(r);
      if (entries <= entries_of_group) continue;
      T sum = add_products(values + starts[r], columns + starts[r], static_cast<unsigned>(thread), static_cast<unsigned>(entries),
                           static_cast<unsigned>(threads), x, T{});
      sum = sum_of_lanes(sum, partial, threads);
      if (thread == 0) store(y + r, alpha, sum, beta);
    }
  }
}

#define SEMCACHE_LINALG_KERNELS(letter, T)                                                                                                    \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                       \
      block_dots_##letter(unsigned long long n, unsigned block, const T* x, const T* y, T* sums) {                                            \
    block_dots<T>(n, block, x, y, sums);                                                                                                      \
  }                                                                                                                                           \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                       \
      spmv_##letter(unsigned long long rows, T alpha, const int* row_pointers, const int* columns, const T* values, const T* x, T beta, T* y) { \
    spmv<T>(rows, alpha, row_pointers, columns, values, x, beta, y);                                                                          \
  }
SEMCACHE_LINALG_KERNELS(s, float)
SEMCACHE_LINALG_KERNELS(d, double)
SEMCACHE_LINALG_KERNELS(c, ComplexFloat)
SEMCACHE_LINALG_KERNELS(z, ComplexDouble)
#undef SEMCACHE_LINALG_KERNELS
