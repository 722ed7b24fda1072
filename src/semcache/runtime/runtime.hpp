// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
#pragma once

#include <semcache/device/device.hpp>
#include <semcache/engine/operand.hpp>
#include <semcache/policy/launch_observer.hpp>
#include <semcache/policy/spread.hpp>
#include <semcache/runtime/leads.hpp>
#include <semcache/semcache.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

namespace semcache::memory {
struct TransitBuffer;
}
namespace semcache::engine {
struct Derivation;
}

/// The functions that adapters (packages/*) call. The runtime starts at first use and ends with semcache::finalize.
/// The words are explained in directory/README.md (value, datum, slot) and engine/README.md (launch, pin, flight).
/// Threads: any, unless stated. Addresses stay valid and stable from allocate to deallocate.
namespace semcache::runtime {

struct Runtime;

/// Keeps the runtime from ending: `finalize` waits until no other thread has such an object, and meanwhile a thread that has none waits
/// here before it gets its first. Nests; ends on its thread.
class SEMCACHE_API Presence : base::Uncopied {
 public:
  [[gnu::hot]] Presence() noexcept;
  [[gnu::hot]] ~Presence();
};

/// The device on which the program's own framework computes; the runtime reads it when it starts.
/// kind_forced: the framework can use only this kind (Kokkos without CUDA: emulated; with CUDA: cuda).
struct FrameworkDevice {
  bool kind_forced = false;
  device::DeviceKind kind = device::DeviceKind::emulated;
  int ordinal = 0;
  const char* framework = "this program";  ///< for messages: "Kokkos 4.7 (Cuda)"
};
/// Sets the framework's device for the runtime; call it before the runtime's first use.
/// @throws ConfigurationError  the runtime runs already on another device; the text names both
SEMCACHE_API void use_framework_device(const FrameworkDevice& device);

// --- memory ------------------------------------------------------------------------------------------------------
/// Allocates a device array of `bytes` bytes, aligned to 512. Its content is undefined and costs no memory until it is used.
/// @param label  copied
/// @param device  on which of the process's devices; 0 is the program's own
/// @throws OutOfMemory  addresses are exhausted, or not even one block of the array fits the budget. (A larger array may be used in parts.)
/// @throws UsageError  the process does not use that device
[[nodiscard]] SEMCACHE_API void* allocate_device(const char* label, std::size_t bytes, std::uint32_t device = 0);
/// Allocates a host mirror, page aligned. Its content is undefined and costs no memory until it is used.
/// @param partner  nullptr: the mirror is a datum of its own. Otherwise the first byte of a device array: the mirror becomes the
///                 host side of that datum (semcache::DualView).
/// @param accesses  `announced`: the program promises to announce each host access with semcache::access. The pages are then protected
///                 only under SEMCACHE_CHECK=1, and an access that is not announced is not noticed.
/// @throws UsageError  `partner` is not the first byte of a device array, or the sizes differ
[[nodiscard]] SEMCACHE_API void* allocate_host(const char* label, std::size_t bytes, const void* partner = nullptr,
                                               base::Accesses accesses = base::Accesses::watched);
/// Frees an array that either function above returned. Transfers and copies that still need its content come first.
/// Safe after finalize and at process exit (addresses of an ended runtime are ignored). Never throws.
SEMCACHE_API void deallocate(void* address) noexcept;

/// Adopts [address, address + bytes), memory of the program's own: from malloc or new, from an anonymous mmap, or static. From now on it
/// is a host array as `allocate_host` makes them, with the content that it has: copies to and from it are lazy, and only missing bytes
/// move. Nothing moves at the call.
///
/// That holds for the *body*, the pages that lie in the range as a whole. What is left at its ends, less than a page each, may share a
/// page with other data. It is never protected, so it is copied at each copy, as memory is that is not adopted. So is a whole range that
/// contains no page, and one whose accesses cannot be noticed (SEMCACHE_TRACKER=userfaultfd; one line on stderr says so). The report
/// counts such a range as opened. With SEMCACHE_TRACKER=explicit the program announces its accesses (semcache::access).
///
/// No transfer of a device or a network may be under way to or from the memory at the call or while it is adopted, and nobody may page-lock
/// it: such transfers pass over the protection of pages. (Page-locked memory is refused where the driver knows it at its first or last
/// byte, or at each MiB in between.)
/// Until `release` the program must not free or unmap the memory, change its protection, or call madvise for it. SemCache ends the
/// process with a message where the kernel tells it that the memory is unmapped; memory that was mapped anew at once is not noticed.
/// @param label  names it in messages and reports; copied; may be nullptr
/// @throws UsageError  the range is null or empty, overlaps memory of SemCache's own or another adopted range, or is no private memory
///                     that can be read and written and not executed: a stack, a mapped file, shared memory, huge pages that were asked
///                     for (hugetlb). The stacks of other threads are not recognised. Nothing has changed
/// @throws SystemError, std::bad_alloc  nothing has changed
/// Ordering: no other call of SemCache may use the memory meanwhile. Threads: any. Cost: O(the process's mappings).
SEMCACHE_API void adopt(void* address, std::size_t bytes, const char* label);
/// Ends the adoption of the range that begins at `address`: its content comes home, copies of it that are pending are carried out or
/// saved, and its pages can be read and written as before. Other threads of the program may read it meanwhile.
/// `finalize` releases what is still adopted. While no runtime runs, the call does nothing.
/// @throws UsageError  no adopted range begins at `address`, or there is an ArrayPart or a HostPart of it
/// @throws OutOfMemory, DeviceError, SystemError  the range stays adopted
SEMCACHE_API void release(void* address);

/// An adopted range, for libraries that keep something of it.
struct AdoptedRange {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  ByteRange body;            ///< from the first byte of the range; empty: there is none, and the range is ordinary memory as a whole
  std::uint64_t number = 0;  ///< tells this adoption from all others of this runtime, also of the same memory
  std::string label;
};
/// Returns the adopted range in which [address, address + bytes) lies, if not all of these bytes lie in its body: copies reach the rest, and
/// library calls do not. Returns nothing for all other addresses. Starts nothing.
/// @throws UsageError  the bytes begin in the adopted range, and leave it
/// Threads: any. Cost: one look-up without a lock where they lie in the body, or in an array.
[[nodiscard]] SEMCACHE_API std::optional<AdoptedRange> adopted_range(const void* address, std::size_t bytes);
/// Has a function called at the beginning of each `release`, with its argument: libraries drop there what they keep of the range. A function that is
/// given several times is called once. It must not throw. Threads: any.
SEMCACHE_API void before_release(void (*function)(const void* address) noexcept);
/// Brings the content of all host arrays home, and makes them readable and writable, for the child of a fork() that follows: the child
/// can use them, in system calls too. They are not page-locked then, because a fork copies page-locked memory at once (about a second
/// for each GiB). The device's copies of them count as outdated. To be called before fork() by a program, or by
/// a handler of pthread_atfork, while no other thread uses arrays; an array that another thread copies or launches on between this call
/// and the fork may be out of the child's reach. Does nothing while no runtime runs.
/// @throws OutOfMemory, DeviceError, SystemError  some arrays are not open
SEMCACHE_API void settle_and_open();
/// From now on host pages are page-locked only while this function returns true (nullptr: always, as in the beginning). It is asked each time when pages
/// would be page-locked. Where it returns false, transfers use these pages unlocked; pages that are locked stay so. For who forks: page-locking copies
/// each page that a child shares, so it costs the more while the child lives.
/// @param function  must not throw, allocate, use arrays or wait for threads that do; it holds for later runtimes, too. Threads: any
SEMCACHE_API void lock_pages_only_if(bool (*function)() noexcept);

/// Returns 128 bytes of host memory for a framework's header, which belong to the allocation that starts at `address` and are
/// zeroed when it is allocated; nullptr if `address` is not the first byte of a live allocation. Frameworks that place a header
/// in front of the data compute with address - 128 .. address: no other allocation ever lies there.
inline constexpr std::size_t header_bytes = 128;
[[nodiscard]] SEMCACHE_API void* header_of(const void* address) noexcept;

/// The bytes that an access would have to bring.
struct MissingBytes {
  std::uint64_t from_host = 0;
  std::vector<std::uint64_t> from_devices;  ///< for each device of the process; the array's own: copies within it
  std::uint64_t filled = 0;                 ///< known content (a fill), which is made in place: no byte moves
};
/// Returns which of these bytes of a tracked array an access with content would have to bring now, and from where. Nothing moves, and the
/// answer holds until the next launch, copy or access of any thread. It tells a library whether a routine pays on a device.
/// @param address  first byte, in a mirror, adopted memory (a part that is not tracked counts nothing) or a device array
/// @throws UsageError  the range is not inside one tracked array
/// Cost: one step for each piece of content that is missing. Threads: any.
[[nodiscard]] SEMCACHE_API MissingBytes missing_bytes(const void* address, std::size_t bytes);

/// Page faults of the host that have been served.
struct FaultCost {
  std::uint64_t count = 0;
  double seconds = 0;  ///< in which they were served, transfers and kernels that they waited for included; the system's way to the handler is not
};
/// Returns what page faults have cost since the runtime started. It tells a library what its decisions have cost the host. Threads: any.
[[nodiscard]] SEMCACHE_API FaultCost fault_cost() noexcept;

/// Bytes of an array whose present content a device holds.
struct HeldBytes {
  std::uint32_t device;
  Region where;  ///< from the first byte that was asked about
};
/// Returns where content of a part of a tracked array is on devices now, also in tiles and parts. Content on several devices is listed for
/// each. Nothing moves, and the answer holds until the next launch, copy or access of any thread.
/// @param bytes  of a column  @param pitch  bytes from one column of the array to the next; not used where there is one column
/// @throws UsageError  the part is not inside one tracked array
[[nodiscard]] SEMCACHE_API std::vector<HeldBytes> holders(const void* first, std::size_t bytes, std::size_t columns = 1, std::size_t pitch = 0);

/// SEMCACHE_CHECK: tells that two arrays are the sides of a stock Kokkos::DualView, so that a `sync` that is perhaps missing is named. Does
/// nothing without SEMCACHE_CHECK, or where one of the addresses is not the first byte of an array.
SEMCACHE_API void note_dual_view(const void* device, const void* host);
/// Returns whether accesses to the host array at `address` are noticed. They are not under SEMCACHE_TRACKER=explicit and
/// SEMCACHE_PROTOCOL=off, nor for arrays allocated as announced: DualView's modify and sync are announcements then. Foreign
/// addresses, and those of device arrays and of arrays that have been freed: false.
[[nodiscard]] SEMCACHE_API bool notices_host_accesses(const void* address);
/// Returns whether the two addresses lie in the device side and the host side of one datum; false also for foreign addresses,
/// and for those of arrays that have been freed.
[[nodiscard]] SEMCACHE_API bool are_sides_of_one_array(const void* device, const void* host);
/// Makes the side of an array that holds `address` valid at once. After the call no transfer in flight uses the memory that its
/// content came from.
/// @throws OutOfMemory, UsageError
SEMCACHE_API void settle(const void* address);

// --- devices -----------------------------------------------------------------------------------------------------
/// Starts the runtime, and returns the number by which the driver knows one of the process's devices.
/// @throws UsageError  the process does not use that device
[[nodiscard]] SEMCACHE_API int device_ordinal(std::uint32_t device);
/// Returns on which of the process's devices the device array that holds `address` lies; 0 for all other addresses. Costs some
/// nanoseconds, no lock.
[[nodiscard]] SEMCACHE_API std::uint32_t device_of(const void* address) noexcept;
/// Starts the runtime, and returns which of the process's devices a native stream belongs to (see queue_of); 0 if it belongs to none.
[[nodiscard]] SEMCACHE_API std::uint32_t device_of_stream(void* native_stream);

// --- queues ------------------------------------------------------------------------------------------------------
/// Returns the queue of a native stream, and registers it on first use. CUDA: a cudaStream_t, whose device the driver tells. Host-backed
/// execution spaces, on emulated devices: the number of the device as a pointer, so nullptr for the first one. `owner` (may be null)
/// keeps the stream alive until the runtime ends or `retire_queue` is called.
/// Costs about 10 ns when the calling thread has asked for the stream lately.
[[nodiscard, gnu::hot]] SEMCACHE_API QueueId queue_of(void* native_stream, const std::shared_ptr<void>& owner = {});
/// Returns the queue as `queue_of` does, and leases it: the queue is kept until `retire_queue` has been called once per lease.
[[nodiscard]] SEMCACHE_API QueueId lease_queue(void* native_stream);
/// Leaves a lease to the stream: it ends when the stream is destroyed, and `retire_queue` must not be called for it. Returns false where
/// the runtime does not notice that streams are destroyed (on emulated devices, and where the driver's calls are not watched): the lease
/// stays the caller's.
[[nodiscard]] SEMCACHE_API bool leave_lease(QueueId queue) noexcept;
/// Gives up the queue, or one lease of it. After the last lease the stream may be destroyed.
SEMCACHE_API void retire_queue(QueueId queue) noexcept;
/// Returns how often the runtime has been started. A QueueId knows the epoch in which it was returned, and names the
/// unknown queue in any other.
[[nodiscard]] SEMCACHE_API std::uint64_t epoch() noexcept;

/// A stream of a device for kernels of SemCache's own libraries, in whose order they are carried out. Its launches are announced by `Launch`.
struct Stream {
  std::uint32_t device = 0;
  void* native = nullptr;  ///< CUDA: a cudaStream_t; emulated devices, whose kernels run where they are called: no stream
  QueueId queue;
};
/// Makes a stream, which lasts until the runtime ends. A process has at most 95 queues, three of each device among them.
/// @throws UsageError  the process does not use that device  @throws DeviceError, SystemError  there can be no more
/// @param priority  whether on a GPU its kernels come before those of other streams that have not begun
[[nodiscard]] SEMCACHE_API Stream new_stream(std::uint32_t device, device::StreamPriority priority = device::StreamPriority::ordinary);
/// Returns whether a graph is recorded from the queue's stream, so that nothing else may be submitted for it. Costs one load where none is recorded.
[[nodiscard, gnu::hot]] SEMCACHE_API bool is_recording(QueueId queue);
/// Waits until all work is done that has been submitted to the queue so far. @throws DeviceError
SEMCACHE_API void wait_for_queue(QueueId queue);
/// Returns whether the process's devices are emulated, so that kernels run on the host where they are called.
[[nodiscard]] SEMCACHE_API bool devices_are_emulated();

/// Returns how many bytes of a device's memory may be in use. @throws UsageError  the process does not use that device
[[nodiscard]] SEMCACHE_API std::uint64_t device_budget(std::uint32_t device);
/// Returns the bytes of a page of a device's memory: what is used of the budget is counted in whole ones. @throws UsageError  as `device_budget`
[[nodiscard]] SEMCACHE_API std::uint64_t device_page_bytes(std::uint32_t device);
/// Returns whether library calls are to use several devices, as SEMCACHE_SPREAD says. Starts the runtime.
[[nodiscard]] SEMCACHE_API policy::Spread spread();

/// Returns whether `note_library_call` counts, which is so where a report is written: its text need not be made otherwise. Starts nothing.
[[nodiscard]] SEMCACHE_API bool reports_library_calls() noexcept;
/// Counts library calls for the report. Threads: any.
/// @param what  the routine, its shape, how it was cut for the devices, and why  @param times  how many calls
SEMCACHE_API void note_library_call(const std::string& what, std::uint64_t times = 1) noexcept;

/// Has a function called at the beginning of each `finalize`, by the thread that calls it, while the runtime still runs: libraries free there what they
/// have kept in arrays. A function that is given several times is called once. It must not throw. Threads: any.
SEMCACHE_API void before_end(void (*function)() noexcept);

/// Makes a device the current one for the vendor's libraries on this thread, as long as the object lives.
class SEMCACHE_API OnDevice : base::Uncopied {
 public:
  explicit OnDevice(std::uint32_t device);
  ~OnDevice();

