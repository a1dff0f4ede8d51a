// Conway's game of life on a torus, all generations in one launch: a barrier of the grid between
// two (cooperative groups).
//
//   in, out: rows x columns bytes, 1 is alive; both are written. The last generation is in `out`
//   where `generations` is odd, else in `in`. Arguments: in, out, rows, columns, generations.
//   Grid and CTA: any, in x; a cooperative launch.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void life(unsigned char* in, unsigned char* out, int rows, int columns,
                                int generations) {
    const cg::grid_group grid = cg::this_grid();
    for (int g = 0; g < generations; ++g) {
        for (int i = static_cast<int>(grid.thread_rank()); i < rows * columns;
             i += static_cast<int>(grid.size())) {
            const int row = i / columns, column = i % columns;
            int alive = 0;
            for (int dr = -1; dr <= 1; ++dr)
                for (int dc = -1; dc <= 1; ++dc)
                    alive +=
                        in[(row + dr + rows) % rows * columns + (column + dc + columns) % columns];
            // `alive` counts the cell itself too.
            out[i] = alive == 3 || (alive == 4 && in[i] != 0);
        }
        grid.sync();
        unsigned char* const last = in;
        in = out;
        out = last;
    }
}
// SPDX-License-Identifier: Apache-2.0
