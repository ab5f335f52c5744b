"""The elementary functions as branch-free code for LLVM, written once for both widths of floats."""