 private:
  const Presence presence_;
  device::Device& device_;
};

// --- copies ------------------------------------------------------------------------------------------------------
/// Carries out a deep_copy of `bytes` bytes: lazily between noticed slots, at the call where a side is open (I7 in either case).
/// Untracked addresses are open memory of the host, or of the device where the driver knows them.
/// After the call the source may be changed and the destination read, by the host and by later work.
/// @param queue  used only to refuse a stream from which a graph is recorded: the content is taken after all work so far
/// @throws UsageError  a graph is recorded from the queue's stream, or an argument cannot be used
SEMCACHE_API void copy(void* to, const void* from, std::size_t bytes, QueueId queue);

/// Copies `columns` runs of `width` bytes each, which begin `to_pitch` and `from_pitch` bytes apart: a part of a column-major matrix whose
/// leading dimension is the pitch. Otherwise as `copy`. The bytes between the runs neither move nor change. Between arrays the copy is
/// lazy if the two pitches are equal, or if there are at most 64 columns of at least a page; otherwise it is made at the call.
/// @throws UsageError  as `copy`; a pitch is less than `width`, the columns leave an array, or source and destination overlap
SEMCACHE_API void copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                          std::size_t columns, QueueId queue);

/// Makes the content of the range a known pattern, without touching memory in any space. `pattern_bytes` is 1, 2, 4, 8 or 16.
/// @throws UsageError  as `copy`
SEMCACHE_API void fill(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes, QueueId queue);

