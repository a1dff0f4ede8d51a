// SPDX-License-Identifier: Apache-2.0
// Reads fields of a launch file and remembers the first thing that is wrong, with its place. For
// the files of this room that read them.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_file.hpp"

namespace lockwarp::launch {

struct Reader {
    const Document& document;
    std::optional<std::string> wrong;
    std::vector<TensorMapField> tensor_maps{};  // of the file, once they are read

    ptx::Place place(const Json& j) const { return document.place(j.begin); }
    void fail(const Json& j, const std::string& field, const std::string& expected);
    // What stands in the file there, shortened.
    std::string seen(const Json& j) const;

    // Whether it is an object; where a field of it is not among `names`, that is what is wrong.
    // "comment" may stand in every object.
    bool object(const Json& j, const std::string& field,
                std::initializer_list<std::string_view> names);
    // Members besides "comment".
    static size_t members(const Json& j);

    uint64_t integer(const Json& j, const std::string& field, uint64_t max);
    double number(const Json& j, const std::string& field);
    bool truth(const Json& j, const std::string& field);
    std::string text(const Json& j, const std::string& field);
    std::string hex(const Json& j, const std::string& field);
    isa::Type type(const Json& j, const std::string& field);
    warp::Dim3 dims(const Json& j, const std::string& field);
    // A byte of a buffer or an argument, as a name in an object.
    uint64_t offset_key(const Json& at, const std::string& key, const std::string& field);
    // A scalar of a type: a number, or a text with its bits ("0x7fc00001") or "nan", "inf", "-inf".
    uint64_t scalar(const Json& j, isa::Type type, const std::string& field);
    // The largest is 16 TB.
    uint64_t bytes(const Json& j, const std::string& field);
};

void read_init(Reader& r, const Json& j, const std::string& field, Init& init);

// "shape", "type" and "stride" of a buffer: the bytes that it has by them, 0 where it has no shape.
uint64_t read_shape(Reader& r, const Json& j, const std::string& field, BufferField& b);

// The file's "tensorMaps".
void read_tensor_maps(Reader& r, const Json& j);

// A name of one of them: where its bytes and the address in it go. `bytes` has room at `at`.
void place_tensor_map(Reader& r, const Json& j, const std::string& field, uint64_t at,
                      std::span<uint8_t> bytes, std::vector<PlacedMap>& maps,
                      std::vector<Pointer>& pointers);

// "tensorMaps" of an argument or a buffer: {"byte offset": "name"}. bytes: those of an argument;
// empty: `size` bytes that are made later.
void read_placed_maps(Reader& r, const Json& j, const std::string& field, uint64_t size,
                      std::span<uint8_t> bytes, std::vector<PlacedMap>& maps,
                      std::vector<Pointer>& pointers);

// {"buffer": "A", "offset": 8}, also with "pointer" in its place, or the buffer's name alone.
Pointer read_pointer(Reader& r, const Json& j, const std::string& field, const char* name);

void read_argument(Reader& r, const Json& j, const std::string& field, Argument& out);

// "pointers" of bytes that are `size` long.
void read_pointers(Reader& r, const Json& j, const std::string& field, uint64_t size,
                   std::vector<Pointer>& out);

void read_expectations(Reader& r, const Json& j, LaunchFile& out);

}  // namespace lockwarp::launch
