% SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
% SPDX-FileCopyrightText: The SemCache contributors
%
% What Octave does with matrices: products, updates of parts, LAPACK on BLAS, files.
function tell(what, m)
  if (iscomplex(m))
    m = [real(m), imag(m)];
  endif
  printf("%s %s %.17g\n", what, hash("md5", char(typecast(double(m(:)'), "uint8"))), sum(abs(double(m(:)))));
endfunction

n = 400;
a = reshape(sin((1:n*n) * 0.37), n, n);
b = reshape(cos((1:n*n) * 0.11), n, n) + 20 * eye(n);
c = a * b;
d = b * c';
tell("chain", c * d);
c(3, :) = 7;
c(:, end) = [];
tell("part", c' * c);
tell("part of a part", c(2:300, 5:200) * d(1:196, :));
tell("solve", b \ a);
tell("qr", qr(a * a' + b));
tell("cholesky", chol(a' * a + 400 * eye(n)));
tell("eigenvalues", eig(a(1:120, 1:120) + a(1:120, 1:120)'));
tell("singular values", svd(a(1:150, :)));
tell("single", single(a) * single(b));
tell("complex", (a + 1i * b) * (b - 2i * a));
x = b(:, 1);
for k = 1:20
  x = b * (x / norm(x));
  temporary = a * b + k;
endfor
tell("iteration", x);
tell("temporary", temporary);
file = tempname();
save("-binary", file, "c", "d");
saved = d;
clear c d;
load(file);
delete(file);
tell("loaded", c * d(:, 1:n-1)' - 1);
printf("%d\n", isequal(saved, d));
try
  a * b(1:3, :);
catch problem
  disp(problem.message);
end_try_catch