/// Returns page-locked memory of the host, which kernels of every device of the process reach at the same address. It is no array, and nothing in it
/// is tracked. It is for small results that the host needs as soon as a kernel has written them: who reads them waits for the kernel's queue
/// (`wait_for_queue`), and counts the bytes by `count_external_transfer`. Starts the runtime.
/// @throws OutOfMemory  @throws ConfigurationError  the runtime cannot start
/// Lifetime: until `deallocate_page_locked`, which must come before the runtime ends (`before_end`). Threads: any.
[[nodiscard]] SEMCACHE_API void* allocate_page_locked(std::size_t bytes);
SEMCACHE_API void deallocate_page_locked(void* memory) noexcept;

/// Counts a transfer to the host that the framework made itself (for example when it reads back a reduction's result).
/// @param device  where the bytes come from
SEMCACHE_API void count_external_transfer(std::uint64_t bytes, std::uint32_t device) noexcept;

/// Returns the lowest address that can hold data; smaller numbers in a functor are no addresses
/// (platform::Platform::lowest_address).
[[nodiscard, gnu::hot]] SEMCACHE_API std::uintptr_t lowest_pointer() noexcept;

// --- launches ----------------------------------------------------------------------------------------------------
/// What the type of a View's handle tells of the View: one constant for each such type.
struct HandleType {
  std::uint32_t bytes;          ///< of the View, from its first one on, that count as the handle
  std::uint32_t view_bytes;     ///< that `read_shape` reads
  std::uint64_t element_bytes;
  bool holds_handles;           ///< the element type may itself contain handles (View of Views)
  /// Reads the rank, the extents and the strides of the View whose first byte is at `view`. nullptr: the handle does not tell them.
  void (*read_shape)(const void* view, policy::ViewShape& shape) noexcept;
};

