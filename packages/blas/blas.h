/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SPDX-FileCopyrightText: The SemCache contributors
 *
 * The routines of BLAS, and what each does with its parameters. semcache-gen writes src/generated from it (docs/reference/semcache-gen.md).
 * Each is declared in the precision that begins its list, once as Fortran has it and once as C has it. */
#ifndef SEMCACHE_BLAS_H
#define SEMCACHE_BLAS_H
#include <stddef.h>

typedef int blas_int;
typedef double scalar;
typedef double real;
typedef double value; /* C hands over real coefficients by value, and complex ones by address */
typedef enum { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_ORDER;
typedef enum { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 } CBLAS_TRANSPOSE;
typedef enum { CblasUpper = 121, CblasLower = 122 } CBLAS_UPLO;
typedef enum { CblasNonUnit = 131, CblasUnit = 132 } CBLAS_DIAG;
typedef enum { CblasLeft = 141, CblasRight = 142 } CBLAS_SIDE;

#pragma semcache library BLAS
#pragma semcache integer blas_int
#pragma semcache type scalar: s float, d double, c float _Complex, z double _Complex
#pragma semcache type real: s float, d double, c float, z double
#pragma semcache type value of scalar: s float, d double, c const void*, z const void*
#pragma semcache names cblas_*: int32_t cblas_* scipy_cblas_*, int64_t cblas_*64_ scipy_cblas_*64_
#pragma semcache names *_: int32_t *_ scipy_*_, int64_t *_64_ scipy_*_64_
#pragma semcache fortran *_
#pragma semcache letters CBLAS_TRANSPOSE: CblasNoTrans 'N', CblasTrans 'T', CblasConjTrans 'C'
#pragma semcache letters CBLAS_UPLO: CblasUpper 'U', CblasLower 'L'
#pragma semcache letters CBLAS_DIAG: CblasNonUnit 'N', CblasUnit 'U'
#pragma semcache letters CBLAS_SIDE: CblasLeft 'L', CblasRight 'R'


/* ---- Level 1: vectors ---- */
#pragma semcache file level1

#pragma semcache precisions s d c z
#pragma semcache nothing if n <= 0 || alpha == 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; outputs: y; work 2 * n
#pragma semcache GPUMethod cublas*_v2
void daxpy_(const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, scalar* y, const blas_int* incy);
#pragma semcache alike daxpy_
void cblas_daxpy(blas_int n, value alpha, const scalar* x, blas_int incx, scalar* y, blas_int incy);

#pragma semcache precisions s d c z
#pragma semcache nothing if n <= 0 || incx <= 0
#pragma semcache inputs: x<n> increment incx; outputs: x; scalars: alpha; work n
#pragma semcache GPUMethod cublas*_v2
void dscal_(const blas_int* n, const scalar* alpha, scalar* x, const blas_int* incx);
#pragma semcache alike dscal_
void cblas_dscal(blas_int n, value alpha, scalar* x, blas_int incx);

#pragma semcache precisions c=csscal z=zdscal
#pragma semcache nothing if n <= 0 || incx <= 0
#pragma semcache inputs: x<n> increment incx; outputs: x; scalars: alpha; work n
#pragma semcache GPUMethod cublas*_v2
void zdscal_(const blas_int* n, const real* alpha, scalar* x, const blas_int* incx);
#pragma semcache alike zdscal_
void cblas_zdscal(blas_int n, real alpha, scalar* x, blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx; outputs: y<n> increment incy; work n
#pragma semcache GPUMethod cublas*_v2
void dcopy_(const blas_int* n, const scalar* x, const blas_int* incx, scalar* y, const blas_int* incy);
#pragma semcache alike dcopy_
void cblas_dcopy(blas_int n, const scalar* x, blas_int incx, scalar* y, blas_int incy);

#pragma semcache precisions s d c z
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; outputs: x, y; work n
#pragma semcache GPUMethod cublas*_v2
void dswap_(const blas_int* n, scalar* x, const blas_int* incx, scalar* y, const blas_int* incy);
#pragma semcache alike dswap_
void cblas_dswap(blas_int n, scalar* x, blas_int incx, scalar* y, blas_int incy);

#pragma semcache precisions s d
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; work 2 * n
#pragma semcache GPUMethod cublas*_v2
scalar ddot_(const blas_int* n, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy);
#pragma semcache alike ddot_
scalar cblas_ddot(blas_int n, const scalar* x, blas_int incx, const scalar* y, blas_int incy);

#pragma semcache precisions c z
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; work 2 * n
#pragma semcache GPUMethod cublas*_v2
scalar zdotu_(const blas_int* n, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy);
#pragma semcache alike zdotu_
#pragma semcache result dotu
void cblas_zdotu_sub(blas_int n, const scalar* x, blas_int incx, const scalar* y, blas_int incy, scalar* dotu);

#pragma semcache precisions c z
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; work 2 * n
#pragma semcache GPUMethod cublas*_v2
scalar zdotc_(const blas_int* n, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy);
#pragma semcache alike zdotc_
#pragma semcache result dotc
void cblas_zdotc_sub(blas_int n, const scalar* x, blas_int incx, const scalar* y, blas_int incy, scalar* dotc);

#pragma semcache precisions s=snrm2 d=dnrm2 c=scnrm2 z=dznrm2
#pragma semcache nothing if n <= 0 || incx <= 0
#pragma semcache inputs: x<n> increment incx; work 2 * n
#pragma semcache GPUMethod cublas*_v2
real dnrm2_(const blas_int* n, const scalar* x, const blas_int* incx);
#pragma semcache alike dnrm2_
real cblas_dnrm2(blas_int n, const scalar* x, blas_int incx);

#pragma semcache precisions s=sasum d=dasum c=scasum z=dzasum
#pragma semcache nothing if n <= 0 || incx <= 0
#pragma semcache inputs: x<n> increment incx; work 2 * n
#pragma semcache GPUMethod cublas*_v2
real dasum_(const blas_int* n, const scalar* x, const blas_int* incx);
#pragma semcache alike dasum_
real cblas_dasum(blas_int n, const scalar* x, blas_int incx);

#pragma semcache precisions s=isamax d=idamax c=icamax z=izamax
#pragma semcache nothing if n <= 0 || incx <= 0
#pragma semcache inputs: x<n> increment incx; work 2 * n
#pragma semcache returns int: result
#pragma semcache GPUMethod cublas*_v2
blas_int idamax_(const blas_int* n, const scalar* x, const blas_int* incx);
#pragma semcache alike idamax_
#pragma semcache returns int: result - 1
size_t cblas_idamax(blas_int n, const scalar* x, blas_int incx);

#pragma semcache precisions s=srot d=drot c=csrot z=zdrot
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; outputs: x, y; scalars: c, s; work 6 * n
#pragma semcache GPUMethod cublas*_v2
void drot_(const blas_int* n, scalar* x, const blas_int* incx, scalar* y, const blas_int* incy, const real* c, const real* s);
#pragma semcache alike drot_
void cblas_drot(blas_int n, scalar* x, blas_int incx, scalar* y, blas_int incy, real c, real s);

#pragma semcache precisions s d
#pragma semcache nothing if n <= 0
#pragma semcache pass_through if incx == 0 || incy == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy; outputs: x, y; scalars: param<5>; work 6 * n
#pragma semcache GPUMethod cublas*_v2
void drotm_(const blas_int* n, scalar* x, const blas_int* incx, scalar* y, const blas_int* incy, const scalar* param);
#pragma semcache alike drotm_
void cblas_drotm(blas_int n, scalar* x, blas_int incx, scalar* y, blas_int incy, const scalar* param);

/* A few numbers, or sums in another precision, which cuBLAS does not have. */
#pragma semcache precisions s d c z; pass_through
void drotg_(scalar* a, scalar* b, real* c, scalar* s);
#pragma semcache alike drotg_
void cblas_drotg(scalar* a, scalar* b, real* c, scalar* s);
#pragma semcache precisions s d; pass_through
void drotmg_(scalar* d1, scalar* d2, scalar* x1, const scalar* y1, scalar* param);
#pragma semcache alike drotmg_
void cblas_drotmg(scalar* d1, scalar* d2, scalar* x1, scalar y1, scalar* param);
#pragma semcache precisions c=scabs1 z=dcabs1; pass_through
real dcabs1_(const scalar* z);
#pragma semcache alike dcabs1_
real cblas_dcabs1(const scalar* z);
#pragma semcache pass_through
float sdsdot_(const blas_int* n, const float* alpha, const float* x, const blas_int* incx, const float* y, const blas_int* incy);
#pragma semcache alike sdsdot_
float cblas_sdsdot(blas_int n, float alpha, const float* x, blas_int incx, const float* y, blas_int incy);
#pragma semcache pass_through
double dsdot_(const blas_int* n, const float* x, const blas_int* incx, const float* y, const blas_int* incy);
#pragma semcache alike dsdot_
double cblas_dsdot(blas_int n, const float* x, blas_int incx, const float* y, blas_int incy);

/* ---- Level 2: a matrix and vectors ---- */
#pragma semcache file level2

#pragma semcache precisions s d c z
#pragma semcache requires trans in "NTC", m >= 0, n >= 0, incx != 0, incy != 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let nx = trans == 'N' ? n : m; let ny = trans == 'N' ? m : n
#pragma semcache inputs: a<m * n> leading lda, x<nx> increment incx, y<ny> increment incy unless beta == 0; outputs: y; work 2 * m * n
#pragma semcache GPUMethod cublas*_v2
void dgemv_(const char* trans, const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* a, const blas_int* lda, const scalar* x,
            const blas_int* incx, const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike dgemv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', swap m n
void cblas_dgemv(CBLAS_ORDER order, CBLAS_TRANSPOSE trans, blas_int m, blas_int n, value alpha, const scalar* a, blas_int lda, const scalar* x,
                 blas_int incx, value beta, scalar* y, blas_int incy);

#pragma semcache precisions s d c z
#pragma semcache requires trans in "NTC", m >= 0, n >= 0, kl >= 0, ku >= 0, incx != 0, incy != 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let nx = trans == 'N' ? n : m; let ny = trans == 'N' ? m : n
#pragma semcache inputs: a<m * n> band kl ku leading lda, x<nx> increment incx, y<ny> increment incy unless beta == 0; outputs: y
#pragma semcache work 2 * n * (kl + ku + 1)
#pragma semcache GPUMethod cublas*_v2
void dgbmv_(const char* trans, const blas_int* m, const blas_int* n, const blas_int* kl, const blas_int* ku, const scalar* alpha, const scalar* a,
            const blas_int* lda, const scalar* x, const blas_int* incx, const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike dgbmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', swap m n, swap kl ku
void cblas_dgbmv(CBLAS_ORDER order, CBLAS_TRANSPOSE trans, blas_int m, blas_int n, blas_int kl, blas_int ku, value alpha, const scalar* a,
                 blas_int lda, const scalar* x, blas_int incx, value beta, scalar* y, blas_int incy);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: a<n * n> leading lda triangle uplo, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void dsymv_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* a, const blas_int* lda, const scalar* x, const blas_int* incx,
            const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike dsymv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dsymv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* a, blas_int lda, const scalar* x, blas_int incx,
                 value beta, scalar* y, blas_int incy);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: a<n * n> leading lda triangle uplo, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void zhemv_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* a, const blas_int* lda, const scalar* x, const blas_int* incx,
            const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike zhemv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zhemv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* a, blas_int lda, const scalar* x, blas_int incx,
                 value beta, scalar* y, blas_int incy);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, k >= 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: a<n * n> band k 0 leading lda, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 4 * n * (k + 1)
#pragma semcache GPUMethod cublas*_v2
void dsbmv_(const char* uplo, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a, const blas_int* lda, const scalar* x,
            const blas_int* incx, const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike dsbmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dsbmv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, blas_int k, value alpha, const scalar* a, blas_int lda, const scalar* x,
                 blas_int incx, value beta, scalar* y, blas_int incy);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, k >= 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: a<n * n> band k 0 leading lda, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 4 * n * (k + 1)
#pragma semcache GPUMethod cublas*_v2
void zhbmv_(const char* uplo, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a, const blas_int* lda, const scalar* x,
            const blas_int* incx, const scalar* beta, scalar* y, const blas_int* incy);
#pragma semcache alike zhbmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zhbmv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, blas_int k, value alpha, const scalar* a, blas_int lda, const scalar* x,
                 blas_int incx, value beta, scalar* y, blas_int incy);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: ap<n * n> packed, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void dspmv_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* ap, const scalar* x, const blas_int* incx, const scalar* beta,
            scalar* y, const blas_int* incy);
