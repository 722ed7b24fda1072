# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
#
# What R does with matrices: products, updates of parts, LAPACK on BLAS, the collector, files, children by fork.
tell <- function(what, m) {
  file <- tempfile()
  writeBin(if (is.complex(m)) c(Re(m), Im(m)) else as.double(m), file)
  cat(what, unname(tools::md5sum(file)), format(sum(abs(m)), digits = 17), "\n")
  unlink(file)
}

n <- 400
a <- matrix(sin(1:(n * n) * 0.37), n)
b <- matrix(cos(1:(n * n) * 0.11), n) + 20 * diag(n)
c <- a %*% b
d <- b %*% t(c)
tell("chain", c %*% d)
c[3, ] <- 7
c <- c[, -n]
tell("part", crossprod(c))
tell("part of a part", c[2:300, 5:200] %*% d[1:196, ])
tell("solve", solve(b, a))
tell("qr", qr.R(qr(a %*% t(a) + b, LAPACK = TRUE)))
tell("cholesky", chol(crossprod(a) + 400 * diag(n)))
tell("eigenvalues", eigen(a[1:120, 1:120] + t(a[1:120, 1:120]), symmetric = TRUE)$values)
tell("singular values", svd(a[1:150, ])$d)
tell("complex", (a + 1i * b) %*% (b - 2i * a))
x <- b[, 1]
for (k in 1:20) {
  x <- b %*% (x / sqrt(sum(x^2)))
  temporary <- a %*% b + k
  if (k %% 5 == 0) invisible(gc())
}
tell("iteration", x)
tell("temporary", temporary)
file <- tempfile()
saveRDS(list(c, d), file)
loaded <- readRDS(file)
unlink(file)
tell("loaded", loaded[[1]] %*% t(loaded[[2]][, 1:(n - 1)]))
cat(identical(loaded[[2]], d), "\n")
product <- a %*% b
for (s in parallel::mclapply(1:2, function(i) sum(product %*% a) + i, mc.cores = 2)) tell("child", s)
message <- tryCatch(a %*% b[1:3, ], error = conditionMessage)
cat(message, "\n")
