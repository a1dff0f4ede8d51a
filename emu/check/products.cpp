// SPDX-License-Identifier: Apache-2.0
// Registers of a wgmma that an instruction touches before the warp has waited for it. PTX manual,
// "wgmma.mma_async": to access the registers of D and A before wgmma.wait_group is undefined.
// NVIDIA's assembler waits there by itself, and says that it serializes: a note. What only moves a
// register is not meant: the assembler gives both the same.
#include "emu/check/products.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace lockwarp::check {

namespace {

using isa::Op;

// A wgmma that is under way.
struct Product {
    uint64_t group, step;
    uint32_t operation;
};

// Whether an operation names one of a fragment's registers.
bool names(const isa::Program& program, const isa::Operation& o, const isa::VectorRef& v) {
    for (uint32_t n = 0; n < uint32_t{o.written} + o.read; ++n) {
        const isa::Ref ref = program.registers[program.uses[o.first_use + n]].ref;
        for (uint32_t i = 0; i < v.count; ++i)
            if (program.pool[v.first + i] == ref) return true;
    }
    return false;
}

class OfCta : public warp::CtaObserver {
  public:
    // touching: by operation, whether it names a register of any wgmma.
    OfCta(const isa::Program& program, const std::vector<bool>& touching)
        : program_(program), touching_(touching) {}
    void retired(const warp::Retired& e) override;

    Collection found;

  private:
    struct OfWarp {
        std::vector<Product> products;
        uint64_t groups = 0;  // that were committed
    };
    void look(const warp::Retired& e, const isa::Operation& o, const Product& product);

    const isa::Program& program_;
    const std::vector<bool>& touching_;
    std::map<uint32_t, OfWarp> warps_;
};

void OfCta::look(const warp::Retired& e, const isa::Operation& o, const Product& product) {
    const isa::Operation& p = program_.operations[product.operation];
    const bool is_d = names(program_, o, p.vector[0]);
    if (!is_d && !names(program_, o, p.vector[1])) return;
    constexpr std::string_view kind = "product-not-awaited";
    if (found.again(kind, e.operation, product.operation)) return;
    Finding f;
    f.kind = kind;
    f.severity = Severity::note;
    f.here = {e.operation, e.cta, e.warp, e.executed, e.step};
    f.other = Site{product.operation, e.cta, e.warp, 0, product.step};
    f.message = "touches registers of " + std::string(is_d ? "D" : "A") + " of the wgmma at line " +
                std::to_string(p.place.line) + ", which the warp has not waited for";
    f.hint = "wgmma.wait_group first; the assembler puts one here, and serializes";
    found.add(std::move(f));
}

void OfCta::retired(const warp::Retired& e) {
    const isa::Operation& o = program_.operations[e.operation];
    if (o.op == Op::wgmma_mma) {
        OfWarp& w = warps_[e.warp];
        w.products.push_back({w.groups, e.step, e.operation});
        return;
    }
    if (warps_.empty()) return;
    OfWarp& w = warps_[e.warp];
    if (o.op == Op::wgmma_commit) ++w.groups;
    if (o.op == Op::wgmma_wait)
        std::erase_if(w.products,
                      [&](const Product& p) { return p.group + o.immediate < w.groups; });
    if (o.op == Op::mov || e.executed == 0 || !touching_[e.operation]) return;
    for (const Product& p : w.products) look(e, o, p);
}

class Products : public Check {
  public:
    explicit Products(const isa::Program& program)
        : program_(program), touching_(program.operations.size()) {
        std::vector<bool> named(program.registers.size());
        const auto each = [&](const isa::Operation& o, auto f) {
            for (uint32_t n = 0; n < uint32_t{o.written} + o.read; ++n)
                f(program.uses[o.first_use + n]);
        };
        for (const isa::Operation& o : program.operations)
            if (o.op == Op::wgmma_mma) each(o, [&](uint32_t r) { named[r] = true; });
        for (size_t i = 0; i < touching_.size(); ++i)
            each(program.operations[i], [&](uint32_t r) {
                if (named[r]) touching_[i] = true;
            });
    }
    std::unique_ptr<warp::CtaObserver> begin(const warp::CtaPlace&) override {
        return std::make_unique<OfCta>(program_, touching_);
    }
    void take(const warp::CtaPlace&, std::unique_ptr<warp::CtaObserver> listener) override {
        found_.take(static_cast<const OfCta&>(*listener).found);
    }
    std::vector<Finding> findings() const override { return found_.list(); }

  private:
    const isa::Program& program_;
    std::vector<bool> touching_;
    Collection found_;
};

}  // namespace

std::unique_ptr<Check> products_not_awaited(const isa::Program& program, const warp::Launch&) {
    for (const isa::Operation& o : program.operations)
        if (o.op == Op::wgmma_mma) return std::make_unique<Products>(program);
    return nullptr;
}

}  // namespace lockwarp::check