#pragma semcache alike dspmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dspmv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* ap, const scalar* x, blas_int incx, value beta, scalar* y,
                 blas_int incy);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: ap<n * n> packed, x<n> increment incx, y<n> increment incy unless beta == 0; outputs: y; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void zhpmv_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* ap, const scalar* x, const blas_int* incx, const scalar* beta,
            scalar* y, const blas_int* incy);
#pragma semcache alike zhpmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zhpmv(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* ap, const scalar* x, blas_int incx, value beta, scalar* y,
                 blas_int incy);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: a<n * n> leading lda triangle uplo, x<n> increment incx; outputs: x; work n * n
#pragma semcache GPUMethod cublas*_v2
void dtrmv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const scalar* a, const blas_int* lda, scalar* x,
            const blas_int* incx);
#pragma semcache alike dtrmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtrmv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, const scalar* a, blas_int lda, scalar* x,
                 blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0, k >= 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: a<n * n> band k 0 leading lda, x<n> increment incx; outputs: x; work 2 * n * (k + 1)
#pragma semcache GPUMethod cublas*_v2
void dtbmv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const blas_int* k, const scalar* a, const blas_int* lda,
            scalar* x, const blas_int* incx);
#pragma semcache alike dtbmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtbmv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, blas_int k, const scalar* a, blas_int lda,
                 scalar* x, blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: ap<n * n> packed, x<n> increment incx; outputs: x; work n * n
