/*
 * stat_width.h - statistics of a block for the type NUMBER: stat_loops.h includes it twice. Its
 * macros are undefined at the end.
 *
 * Most blocks are full and have no zeros, subnormals, NaN or infinities: one loop finds that out,
 * and computes their sums. Other blocks are copied with these replaced, and what was replaced is
 * counted.
 */

#define A_VECTOR (VECTOR / sizeof(NUMBER)) /* numbers in a vector */
#define WIDE     (VECTOR / sizeof(double)) /* numbers added at once */
#define SUMS     (LANES / WIDE)
#define BLOCK    64 /* numbers: whole rows of lanes and whole vectors of cells */

TARGET static NUMBER OF(number)(const uint8_t *values, size_t at)
{
    NUMBER x;
    memcpy(&x, values + at * sizeof(x), sizeof(x));
    return x;
}

TARGET static void OF(take_lanes)(const uint8_t *x, size_t count, NUMBER first, struct lanes *out)
{
    const double_v from = (double_v){0} + (double)first;
    double_v sum[SUMS] = {{0}}, squares[SUMS] = {{0}};
    NUMBERS least = (NUMBERS){0} + first, most = least;
    CODES smallest = (CODES){0} + SIZE, largest = {0};
    for (const uint8_t *end = x + count * sizeof(NUMBER); x < end; x += LANES * sizeof(NUMBER)) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < LANES / A_VECTOR; i++) {
            NUMBERS v;
            memcpy(&v, x + i * sizeof(v), sizeof(v));
            const CODES size = (CODES)v & SIZE;
            least = LESSER(v, least);
            most = GREATER(v, most);
            smallest = LESSER_CODE(size, smallest);
            largest = MORE_CODE(size, largest);
        }
#pragma GCC unroll 8
        for (unsigned i = 0; i < SUMS; i++) {
            WIDENED v;
            memcpy(&v, x + i * sizeof(v), sizeof(v));
            const double_v shifted = DOUBLES(v) - from;
            sum[i] += shifted;
            squares[i] += shifted * shifted;
        }
    }
    memcpy(out->shifted, sum, sizeof(sum));
    memcpy(out->squares, squares, sizeof(squares));
    out->least = out->most = (double)first;
    out->smallest = SIZE;
    out->largest = 0;
    for (unsigned i = 0; i < A_VECTOR; i++) {
        out->least = (double)least[i] < out->least ? (double)least[i] : out->least;
        out->most = (double)most[i] > out->most ? (double)most[i] : out->most;
        out->smallest = smallest[i] < out->smallest ? smallest[i] : out->smallest;
        out->largest = largest[i] > out->largest ? largest[i] : out->largest;
    }
}

TARGET static void OF(take_census)(const uint8_t *values, size_t count, CODE tiny,
                                   struct census *out)
{
    CODES finite = {0}, zeros = {0}, nans = {0}, small = {0};
    size_t i = 0;
    *out = (struct census){0};
    for (; i + A_VECTOR <= count; i += A_VECTOR) {
        CODES size;
        memcpy(&size, values + i * sizeof(NUMBER), sizeof(size));
        size &= SIZE;
        finite -= size < INFINITE;
        zeros -= size == 0;
        nans -= size > INFINITE;
        small -= size < tiny;
    }
    for (unsigned k = 0; k < A_VECTOR; k++) {
        out->finite += (uint64_t)finite[k];
        out->zeros += (uint64_t)zeros[k];
        out->nans += (uint64_t)nans[k];
        out->small += (uint64_t)small[k];
    }
    for (; i < count; i++) {
        CODE size;
        memcpy(&size, values + i * sizeof(size), sizeof(size));
        size &= SIZE;
        out->finite += size < INFINITE;
        out->zeros += size == 0;
        out->nans += size > INFINITE;
        out->small += size < tiny;
    }
}

