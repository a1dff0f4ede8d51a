// SPDX-License-Identifier: Apache-2.0
// Matrix pictures in the arrangement of the PTX manual's figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lanes/questions.hpp"

namespace lockwarp::lanes {

namespace {

// A hue for each four lanes, which stand apart for all kinds of colour vision beside one another
// (after Okabe and Ito), and a shade for each register: darker is higher. The text says both.
constexpr std::array<std::array<int, 3>, 8> hues{{{230, 159, 0},
                                                  {86, 180, 233},
                                                  {0, 158, 115},
                                                  {240, 228, 66},
                                                  {0, 114, 178},
                                                  {213, 94, 0},
                                                  {204, 121, 167},
                                                  {153, 153, 153}}};

std::string colour(unsigned lane, unsigned reg, unsigned registers) {
    const auto& hue = hues[lane / 4 % 8];
    const double light =
        0.72 - 0.45 * (registers <= 1 ? 0.5 : static_cast<double>(reg) / (registers - 1));
    std::string out = "#";
    for (const int part : hue)
        out += fmt::format("{:02x}", static_cast<int>(part + (255 - part) * light));
    return out;
}

struct Size {
    unsigned width = 0, height = 0;
};

// Elements of one lane and register that stand side by side are one cell where they are narrow.
class Drawing {
  public:
    Drawing(const Operand& operand, unsigned part_number,
            const std::function<bool(const Held&)>& stands_out)
        : o(operand), part(part_number), chosen(stands_out) {
        const bool down = o.name == "B" || o.name == "SFB";
        run_rows = run_columns = 1;
        const unsigned bits = isa::bits(o.type);
        if (bits < 8 && o.elements.layout.threads() > 1)
            (down ? run_rows : run_columns) = 32 / std::max(1u, held_width());
        size_t most = 1;
        std::map<std::pair<unsigned, unsigned>, size_t> count;
        for (const Held& h : o.held)
            if (h.part == part) most = std::max(most, ++count[{h.row, h.column}]);
        cell_height = 14 + 10 * static_cast<unsigned>(std::min<size_t>(most, 4) - 1);
        owners_shown = std::min<size_t>(most, 4);
    }

    Size size() const {
        return {cell_width * (o.columns / run_columns), cell_height * (o.rows / run_rows)};
    }

    std::string at(unsigned x, unsigned y) const {
        std::map<std::pair<unsigned, unsigned>, std::vector<const Held*>> cells;
        for (const Held& h : o.held)
            if (h.part == part && h.row % run_rows == 0 && h.column % run_columns == 0)
                cells[{h.row, h.column}].push_back(&h);
        std::string out;
        for (const auto& [place, list] : cells) {
            const bool faded =
                chosen && std::ranges::none_of(list, [&](const Held* h) { return chosen(*h); });
            if (faded) out += "<g opacity=\"0.25\">";
            const unsigned left = x + place.second / run_columns * cell_width;
            const unsigned top = y + place.first / run_rows * cell_height;
            out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                               left, top, cell_width, cell_height,
                               colour(list[0]->lane, list[0]->reg, o.registers));
            for (size_t n = 0; n < std::min(list.size(), owners_shown); ++n) {
                out += fmt::format("<text x=\"{}\" y=\"{}\">T{} {}{}</text>", left + cell_width / 2,
                                   top + 10 + 10 * n, list[n]->lane,
                                   run_rows * run_columns > 1 ? 'r' : 'v',
                                   run_rows * run_columns > 1 ? list[n]->reg : list[n]->value);
            }
            if (faded) out += "</g>";
        }
        out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"n\">{}{}</text>", x, y - 12, o.name,
                           o.parts > 1 ? fmt::format(" of {} {}", o.part_word, part) : "");
        for (unsigned c = 0; c < o.columns; c += run_columns)
            out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"i\">{}</text>",
                               x + c / run_columns * cell_width + cell_width / 2, y - 2, c);
        for (unsigned r = 0; r < o.rows; r += run_rows)
            out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"i\">{}</text>", x - 10,
                               y + r / run_rows * cell_height + 10, r);
        return out + "\n";
    }

  private:
    unsigned held_width() const { return o.register_bits * o.registers / std::max(1u, o.values); }

    static constexpr unsigned cell_width = 44;
    const Operand& o;
    unsigned part;
    const std::function<bool(const Held&)>& chosen;
    unsigned run_rows, run_columns;
    unsigned cell_height = 14;
    size_t owners_shown = 1;
};

}  // namespace

std::string picture(const Instruction& i, std::string_view operand,
                    const std::function<bool(const Held&)>& chosen) {
    constexpr unsigned margin = 30;
    std::string body;
    unsigned width = 0;
    unsigned height = margin;
    const auto place = [&](const Drawing& d, unsigned x, unsigned y) {
        body += d.at(x, y);
        width = std::max(width, x + d.size().width + margin);
        height = std::max(height, y + d.size().height + margin);
    };
    const Operand* a = operand_named(i, "A");
    const Operand* b = operand_named(i, "B");
    const Operand* d = operand_named(i, "D");
    if (operand.empty() && a != nullptr && b != nullptr && d != nullptr) {
        unsigned top = 0;
        for (unsigned part = 0; part < d->parts; ++part) {
            const Drawing da(*a, part, chosen);
            const Drawing db(*b, part, chosen);
            const Drawing dd(*d, part, chosen);
            const unsigned x = margin + da.size().width + margin;
            const unsigned y = top + margin + db.size().height + margin;
            place(db, x, top + margin);
            place(da, margin, y);
            place(dd, x, y);
            top = height;
        }
    } else {
        unsigned top = 0;
        for (const Operand& o : i.operands) {
            if (!operand.empty() && o.name != operand) continue;
            for (unsigned part = 0; part < o.parts; ++part) {
                place(Drawing(o, part, chosen), margin, top + margin);
                top = height;
            }
        }
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" "
        "height=\"{}\" "
        "role=\"img\"><title>{}</title><style>rect{{stroke:#333;stroke-width:.6}}"
        "text{{font:9px sans-serif;text-anchor:middle;fill:#000}}.n{{font-weight:bold;"
        "text-anchor:start;font-size:11px}}.i{{fill:#555;font-size:7px}}</style>"
        "<rect width=\"{}\" height=\"{}\" fill=\"#fff\" stroke=\"none\"/>\n{}</svg>",
        width, height, width, height, escaped(i.key), width, height, body);
}

}  // namespace lockwarp::lanes