/// A view handle that was copied into a closure.
struct Capture {
  const void* pointer;     ///< anywhere inside a tracked array; other pointers are ignored
  const void* handle;      ///< address of the View that the handle copy lies in, or nullptr
  const HandleType* type;  ///< nullptr: not known
  bool writable;
  bool holds_handles;      ///< the element type may itself contain handles (View of Views)
};

/// Sets the observer of launches; nullptr removes it. From then on it is told of each launch on semcache::Exec before it begins: the kernel,
/// its device, and of each captured View the array, the place in it, the element size and the shape. One observer at a time.
///
/// It is not told of launches outside semcache::Exec, of uses by libraries (`LibraryUse`, `semcache::access`), nor of fills that need no
/// kernel. Arrays to which bare pointers lead a kernel are in the list, without element size, as writable; where such pointers may lead
/// anywhere, or captured arrays hold Views, the list is not complete and says so.
/// The rank of a View is unknown
/// - where the handle does not know its View's type (Views on mdspan: Kokkos 4.7 and newer), and for layouts of other kinds than left, right
///   and strided;
/// - where the View is no part of the functor itself (a list on the heap);
/// - for results of reductions, for what is sorted, and for the operands of Kokkos' own element-wise copies and fills.
/// The rank of a DynRankView is 7; the extents behind its own are 1.
///
/// Lifetime: the runtime shares the observer until it is replaced. A launch that is under way at the replacement, on another thread, may
/// still call the former observer, which lives until then: its destructor runs after its last call. The observer stays across `finalize`.
/// Ordering: a pattern that is constructed after this call is told to the new observer. One that another thread has constructed before and
/// launches now is told to nobody, or with unknown ranks.
/// Cost: without an observer one load for each launch; with one 0.1 us for each captured View, because what earlier launches of the same
/// functor captured is not used then. What moves is the same.
/// Threads: any, also the observer itself. @throws UsageError  in a forked child
SEMCACHE_API void observe_launches(std::shared_ptr<policy::LaunchObserver> observer);
/// Returns the name of a kernel (policy::ObservedLaunch) as the report spells it. Costs some microseconds. @throws std::bad_alloc
[[nodiscard]] SEMCACHE_API std::string kernel_name(const char* type_name);
/// Returns whether there is an observer, so that the shapes of Views are to be read. For adapters.
[[nodiscard]] SEMCACHE_API bool launches_are_observed() noexcept;
/// Tells the observer, if there is one, of a launch that is about to begin; does nothing within the observer. For adapters: it comes right
/// before the Launch of the same arguments.
/// @param shapes  of the first `shape_count` captures; those of the others are not known
/// @throws what the observer throws; std::bad_alloc, and the observer has not been told
SEMCACHE_API void tell_observer(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads,
                                const policy::ViewShape* shapes, std::size_t shape_count);

/// Notes that the device array may contain views or pointers, so a kernel that uses it may reach other arrays through it. Its
/// launches are unknown from now on.
SEMCACHE_API void expect_handles(const void* array) noexcept;

/// The array that a launch found for a capture, kept for the next launch of the same functor with the same handles.
struct KnownOperand {
  const void* pointer;
  engine::Memory* memory;
  std::uint32_t incarnation;  ///< of the memory
  bool writable;
  bool repeats;               ///< an earlier operand of the launch may lie in the same memory
};

