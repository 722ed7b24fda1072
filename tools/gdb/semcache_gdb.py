# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Commands of gdb for programs on SemCache (docs/how-to/debug-with-gdb.md).

gdb reads memory past the protection of pages, so it shows what lies in a host array, not what a reader would find there. `semcache settle` brings
the content of all arrays home, and `semcache print` prints an expression after that. Accesses that SemCache serves do not stop the program, and
a SIGSEGV that it does not serve does.
"""
import re

import gdb

# What another thread, or this one, may hold the lock of while it is in such a function, and what the call may need.
LOCKING = re.compile(r"(__GI_|__libc_|_int_|__)*(malloc|calloc|realloc|free|cfree|memalign|aligned_alloc|malloc_consolidate|dlopen|dlsym|"
                     r"dlclose|fork)$|operator (new|delete)")
LOCKING_LIBRARY = re.compile(r"/(ld-linux[^/]*|libcuda)\.so")


def in_signal(action):
    """Tells gdb whether a SIGSEGV stops the program. The program gets it in either case."""
    gdb.execute("handle SIGSEGV " + ("stop print pass" if action == "stop" else "nostop noprint pass"), to_string=True)


class ForeignFaults(gdb.Parameter):
    """Stop at a SIGSEGV that is no access which SemCache serves."""
    set_doc = show_doc = __doc__

    def __init__(self):
        super().__init__("semcache-stop-at-foreign-faults", gdb.COMMAND_BREAKPOINTS, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self):
        return ""


class Hook(gdb.Breakpoint):
    """A breakpoint at a function that the library calls for debuggers alone (src/semcache/platform/linux/signal_chain.cpp)."""

    def __init__(self, function, action):
        super().__init__(function=function, internal=True)
        self.silent, self.action = True, action

    def stop(self):
        return self.action()


def told_begin():
    in_signal("nostop")
    return False


def told_end():
    in_signal("stop")
    return False


def show_fault(event):
    """After a stop at a foreign fault, selects the frame whose access it was."""
    if foreign not in getattr(event, "breakpoints", []):
        return
    frame = gdb.newest_frame()
    while frame is not None and frame.type() != gdb.SIGTRAMP_FRAME:
        frame = frame.older()
    if frame is not None and frame.older() is not None:
        frame.older().select()
    gdb.write("semcache: the program received SIGSEGV, and it is no access to an array that SemCache serves. The access was here:\n")
    gdb.execute("frame")


def attached(_=None):
    """In a process that gdb was attached to, the library has begun before."""
    if getattr(gdb.selected_inferior(), "was_attached", False):
        in_signal("nostop")


def what_locks():
    """Returns the name of a function on this thread's stack that may hold a lock which the call needs; None if there is none."""
    frame = gdb.newest_frame()
    for _ in range(64):
        if frame is None:
            return None
        name, library = frame.name() or "", gdb.solib_name(frame.pc()) or ""
        if LOCKING.match(name) or LOCKING_LIBRARY.search(library):
            return name or library
        frame = frame.older()
    return None


def settle():
    """Brings the content of all arrays home. Returns an empty text, or what is not there and why."""
    if gdb.selected_thread() is None:
        raise gdb.GdbError("semcache: no process runs. Of a core file gdb shows what lay in memory, which may be stale")
    holder = what_locks()
    if holder is not None:
        return "this thread has stopped in %s, whose lock may be needed. Let it go on (finish), then ask again" % holder
    try:
        function = gdb.parse_and_eval("(const char *(*)())&semcache_debugger_settle")
    except gdb.error as e:
        raise gdb.GdbError("semcache: the function semcache_debugger_settle is not found (%s): the program does not use SemCache, has not "
                           "loaded it yet, or has no symbols" % e) from e
    try:
        return function.dereference()().string(errors="replace")
    except gdb.error as e:
        return "the call was given up: %s" % e


class Shown:
    settled = False  # an expression is printed now, and all arrays were brought home for it


class Prefix(gdb.Command):
    """Commands for programs on SemCache."""

    def __init__(self):
        super().__init__("semcache", gdb.COMMAND_DATA, prefix=True)


