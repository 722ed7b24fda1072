/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SPDX-FileCopyrightText: The SemCache contributors
 *
 * What a device has for the library. A stream of a GPU comes first; on an emulated device it is null, and the addresses are the host's. */
#ifndef MADE_UP_DEVICE_H
#define MADE_UP_DEVICE_H
#ifdef __cplusplus
extern "C" {
#endif

void device_product(void* stream, int m, int n, int k, const double* a, const double* b, double* c);
void device_scale(void* stream, double factor, int n, double* values);
void device_axpy(void* stream, int n, const double* alpha, const double* x, double* y);

/* Transformations: from the first address to the second one. */
void rows_to_columns(void* stream, const double* value, double* form, int rows, int columns);
void columns_to_rows(void* stream, const double* form, double* value, int rows, int columns);
void gather(void* stream, const double* value, double* form, int n);
void scatter(void* stream, const double* form, double* value, int n); /* leaves the numbers of the next entries as they are */
void split(void* stream, const double* value, double* form, int n);
void join(void* stream, const double* form, double* value, int n);

#ifdef __cplusplus
}
#endif
#endif
