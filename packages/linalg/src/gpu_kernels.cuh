// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The kernels of packages/linalg. CMake makes a string of this file, and gpu_kernels.cpp compiles that by NVRTC at first use, so it includes
// nothing. Its plain C++ parts also compile for the host, where a unit test runs the kernels thread by thread.
//
// Every sum has a fixed order, which its own length decides and nothing else: neither the grid, nor the other sums of the call, nor the place of
// the entries in memory. Products are fused by calls of fma alone (NVRTC gets --fmad=false), so no compiler chooses where to round.

constexpr int threads = 128;             // of a thread block, in all kernels
constexpr int most_rows_of_block = 512;  // of a sparse matrix, for a thread block
constexpr int weight_of_block = 8192;    // of rows of very different lengths, for a thread block: entries, and 16 for each row
constexpr int bytes_of_chunk = 11520;    // values and columns that pass through shared memory together: 128 rows of a 7-point stencil have 10752
constexpr int lanes = 4;                 // that share the sum of a short row
constexpr int entries_of_short = 32;     // of a short row, at most
constexpr int warp = 32;                 // lanes that share the sum of a longer one, if a chunk has room for it; else the whole block does
constexpr int entries_for_lanes = 12;    // a row, from which on the lanes are threads of their own
constexpr int elements_in_flight = 8;    // that a thread asks for before it waits for them; half as many complex ones
constexpr int blocks_at_once = 8;        // of a multiprocessor, whose shared memory then suffices

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

template <class R>
__device__ __forceinline__ bool is_one(R a) { return a == R(1); }
template <class R>
__device__ __forceinline__ bool is_one(Complex<R> a) { return a.re == R(1) && a.im == R(0); }

template <class T>
__device__ __forceinline__ T scaled(T factor, T a) { return is_one(factor) ? a : multiply(factor, a); }

template <class R>
__device__ __forceinline__ R divided(R a, R b) { return a / b; }
template <class R>
__device__ __forceinline__ Complex<R> divided(Complex<R> a, Complex<R> b) {
  const R square = fma(b.im, b.im, b.re * b.re);
  return {fma(a.im, b.im, a.re * b.re) / square, fma(a.im, b.re, -(a.re * b.im)) / square};
}

// Returns to lane 0 of each `width` neighbouring threads (a power of two) the sum of what they pass: lane 0 adds that of lane width / 2, and so
// on. All threads of the block call it.
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
#if defined(__CUDA_ARCH__)
template <class R>
__device__ __forceinline__ R from_lane_behind(R own, int distance) { return __shfl_down_sync(0xffffffffU, own, distance); }
template <class R>
__device__ __forceinline__ Complex<R> from_lane_behind(Complex<R> own, int distance) {
  return {from_lane_behind(own.re, distance), from_lane_behind(own.im, distance)};
}
#endif
// The same for neighbours in a warp, which need no shared memory on a GPU. Only lane 0 may use the result.
template <int width, class T>
__device__ __forceinline__ T sum_of_neighbours(T own, [[maybe_unused]] T* partial) {
#if defined(__CUDA_ARCH__)
#pragma unroll
  for (int half = width / 2; half > 0; half /= 2) own = add(own, from_lane_behind(own, half));
  return own;
#else
  __syncthreads();
  partial[threadIdx.x] = own;
  __syncthreads();
  T all[width];
  for (int k = 0; k < width; ++k) all[k] = partial[threadIdx.x / width * width + k];
  for (int half = width / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) all[k] = add(all[k], all[k + half]);
  }
  return all[0];
#endif
}

// --- sums of vectors ---------------------------------------------------------------------------------------------
// y = alpha x + beta y, or alpha x if beta is zero, or beta y if alpha is. A factor of one multiplies nothing: a complex product with it would make
// NaN of an infinity. x may be y where beta is zero.
template <class T>
constexpr int elements_of_thread = elements_in_flight * static_cast<int>(sizeof(typename RealOf<T>::Type)) / static_cast<int>(sizeof(T));
template <class T>
__device__ __forceinline__ void axpby(unsigned long long n, T alpha, const T* x, T beta, T* y) {
  constexpr int count = elements_of_thread<T>;
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(threads * count) + threadIdx.x;
  const bool reads_x = is_zero(beta) || !is_zero(alpha), reads_y = !is_zero(beta);
  T left[count] = {}, right[count] = {};
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const unsigned long long at = first + k * threads;
    if (at < n && reads_x) left[k] = x[at];
    if (at < n && reads_y) right[k] = y[at];
  }
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const unsigned long long at = first + k * threads;
    if (at >= n) continue;
    if (!reads_y) {
      y[at] = scaled(alpha, left[k]);
    } else if (!reads_x) {
      y[at] = scaled(beta, right[k]);
    } else if (is_one(alpha)) {
      y[at] = add(left[k], scaled(beta, right[k]));
    } else {
      y[at] = add_product(alpha, left[k], scaled(beta, right[k]));
    }
  }
}

