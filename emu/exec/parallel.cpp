// SPDX-License-Identifier: Apache-2.0
#include "emu/exec/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "emu/num/host_environment.hpp"

namespace lockwarp::exec {

unsigned worker_count(unsigned threads) {
    const int cores = tbb::info::default_concurrency();
    const unsigned most = cores < 1 ? 1 : static_cast<unsigned>(cores);
    // More than there are would only make oneTBB print a warning.
    return threads == 0 ? most : std::min(threads, most);
}

void for_each_worker(unsigned workers, const std::function<void(unsigned worker)>& work) {
    const auto one = [&](unsigned worker) {
        const num::HostEnvironment environment;
        work(worker);
    };
    if (workers == 1) return one(0);
    tbb::task_arena arena(static_cast<int>(workers));
    arena.execute([&] { tbb::parallel_for(0u, workers, 1u, one, tbb::simple_partitioner()); });
}

}  // namespace lockwarp::exec
