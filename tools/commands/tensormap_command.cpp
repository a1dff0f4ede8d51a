// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "lanes/tensor_map.hpp"
#include "launch/launch_file.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/lanes_command.hpp"

namespace lockwarp::tools {

namespace {

struct TensormapCommand {
    AnswerOptions answer;
    std::string map;   // 256 hexadecimal digits, or a launch file
    std::string name;  // which of the launch file
    std::vector<int64_t> at, element, offset;
    int64_t byte = -1;
    uint64_t shared = 0;
};

std::optional<isa::TensorMapBytes> bytes_named(const std::string& text) {
    if (text.size() != 2 * isa::tensor_map_bytes ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        return std::nullopt;
    isa::TensorMapBytes out{};
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return out;
}

// The map of the question, or what is wrong.
std::string find_map(const TensormapCommand& o, isa::TensorMap& map) {
    if (const auto bytes = bytes_named(o.map)) {
        const auto found = isa::decode_tensor_map(*bytes);
        if (!found) return "these 128 bytes are no tensor map";
        map = *found;
        return {};
    }
    const launch::Result<launch::LaunchFile> file = launch::read_launch_file(o.map);
    if (!file) return file.error().sentence;
    std::string names;
    for (const launch::TensorMapField& m : file->tensor_maps) {
        if (o.name == m.name || (o.name.empty() && file->tensor_maps.size() == 1)) {
            map = m.map;
            map.address = m.offset;
            return {};
        }
        names += (names.empty() ? "" : ", ") + m.name;
    }
    if (names.empty()) return o.map + " has no tensorMaps";
    return fmt::format("{}: --name is one of {}", o.map, names);
}

lanes::Answer asked(const TensormapCommand& o) {
    lanes::TensorMapQuestion q;
    isa::TensorCopy& copy = q.copy;
    if (std::string wrong = find_map(o, copy.map); !wrong.empty())
        return lanes::wrong(std::move(wrong));
    if (!o.at.empty() && o.at.size() != copy.map.rank)
        return lanes::wrong(fmt::format("--at: this map has {} coordinates", copy.map.rank));
    if (!o.offset.empty() && (!copy.map.im2col || o.offset.size() != isa::spatial(copy.map)))
        return lanes::wrong("--offset: an im2col map has one for each spatial dimension");
    for (size_t i = 0; i < o.at.size(); ++i) copy.at[i] = static_cast<int32_t>(o.at[i]);
    for (size_t i = 0; i < o.offset.size(); ++i)
        copy.offset[i] = static_cast<uint16_t>(o.offset[i]);
    copy.has_offsets = !o.offset.empty();
    if (o.shared > UINT32_MAX) return lanes::wrong("--shared: an address below 2^32 is expected");
    q.shared = static_cast<uint32_t>(o.shared);
    if (o.byte >= 0) q.byte = static_cast<uint64_t>(o.byte);
    if (!o.element.empty()) q.element = o.element;
    return lanes::ask_tensor_map(q);
}

}  // namespace

void add_tensormap(CLI::App& app, int& status) {
    const auto shared = std::make_shared<TensormapCommand>();
    TensormapCommand& o = *shared;
    CLI::App* command = app.add_subcommand(
        "tensormap", "A tensor map's fields, and which element its copies put where");
    command
        ->add_option("MAP", o.map, "its 128 bytes in hexadecimal, or a launch file with tensorMaps")
        ->required();
    command->add_option("--name", o.name, "which of the launch file's")->type_name("NAME");
    command->add_option("--at", o.at, "coordinates of the copy (default: zeros)")->delimiter(',');
    command->add_option("--offset", o.offset, "im2col offsets (default: none)")->delimiter(',');
    command->add_option("--byte", o.byte, "which element lies at this byte of the box");
    command->add_option("--element", o.element, "at which byte of the box this element lies")
        ->delimiter(',');
    command->add_option("--shared", o.shared,
                        "where the box begins in shared memory (default: a multiple of 1024)");
    add_answer_options(*command, o.answer);
    command->callback([shared, &status] { status = print_answer(asked(*shared), shared->answer); });
}

}  // namespace lockwarp::tools