// The same with factors that are multiplied by quotients of numbers in memory; where there is no numerator, by nothing.
template <class T>
__device__ __forceinline__ void axpby_of_quotients(unsigned long long n, T alpha, const T* alpha_numerator, const T* alpha_denominator,
                                                   const T* x, T beta, const T* beta_numerator, const T* beta_denominator, T* y) {
  if (alpha_numerator != nullptr) alpha = multiply(alpha, divided(*alpha_numerator, *alpha_denominator));
  if (beta_numerator != nullptr) beta = multiply(beta, divided(*beta_numerator, *beta_denominator));
  axpby<T>(n, alpha, x, beta, y);
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

// Adds numbers as sum_of in block_sums.hpp does, by one thread block.
template <class T>
__device__ __forceinline__ void sum(unsigned long long count, const T* numbers, T* result) {
  constexpr int in_flight = elements_of_thread<T>;
  __shared__ T partial[threads];
  T own = {};
  for (unsigned long long i = threadIdx.x; i < count; i += threads * in_flight) {
    T next[in_flight] = {};
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (i + k * threads < count) next[k] = numbers[i + k * threads];
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (i + k * threads < count) own = add(own, next[k]);
    }
  }
  own = sum_of_lanes(own, partial, threads);
  if (threadIdx.x == 0) *result = own;
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
// Copies `count` elements into shared memory, 16 bytes at a time, but for both ends. `shared` is aligned to 16 bytes and has room for 16 bytes
// more. The first one lies `shift_of` elements behind its begin, so that addresses are equal modulo 16 in both memories.
template <class E>
__device__ __forceinline__ int shift_of(const E* global) { return static_cast<int>(reinterpret_cast<unsigned long long>(global) % 16 / sizeof(E)); }
template <class E>
__device__ __forceinline__ void stage(E* shared, const E* global, int count) {
  constexpr int unit = 16 / sizeof(E);
  const int shift = shift_of(global);
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
}

// How many entries pass through shared memory together.
template <class T>
constexpr int chunk = bytes_of_chunk / static_cast<int>(sizeof(T) + sizeof(int)) / 4 * 4;

// Two buffers for entries, in shared memory. While one is in use, the next entries are on their way into the other. From compute capability 9.0 on
// one thread asks for all of them, and the memory's own engine carries them.
template <class T>
class Staging {
 public:
  using Real = typename RealOf<T>::Type;
  static constexpr int parts = sizeof(T) / sizeof(Real);

  // Called by all threads, before a barrier and the first load.
  __device__ __forceinline__ void begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      for (int b = 0; b < 2; ++b) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address_of(&arrived_[b])) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#endif
  }
  // Begins to load `count` entries. Called by all threads, behind a barrier that they pass when the buffer is no longer in use.
  __device__ __forceinline__ void load(int buffer, const T* values, const int* columns, int count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x != 0) return;
    const unsigned barrier = address_of(&arrived_[buffer]);
    const unsigned bytes_of_values = count == 0 ? 0 : bytes_around(values, count), bytes_of_columns = count == 0 ? 0 : bytes_around(columns, count);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes_of_values + bytes_of_columns) : "memory");
    if (count == 0) return;
    unsigned long long policy = 0;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    copy(values_[buffer], values, bytes_of_values, barrier, policy);
    copy(columns_[buffer], columns, bytes_of_columns, barrier, policy);
#else
    stage(values_[buffer], reinterpret_cast<const Real*>(values), count * parts);
    stage(columns_[buffer], columns, count);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
#endif
  }
  // Waits until a buffer's entries are there. The other buffer may have been asked for behind it, `then_other`. Called by all threads.
  // @param turn  how often this buffer has been awaited before
  __device__ __forceinline__ void wait([[maybe_unused]] int buffer, [[maybe_unused]] int turn, [[maybe_unused]] bool then_other) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}\n"
          : "=r"(done)
          : "r"(address_of(&arrived_[buffer])), "r"(static_cast<unsigned>(turn) % 2)
          : "memory");
    }
