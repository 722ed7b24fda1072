// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// libsemcache_blas_preload.so, which semcache-run puts in front of a program. It has all names of libsemcache_blas.so, and nothing behind them: each
// leads to the next library's function, until the process has a BLAS. Then it loads libsemcache_blas.so, to which all names lead from then on.
// So a program without BLAS (a shell, a compiler) pays for a jump at each call, and for a library of a few pages.
//
// A process has a BLAS if it begins with one, or has loaded one (dlopen) when it next allocates memory, or calls one. Memory from before is of
// class (c). Threads: any. From the first one that the program makes, no thread blocks SIGSEGV, because nobody else could unblock it. Where there are
// threads, and libraries are loaded, nothing is looked up in the loader: its lock may be held by a thread that waits for the one that calls.
#include "preload_entries.hpp"  // which CMake writes: the names of libsemcache_blas.so

#include "deep_binding.hpp"
#include "object_names.hpp"
#include "open_mask.hpp"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

// An entry jumps to where its slot points. As long as that is empty, it asks `semcache_blas_entry` with its number, and keeps all registers in
// which there may be arguments. Slots are zero at first, so the loader has nothing to relocate.
asm(R"(
  .macro entry name number
  .pushsection .rodata.semcache_names, "a", @progbits
  .asciz "\name"
  .popsection
  .globl \name
  .type \name, @function
\name:
  endbr64
  movq semcache_blas_slots+8*\number(%rip), %r11
  testq %r11, %r11
  je 1f
  jmp *%r11
1:
  movl $\number, %r11d
  jmp ask
  .size \name, . - \name
  .endm

  .section .rodata.semcache_names, "a", @progbits
  .hidden semcache_blas_names
  .globl semcache_blas_names
semcache_blas_names:
  .text
ask:
  .irp register, %rdi, %rsi, %rdx, %rcx, %r8, %r9, %rax
  pushq \register
  .endr
  subq $128, %rsp
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7
  movups %xmm\number, 16*\number(%rsp)
  .endr
  movl %r11d, %edi
  movq 184(%rsp), %rsi  # the caller, behind what has been saved
  leaq 128(%rsp), %rdx
  call semcache_blas_entry
  movq %rax, %r11
  .irp number, 0, 1, 2, 3, 4, 5, 6, 7
  movups 16*\number(%rsp), %xmm\number
  .endr
  addq $128, %rsp
  .irp register, %rax, %r9, %r8, %rcx, %rdx, %rsi, %rdi
  popq \register
  .endr
  jmp *%r11
)" SEMCACHE_BLAS_ENTRIES);

namespace {
/// Arguments of a call, as `ask` saves them.
struct Arguments {
  std::uintptr_t of_variable_count, sixth, fifth, fourth, third, second, first;
};
}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {
void* semcache_blas_slots[semcache::blas::entries];
void* semcache_blas_entry(unsigned number, const void* caller, const Arguments& arguments) noexcept;
}
#pragma GCC visibility pop

using namespace semcache::blas;

namespace {

// ---- names of objects

struct Signs {
  const Sign* first;
  const Sign* end;
};
/// Searches an object for names, unless it is the program, which calls what it has itself without us, or one of the two libraries.
int has_any(dl_phdr_info* object, std::size_t, void* searched) noexcept {
  const auto& signs = *static_cast<const Signs*>(searched);
  const Names names(*object);
  if (object->dlpi_name[0] == '\0' || !names || is_within(*object, semcache_blas_names)) return 0;
  if (std::strstr(object->dlpi_name, "/libsemcache_blas.so") != nullptr) return 0;
  for (const Sign* sign = signs.first; sign != signs.end; ++sign) {
    if (names.have(*sign)) return 1;
  }
  return 0;
}
bool any_object_has(Signs signs) noexcept { return ::dl_iterate_phdr(&has_any, &signs) != 0; }

}  // namespace

/// The function of this name behind this library: it stands in the program's list of libraries, and libsemcache_blas.so does not. The loader is asked
/// only for what there is: otherwise it leaves an error that the program could see.
extern "C" [[gnu::visibility("default")]] void* semcache_blas_next(const char* name) noexcept {
  const Sign sign{name};
  return any_object_has({&sign, &sign + 1}) ? ::dlsym(RTLD_NEXT, name) : nullptr;
}

