/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SPDX-FileCopyrightText: The SemCache contributors
 *
 * A library of three functions. The routines that a device has for them (device.h) want the operands in other forms. */
#ifndef MADE_UP_H
#define MADE_UP_H
#ifdef __cplusplus
extern "C" {
#endif

#pragma semcache library made_up
#pragma semcache include "device.h"

/* c = a b, all stored by rows; the device's product wants columns. */
#pragma semcache nothing if m <= 0 || n <= 0 || k <= 0
#pragma semcache inputs: a<m * k>, b<k * n>; outputs: c<m * n>; work 2 * m * n * k
#pragma semcache forward a<m * k>: rows_to_columns(m, k), b<k * n>: rows_to_columns(k, n), c<m * n>: rows_to_columns(m, n)
#pragma semcache reverse c: columns_to_rows(m, n)
#pragma semcache GPUMethod device_product
void row_product(int m, int n, int k, const double* a, const double* b, double* c);

/* Multiplies the values of a linked list. Entry i has its value at list[2 i] and the number of the next entry at list[2 i + 1]; entry 0 is the first.
 * The device wants the values side by side, in the order of the list. */
#pragma semcache nothing if n <= 0
#pragma semcache inputs: list<(2 * n)>; outputs: list; work n
#pragma semcache forward list<n>: gather(n); reverse list: scatter(n)
#pragma semcache GPUMethod device_scale; ParameterMatch <factor, n, list>
void list_scale(int n, double factor, double* list);

/* y = alpha x + y for complex numbers; the device wants all real parts in front of all imaginary ones. */
#pragma semcache nothing if n <= 0
#pragma semcache inputs: x<(2 * n)>, y<(2 * n)>; outputs: y; scalars: alpha<2>; work 8 * n
#pragma semcache forward x<(2 * n)>: split(n), y<(2 * n)>: split(n); reverse y: join(n)
#pragma semcache GPUMethod device_axpy
void complex_axpy(int n, const double* alpha, const double* x, double* y);

#ifdef __cplusplus
}
#endif
#endif