#else
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (then_other) {
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
#endif
    __syncthreads();
#endif
  }
  // Where the entries are that were loaded from these addresses.
  __device__ __forceinline__ const T* values(int buffer, const T* from) const {
    return reinterpret_cast<const T*>(values_[buffer] + shift_of(reinterpret_cast<const Real*>(from)));
  }
  __device__ __forceinline__ const int* columns(int buffer, const int* from) const { return columns_[buffer] + shift_of(from); }

 private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  template <class E>
  static __device__ __forceinline__ unsigned address_of(E* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }
  // Of the units of 16 bytes around some elements. What else lies in them is loaded and not used.
  template <class E>
  static __device__ __forceinline__ unsigned bytes_around(const E* from, int count) {
    const unsigned long long begin = reinterpret_cast<unsigned long long>(from), end = reinterpret_cast<unsigned long long>(from + count);
    return static_cast<unsigned>((end + 15) / 16 * 16 - begin / 16 * 16);
  }
  template <class E, class F>
  static __device__ __forceinline__ void copy(E* shared, const F* from, unsigned bytes, unsigned barrier, unsigned long long policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 :
                 : "r"(address_of(shared)), "l"(reinterpret_cast<unsigned long long>(from) / 16 * 16), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
  }
#endif

  __align__(16) Real values_[2][chunk<T> * parts + 32 / sizeof(Real)];
  __align__(16) int columns_[2][chunk<T> + 8];
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned long long arrived_[2];
#endif
};

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

// The same for entries in shared memory. Entry i is added to sums[(i - first) / step % count]; `count` divides the number of elements in flight.
// There is one entry at `values` and `columns` at least, or last <= first for all threads of the warp. All threads of the warp call it. The values
// are read behind the elements of x: the compiler would otherwise ask for the last of these when it has used the first ones.
template <int count, class T>
__device__ __forceinline__ void add_staged_products(const T* values, const int* columns, int first, int last, int step, const T* x, T* sums) {
  constexpr int in_flight = elements_in_flight * sizeof(typename RealOf<T>::Type) / sizeof(T);
  for (int i = first; any_of_warp(i < last); i += step * in_flight) {
    T element[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) element[k] = x[columns[i + k * step < last ? i + k * step : 0]];
    end_of_loads();
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      const T next = add_product(values[i + k * step < last ? i + k * step : 0], element[k], sums[k % count]);
      if (i + k * step < last) sums[k % count] = next;
    }
  }
}

template <class T>
__device__ __forceinline__ void store(T* y, T alpha, T sum, T beta) {
  *y = is_zero(beta) ? multiply(alpha, sum) : add_product(beta, *y, multiply(alpha, sum));
}

