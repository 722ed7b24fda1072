# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Which mutants there are. None is bound to source text: they have the names that schemata.py gives them, "file function what #n", so
they outlive edits around them.

Mutants of a rule are found wherever it applies: a statement that is added later is left out, too, without anybody listing it. Others
are listed by name, because their kinds have too many that only change costs to have them everywhere.
"""

import os
import re

ROOMS = ["directory", "engine", "memory", "pages", "plan", "policy", "timeline"]
# A file of another room. It is pure arithmetic, so all that can be broken in it is broken.
ARITHMETIC = "device/emulated/virtual_clock.cpp"
# Checks of the tests themselves.
WITHOUT = {"directory/audit.cpp", "engine/audit.cpp"}


def sources(source):
    """The files below semcache/ that have mutants."""
    for room in ROOMS:
        for name in sorted(os.listdir(os.path.join(source, "semcache", room))):
            if name.endswith(".cpp") and f"{room}/{name}" not in WITHOUT:
                yield f"{room}/{name}"
    yield ARITHMETIC


# --- rules ---------------------------------------------------------------------------------------------------------------

# A call of one of these that is a statement is left out.
CALLS = set("""add count_dropped detach drop end_phase execute expect_not_freed expect_nothing forget_perhaps_unwanted
freeze keep_as_saved_copy keep_reachable mark_changing mark_used note_fetch note_perhaps_unwanted note_refused note_use note_written
open_guarded order_queue prepare_commit prepare_held prepare_use prepare_wanted prepare_write project project_device project_later
project_soon protect protect_guarded raise renumber restore revoke separate set_held set_wanted subtract touch touch_holders unpin
unwatch write""".split())
# Where a mutant of these kinds can be, it is: what stands in the way of an attempt is passed over (so what would have removed it is not
# done); a question is answered always alike.
KINDS = {"obstacle", "return"}

# --- by name ---------------------------------------------------------------------------------------------------------------

# What each of them does to the protocol. Where there are several names, all of them at once.
LISTED = {}


def listed(file, *entries):
    for what, *names in entries:
        LISTED[tuple(f"{file} {name}" for name in names)] = what


listed(
    "directory/directory.cpp",
    ("a host side that changes counts as a holder", "last_held without changing #1", "last_held if changing false #1"),
    ("a host side that changes is as good a source as others", "next_fetch choose changing false #1"),
    ("a wrong offset in last_held", "last_held plain offset #1"),
    ("a fill that is overwritten is forgotten before it is copied", "link if pieces false #2"),
    ("the holder itself counts as another holder", "last_held if slot false #1"),
    ("stale counts as fresh where something is held",
     "find_stale held as (held.is_number() ? wanted : held) #5"),
    ("a fetch compares values but not offsets", "next_fetch held as ValueRef{held.id, here.offset} #4"),
    ("a write keeps a shared number", "write exclusive as fresh #1"),
    ("a number is kept although another array wants it", "kept_among_its_slots without wanters #1"),
    ("a number is kept, and so is what the other side holds", "write if kept false #1"),
    ("other wanters do not end exclusiveness", "sole if here true #2"),
    ("other holders do not end exclusiveness", "sole if here true #1"),
    ("a link compares values but not offsets", "link ref as ValueRef{ref.id, e.at(piece.begin).offset} #2"),
    ("a link touches nobody", "set_wanted touch_holders #2", "set_wanted if slots false #1"),
    ("who changes what it wants counts among those who want it anyway", "wanted_twice without but #1"),
    ("a value that one other wants is taken for one that two want", "wanted_twice 2 as 1 #1"),
    ("who wants a part is taken for one who wants all", "wanted_twice positions as offsets.size() * !!positions #1"),
    ("new memory holds any fill", "fill without is_zero #1"),
    ("memory that was written holds zeros", "fill if zeros_value true #1"),
    ("a number that changed its content is given back", "sole if may_overlap false #1"),
    ("a use that has moved is looked for at its former place", "count if place false #3"),
    ("a redundant copy is not noticed", "link if same false #1"))
listed(
    "engine/arrays.cpp",
    ("saved copies are collected while they are wanted", "collect_orphans if needed false #1"))
listed(
    "engine/copies.cpp",
    ("a shift that is refused half-way has lost its source", "copy_now if noted_at_the_end true #3"),
    ("a copy that a use refuses has made its first pieces", "in_pieces expect_unused #1"),
    ("a copy over borders that a use refuses has made its edges", "copy_in_parts if check false #1"),
    ("a host side that changes is copied by number", "copy without datum #1"))
listed(
    "engine/engine.cpp",
    ("a second stream inherits the first one's order", "adopt_queue if order_behind_engine false #1"),
    ("a new stream is behind no transfer", "order_behind_engine order #1"),
    ("a stream that the program destroys is forgotten about", "stream_ends stream_ends #1"))
listed(
    "engine/executor.cpp",
    ("a staged arrival is forgotten", "end if to_host false #1"),
    ("pieces of a message are taken from the place of the first", "copy_by_queue plain piece #2"),
    ("a fill forgets its phase", "fill_in_place plain phase #1"),
    ("a transfer is taken for the work before it", "note_use at as at - 1 #2"),
    ("a kernel's write is remembered as a read", "note_use mode as Mode::reads #2"))
listed(
    "engine/foreign_io.cpp",
    ("an arrival overwrites what others hold", "write_in 0 as UINT32_MAX #2"))
listed(
    "engine/foreign_uses.cpp",
    ("what a call overwrites counts as held until the call is made", "prepare set overwritten #1"),
    ("nobody knows on which stream a kernel of other code runs", "end_foreign_call if known false #2"))
listed(
    "engine/derivations.cpp",
    ("a value of other inputs is found", "are_same without ref #1"),
    ("a value of another function is found", "find without function #1"),
    ("a value of other parameters is found", "find without parameters #1"),
    ("a value that has been forgotten is found", "find without is_lost #1"),
    ("an input that is written keeps its number", "watch set watch #1"),
    ("a value that a user writes keeps its number", "note_computed set watch #1"),
    ("a value is found whose inputs changed while it was computed", "note_computed without all_of #1"),
    ("a value that is in use is dropped", "drop_if without users #1"),
    ("memory is closed under a kernel that uses it", "drop_if without any_of #1"),
    ("a launch that changed nothing changes an input", "acquire run #1"))
listed(
    "engine/launches.cpp",
    ("a task is not ordered behind kernels", "pin without of_tasks #1"),
    ("kernels are not ordered behind tasks that use the array itself", "order_kernels set ordered #1"))
listed(
    "engine/tiles.cpp",
    ("a tile of another device is found", "find without device_space #1"),
    ("a tile in use is freed", "shorten without tile_users #1"),
    ("an array that still has another side loses its tiles", "leave_once without part #1"))
listed(
    "engine/hazards.cpp",
    ("uses on the host stand in the way of accesses to other bytes", "host_uses_of if overlap true #1"),
    ("uses on the host stand in the way of other arrays", "host_uses_of without datum #1"),
    ("a writer does not wait for a use on the host that reads", "host_uses_of without reads #1"),
    ("a reader does not wait for a use on the host that writes", "host_uses_of without writes #2"),
    ("a transfer reads what a use on the host writes", "host_uses_of without writes #4"),
    ("transfers are submitted behind kernels of other code, which may wait for other threads", "kernels_of_others if done false #1"),
    ("uses on unknown queues are not waited for", "quiesce if unknown_use_pending false #1"),
    ("the host reads under an arriving transfer", "flights_of without to_host #1"),
    ("the host writes under a departing transfer", "flights_of without writes #2"))
listed(
    "engine/host_access.cpp",
    ("a read opens pages for writing", "open_pages choose writes true #1"),
    ("what stays closed at the end is not looked at", "open_everything if protect false #1"))
listed(
    "engine/host_uses.cpp",
    ("two parts with the same content count on each other", "prepare note_written #1"),
    ("a use on the host is waited for as long as there is any", "end set ended_host_uses #1"),
    ("bytes are used in two parts on the host and written", "expect_usable if datum true #1"),
    ("a part is used although its array has been freed", "begin expect_usable #1", "begin expect_usable #2"),
    ("nobody knows of a use on the host", "begin push_back #1"),
    ("a part is freed while it is in use on the host", "begin fetch_add #1"),
    ("a use on the host never ends", "end erase #1"),
    ("a part stays pinned", "end fetch_sub #1"),
    ("a use on the host is not written through", "end if write_through false #1"))
listed(
    "engine/launches.cpp",
    ("a kernel of other code, or a task, on ready arrays is not ordered", "pin without of_others #1"),
    ("an awaited kernel is taken for the last one of its queue", "launch_awaited if before true #1",
     "launch_awaited number as s_.queues->position(queue) #2"),
    ("an awaited kernel without a number is given the next one", "launch_awaited if before true #1",
     "launch_awaited number as before[queue] + 1 #2"),
    ("what a queue waits for is looked up after the wait",
     "launch_awaited before as s_.queues->happened_with(queue, before[queue]) #3"),
    ("a launch looks at none of its operands", "begin_launch set all_ready #1"))
listed(
    "engine/lifetimes.cpp",
    ("a freed array is given back although it is wanted", "free_array if last false #1"),
    ("memory that is written without a word holds zeros", "allocate_host without announced #1"))
listed(
    "engine/preparation.cpp",
    ("pieces that arrive together count as holders for each other", "meet together as base::Vector<Region>{} #4"),
    ("writing operands need no exclusive memory", "prepare_whole if writable true #1"),
    ("no digest is taken of what a launch may write", "prepare_whole set write_check #1"))
listed(
    "engine/projection.cpp",
    ("pages stay open until a launch ends", "project_soon without any_touched #1"),
    ("device memory is closed under a kernel that uses it", "project_device if pinned false #1"),
    ("launches believe that closed device memory is open", "project_device if read false #1"),
    ("device memory is opened as far as was asked", "permitted choose exclusive true #1"),
    ("launches never find a transfer in flight", "project_device without written #2"),
    ("a launch on a tile or a derived value does not look who filled or computes it", "project_device without part #1"),
    ("launches that write never find a transfer in flight", "project_device if used true #1"))
listed(
    "engine/transfers.cpp",
    ("no save before a fetch", "make_fresh last_held #1"),
    ("a saved copy is put where the host writes without a word", "save if changing false #1"))
listed(
    "memory/device_memory.cpp",
    ("who was used since is evicted all the same", "longest_unused if used false #1"),
    ("neighbours that share a granule count it twice", "need_of if run false #1"),
    ("an eviction that has begun begins anew with another array", "victim if begun false #1"))
listed(
    "memory/host_memory.cpp",
    ("a freed place whose pages stay closed is handed out", "release_or_withhold if open_for_next true #1"),
    ("a place that is kept back is never tried again", "place release_withheld #1"),
    ("what a program leaves in a gap stays for the next array", "give_back size as size() - platform_.page_bytes #2"),
    ("what a program leaves in the gap of a large array stays for the next one", "discard size as size() - platform_.page_bytes #1"),
    ("a gap that was opened stays open for the next array", "open_for_next size as size() - platform_.page_bytes #1"))
listed(
    "pages/demands.cpp",
    ("a page that two runs share is as lax as the first", "add if most false #1"),
    ("pages under a flight stay as the directory has them", "restrict_to only most #1"))
listed(
    "pages/host_pages.cpp",
    ("at the limit on mappings a page is relaxed by its neighbour", "protect set protection #1"),
    ("sweeps survive a kernel", "protect if closes false #1"))
listed(
    "plan/step.cpp",
    ("a save is not counted", "counted if saves false #1"))
listed(
    "policy/policy.cpp",
    ("a value is saved where it lies already", "place_of_save wanter_is_clean as wanter_is_clean || choices.on_host #1"))
listed(
    "policy/read_ahead.cpp",
    ("read-ahead leaves the array", "give only last #1"),
    ("read-ahead does not grow", "chunk_for plain growth #1"),
    ("read-ahead grows without having been paid for", "give paid as [](auto, auto all) { return all; } #1"),
    ("read-ahead believes at once", "give believed_after as 1 #1"),
    ("a believed sweep need not earn its growth", "give earned as [](auto&, auto all) { return all; } #1"),
    ("what lies near the end of a chunk continues it", "continues end as end + s.chunk #1"),
    ("faults never take the whole array", "takes_whole without use #1"),
    ("a write opens as much as a read", "chunk_for if write false #1"))
listed(
    "timeline/queues.cpp",
    ("a queue is believed to be done before it was waited for", "operator if queue_idle false #1"),
    ("a queue does not wait for the event", "submit_order wait #1"),
    ("an event that is too early is waited for", "recorded_after position as position - 1 #1"),
    ("an event is believed to cover later work of its queue", "happened_with position as position + 1 #1"),
    ("a queue forgets which queue it waited for", "submit_order p as (p + 1) % max_queues #4"),
    ("the next stream of a handle is taken for the one that has ended", "stream_ends set ended #1"),
    ("nobody can tell when the work of a destroyed stream is done", "record_end record #1"),
    ("an index is given away while its former stream has work", "collect_ended if reached false #1"),
    ("a stream is collected for whose work a thread waits", "collect_ended without retiring #1"),
    ("a stream of other code is believed to be the framework's default", "adopt set of_others #1"),
    ("a stream loses its queue while a call submits to it", "begin_retiring if in_use false #1"),
    ("a destroyed stream is asked whether it has work", "any_at_work if ended true #1"))
LISTED[("engine/projection.cpp project if freeing false #1", "engine/arrays.cpp collect_orphans if freeing false #1")] = (
    "a saved copy is not looked at when its last reader has been freed")

NAMES = {name for names in LISTED for name in names}


def by_rule(kind, name):
    return kind in KINDS or name.startswith(ARITHMETIC) or (kind == "call" and name.split()[2] in CALLS)


def wanted(kind, name):
    """Is there the mutant of this kind and name?"""
    return by_rule(kind, name) or name in NAMES


def alone(mutant):
    """Is it tried alone, and not only together with others?"""
    return by_rule(mutant.kind, mutant.name) or (mutant.name,) in LISTED


def replacements(path):
    """(function, name, text) of the listed mutants of a file that replace a name by a text."""
    found = (re.fullmatch(r"(\S+) (\S+) (\S+) as (.*) #\d+", name) for name in sorted(NAMES))
    return [(m[2], m[3], m[4]) for m in found if m and m[1] == path]


# Tests that are not run: they notice a mutant in one run and not in the next, as threads happen to run, or take seconds.
CHANCE = "Transactions.ManyThreads*:TileAttacks.OfRandomShapes*"

# Tests that take so long, some ten seconds each, that they are run where all tests are asked for (--thorough, --everything) and nowhere else. Others
# do the same with another configuration.
LONG = ("AllocFailure.Gpu*:AllocFailure.SixGpus:AllocFailure.Emulated:AllocFailure.Checked:AllocFailure.Guarded?*:"
        "FreedMeanwhile.Gpu*:FreedMeanwhile.CheckedWrites:ChangedMeanwhile.Gpu*:ChangedMeanwhile.CheckedWrites:"
        "ChangedMeanwhile.WriteThrough")

# Tests that notice most mutants of such names: they are run first.
FIRST = [
    (re.compile(r"directory\.cpp link if pieces | prepare_\w+ #|keep_as_saved_copy"), re.compile("AllocFailure")),
    (re.compile(r"^directory/"), re.compile(r"Directory\.|Oracle\.ArraysOfSeveral")),
    (re.compile(r"(allocate_host_part|host_uses\.cpp begin) expect_not_freed "), re.compile("HostParts|HostUses")),
    (re.compile(r" expect_not_freed "), re.compile("FreedMeanwhile")),
]

# --- not noticed ---------------------------------------------------------------------------------------------------------

# Those that the tests do not notice, and why.
_COST = "it only changes what something costs: "
_RACE = "only another thread's access within a few instructions shows it: "
_ESTIMATE = "a term of a pessimistic estimate of the kernel's mappings; where it is too low, the kernel's refusal does the same"
_TWICE = "the same is done once more: "
_OUTSIDE = "it is asked by the runtime and the adapters alone, whose tests are not linked here"
UNNOTICED = {
    "engine/adoption.cpp adopt mark_changing #1":
        "copies between announced memory and other arrays are made at the call, so nobody else wants what it holds",
    "directory/directory.cpp wanted_twice return false #1": _COST + "more holders are told than need be",
    "directory/directory.cpp renumber prepare_write #1":
        "write has made the room before; a whole array's number needs none but its value's place, which makes its own",
    "directory/directory.cpp drop prepare_held #1": "needs a copy that is refused half-way and an allocation that fails in the same call",
    "directory/directory.cpp restore prepare_wanted #1": "lists keep their room, so what was there before fits again",
    "directory/directory.cpp restore prepare_held #1": "lists keep their room, so what was there before fits again",
    "directory/directory.cpp prepare_wanted prepare_use #1": "only restore calls it; lists keep their room, so what was there before fits again",
    "directory/directory.cpp lies_inside return false #1": _COST + "the general way finds the same",
    "directory/directory.cpp watch unwatch #1": _COST + "a value that stays watched is not changed in place any more",
    "directory/uses.cpp is_worth_it return false #1": _COST + "all uses of a value are looked at",
    "directory/uses.cpp is_worth_it return true #1": _COST + "cells without uses are looked at",
    "engine/copies.cpp check_elided uses_of #2":
        "with SEMCACHE_CHECK launches wait for the device behind them; no calls are known that leave something under way here",
    "engine/transfers.cpp note_refused note_written #1":
        "what others want was saved before, so nobody can tell the former value from what is there now",
    "engine/copies.cpp copy_now note_written #1": "an open mirror's value is known nowhere else since it was opened",
    "engine/host_access.cpp open_columns prepare_write #1":
        "needs an allocation that fails between two columns of one announcement, which the test of failing allocations does not have",
    "engine/copies.cpp copy_from_open expect_not_freed #1": _RACE + "an array that is freed between two pieces of a copy",
    "engine/copies.cpp copy_to_open expect_not_freed #1": _RACE + "an array that is freed between two pieces of a copy",
    "engine/copies.cpp fill prepare_write #1":
        "needs an open mirror or SEMCACHE=off and a host without memory at once, which the test of failing allocations does not have",
    "engine/lifetimes.cpp free_array busy #1": _TWICE + "a few lines below, for sides and whole arrays alike",
    "engine/lifetimes.cpp free_array uses_of #1": _TWICE + "a few lines below, for sides and whole arrays alike",
    "engine/executor.cpp copy_by_queue separate #1": _COST + "who waits for the transfer before waits for this one, too",
    "engine/executor.cpp copy_over_host separate #1": _COST + "who waits for the transfer before waits for this one, too",
    "engine/executor.cpp copy_over_host separate #2": _COST + "who waits for the transfer before waits for this one, too",
    "engine/executor.cpp copy_across separate #1": _COST + "who waits for the transfer before waits for this one, too",
    "engine/executor.cpp write_arrival add #1": _ESTIMATE,
    "engine/executor.cpp write_arrival write #1":
        "stale pages are closed; no calls are known that leave two huge ones side by side with different protections",
    "engine/expected_messages.cpp expect project_later #1": _COST + "the next launch looks closer once",
    "engine/expected_messages.cpp expect project_device #1": _COST + "the next launch looks closer once",
    "engine/buffers.cpp release_idle return true #1": "the fake device refuses memory once, so the next try works",
    "engine/launches.cpp begin_unready_launch return true #1": _COST + "on the unknown queue, uses of parts are noted as those of the array",
    "engine/launches.cpp bring_by_block add #2": _COST + "all blocks of a part are mapped before the first is fetched",
    "engine/projection.cpp permits_reads return true #1": _COST + "where a fault's kind is unknown, it counts as a write",
    "engine/executor.cpp permits return false #2": _COST + "guarded pages that are open are copied past their protection",
    "engine/foreign_uses.cpp fits_as_a_whole return false #1": _COST + "guarded pages open for the announced part, and others by faults",
    "engine/foreign_uses.cpp begin_foreign_call note_fetch #1": _COST + "it feeds a forecast",
    "engine/foreign_uses.cpp is_right return false #1": _COST + "pages that are open are looked at once more",
    "engine/projection.cpp open_part project_later #1": _TWICE + "pin lists each operand that is not ready",
    "engine/projection.cpp open_part add #1": _ESTIMATE,
    "engine/host_access.cpp open_for_device flights_of #1":
        _TWICE + "by open_mirror; copies to and from a mirror that was open before have ended when their calls return",
    "engine/launches.cpp is_recording return true #1": _OUTSIDE,
    "engine/launches.cpp is_recording return false #1": _OUTSIDE,
    "engine/launches.cpp fetch_ahead revoke #1": _RACE + "a launch that pins the array",
    "engine/residency.cpp evict quiesce #1": _RACE + "a launch that pins the array; who pins it before is no victim",
    "engine/copies.cpp copy_now directly_reached #1": _COST + "what is not page-locked goes through staging memory",
    "engine/transfers.cpp save directly_reached #1": _COST + "what is not page-locked goes through staging memory",
    "engine/transfers.cpp make_fresh uses_of #2": "transfers to a mirror have ended when a write by the host is noticed",
    "engine/transfers.cpp make_fresh prepare_commit #1":
        "needs a host without memory between a comparison and its commit, which the test of failing allocations does not have",
    "engine/transfers.cpp is_there_already freeze #1": _RACE + "a write between the comparison and the commit",
    "engine/dual_views.cpp look_at uses_of #2": "transfers to a mirror have ended when a write by the host is noticed",
    "engine/transfers.cpp check_writes freeze #1": _RACE + "a write between the digest and the projection",
    "memory/host_memory.cpp open_for_next add #1": _ESTIMATE,
    "pages/host_pages.cpp begin_lock add #1": _ESTIMATE,
    "timeline/queues.cpp known return false #1": _COST + "the driver is asked what is known already",
}