#pragma semcache GPUMethod cublas*_v2
void dtpmv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const scalar* ap, scalar* x, const blas_int* incx);
#pragma semcache alike dtpmv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtpmv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, const scalar* ap, scalar* x, blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: a<n * n> leading lda triangle uplo, x<n> increment incx; outputs: x; work n * n
#pragma semcache GPUMethod cublas*_v2
void dtrsv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const scalar* a, const blas_int* lda, scalar* x,
            const blas_int* incx);
#pragma semcache alike dtrsv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtrsv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, const scalar* a, blas_int lda, scalar* x,
                 blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0, k >= 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: a<n * n> band k 0 leading lda, x<n> increment incx; outputs: x; work 2 * n * (k + 1)
#pragma semcache GPUMethod cublas*_v2
void dtbsv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const blas_int* k, const scalar* a, const blas_int* lda,
            scalar* x, const blas_int* incx);
#pragma semcache alike dtbsv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtbsv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, blas_int k, const scalar* a, blas_int lda,
                 scalar* x, blas_int incx);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", trans in "NTC", diag in "NU", n >= 0, incx != 0
#pragma semcache nothing if n == 0
#pragma semcache inputs: ap<n * n> packed, x<n> increment incx; outputs: x; work n * n
#pragma semcache GPUMethod cublas*_v2
void dtpsv_(const char* uplo, const char* trans, const char* diag, const blas_int* n, const scalar* ap, scalar* x, const blas_int* incx);
#pragma semcache alike dtpsv_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor && trans == 'C' && complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip trans 'N' 'T', flip uplo 'U' 'L'
void cblas_dtpsv(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, blas_int n, const scalar* ap, scalar* x, blas_int incx);

