/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SPDX-FileCopyrightText: The SemCache contributors
 *
 * A program for debuggers: an array is written on the emulated device, and its host side is read after a breakpoint.
 * debugged            ends well
 * debugged crash      ends by an access of its own to address 16
 * debugged early      does that before SemCache has started
 * debugged forked     stops in a forked child
 * debugged wait       says "waiting", and waits until a debugger sets go_on
 */
#include <semcache/semcache.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 4096 };
double* host;
double* device;
volatile int go_on;

/* Breakpoints. */
__attribute__((noinline)) void written_on_device(void) { __asm__ volatile("# written"); }
__attribute__((noinline)) void in_child(void) { __asm__ volatile("# in child"); }

static void need(semcache_status status) {
  if (status == SEMCACHE_SUCCESS) return;
  fprintf(stderr, "debugged: %s: %s\n", semcache_status_name(status), semcache_last_error());
  exit(1);
}

static void crash(void) {
  volatile double* const nowhere = (double*)16;
  *nowhere = 1;
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  struct semcache_statistics_t before, after;
  int i;
  double sum = 0;
  if (strcmp(way, "early") == 0) crash();
  need(semcache_allocate_device("values", count * sizeof(double), (void**)&device));
  need(semcache_allocate_host("values", count * sizeof(double), device, (void**)&host));
  for (i = 0; i < count; ++i) host[i] = 1;
  need(semcache_access(device, count * sizeof(double), SEMCACHE_READ_WRITE));
  for (i = 0; i < count; ++i) device[i] = 2;  /* as a kernel of the emulated device does */
  before.size = after.size = sizeof before;
  need(semcache_statistics(&before));
  written_on_device();
  if (strcmp(way, "crash") == 0) crash();
  if (strcmp(way, "forked") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      in_child();
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  if (strcmp(way, "wait") == 0) {
    puts("waiting");
    fflush(stdout);
    while (!go_on) usleep(1000);
  }
  for (i = 0; i < count; ++i) sum += host[i];
  need(semcache_statistics(&after));
  printf("sum %g, to host %ld, faults %ld\n", sum, (long)(after.d2h.bytes - before.d2h.bytes), (long)(after.host_faults - before.host_faults));
  need(semcache_finalize());
  return 0;
}
