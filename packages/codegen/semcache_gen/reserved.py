# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SPDX-FileCopyrightText: The SemCache contributors
"""Names that parameters and expressions (let) cannot have: those of the wrappers' own variables, of what they call, and of C++."""

# Members of Arguments (packages/blas/src/wrapper.hpp), which parameters would hide, then what templates/wrappers.cpp.j2 declares.
VARIABLES = "type refused passes result on_gpu g host routine within small on_host call at P Int Host piece take whole part"
FUNCTIONS = """abs_of all_fit any_null add as_double as_int as_size carry_out check_addresses code_of coefficient describe difference_of flipped
    formed handed integer is_complex is_within_call matrix max_of min_of one_of packed place product_of quotient_of refuse remainder_of sum_of
    triangle upper vector std semcache Access Call Cut Emulation Form Operand PassedThrough Piece Routine SmallCall Value Verdict Wrapped linalg runtime"""
CPLUSPLUS = """alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl const_cast constexpr decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
    static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq"""
NAMES = frozenset([*VARIABLES.split(), *FUNCTIONS.split(), *CPLUSPLUS.split(), "complex"])