namespace {

void* leads_to[entries];    ///< where slots lead that are filled
bool awake = false;         ///< or this library has tried to wake
bool may_have_blas = false; ///< the program has loaded a library since we looked
bool has_loaded = false;    ///< it has ever loaded one
bool has_threads = false;
void* waking_thread = nullptr;
bool first_at_forks = false; ///< its handlers of fork() are registered
void* at_fork = nullptr;     ///< libsemcache_blas.so's semcache_blas_at_fork
void* foreign_io = nullptr;  ///< libsemcache_blas.so's semcache_foreign_io_1

void say(const char* text) noexcept {
  if (text != nullptr) ::syscall(SYS_write, STDERR_FILENO, text, std::strlen(text));  // write is an entry
}

const char* name_of(unsigned number) noexcept {
  const char* name = semcache_blas_names;
  for (unsigned i = 0; i < number; ++i) name = behind(name);
  return name;
}

template <class T>
T load(const T& from) noexcept { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); }
template <class T>
void store(T& to, T what) noexcept { __atomic_store_n(&to, what, __ATOMIC_RELEASE); }

/// Returns where an entry leads: where it has led before, or to the next library. @return nullptr if no library has it
void* target_of(unsigned number) noexcept {
  if (void* const known = load(leads_to[number])) return known;
  // A look-up frees what an earlier one has left to say, and must not come here again for that.
  if (number != entry_of_free) (void)target_of(entry_of_free);
  const int error = errno;
  void* const next = semcache_blas_next(name_of(number));
  errno = error;
  void* none = nullptr;  // another thread may have let it lead to the library meanwhile
  return __atomic_compare_exchange_n(&leads_to[number], &none, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? next : none;
}

template <int When>
void at_fork_of_library() noexcept {
  if (void* const function = load(at_fork)) reinterpret_cast<void (*)(int)>(function)(When);
}

/// Registers handlers of fork() before all libraries do that come to this entry: these run last before a fork, and first after it.
void be_first_at_forks() noexcept {
  if (__atomic_exchange_n(&first_at_forks, true, __ATOMIC_ACQ_REL)) return;
  using Register = int (*)(void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<Register>(target_of(entry_of_register_atfork));
  if (next != nullptr) (void)next(&at_fork_of_library<0>, &at_fork_of_library<1>, &at_fork_of_library<2>, nullptr);
}

/// Loads libsemcache_blas.so, and lets all entries lead there. Two threads may do so at once. The entries come in such an order that no block can be
/// given out by the library and end elsewhere.
void wake() noexcept {
  void* const thread = __builtin_thread_pointer();
  if (load(waking_thread) == thread) return;
  store(waking_thread, thread);
  const int error = errno;
  be_first_at_forks();
  const auto open = reinterpret_cast<decltype(&::dlopen)>(target_of(entry_of_dlopen));
  void* const library = open("libsemcache_blas.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    say("semcache: BLAS calls stay on the host, because libsemcache_blas.so cannot be loaded: ");
    say(why);
    say("\n");
  } else {
    store(at_fork, ::dlsym(library, "semcache_blas_at_fork"));
    store(foreign_io, ::dlsym(library, "semcache_foreign_io_1"));
    const char* name = semcache_blas_names;
    for (unsigned i = 0; i < entries; ++i, name = behind(name)) {
      if (i >= of_c && i < of_blas) continue;
      void* const function = ::dlsym(library, name);
      store(leads_to[i], function);
      store(semcache_blas_slots[i], function);
    }
  }
  store(awake, true);
  store(waking_thread, static_cast<void*>(nullptr));
  errno = error;
}

// ---- before that: threads

/// pthread_sigmask, and sigprocmask. @tparam Number  of a value that is the function of the C library
template <unsigned Number>
struct Mask {
  using Function = int (*)(int, const sigset_t*, sigset_t*);
  static inline Function next;
  static int change(int how, const sigset_t* set, sigset_t* before) noexcept { return next(how, Open(set, how).get(), before); }
  static void open() noexcept {
    next = reinterpret_cast<Function>(target_of(Number));
    store(leads_to[Number], reinterpret_cast<void*>(&change));
    store(semcache_blas_slots[Number], reinterpret_cast<void*>(&change));
  }
};

/// A thread may be within dlopen, and wait for another one that calls: nothing is looked up then.
void look_all_up() noexcept {
  for (unsigned i = 0; i < of_blas; ++i) (void)target_of(i);
}

void first_thread() noexcept {
  has_threads = true;
  if (has_loaded) look_all_up();
  Mask<entry_of_pthread_sigmask>::open();
  Mask<entry_of_sigprocmask>::open();
  sigset_t fault;
  ::sigemptyset(&fault);
  ::sigaddset(&fault, SIGSEGV);
  (void)Mask<entry_of_pthread_sigmask>::next(SIG_UNBLOCK, &fault, nullptr);
}

// ---- whether the process has a BLAS

/// Each BLAS has one of these.
bool process_has_blas() noexcept {
  constexpr Sign signs[] = {{"dgemm_"}, {"cblas_dgemm"}, {"dgemm_64_"}, {"cblas_dgemm64_"}, {"scipy_dgemm_64_"}, {"scipy_cblas_dgemm64_"},
                            {"scipy_dgemm_"}, {"scipy_cblas_dgemm"}, {"sgemm_"}, {"ddot_"}, {"daxpy_"}, {"daxpy_64_"}};
  return any_object_has({std::begin(signs), std::end(signs)});
}

/// Is this the loader's code, or the C library's around it? They allocate and free before a library is there.
bool is_loader(const void* caller) noexcept {
  const auto begin_of = [](const void* code) noexcept {
    dl_find_object found;
    return ::_dl_find_object(const_cast<void*>(code), &found) == 0 ? found.dlfo_map_start : nullptr;
  };
  const void* const begin = begin_of(caller);
  return begin == reinterpret_cast<void*>(::getauxval(AT_BASE)) || begin == begin_of(reinterpret_cast<void*>(&::dlsym));
}

/// Is this the process that semcache-run has started, and are reports asked for? It writes one, also if it calls no BLAS.
bool reports() noexcept {
  const char* const report = ::secure_getenv("SEMCACHE_REPORT");
  const char* const started = report != nullptr && *report != '\0' ? ::secure_getenv("_SEMCACHE_BLAS_PROCESS") : nullptr;
  return started != nullptr && std::strtol(started, nullptr, 10) == ::getpid();
}

[[gnu::constructor]] void begin() noexcept {
  if (process_has_blas() || reports()) wake();
}

}  // namespace

/// For the preloaded MPI layer (packages/mpi), which does not see libsemcache_blas.so: that library's table for code whose accesses are not noticed.
/// It has a name of its own, because a program that contains SemCache has semcache_foreign_io_1. @return nullptr as long as the library is not loaded
extern "C" [[gnu::visibility("default")]] const void* semcache_blas_foreign_io_1() noexcept {
  void* const function = load(foreign_io);
  return function != nullptr ? reinterpret_cast<const void* (*)()>(function)() : nullptr;
}

/// Returns where an entry leads whose slot is empty, and fills the slot, unless the next call has to come here, too.
extern "C" void* semcache_blas_entry(unsigned number, const void* caller, const Arguments& arguments) noexcept {
  if (number == entry_of_register_atfork) be_first_at_forks();
  const bool loads = number == entry_of_dlopen && !load(awake);
  if (loads) {
    be_first_at_forks();  // a library that is bound deeply registers its handlers past this one
    has_loaded = true;
    if (has_threads) look_all_up();
    store(may_have_blas, true);
    for (unsigned i = 0; i < of_c; ++i) store(semcache_blas_slots[i], static_cast<void*>(nullptr));
  } else if (number >= of_blas) {
    if (!load(awake)) wake();
  } else if (number >= of_c) {
    if (!has_threads && !load(awake)) first_thread();
  } else if (load(may_have_blas) && !is_loader(caller)) {
    store(may_have_blas, false);
    if (!load(awake) && process_has_blas()) wake();
  }
  void* const target = target_of(number);
  if (target == nullptr) {
    say("semcache: the program calls a function that no loaded library has but libsemcache_blas_preload.so. Link it to a BLAS, too "
        "(Debian: libblas3 or libopenblas0): ");
    say(name_of(number));
    say("\n");
    ::abort();
  }
  // Each call of dlopen comes here, because of its arguments.
  if (number == entry_of_dlopen) return dlopen_for(reinterpret_cast<const char*>(arguments.first), static_cast<int>(arguments.second), target);
  // An entry that has got another target meanwhile is asked for once more.
  if (!load(may_have_blas)) store(semcache_blas_slots[number], target);
  if (load(leads_to[number]) != target) store(semcache_blas_slots[number], static_cast<void*>(nullptr));
  return target;
}