#pragma semcache precisions s d
#pragma semcache requires m >= 0, n >= 0, incx != 0, incy != 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache inputs: x<m> increment incx, y<n> increment incy, a<m * n> leading lda; outputs: a; work 2 * m * n
#pragma semcache GPUMethod cublas*_v2
void dger_(const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
           scalar* a, const blas_int* lda);
#pragma semcache alike dger_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: swap m n, swap x y, swap incx incy
void cblas_dger(CBLAS_ORDER order, blas_int m, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy, scalar* a,
                blas_int lda);

#pragma semcache precisions c z
#pragma semcache requires m >= 0, n >= 0, incx != 0, incy != 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache inputs: x<m> increment incx, y<n> increment incy, a<m * n> leading lda; outputs: a; work 2 * m * n
#pragma semcache GPUMethod cublas*_v2
void zgeru_(const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* a, const blas_int* lda);
#pragma semcache alike zgeru_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: swap m n, swap x y, swap incx incy
void cblas_zgeru(CBLAS_ORDER order, blas_int m, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy, scalar* a,
                 blas_int lda);

#pragma semcache precisions c z
#pragma semcache requires m >= 0, n >= 0, incx != 0, incy != 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache inputs: x<m> increment incx, y<n> increment incy, a<m * n> leading lda; outputs: a; work 2 * m * n
#pragma semcache GPUMethod cublas*_v2
void zgerc_(const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* a, const blas_int* lda);
#pragma semcache alike zgerc_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
#pragma semcache where order == CblasRowMajor: swap m n, swap x y, swap incx incy
void cblas_zgerc(CBLAS_ORDER order, blas_int m, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy, scalar* a,
                 blas_int lda);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, a<n * n> leading lda triangle uplo; outputs: a; work n * n