/* The middle one of three numbers, or the first that is finite; false: none is. */
TARGET static bool OF(choose)(const uint8_t *values, size_t count, NUMBER *first)
{
    const double a = (double)OF(number)(values, 0), b = (double)OF(number)(values, count / 2),
                 c = (double)OF(number)(values, count - 1);
    *first = (NUMBER)middle(a, b, c);
    if (isfinite(a) && isfinite(b) && isfinite(c))
        return true;
    for (size_t i = 0; i < count; i++)
        if (isfinite(*first = OF(number)(values, i)))
            return true;
    return false;
}

/* Copy the numbers, with `first` in place of those that are not finite, and as padding; returns
 * how many there are then. */
TARGET static size_t OF(clean)(const uint8_t *values, size_t count, NUMBER first, NUMBER *out)
{
    const size_t whole = (count + BLOCK - 1) / BLOCK * BLOCK;
    for (size_t i = 0; i < count; i++) {
        const NUMBER x = OF(number)(values, i);
        out[i] = isfinite(x) ? x : first;
    }
    for (size_t i = count; i < whole; i++)
        out[i] = first;
    return whole;
}

/* The cells, modulo STAT_CELLS, of finite numbers, four vectors at a time, which changes their
 * order. */
TARGET static void OF(find_cells)(const uint8_t *x, size_t count, NUMBER scale, uint8_t *out)
{
    for (size_t i = 0; i < count; i += 4 * A_VECTOR) {
        CELLS four = {0};
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) {
            NUMBERS v;
            memcpy(&v, x + (i + k * A_VECTOR) * sizeof(NUMBER), sizeof(v));
            CELLS cell = __builtin_convertvector(v * scale, CELLS);
            cell += __builtin_convertvector(v < 0, CELLS);
            four |= (cell & (int32_t)(STAT_CELLS - 1)) << 8 * k;
        }
        memcpy(out + i, &four, sizeof(four));
    }
}

TARGET static void OF(of)(const void *values, size_t count, double tiny, struct stat_sums *out,
                          struct stat_grid *grid)
{
    uint8_t cells[STAT_BLOCK];
    NUMBER clean[STAT_BLOCK], first, least_normal = (NUMBER)tiny;
    CODE small;
    struct lanes lanes;
    struct census seen = {.finite = count};
    const uint8_t *at = values;
    size_t whole = count;
    memcpy(&small, &least_normal, sizeof(small));
    small = small ? small : 1;
    if (!OF(choose)(at, count, &first)) {
        OF(take_census)(at, count, small, &seen);
        *out = (struct stat_sums){
            .nans = seen.nans, .infs = count - seen.nans, .least = INFINITY, .most = -INFINITY};
        return;
    }
    if (count % BLOCK == 0)
        OF(take_lanes)(at, count, first, &lanes);
    if (count % BLOCK || lanes.largest >= INFINITE) {
        whole = OF(clean)(at, count, first, clean);
        OF(take_lanes)((const uint8_t *)clean, whole, first, &lanes);
        OF(take_census)(at, count, small, &seen);
        at = (const uint8_t *)clean;
    } else if (lanes.smallest < small) {
        OF(take_census)(at, count, small, &seen);
    }
    finish(&lanes, &seen, count, (double)first, out);
    stat_grid_cover(grid, out->least, out->most);
    OF(find_cells)(at, whole, (NUMBER)ldexp(1, -grid->exponent), cells);
    count_cells(cells, whole, grid);
    grid->counts[(uint64_t)stat_grid_cell(grid, (double)first) % STAT_CELLS] -= whole - seen.finite;
}

#undef A_VECTOR
#undef WIDE
#undef SUMS
#undef BLOCK
#undef OF
#undef NUMBER
#undef CODE
#undef INFINITE
#undef SIZE
#undef NUMBERS
#undef CODES
#undef WIDENED
#undef CELLS
#undef DOUBLES
#undef LESSER
#undef GREATER
#undef LESSER_CODE
#undef MORE_CODE
