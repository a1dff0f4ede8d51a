#include "emu/exec/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace lockwarp::exec {

unsigned worker_count(unsigned threads) {
    if (threads != 0) return threads;
    const int cores = tbb::info::default_concurrency();
    return cores < 1 ? 1 : static_cast<unsigned>(cores);
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