// A thread block works on some rows (at most `most_rows_of_block`), in steps: the entries of each step pass through shared memory, while those of the
// next are on their way there. Neighbouring threads load from neighbouring addresses. A row's length alone decides which partial sums
// it has: `lanes`, as many as a warp has lanes, or as many as a thread block has threads. Whether a thread adds up one partial sum of a short row or
// all of them depends on the block's mean length: the bits are the same.
//
// With `several` the vectors are `vectors` columns of two matrices, with these leading dimensions. The entries are loaded once for all of them, and
// each product has the bits of that with one vector.
template <bool several, class T>
__device__ __forceinline__ void multiply_block(unsigned long long first_row, int count, T alpha, const int* __restrict__ row_pointers,
                                               const int* __restrict__ columns, const T* __restrict__ values, const T* x, T beta, T* y, int vectors,
                                               unsigned long long leading_x, unsigned long long leading_y) {
  constexpr int warps = threads / warp;
  __shared__ Staging<T> staging;
  __shared__ int starts[most_rows_of_block + 1];
  __shared__ T partial[threads];
  const int thread = static_cast<int>(threadIdx.x);

  y += first_row;
  staging.begin();
  for (int i = thread; i <= count; i += threads) starts[i] = row_pointers[first_row + i];
  __syncthreads();
  bool has_longer = false;
  for (int i = thread; i < count; i += threads) has_longer = has_longer || starts[i + 1] - starts[i] > entries_of_short;
  const bool longer_rows = __syncthreads_or(has_longer);
  const bool in_lanes = starts[count] - starts[0] > entries_for_lanes * count;
  const int most_rows = in_lanes ? threads / lanes : threads;

  // Returns how many rows from this one on are the next step; 0 for a row that is longer than a chunk. A barrier for all threads.
  const auto rows_from = [&](int first) {
    const int row = first + thread;
    return __syncthreads_count(thread < most_rows && row < count && starts[row + 1] - starts[first] <= chunk<T>);
  };
  const auto load = [&](int first, int number, int buffer) {
    const int begin = starts[first];
    staging.load(buffer, values + begin, columns + begin, starts[first + number] - begin);
  };

  int number = rows_from(0), step = 0;
  load(0, number, 0);
  for (int first = 0; first < count; ++step) {
    const int buffer = step % 2, next = first + (number > 0 ? number : 1);
    int next_number = 0;
    if (next < count) {
      next_number = rows_from(next);  // now the other buffer has been used
      load(next, next_number, 1 - buffer);
    }
    staging.wait(buffer, step / 2, next < count);

    const int begin = starts[first];
    const T* const here = staging.values(buffer, values + begin);
    const int* const columns_here = staging.columns(buffer, columns + begin);
    for (int v = 0; v < (several ? vectors : 1); ++v) {
      const T* const own_x = several ? x + v * leading_x : x;
      T* const own_y = several ? y + v * leading_y : y;
      if (number == 0) {
        T sum = add_products(values + begin, columns + begin, static_cast<unsigned>(thread), static_cast<unsigned>(starts[first + 1] - begin),
                             static_cast<unsigned>(threads), own_x, T{});
        sum = sum_of_lanes(sum, partial, threads);
        if (thread == 0) store(own_y + first, alpha, sum, beta);
      } else {
        const int row = first + (in_lanes ? thread / lanes : thread);
        const int from = row < next ? starts[row] - begin : 0, length = row < next ? starts[row + 1] - starts[row] : 0;
        const bool is_short = row < next && length <= entries_of_short;
        const int up_to = is_short ? from + length : from;
        if (in_lanes) {
          T sum = {};
          const int lane = thread % lanes;
          add_staged_products<1>(here, columns_here, from + lane, up_to, lanes, own_x, &sum);
          sum = sum_of_neighbours<lanes>(sum, partial);
          if (is_short && lane == 0) store(own_y + row, alpha, sum, beta);
        } else {
          T sums[lanes] = {};
          add_staged_products<lanes>(here, columns_here, from, up_to, 1, own_x, sums);
          if (is_short) store(own_y + row, alpha, add(add(sums[0], sums[2]), add(sums[1], sums[3])), beta);
        }
        for (int r = first + thread / warp; longer_rows && r - thread / warp < next; r += warps) {
          const int lane = thread % warp, start = r < next ? starts[r] - begin : 0, entries = r < next ? starts[r + 1] - starts[r] : 0;
          const bool is_longer = entries > entries_of_short;
          T sum = {};
          add_staged_products<1>(here, columns_here, start + lane, is_longer ? start + entries : start, warp, own_x, &sum);
          sum = sum_of_neighbours<warp>(sum, partial);
          if (is_longer && lane == 0) store(own_y + r, alpha, sum, beta);
        }
      }
    }
    first = next;
    number = next_number;
  }
}
static_assert(lanes == 4, "multiply_block adds four sums by hand");

// Each thread block has `rows_of_block` rows (at most `most_rows_of_block`).
template <bool several, class T>
__device__ __forceinline__ void multiply_rows(unsigned long long rows, int rows_of_block, T alpha, const int* __restrict__ row_pointers,
                                              const int* __restrict__ columns, const T* __restrict__ values, const T* x, T beta, T* y,
                                              int vectors = 1, unsigned long long leading_x = 0, unsigned long long leading_y = 0) {
  const unsigned long long first_row = blockIdx.x * static_cast<unsigned long long>(rows_of_block);
  const int count = rows - first_row < static_cast<unsigned long long>(rows_of_block) ? static_cast<int>(rows - first_row) : rows_of_block;
  multiply_block<several, T>(first_row, count, alpha, row_pointers, columns, values, x, beta, y, vectors, leading_x, leading_y);
}

