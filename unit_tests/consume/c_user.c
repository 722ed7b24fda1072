/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPDX-FileCopyrightText: The SemCache contributors */
#include <semcache/semcache.h>

#include <stdio.h>
#include <string.h>

static int check(semcache_status status, const char* call) {
  if (status == SEMCACHE_SUCCESS) return 0;
  fprintf(stderr, "%s: %s: %s\n", call, semcache_status_name(status), semcache_last_error());
  return 1;
}

/* Sends a text to the device and back, through the installed library. */
int main(void) {
  const char sent[] = "there and back again";
  char received[sizeof sent] = "";
  void* device = NULL;
  int failures = check(semcache_allocate_device("consumer", sizeof sent, &device), "allocate");
  failures += check(semcache_copy(device, sent, sizeof sent), "copy to the device");
  failures += check(semcache_copy(received, device, sizeof sent), "copy from the device");
  if (strcmp(sent, received) != 0) failures += check(SEMCACHE_ERROR_INTERNAL, "another text came back");
  if (semcache_copy(device, sent, 2 * sizeof sent) != SEMCACHE_ERROR_USAGE || semcache_last_error()[0] == '\0') {
    failures += check(SEMCACHE_ERROR_INTERNAL, "a copy beyond the array's end was not refused");
  }
  semcache_deallocate(device);
  return failures + check(semcache_finalize(), "finalize");
}