#pragma semcache GPUMethod cublas*_v2
void dsyr_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, scalar* a, const blas_int* lda);
#pragma semcache alike dsyr_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dsyr(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, scalar* a, blas_int lda);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, a<n * n> leading lda triangle uplo; outputs: a; work n * n
#pragma semcache GPUMethod cublas*_v2
void zher_(const char* uplo, const blas_int* n, const real* alpha, const scalar* x, const blas_int* incx, scalar* a, const blas_int* lda);
#pragma semcache alike zher_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zher(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, real alpha, const scalar* x, blas_int incx, scalar* a, blas_int lda);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, ap<n * n> packed; outputs: ap; work n * n
#pragma semcache GPUMethod cublas*_v2
void dspr_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, scalar* ap);
#pragma semcache alike dspr_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dspr(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, scalar* ap);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, ap<n * n> packed; outputs: ap; work n * n
#pragma semcache GPUMethod cublas*_v2
void zhpr_(const char* uplo, const blas_int* n, const real* alpha, const scalar* x, const blas_int* incx, scalar* ap);
#pragma semcache alike zhpr_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zhpr(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, real alpha, const scalar* x, blas_int incx, scalar* ap);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy, a<n * n> leading lda triangle uplo; outputs: a; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void dsyr2_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* a, const blas_int* lda);
#pragma semcache alike dsyr2_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dsyr2(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy,
                 scalar* a, blas_int lda);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy, a<n * n> leading lda triangle uplo; outputs: a; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void zher2_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* a, const blas_int* lda);
#pragma semcache alike zher2_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zher2(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy,
                 scalar* a, blas_int lda);

#pragma semcache precisions s d
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy, ap<n * n> packed; outputs: ap; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void dspr2_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* ap);
#pragma semcache alike dspr2_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L'
void cblas_dspr2(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy,
                 scalar* ap);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", n >= 0, incx != 0, incy != 0
#pragma semcache nothing if n == 0 || alpha == 0
#pragma semcache inputs: x<n> increment incx, y<n> increment incy, ap<n * n> packed; outputs: ap; work 2 * n * n
#pragma semcache GPUMethod cublas*_v2
void zhpr2_(const char* uplo, const blas_int* n, const scalar* alpha, const scalar* x, const blas_int* incx, const scalar* y, const blas_int* incy,
            scalar* ap);
#pragma semcache alike zhpr2_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache pass_through if order == CblasRowMajor
void cblas_zhpr2(CBLAS_ORDER order, CBLAS_UPLO uplo, blas_int n, value alpha, const scalar* x, blas_int incx, const scalar* y, blas_int incy,
                 scalar* ap);

/* ---- Level 3: matrices ---- */
#pragma semcache file level3

#pragma semcache precisions s d c z
#pragma semcache requires transa in "NTC", transb in "NTC", m >= 0, n >= 0, k >= 0
#pragma semcache nothing if m == 0 || n == 0 || ((alpha == 0 || k == 0) && beta == 1)
#pragma semcache inputs: a<m * k> transposed if transa != 'N' leading lda unless alpha == 0 || k == 0, \
                         b<k * n> transposed if transb != 'N' leading ldb unless alpha == 0 || k == 0, c<m * n> leading ldc unless beta == 0