/// Finds the device array of a capture. Sets `repeats`, because the function does not know the operands before this one.
/// @return false  the capture lies in no device array; `operand` is unchanged
[[nodiscard]] SEMCACHE_API bool identify(const Capture& capture, KnownOperand& operand) noexcept;

/// Returns whether a launch may use these arrays of a launch of epoch `epoch` without a look at its functor: they are still the same, they
/// hold no handles, and launches are not observed. About 2 ns for each array.
[[nodiscard, gnu::hot]] SEMCACHE_API bool are_current(const KnownOperand* operands, std::size_t count, std::uint64_t epoch) noexcept;

/// What memory for a part of an array is, wherever it lies (`ArrayPart`, `HostPart`).
class SEMCACHE_API PlacedPart : base::Uncopied {
 public:
  /// Returns the first byte of the part. Columns follow each other without gaps. The address stays the same.
  [[nodiscard]] void* data() const noexcept;

 protected:
  /// @param memory  which the object frees, unless its runtime has ended
  explicit PlacedPart(engine::Memory* memory) noexcept;
  ~PlacedPart();
  engine::Memory* memory_;
  std::uint64_t epoch_;
};

/// Memory on a device for a part of an array, with the part's columns side by side: a tile for library calls on that device. It is one more
/// place of the array's content. A call that uses it (`LibraryUse`) finds the content there that the array has, and what the call writes
/// there is the array's content from then on. It takes the room of the part alone. It counts as no array: copies, announcements and kernels
/// that capture it are refused or do not notice it, and unknown launches use the array and not its parts. One call must not use the same
/// bytes in a part and elsewhere and write them (UsageError).
/// Lifetime: it is destroyed before the array is freed, or before adopted memory is released. Threads: any, one at a time for each object.
class SEMCACHE_API ArrayPart : public PlacedPart {
 public:
  /// @param first  first byte of the part, in an array of any device or of the host
  /// @param bytes  of a column  @param pitch  bytes from one column of the array to the next; not used where there is one column
  /// @throws UsageError  the part is in no array, is empty or leaves the array, its columns overlap, there is no such device, or the array is
  ///                     a mirror whose accesses are not noticed any more
  /// @throws OutOfMemory  it is larger than the device's budget
  ArrayPart(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch, std::uint32_t device);
};

/// A place on a device for a part of an array, which stays from one library call to the next: what a call has brought or computed there is
/// found there by later calls. It is the array itself where that lies on the device and fits its budget. Otherwise it is a *tile*, memory that
/// is used as that of an ArrayPart is. A tile belongs to its array. When nobody uses it, its content is evicted like any other, and it is freed
/// with the array, or when 256 others of the array have been used since.
/// Source: SemCache++, 5.2 (translation records). Lifetime: a local variable of a call; it ends before its array is freed, and before the
/// runtime ends. Threads: any, one at a time for each object.
class SEMCACHE_API Tile : base::Uncopied {
 public:
  /// A part of an array of any device or of the host.
  struct Part {
    const void* first;  ///< its first byte
    std::size_t bytes;  ///< of a column
    std::size_t columns = 1;
    std::size_t pitch = 0;  ///< bytes from one column of the array to the next; not used where there is one column
    std::size_t unit = 1;   ///< bytes of an element; the tile's pitch is a multiple of it if that of the array is
  };
  /// @throws UsageError  as ArrayPart; or a part of adopted memory does not lie in whole pages that are adopted
  /// @throws OutOfMemory  as ArrayPart
  Tile(const Part& part, std::uint32_t device) { acquire(&part, 1, device, this); }
  Tile(Tile&& other) noexcept;
  ~Tile() {
    if (memory_ != nullptr) release(this, 1);
  }
  /// Returns the first byte of the part on the device.
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// Returns the bytes from one column of the part to the next on the device.
  [[nodiscard]] std::size_t pitch() const noexcept { return pitch_; }

 private:
  friend class Tiles;
  Tile() noexcept = default;
  static void acquire(const Part* parts, std::size_t count, std::uint32_t device, Tile* tiles);
  static void release(Tile* tiles, std::size_t count) noexcept;
  void* data_ = nullptr;
  std::size_t pitch_ = 0;
  engine::Memory* memory_ = nullptr;  ///< nullptr: the array itself, or none
  std::uint64_t epoch_ = 0;
};

/// The tiles of all operands of a call, which together take little longer than one of them.
/// Lifetime and threads as for Tile.
class SEMCACHE_API Tiles : base::Uncopied {
 public:
  static constexpr std::size_t most = 8;
  /// @throws UsageError, OutOfMemory  as Tile; or there are more than `most`
  Tiles(const Tile::Part* parts, std::size_t count, std::uint32_t device) : count_(count) { Tile::acquire(parts, count, device, tiles_); }
  ~Tiles() { Tile::release(tiles_, count_); }
  [[nodiscard]] const Tile& operator[](std::size_t part) const noexcept { return tiles_[part]; }

 private:
  std::size_t count_;
  Tile tiles_[most];
};