class Settle(gdb.Command):
    """Bring the content of all arrays home, so that gdb shows what a reader would find.

The call waits for kernels on devices and moves bytes, which the report counts. Where it would wait for a thread that has stopped, it gives up
after two seconds and says why."""

    def __init__(self):
        super().__init__("semcache settle", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        reason = settle()
        gdb.write("semcache: %s\n" % ("busy: " + reason if reason else "all arrays are settled"))


class Print(gdb.Command):
    """semcache print EXPRESSION: settle all arrays, then print as `print` does, with the same options."""

    def __init__(self):
        super().__init__("semcache print", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        reason = settle()
        if reason:
            gdb.write("semcache: busy: %s. The value may be stale:\n" % reason)
        Shown.settled = not reason
        try:
            gdb.execute("print " + argument, from_tty)
        finally:
            Shown.settled = False


def plain(value):
    """Returns the value without references and typedefs."""
    value = value.referenced_value() if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF) else value
    return value.cast(value.type.strip_typedefs().unqualified())


def data_of(view):
    """Returns the pointer to the first element of a Kokkos::View. @throws gdb.error  its class has other members"""
    try:
        handle = view["m_map"]["m_impl_handle"]
    except gdb.error:
        handle = view["m_ptr"]  # Kokkos 5
    return handle if handle.type.strip_typedefs().code == gdb.TYPE_CODE_PTR else handle["pointer_"]  # semcache::kokkos::detail::NoticedPointer


def extents_of(view):
    """Returns the extents of a Kokkos::View up to Kokkos 4, of which each is in a base class of its own."""
    dimensions, extents = view["m_map"]["m_impl_offset"]["m_dim"], []
    for base in dimensions.type.strip_typedefs().fields():
        known = base.is_base_class and int(base.type.template_argument(0)) & (2**64 - 1)
        if base.is_base_class and known != 2**64 - 1:  # that is no extent
            members = [f.name for f in base.type.fields()]
            name = "N%d" % len(extents)
            extents.append(int(dimensions[name]) if known == 0 and name in members else known)
    return extents


class ViewPrinter:
    """Shows a Kokkos::View in memory of SemCache: extents, address, and for one extent the elements."""

    def __init__(self, view):
        self.data, self.extents = data_of(view), extents_of(view)
        self.strided = "LayoutStride" in str(view.type)

    def to_string(self):
        stale = "" if Shown.settled else ", on the host perhaps stale (semcache print)"
        return "View of %s at %s%s" % (" x ".join(map(str, self.extents)) or "one element", hex(int(self.data)), stale)

    def children(self):
        if len(self.extents) == 1 and not self.strided:
            for i in range(self.extents[0]):
                yield "[%d]" % i, self.data[i]

    def display_hint(self):
        return "array"


def view_printer(value):
    name = str(value.type.strip_typedefs().unqualified())
    if not re.match(r"Kokkos::View<", name) or "semcache::" not in name:
        return None
    try:
        return ViewPrinter(plain(value))
    except (gdb.error, RuntimeError):
        return None  # another version of Kokkos, or one without debug information: gdb shows the members


class Data(gdb.Function):
    """$semcache_data(VIEW) is the pointer to the first element of a Kokkos::View, where data() is inlined and cannot be called."""

    def __init__(self):
        super().__init__("semcache_data")

    def invoke(self, view):
        return data_of(plain(view))


if not hasattr(gdb, "semcache_commands"):  # the file may be read by hand and by itself
    gdb.semcache_commands = [Prefix(), Settle(), Print(), Data()]
    parameter = ForeignFaults()
    foreign = Hook("semcache_debugger_foreign_fault", lambda: parameter.value)
    begin, end = Hook("semcache_debugger_faults_begin", told_begin), Hook("semcache_debugger_faults_end", told_end)
    gdb.pretty_printers.append(view_printer)
    gdb.events.stop.connect(show_fault)
    gdb.events.exited.connect(lambda _: in_signal("stop"))
    gdb.events.new_objfile.connect(attached)
    attached()
