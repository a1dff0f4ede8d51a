// Reads of shared memory that a cp.async may still be bringing: right by luck on a GPU, and right
// always here, where a copy is done at once. PTX manual, "Data Movement and Conversion
// Instructions: Asynchronous copy": what a thread copies may be read by it after a wait_group or
// wait_all of its own that covers the copy, and by other threads after a barrier behind that.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "emu/warp/observer.hpp"

namespace lockwarp::check {

enum class Early : uint8_t {
    flying,          // the thread that copied has not waited for the copy
    unsynchronised,  // it has, but the reader, in another warp, has met no barrier since
};

// The first read of one instruction of what one cp.async brought, and how many there were.
struct EarlyRead {
    Early kind;
    uint32_t reader, copy;  // indices into Program::operations
    std::array<uint32_t, 3> cta;
    uint64_t cta_index;
    uint32_t warp, lane;
    uint64_t step;
    uint64_t address;  // in shared memory
    uint32_t copy_warp, copy_lane;
    uint64_t count = 1;
};

class InFlight : public warp::Observer {
  public:
    InFlight();
    ~InFlight() override;
    void retired(const warp::Retired& event) override;
    void cta_ended(uint64_t cta_index) override;

    // By reader, copy and kind, the lowest CTA's first; after the run.
    std::vector<EarlyRead> found() const;

  private:
    struct Cta;
    std::mutex guard;
    std::map<uint64_t, std::unique_ptr<Cta>> running;
    std::map<std::tuple<uint32_t, uint32_t, Early>, EarlyRead> reads;
};

}  // namespace lockwarp::check