/// A value that a pure function makes of the content of arrays, kept in device memory: the row blocks of a sparse matrix' pattern, a packed
/// operand, a sum of digits. It is computed once. Whoever asks later for the same function of the same content gets the memory in which it
/// lies, also where the content has been copied to other arrays, and also on other devices. A change of one input byte, by a kernel, the
/// host, a copy or a message, is another content.
///
/// While an object lives, the value stays (evicted content is saved). Afterwards its memory stays until a device needs the room: it is the
/// first to be evicted, nothing is copied for it, and the next call computes it again (`note_computed`: unless that takes longer than copies). It is
/// used as an ArrayPart is: it is an operand of library calls (`LibraryUse`, read only), and counts as no array.
///
/// ```
/// const runtime::DerivedValue::Input pattern{row_pointers, bytes};
/// runtime::DerivedValue blocks("row blocks", &rows_a_block, sizeof rows_a_block, &pattern, 1, bytes_of_blocks, device);
/// if (!blocks.is_computed()) {
///   const runtime::LibraryUse uses[] = {{row_pointers, bytes, Access::read}, {blocks.data(), bytes_of_blocks, Access::overwrite}};
///   {
///     runtime::Launch launch(queue, uses, 2);
///     find_blocks(stream, row_pointers, blocks.data());
///   }
///   blocks.note_computed();
/// }
/// ```
/// Lifetime: it is destroyed before the runtime ends. Threads: any, one at a time for each object. Two threads that ask for the same value
/// at once may both compute it.
class SEMCACHE_API DerivedValue : base::Uncopied {
 public:
  struct Input {
    const void* first;  ///< in an array of any device or of the host
    std::size_t bytes;  ///< of a column
    std::size_t columns = 1;
    std::size_t pitch = 0;  ///< bytes from one column to the next; not used where there is one column
  };
  /// @param function  names the function, uniquely within the process; also the label in reports
  /// @param parameters, parameter_bytes  what else the result depends on, compared as bytes
  /// @param bytes  of the result, which depends on nothing else
  /// @throws UsageError  an input is in no array; there are no bytes, or other bytes than the same value had before; no such device
  /// @throws OutOfMemory  it is larger than the device's budget
  DerivedValue(const char* function, const void* parameters, std::size_t parameter_bytes, const Input* inputs, std::size_t count,
               std::size_t bytes, std::uint32_t device);
  ~DerivedValue();
  /// Returns the first byte on the device.
  [[nodiscard]] void* data() const noexcept;
  /// Returns whether the value is there. Otherwise the caller computes it into `data()`, and calls `note_computed`.
  [[nodiscard]] bool is_computed() const noexcept { return computed_; }
  /// To be called when the `Launch` of the work that computes the value has ended; the work itself may be under way. Values of which an
  /// input has changed since the constructor are the caller's alone, and so are those of content that is not known (never written) or not
  /// noticed (protocol off, open mirrors). A value that a launch writes later is found no more.
  /// @param seconds_to_make  about so long it takes to compute the value. Where a device needs the room of a value that nobody uses, one that is
  ///        computed in less time than it takes to the host and back is forgotten, before any array leaves; another one leaves as arrays do, and
  ///        is kept on the host
  /// @throws UsageError  the launch has not ended, or the seconds are negative, infinite or NaN
  void note_computed(double seconds_to_make = 0);

 private:
  engine::Derivation* derivation_;
  engine::Memory* memory_;
  bool computed_;
  std::uint64_t epoch_;
};

/// A use of a part of a device array by a library call: `columns` runs of `bytes` bytes each, which begin `pitch` bytes apart. Of the
/// rest of the array nothing is fetched, and no other copy becomes stale.
struct LibraryUse {
  const void* pointer;  ///< first of the bytes used; addresses outside device arrays are ignored. Bytes of a part that are no rectangle
                        ///< of its array count for all of the part
  std::size_t bytes;    ///< of a column; 0: the use is ignored
  Access mode;  ///< `overwrite`: the call writes all these bytes before it reads them, so they are not fetched
  std::size_t columns = 1;
  std::size_t pitch = 0;  ///< not used where there is one column
  /// Of devices that hold the content and are equally near, it comes from this one, so that content can pass from device to device in a chain.
  std::uint32_t source = any_device;
  static constexpr std::uint32_t any_device = UINT32_MAX;
};

/// Memory that a thread holds: what its launch, or its use of parts on the host, has pinned or is about to pin. A thread's holdings end in the
/// reverse order of their beginnings.
class SEMCACHE_API Holding : base::Uncopied {
 protected:
  explicit Holding(engine::Operand* pins) noexcept : pins_(pins) {}
  [[gnu::hot]] void enter();
  [[gnu::hot]] void leave() noexcept;
  friend struct LaunchesOfThread;

  const Presence presence_;  // the first member, so it ends last
  const Holding* outer_ = nullptr;  ///< of the same thread, within which this one began
  bool begun_ = false;
  std::size_t count_ = 0;
  engine::Operand* pins_;
};

/// A kernel on a noticed queue. The constructor makes every captured array valid, physically present and pinned. The caller then
/// submits the kernel. The destructor unpins the arrays and remembers (queue, position).
///
/// @param name   of the kernel, for messages and the timeline; must live as long as the launch; nullptr: a library's routine
/// @param leads  the memory to which the functor leads beyond its handles; arrays found there count as written. nullptr: the
///        functor leads nowhere else. The launch is unknown (it may read and write every noticed array) if the leads may end
///        anywhere, or if an array that it uses may hold handles.
/// @throws OutOfMemory  the captured set does not fit the budget; the text names kernel, set, sizes, their sum and budget;
///                      nothing changed.
/// @throws UsageError   a graph is recorded from the queue's stream (as far as the driver is watched); nothing changed.
class SEMCACHE_API Launch : Holding {
 public:
  Launch(QueueId queue, const char* name, const Capture* captures, std::size_t count, const Leads* leads = nullptr);
  /// Launches a functor whose captures are known from epoch `epoch`, with further `captures`. The launch is unknown if a known
  /// operand is not current any more.
  /// @param used  bit i is set if the functor has captured `known[i]`
  [[gnu::hot]] Launch(QueueId queue, const char* name, const KnownOperand* known, std::size_t known_count, std::uint32_t used,
                      std::uint64_t epoch, const Capture* captures, std::size_t count);
  /// Launches a library's routine all of whose uses are known, at most `most_uses`; one array may have several. If the constructor throws,
  /// the content of bytes that were to be overwritten may be lost. Transfers and accesses of the host wait for the routine only where they
  /// use the same bytes. A device whose pages are guarded, an emulated one by default, takes each use for one of whole pages. Columns that
  /// the directory cannot follow (more than 64, of another pitch than the array's earlier uses where these are many) count with the bytes
  /// between them.
  /// @throws UsageError  there are more uses, or columns overlap or leave their array (one column is cut at the array's end)
  Launch(QueueId queue, const LibraryUse* uses, std::size_t count);
  [[gnu::hot]] ~Launch();