// The weight of the rows before one: its entries, and for each row as many as make the rows of a thread block at most `most_rows_of_block`.
__device__ __forceinline__ unsigned long long weight_before(const int* row_pointers, unsigned long long row) {
  return static_cast<unsigned>(row_pointers[row] - row_pointers[0]) + row * (weight_of_block / most_rows_of_block);
}
// Returns the first row before which there is so much weight; `rows`, if there is none. All threads of the block call it, and search together.
__device__ __forceinline__ unsigned long long first_row_behind(const int* row_pointers, unsigned long long rows, unsigned long long weight) {
  unsigned long long low = 0, high = rows;
  while (low < high) {
    const unsigned long long step = (high - low + threads - 1) / threads, at = low + threadIdx.x * step;
    const int before = __syncthreads_count(at < high && weight_before(row_pointers, at) < weight);
    if (before == 0) return low;
    const unsigned long long behind = low + before * step;
    low = behind - step + 1;
    if (behind < high) high = behind;
  }
  return low;
}
// For rows of very different lengths: the thread blocks have about equally many entries, but where one row has more. A block that a long row leaves
// no rows ends at once.
template <bool several, class T>
__device__ __forceinline__ void multiply_uneven_rows(unsigned long long rows, T alpha, const int* __restrict__ row_pointers,
                                                     const int* __restrict__ columns, const T* __restrict__ values, const T* x, T beta, T* y,
                                                     int vectors = 1, unsigned long long leading_x = 0, unsigned long long leading_y = 0) {
  const unsigned long long weight = blockIdx.x * static_cast<unsigned long long>(weight_of_block);
  const unsigned long long first = first_row_behind(row_pointers, rows, weight);
  const unsigned long long last = first_row_behind(row_pointers, rows, weight + weight_of_block);
  if (first == last) return;
  multiply_block<several, T>(first, static_cast<int>(last - first), alpha, row_pointers, columns, values, x, beta, y, vectors, leading_x, leading_y);
}

#define SEMCACHE_LINALG_KERNELS(letter, T)                                                                                                       \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once) axpby_##letter(unsigned long long n, T alpha, const T* x, T beta, T* y) {\
    axpby<T>(n, alpha, x, beta, y);                                                                                                              \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      axpby_of_quotients_##letter(unsigned long long n, T alpha, const T* alpha_numerator, const T* alpha_denominator, const T* x, T beta,       \
                                  const T* beta_numerator, const T* beta_denominator, T* y) {                                                    \
    axpby_of_quotients<T>(n, alpha, alpha_numerator, alpha_denominator, x, beta, beta_numerator, beta_denominator, y);                           \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, 1) sum_##letter(unsigned long long count, const T* numbers, T* result) {                 \
    sum<T>(count, numbers, result);                                                                                                              \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      block_dots_##letter(unsigned long long n, unsigned block, const T* x, const T* y, T* sums) {                                               \
    block_dots<T>(n, block, x, y, sums);                                                                                                         \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      spmv_##letter(unsigned long long rows, int rows_of_block, T alpha, const int* row_pointers, const int* columns, const T* values,           \
                    const T* x, T beta, T* y) {                                                                                                  \
    multiply_rows<false, T>(rows, rows_of_block, alpha, row_pointers, columns, values, x, beta, y);                                              \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      spmm_##letter(unsigned long long rows, int rows_of_block, T alpha, const int* row_pointers, const int* columns, const T* values,           \
                    const T* x, T beta, T* y, int vectors, unsigned long long leading_x, unsigned long long leading_y) {                         \
    multiply_rows<true, T>(rows, rows_of_block, alpha, row_pointers, columns, values, x, beta, y, vectors, leading_x, leading_y);                \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      spmv_uneven_##letter(unsigned long long rows, T alpha, const int* row_pointers, const int* columns, const T* values, const T* x, T beta,   \
                           T* y) {                                                                                                               \
    multiply_uneven_rows<false, T>(rows, alpha, row_pointers, columns, values, x, beta, y);                                                      \
  }                                                                                                                                              \
  extern "C" __global__ void __launch_bounds__(threads, blocks_at_once)                                                                          \
      spmm_uneven_##letter(unsigned long long rows, T alpha, const int* row_pointers, const int* columns, const T* values, const T* x, T beta,   \
                           T* y, int vectors, unsigned long long leading_x, unsigned long long leading_y) {                                      \
    multiply_uneven_rows<true, T>(rows, alpha, row_pointers, columns, values, x, beta, y, vectors, leading_x, leading_y);                        \
  }
SEMCACHE_LINALG_KERNELS(s, float)
SEMCACHE_LINALG_KERNELS(d, double)
SEMCACHE_LINALG_KERNELS(c, ComplexFloat)
SEMCACHE_LINALG_KERNELS(z, ComplexDouble)
#undef SEMCACHE_LINALG_KERNELS