#pragma semcache outputs: c; work 2 * m * n * max(k, 1)
#pragma semcache GPUMethod cublas*_v2; ParameterMatch <transa, transb, m, n, (alpha == 0 ? 0 : k), alpha, a, lda, b, ldb, beta, c, ldc>
#pragma semcache pieces: rows m, columns n, terms k of beta
void dgemm_(const char* transa, const char* transb, const blas_int* m, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a,
            const blas_int* lda, const scalar* b, const blas_int* ldb, const scalar* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike dgemm_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: swap transa transb, swap m n, swap a b, swap lda ldb
void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, blas_int m, blas_int n, blas_int k, value alpha, const scalar* a,
                 blas_int lda, const scalar* b, blas_int ldb, value beta, scalar* c, blas_int ldc);

#pragma semcache precisions s d c z
#pragma semcache requires side in "LR", uplo in "UL", m >= 0, n >= 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let ka = side == 'L' ? m : n
#pragma semcache inputs: a<ka * ka> leading lda triangle uplo, b<m * n> leading ldb, c<m * n> leading ldc unless beta == 0
#pragma semcache outputs: c; work 2 * m * n * ka
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: columns n if side == 'L', rows m if side == 'R'
void dsymm_(const char* side, const char* uplo, const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* a, const blas_int* lda,
            const scalar* b, const blas_int* ldb, const scalar* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike dsymm_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip side 'L' 'R', flip uplo 'U' 'L', swap m n
void cblas_dsymm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO uplo, blas_int m, blas_int n, value alpha, const scalar* a, blas_int lda,
                 const scalar* b, blas_int ldb, value beta, scalar* c, blas_int ldc);

#pragma semcache precisions c z
#pragma semcache requires side in "LR", uplo in "UL", m >= 0, n >= 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let ka = side == 'L' ? m : n
#pragma semcache inputs: a<ka * ka> leading lda triangle uplo, b<m * n> leading ldb, c<m * n> leading ldc unless beta == 0
#pragma semcache outputs: c; work 2 * m * n * ka
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: columns n if side == 'L', rows m if side == 'R'
void zhemm_(const char* side, const char* uplo, const blas_int* m, const blas_int* n, const scalar* alpha, const scalar* a, const blas_int* lda,
            const scalar* b, const blas_int* ldb, const scalar* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike zhemm_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip side 'L' 'R', flip uplo 'U' 'L', swap m n
void cblas_zhemm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO uplo, blas_int m, blas_int n, value alpha, const scalar* a, blas_int lda,
                 const scalar* b, blas_int ldb, value beta, scalar* c, blas_int ldc);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", (trans in "NT" || (trans == 'C' && !complex)), n >= 0, k >= 0