  /// These two enclose a wait of the framework for its kernel, so that the kernel's end is known at no cost. Call `before_wait`
  /// before the kernel is submitted, and `after_wait` after the wait.
  void before_wait() noexcept;
  void after_wait() noexcept { awaited_ = waits_; }

  /// Returns whether this launch uses exactly the captured arrays, and each capture is one of them or null. Always false for a
  /// launch of known operands or of a library's routine, from which nothing is to be remembered.
  [[nodiscard]] bool follows_from_captures() const noexcept { return follows_from_captures_; }

  static constexpr std::size_t most_uses = 8;
  static constexpr std::size_t most_known = 12;

 private:
  static constexpr std::size_t inline_pins = 24;
  void grow(std::size_t capacity);
  /// Adds an operand, or joins it with one of the same memory.
  void add(engine::Operand operand);
  [[gnu::cold]] bool add_further(const Runtime& runtime, const Capture* captures, std::size_t count);
  /// Adds an operand of memory that none has. @pre there is room
  void append(engine::Operand operand) noexcept;
  /// Pins the operands and makes them valid. @param name  the kernel's name, for messages; nullptr: a library's routine
  [[gnu::hot]] void begin(const char* name, const engine::OperandParts& parts = {});
  template <class Reason>
  void begin_unknown(const char* name, const Reason& reason);
  [[gnu::hot]] void has_begun(Runtime& runtime) noexcept;
  /// The launch's span in the timeline. While it lasts, what the thread submits has its number as the cause.
  struct InTimeline : base::Uncopied {
    ~InTimeline() {
      if (cause != 0) leave();
    }
    void leave() noexcept;
    std::uint32_t cause = 0;  ///< 0: there is no timeline
    std::uint32_t outer_cause = 0;
    const char* name = nullptr;
    std::uint64_t begin_ns = 0;
  };
  void begin_span(const Runtime& runtime, const char* name) noexcept;
  void end_span(Runtime& runtime) const noexcept;

  QueueId queue_;
  bool follows_from_captures_ = false;
  bool waits_ = false;    ///< `before_` is set
  bool awaited_ = false;
  InTimeline span_;
  std::size_t capacity_ = inline_pins;
  std::uint64_t digests_ = 0;  ///< the union of the operands' digests, so that most need not be compared with all before
  engine::Operand inline_[inline_pins];
  std::unique_ptr<engine::Operand[]> grown_;  ///< all operands, once they do not fit in `inline_`
  std::unique_ptr<engine::Requirement[]> parts_;  ///< of operands that are used in part; nullptr: all are used as a whole
  std::size_t part_count_ = 0;
  engine::Clock before_;  ///< per queue, the last position submitted before the wait
};

/// Memory on the host for a part of an array, with the part's columns side by side: for work of the host's processor on a share of the
/// array. It is what an `ArrayPart` is on a device: one more place of the array's content, found by no address, and no mirror. Its pages are
/// not protected, so its content is that of the array only in a `HostUse`, and an access outside of one is not noticed, with SEMCACHE_CHECK
/// neither. It takes no memory of a device; from a megabyte on it is page-locked. Mirrors, devices and other parts fetch from it what was
/// written there, and content that was written and is wanted outlives it.
/// Lifetime: it is destroyed before the array is freed, or before adopted memory is released. If it is destroyed in a `HostUse`, its memory
/// is freed when that ends. Threads: any, one at a time for each object.
class SEMCACHE_API HostPart : public PlacedPart {
 public:
  /// @param first  first byte of the part, in an array of any device or of the host
  /// @param bytes  of a column  @param pitch  bytes from one column of the array to the next; not used where there is one column
  /// @throws UsageError  the part is in no array, is empty or leaves the array, its columns overlap, or the array is a mirror whose accesses
  ///                     are not noticed any more
  /// @throws OutOfMemory  the host has no memory
  HostPart(const void* first, std::size_t bytes, std::size_t columns, std::size_t pitch);

 private:
  friend class HostUse;
};

/// A use of a part on the host, as a whole.
struct HostPartUse {
  const HostPart* part;
  Access mode;  ///< `overwrite`: the work writes all bytes before it reads them, so they are not fetched
};

/// Work of the host's processor on parts of arrays, from the constructor to the destructor. The constructor brings the content of the parts,
/// waits until it is there, and saves what pending copies want of bytes that will be written. From then on what is written counts as the
/// array's content, and only the part holds it.
///
/// While the use lasts, other threads wait for its end before they write its bytes (by a launch, a copy, a message or an access of the host),
/// or read bytes that it writes. The thread that has the use under way gets a UsageError instead; its own access to the mirror's page of such
/// bytes ends the process with a message (I8), because a page fault has no caller. Accesses to other bytes of the array do not wait. (An
/// emulated device whose pages are guarded, and mirrors, are accessed in whole pages.) Two threads that wait for each other's uses get a
/// SystemError after SEMCACHE_FAULT_TIMEOUT.
///
/// Ordering: the work comes behind everything that was submitted before the constructor and uses its bytes, and before everything after it.
/// Lifetime: a local variable; it ends on its thread, before uses and launches of this thread that began earlier, and before `finalize`.
class SEMCACHE_API HostUse : Holding {
 public:
  /// @throws UsageError  there are more uses than `most_uses`; a part is null, was made before the runtime ended, or its array has been freed;
  ///                     bytes are used in two parts and written; or this thread has a use or a launch under way that conflicts
  /// @throws OutOfMemory, DeviceError, SystemError  the content of parts that were to be overwritten may be lost if they are several;
  ///                     otherwise nothing has changed
  HostUse(const HostPartUse* uses, std::size_t count);
  HostUse(std::initializer_list<HostPartUse> uses) : HostUse(uses.begin(), uses.size()) {}
  ~HostUse();
  static void* operator new(std::size_t) = delete;

