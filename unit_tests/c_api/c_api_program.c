/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SPDX-FileCopyrightText: The SemCache contributors */
#include <semcache/semcache.h>
#include <semcache/semcache.h> /* twice: it must guard itself */

#include <stdio.h>
#include <string.h>

/* A program in C89 that uses every function as a user would. Returns the line of the first surprise, or 0. */
int c_api_program(void);

#define EXPECT(condition)                                                    \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, semcache_last_error()); \
      return __LINE__;                                                       \
    }                                                                        \
  } while (0)

int c_api_program(void) {
  enum { count = 4096 };
  const size_t bytes = count * sizeof(double);
  struct semcache_statistics_t before, after;
  void* device = NULL;
  void* mirror = NULL;
  void* copy = NULL;
  void* none = NULL;
  double* values;
  double plain[count];
  static double own[count];
  const int devices[2] = {1, 0};
  const int twice[2] = {1, 1};
  const int with_host[2] = {SEMCACHE_THE_HOST, 1};
  int i;

  before.size = sizeof before;
  after.size = sizeof after;
  EXPECT(semcache_device_count() == 0);
  EXPECT(semcache_use_devices(devices, 0) == SEMCACHE_ERROR_CONFIGURATION);
  EXPECT(semcache_use_devices(twice, 2) == SEMCACHE_ERROR_CONFIGURATION);
  EXPECT(strstr(semcache_last_error(), "device 1 appears twice") != NULL);
  EXPECT(semcache_use_devices(devices, 2) == SEMCACHE_SUCCESS);
  EXPECT(semcache_use_devices(with_host, 1) == SEMCACHE_ERROR_CONFIGURATION);
  EXPECT(strstr(semcache_last_error(), "the host alone") != NULL);
  EXPECT(semcache_use_devices(with_host, 2) == SEMCACHE_SUCCESS);
  EXPECT(semcache_use_devices(NULL, 1) == SEMCACHE_SUCCESS); /* the last call counts */
  EXPECT(semcache_statistics(&before) == SEMCACHE_SUCCESS);
  EXPECT(semcache_allocate_device("field", bytes, &device) == SEMCACHE_SUCCESS);
  EXPECT(semcache_allocate_host("field mirror", bytes, NULL, &mirror) == SEMCACHE_SUCCESS);
  EXPECT(semcache_allocate_host(NULL, bytes, NULL, &copy) == SEMCACHE_SUCCESS);
  EXPECT(device != NULL && mirror != NULL && copy != NULL);
  EXPECT(semcache_device_count() == 1);
  EXPECT(semcache_use_devices(devices, 2) == SEMCACHE_ERROR_USAGE);
  EXPECT(strstr(semcache_last_error(), "emulated device 0") != NULL);
  EXPECT(semcache_is_tracked(device) == 1);
  EXPECT(semcache_is_tracked((char*)mirror + bytes - 1) == 1);
  EXPECT(semcache_is_tracked(plain) == 0);
  EXPECT(semcache_allocate_host("absurd", (size_t)-1, NULL, &none) == SEMCACHE_ERROR_OUT_OF_MEMORY);
  EXPECT(none == NULL && strstr(semcache_last_error(), "absurd") != NULL);
  EXPECT(semcache_allocate_host("absurd", (size_t)-4096, NULL, &none) == SEMCACHE_ERROR_OUT_OF_MEMORY);
  EXPECT(none == NULL && strstr(semcache_last_error(), "absurd") != NULL);

  EXPECT(semcache_access(mirror, bytes, SEMCACHE_OVERWRITE) == SEMCACHE_SUCCESS);
  values = (double*)mirror;
  for (i = 0; i < count; ++i) values[i] = i;

  /* Three copies of one content: to the device, back into another array, and into ordinary memory. */
  EXPECT(semcache_copy(device, mirror, bytes) == SEMCACHE_SUCCESS);
  EXPECT(semcache_copy(copy, device, bytes) == SEMCACHE_SUCCESS);
  EXPECT(semcache_access(mirror, bytes, SEMCACHE_WRITE) == SEMCACHE_SUCCESS);
  values[7] = -1.0;
  EXPECT(semcache_settle(copy, bytes) == SEMCACHE_SUCCESS);
  EXPECT(((double*)copy)[7] == 7.0);
  EXPECT(((double*)copy)[count - 1] == count - 1);
  EXPECT(semcache_settle_all() == SEMCACHE_SUCCESS);
  memset(plain, 0, sizeof plain);
  EXPECT(semcache_copy(plain, device, bytes) == SEMCACHE_SUCCESS);
  EXPECT(plain[7] == 7.0 && plain[8] == 8.0);

  EXPECT(semcache_statistics(&after) == SEMCACHE_SUCCESS);
  EXPECT(after.size == sizeof after);
  EXPECT(after.live_device_bytes == before.live_device_bytes + bytes);
  EXPECT(after.live_host_bytes == before.live_host_bytes + 2 * bytes);
  EXPECT(after.h2d.bytes - before.h2d.bytes <= bytes);
  EXPECT(after.d2h.bytes - before.d2h.bytes <= bytes);

  /* A part of a matrix: every tenth element goes to every other place. */
  EXPECT(semcache_copy_2d(plain, 2 * sizeof(double), device, 10 * sizeof(double), sizeof(double), 3) == SEMCACHE_SUCCESS);
  EXPECT(plain[0] == 0.0 && plain[2] == 10.0 && plain[4] == 20.0 && plain[3] == 3.0);
  EXPECT(semcache_access_2d(copy, 16 * sizeof(double), sizeof(double), count / 16, SEMCACHE_READ) == SEMCACHE_SUCCESS);
  EXPECT(semcache_access_2d(copy, 16 * sizeof(double), sizeof(double), count, SEMCACHE_READ) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_access_2d(copy, 4, 8, 2, SEMCACHE_READ) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_prefetch(copy, count * sizeof(double)) == SEMCACHE_SUCCESS);
  EXPECT(semcache_prefetch(copy, 0) == SEMCACHE_SUCCESS);
  EXPECT(semcache_prefetch(copy, (count + 1) * sizeof(double)) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_copy_2d(plain, 8, device, 4, 8, 3) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_copy_2d(NULL, 8, device, 8, 8, 3) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_copy_2d(NULL, 8, NULL, 8, 0, 3) == SEMCACHE_SUCCESS);

  /* Memory of the program's own becomes an array. */
  EXPECT(semcache_adopt(own, sizeof own, "own") == SEMCACHE_SUCCESS);
  EXPECT(semcache_adopt(own + 5, 8, "within") == SEMCACHE_ERROR_USAGE);
  EXPECT(strstr(semcache_last_error(), "overlaps 'own'") != NULL);
  for (i = 0; i < count; ++i) own[i] = 3.0 * i;
  EXPECT(semcache_copy(device, own, bytes) == SEMCACHE_SUCCESS);
  own[100] = -1.0;
  EXPECT(semcache_copy(copy, device, bytes) == SEMCACHE_SUCCESS);
  EXPECT(((double*)copy)[100] == 300.0 && ((double*)copy)[count - 1] == 3.0 * (count - 1));
  EXPECT(semcache_copy(own, mirror, bytes) == SEMCACHE_SUCCESS);
  EXPECT(semcache_release(own) == SEMCACHE_SUCCESS);
  EXPECT(own[100] == 100.0 && own[count - 1] == count - 1);
  EXPECT(semcache_release(own) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_is_tracked(own) == 0);
  own[7] = 7.0;
  EXPECT(semcache_copy(copy, own, bytes) == SEMCACHE_SUCCESS);

  /* What goes wrong is a status and a text, and changes nothing. */
  EXPECT(semcache_access(plain, sizeof plain, SEMCACHE_READ) == SEMCACHE_ERROR_USAGE);
  EXPECT(strlen(semcache_last_error()) > 0);
  EXPECT(semcache_access((char*)mirror + 8, bytes, SEMCACHE_READ) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_access((char*)mirror + 8, (size_t)-4, SEMCACHE_READ) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_copy((char*)mirror + 8, (char*)mirror + 16, (size_t)-4) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_access(mirror, bytes, 99) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_access(plain, 0, SEMCACHE_READ) == SEMCACHE_SUCCESS);
  EXPECT(semcache_copy(NULL, device, 8) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_copy(NULL, NULL, 0) == SEMCACHE_SUCCESS);
  EXPECT(semcache_allocate_device("x", 8, NULL) == SEMCACHE_ERROR_USAGE);
  EXPECT(semcache_allocate_on_device("x", 8, 0, &device) == SEMCACHE_SUCCESS);
  semcache_deallocate(device);
  EXPECT(semcache_allocate_on_device("x", 8, 1, &device) == SEMCACHE_ERROR_USAGE);
  EXPECT(strstr(semcache_last_error(), "uses 1 device") != NULL);
  EXPECT(semcache_allocate_on_device("x", 8, -1, &device) == SEMCACHE_ERROR_USAGE);
  EXPECT(((double*)copy)[7] == 7.0);

  semcache_deallocate(NULL);
  semcache_deallocate(copy);
  semcache_deallocate(mirror);
  semcache_deallocate(device);
  EXPECT(semcache_is_tracked(device) == 0);
  EXPECT(semcache_finalize() == SEMCACHE_SUCCESS);
  EXPECT(semcache_finalize() == SEMCACHE_SUCCESS);
  EXPECT(semcache_device_count() == 0);
  return 0;
}
