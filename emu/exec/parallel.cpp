#include "emu/exec/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace lockwarp::exec {

unsigned worker_count(unsigned threads) {
    const int cores = tbb::info::default_concurrency();
    const unsigned most = cores < 1 ? 1 : static_cast<unsigned>(cores);
    // More than there are would only make oneTBB print a warning.
    return threads == 0 ? most : std::min(threads, most);
}

void for_each_index(uint64_t count, unsigned threads,
                    const std::function<void(unsigned worker, uint64_t index)>& work) {
    const unsigned workers = worker_count(threads);
    if (workers == 1 || count == 1) {
        for (uint64_t i = 0; i < count; ++i) work(0, i);
        return;
    }
    tbb::task_arena arena(static_cast<int>(workers));
    arena.execute([&] {
        tbb::parallel_for(tbb::blocked_range<uint64_t>(0, count, 1),
                          [&](const tbb::blocked_range<uint64_t>& range) {
                              const int slot = tbb::this_task_arena::current_thread_index();
                              for (uint64_t i = range.begin(); i != range.end(); ++i)
                                  work(static_cast<unsigned>(slot), i);
                          });
    });
}

}  // namespace lockwarp::exec