#pragma semcache nothing if n == 0 || k == 0 || alpha == 0
#pragma semcache inputs: a<n * k> transposed if trans != 'N' leading lda, c<n * n> leading ldc triangle uplo unless beta == 0
#pragma semcache outputs: c; work n * n * k
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: terms k of beta
void dsyrk_(const char* uplo, const char* trans, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a, const blas_int* lda,
            const scalar* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike dsyrk_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache requires trans in "NT" || !complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L', flip trans 'N' 'T'
void cblas_dsyrk(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, blas_int n, blas_int k, value alpha, const scalar* a, blas_int lda,
                 value beta, scalar* c, blas_int ldc);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", trans in "NC", n >= 0, k >= 0
#pragma semcache nothing if n == 0 || k == 0 || alpha == 0
#pragma semcache inputs: a<n * k> transposed if trans != 'N' leading lda, c<n * n> leading ldc triangle uplo unless beta == 0
#pragma semcache outputs: c; work n * n * k
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: terms k of beta
void zherk_(const char* uplo, const char* trans, const blas_int* n, const blas_int* k, const real* alpha, const scalar* a, const blas_int* lda,
            const real* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike zherk_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L', flip trans 'N' 'C'
void cblas_zherk(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, blas_int n, blas_int k, real alpha, const scalar* a, blas_int lda,
                 real beta, scalar* c, blas_int ldc);

#pragma semcache precisions s d c z
#pragma semcache requires uplo in "UL", (trans in "NT" || (trans == 'C' && !complex)), n >= 0, k >= 0
#pragma semcache nothing if n == 0 || k == 0 || alpha == 0
#pragma semcache inputs: a<n * k> transposed if trans != 'N' leading lda, b<n * k> transposed if trans != 'N' leading ldb, \
                         c<n * n> leading ldc triangle uplo unless beta == 0
#pragma semcache outputs: c; work 2 * n * n * k
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: terms k of beta
void dsyr2k_(const char* uplo, const char* trans, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a, const blas_int* lda,
             const scalar* b, const blas_int* ldb, const scalar* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike dsyr2k_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache requires trans in "NT" || !complex
#pragma semcache where order == CblasRowMajor && trans == 'C': flip trans 'C' 'T'
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L', flip trans 'N' 'T'
void cblas_dsyr2k(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, blas_int n, blas_int k, value alpha, const scalar* a, blas_int lda,
                  const scalar* b, blas_int ldb, value beta, scalar* c, blas_int ldc);

#pragma semcache precisions c z
#pragma semcache requires uplo in "UL", trans in "NC", n >= 0, k >= 0
#pragma semcache nothing if n == 0 || k == 0 || alpha == 0
#pragma semcache inputs: a<n * k> transposed if trans != 'N' leading lda, b<n * k> transposed if trans != 'N' leading ldb, \
                         c<n * n> leading ldc triangle uplo unless beta == 0
#pragma semcache outputs: c; work 2 * n * n * k
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: terms k of beta
void zher2k_(const char* uplo, const char* trans, const blas_int* n, const blas_int* k, const scalar* alpha, const scalar* a, const blas_int* lda,
             const scalar* b, const blas_int* ldb, const real* beta, scalar* c, const blas_int* ldc);
#pragma semcache alike zher2k_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip uplo 'U' 'L', flip trans 'N' 'C', conjugate alpha
void cblas_zher2k(CBLAS_ORDER order, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, blas_int n, blas_int k, value alpha, const scalar* a, blas_int lda,
                  const scalar* b, blas_int ldb, real beta, scalar* c, blas_int ldc);

#pragma semcache precisions s d c z
#pragma semcache requires side in "LR", uplo in "UL", transa in "NTC", diag in "NU", m >= 0, n >= 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let ka = side == 'L' ? m : n
#pragma semcache inputs: a<ka * ka> leading lda triangle uplo, b<m * n> leading ldb; outputs: b; work m * n * ka
#pragma semcache GPUMethod cublas*_v2; ParameterMatch <side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, b, ldb>
#pragma semcache pieces: columns n if side == 'L', rows m if side == 'R'
void dtrmm_(const char* side, const char* uplo, const char* transa, const char* diag, const blas_int* m, const blas_int* n, const scalar* alpha,
            const scalar* a, const blas_int* lda, scalar* b, const blas_int* ldb);
#pragma semcache alike dtrmm_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip side 'L' 'R', flip uplo 'U' 'L', swap m n
void cblas_dtrmm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE transa, CBLAS_DIAG diag, blas_int m, blas_int n, value alpha,
                 const scalar* a, blas_int lda, scalar* b, blas_int ldb);

#pragma semcache precisions s d c z
#pragma semcache requires side in "LR", uplo in "UL", transa in "NTC", diag in "NU", m >= 0, n >= 0
#pragma semcache nothing if m == 0 || n == 0 || alpha == 0
#pragma semcache let ka = side == 'L' ? m : n
#pragma semcache inputs: a<ka * ka> leading lda triangle uplo, b<m * n> leading ldb; outputs: b; work m * n * ka
#pragma semcache GPUMethod cublas*_v2
#pragma semcache pieces: columns n if side == 'L', rows m if side == 'R'
void dtrsm_(const char* side, const char* uplo, const char* transa, const char* diag, const blas_int* m, const blas_int* n, const scalar* alpha,
            const scalar* a, const blas_int* lda, scalar* b, const blas_int* ldb);
#pragma semcache alike dtrsm_
#pragma semcache requires order == CblasRowMajor || order == CblasColMajor
#pragma semcache where order == CblasRowMajor: flip side 'L' 'R', flip uplo 'U' 'L', swap m n
void cblas_dtrsm(CBLAS_ORDER order, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE transa, CBLAS_DIAG diag, blas_int m, blas_int n, value alpha,
                 const scalar* a, blas_int lda, scalar* b, blas_int ldb);

#endif
