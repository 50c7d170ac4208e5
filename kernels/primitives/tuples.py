"""Between arrays and tuples: load, store and add up a fixed count of numbers.

Each count is written out. A loop over a tuple compiles to a jump table per element, which made
the articulated-body sweep three times slower.
"""

from torqued.kernels.compilation.jit import kernel


@kernel
def load3(x):
    return (x[0], x[1], x[2])


@kernel
def load6(x):
    return (x[0], x[1], x[2], x[3], x[4], x[5])


@kernel
def load9(x):
    return (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8])


@kernel
def load10(x):
    return (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9])


@kernel
def load12(x):
    return (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11])


@kernel
def load15(x):
    return (
        x[0],
        x[1],
        x[2],
        x[3],
        x[4],
        x[5],
        x[6],
        x[7],
        x[8],
        x[9],
        x[10],
        x[11],
        x[12],
        x[13],
        x[14],
    )


@kernel
def load21(x):
    return load15(x) + (x[15], x[16], x[17], x[18], x[19], x[20])


@kernel
def store3(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]


@kernel
def store6(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]
    x[3] = values[3]
    x[4] = values[4]
    x[5] = values[5]


@kernel
def store9(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]
    x[3] = values[3]
    x[4] = values[4]
    x[5] = values[5]
    x[6] = values[6]
    x[7] = values[7]
    x[8] = values[8]


@kernel
def store10(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]
    x[3] = values[3]
    x[4] = values[4]
    x[5] = values[5]
    x[6] = values[6]
    x[7] = values[7]
    x[8] = values[8]
    x[9] = values[9]


@kernel
def store12(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]
    x[3] = values[3]
    x[4] = values[4]
    x[5] = values[5]
    x[6] = values[6]
    x[7] = values[7]
    x[8] = values[8]
    x[9] = values[9]
    x[10] = values[10]
    x[11] = values[11]


@kernel
def store21(x, values):
    x[0] = values[0]
    x[1] = values[1]
    x[2] = values[2]
    x[3] = values[3]
    x[4] = values[4]
    x[5] = values[5]
    x[6] = values[6]
    x[7] = values[7]
    x[8] = values[8]
    x[9] = values[9]
    x[10] = values[10]
    x[11] = values[11]
    x[12] = values[12]
    x[13] = values[13]
    x[14] = values[14]
    x[15] = values[15]
    x[16] = values[16]
    x[17] = values[17]
    x[18] = values[18]
    x[19] = values[19]
    x[20] = values[20]


@kernel
def store_column3(x, row, c, values):
    """Three numbers below each other in column c of a matrix."""
    x[row, c] = values[0]
    x[row + 1, c] = values[1]
    x[row + 2, c] = values[2]


@kernel
def store_column6(x, row, c, values):
    store_column3(x, row, c, values)
    store_column3(x, row + 3, c, (values[3], values[4], values[5]))


@kernel
def store_column12(x, c, values):
    store_column6(x, 0, c, values)
    store_column3(x, 6, c, (values[6], values[7], values[8]))
    store_column3(x, 9, c, (values[9], values[10], values[11]))


@kernel
def add10(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
        a[9] + b[9],
    )


@kernel
def add12(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
        a[9] + b[9],
        a[10] + b[10],
        a[11] + b[11],
    )


@kernel
def add21(a, b):
    return add12(a, b) + (
        a[12] + b[12],
        a[13] + b[13],
        a[14] + b[14],
        a[15] + b[15],
        a[16] + b[16],
        a[17] + b[17],
        a[18] + b[18],
        a[19] + b[19],
        a[20] + b[20],
    )


@kernel
def accumulate6(x, values):
    x[0] += values[0]
    x[1] += values[1]
    x[2] += values[2]
    x[3] += values[3]
    x[4] += values[4]
    x[5] += values[5]


@kernel
def accumulate10(x, values):
    x[0] += values[0]
    x[1] += values[1]
    x[2] += values[2]
    x[3] += values[3]
    x[4] += values[4]
    x[5] += values[5]
    x[6] += values[6]
    x[7] += values[7]
    x[8] += values[8]
    x[9] += values[9]


@kernel
def accumulate12(x, values):
    x[0] += values[0]
    x[1] += values[1]
    x[2] += values[2]
    x[3] += values[3]
    x[4] += values[4]
    x[5] += values[5]
    x[6] += values[6]
    x[7] += values[7]
    x[8] += values[8]
    x[9] += values[9]
    x[10] += values[10]
    x[11] += values[11]


@kernel
def accumulate15(x, values):
    x[0] += values[0]
    x[1] += values[1]
    x[2] += values[2]
    x[3] += values[3]
    x[4] += values[4]
    x[5] += values[5]
    x[6] += values[6]
    x[7] += values[7]
    x[8] += values[8]
    x[9] += values[9]
    x[10] += values[10]
    x[11] += values[11]
    x[12] += values[12]
    x[13] += values[13]
    x[14] += values[14]


@kernel
def accumulate21(x, values):
    x[0] += values[0]
    x[1] += values[1]
    x[2] += values[2]
    x[3] += values[3]
    x[4] += values[4]
    x[5] += values[5]
    x[6] += values[6]
    x[7] += values[7]
    x[8] += values[8]
    x[9] += values[9]
    x[10] += values[10]
    x[11] += values[11]
    x[12] += values[12]
    x[13] += values[13]
    x[14] += values[14]
    x[15] += values[15]
    x[16] += values[16]
    x[17] += values[17]
    x[18] += values[18]
    x[19] += values[19]
    x[20] += values[20]