  static constexpr std::size_t most_uses = 8;

 private:
  engine::Operand operands_[most_uses];
  engine::Requirement uses_[most_uses];
  std::uint64_t epoch_;
};

/// Returns whether the program, or SEMCACHE_DEVICES, lists the host's processor beside the devices (`semcache::use_devices`): packages may
/// give it shares of their work, too. It is no device: it has no number and is not counted. Starts the runtime.
[[nodiscard]] SEMCACHE_API bool host_is_listed();

/// Notes that a kernel (a framework's fill kernel) has filled the whole contiguous range with a pattern, so the value is known
/// from now on, in any space. Call it while the Launch lives, after the kernel has been submitted.
SEMCACHE_API void filled_by_kernel(void* to, std::size_t bytes, const void* pattern, std::uint32_t pattern_bytes);

/// Makes an array valid for any stream, because a handle of it was copied for a launch outside semcache::Exec (on a native
/// space). Ends the process with a message if it cannot (I8), because a native launch has no way to report an error. Counted.
SEMCACHE_API void native_capture(const Capture& capture) noexcept;

// --- bytes for code whose accesses are not noticed: MPI, system calls ----------------------------------------------
struct TrackedArray {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool on_host = false;
  const char* label = nullptr;  ///< valid as long as the runtime runs
  const engine::Memory* memory = nullptr;
  std::uint32_t incarnation = 0;  ///< tells this array from a later one at the same place
  std::uint64_t epoch = 0;
};

/// Private memory for a message. It is never protected or moved, and written only by its taker and by the calls below.
struct Transit {
  std::byte* address = nullptr;
  bool on_device = false;
  memory::TransitBuffer* buffer = nullptr;
  std::uint64_t epoch = 0;
};

enum class DeviceAddresses : std::uint8_t { never, if_library_can, always };

/// The calls for libraries that stand between the program and code whose accesses are not noticed (MPI, system calls). They are
/// one table behind one symbol, so that a preloaded library works in every program, with and without SemCache.
///
/// A piece [b, e) lies at [address + b, address + e) in the array, and at [b, e) from `transit.address + offset` in the message.
/// @throws UsageError  a piece is not inside the one tracked array that holds `address`
/// @throws OutOfMemory
struct ForeignIo {
  /// Finds the tracked array that holds `address`; returns false if there is none. A few nanoseconds, no lock.
  bool (*find)(const void* address, TrackedArray& array) noexcept;
  /// Returns false if the array has been freed since it was found. Returns true also if its runtime has ended meanwhile, because
  /// the array is no longer followed then.
  bool (*still_there)(const TrackedArray& array) noexcept;
  /// Takes memory for a message, which only the taker reads and writes.
  /// @param where  `device` is a wish: without room there the result is host memory
  /// @param beside  an address in the message's array: device memory is taken on that array's device
  Transit (*take)(std::size_t bytes, base::Side where, const void* beside);
  /// Gives the memory back, at any time after the taker's last use, also after the runtime's end.
  void (*give)(const Transit& transit) noexcept;
  /// Waits for the transfers that `read_out` and `write_in` left under way. Call it before the taker reads the bytes of
  /// `read_out`, or writes the memory again after `write_in`.
  void (*settle)(const Transit& transit);
  /// Returns whether the content of all pieces is in the very memory that `address` names.
  bool (*valid_here)(const void* address, const ByteRange* pieces, std::size_t count);
  /// Copies the content that the pieces have now to the message; exactly the missing bytes cross the link. Complete after
  /// `settle`.
  void (*read_out)(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
                   std::size_t offset);
  /// Promises that the next use of the message is a `read_out` with these arguments, so that its content may be brought
  /// beforehand. Does nothing if the array has been freed.
  void (*expect)(const void* address, const ByteRange* pieces, std::size_t count, const Transit& transit,
                 std::size_t offset) noexcept;
  /// Gives the pieces the message as their new content, after all work so far and before all later work.
  void (*write_in)(void* address, const ByteRange* pieces, std::size_t count, const Transit& transit, std::size_t offset);
  /// Returns whether messages may be in the device's memory (SEMCACHE_MPI_CUDA).
  DeviceAddresses (*device_addresses)();
  /// Returns whether a byte of [first, last] could be tracked; false: none is. Costs about two comparisons.
  bool (*overlaps)(const void* first, const void* last) noexcept;
  /// Takes memory for persistent messages of these bytes of a device array, for use at offset 0. Ranges that are neighbours in
  /// the array are neighbours in this memory too, so they cross the link together. Returns a Transit without buffer if there is
  /// no such memory; `take` gives other memory then.
  Transit (*take_beside)(const void* first, std::size_t bytes);
  /// Carries out `write_in` for messages that `take_beside` gave and whose `bytes` bytes are neighbours. Returns false, and does
  /// nothing, if they are not.
  bool (*write_in_together)(void* first, std::size_t bytes, const Transit* const* transits, std::size_t count);
};

}  // namespace semcache::runtime

extern "C" {
/// The 1 is the version of the table. Preloaded libraries refer to the symbol weakly, because a program may have no SemCache.
SEMCACHE_API const semcache::runtime::ForeignIo* semcache_foreign_io_1() noexcept;
}
