// SPDX-License-Identifier: Apache-2.0
#include "emu/isa/wmma.hpp"

#include <algorithm>

#include "emu/isa/elements.hpp"

namespace lockwarp::isa {

namespace {

using O = WmmaOperand;

constexpr uint16_t none = UINT16_MAX;  // no later architecture has another

// clang-format off
constexpr auto fragment_rows = std::to_array<WmmaFragment>({
    // Volta. Its moves to and from memory are not known: an element at a time.
    {70, 75, 16, 16, 16, O::a, Type::f16, Orders::row, {"m16n16k16.a.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {8, 0}, {0, 0}, {2}, {2}},
    {70, 75, 16, 16, 16, O::a, Type::f16, Orders::col, {"m16n16k16.a.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {8, 0}, {0, 0}, {2}, {2}},
    {70, 75, 16, 16, 16, O::b, Type::f16, Orders::col, {"m16n16k16.b.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {0, 8}, {0, 0}, {2}, {2}},
    {70, 75, 16, 16, 16, O::b, Type::f16, Orders::row, {"m16n16k16.b.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {0, 8}, {0, 0}, {2}, {2}},
    {70, 75, 16, 16, 16, O::accumulator, Type::f16, Orders::any, {"m16n16k16.c.f16", 8, 8, 16, parse_layout("(8,8):(1,8)")}, Threads::quad_pairs, {8, 0}, {0, 8}, {2}, {2}},
    {70, 75, 16, 16, 16, O::accumulator, Type::f32, Orders::any, {"m16n16k16.c.f32", 8, 8, 32, parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")}, Threads::quad_pairs, {8, 0}, {0, 8}, {4}, {4}},
    {70, 75, 32, 8, 16, O::a, Type::f16, Orders::row, {"m32n8k16.a.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {8, 16}, {0, 0}, {2}, {2}},
    {70, 75, 32, 8, 16, O::a, Type::f16, Orders::col, {"m32n8k16.a.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {8, 16}, {0, 0}, {2}, {2}},
    {70, 75, 32, 8, 16, O::b, Type::f16, Orders::col, {"m32n8k16.b.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {0, 0}, {0, 0}, {2}, {2}},
    {70, 75, 32, 8, 16, O::b, Type::f16, Orders::row, {"m32n8k16.b.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {0, 0}, {0, 0}, {2}, {2}},
    {70, 75, 32, 8, 16, O::accumulator, Type::f16, Orders::any, {"m32n8k16.c.f16", 8, 8, 16, parse_layout("(8,8):(1,8)")}, Threads::quad_pairs, {8, 16}, {0, 0}, {2}, {2}},
    {70, 75, 32, 8, 16, O::accumulator, Type::f32, Orders::any, {"m32n8k16.c.f32", 8, 8, 32, parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")}, Threads::quad_pairs, {8, 16}, {0, 0}, {4}, {4}},
    {70, 75, 8, 32, 16, O::a, Type::f16, Orders::row, {"m8n32k16.a.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {0, 0}, {0, 0}, {2}, {2}},
    {70, 75, 8, 32, 16, O::a, Type::f16, Orders::col, {"m8n32k16.a.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {0, 0}, {0, 0}, {2}, {2}},
    {70, 75, 8, 32, 16, O::b, Type::f16, Orders::col, {"m8n32k16.b.f16", 8, 16, 16, parse_layout("(8,16):(1,8)")}, Threads::quad_pairs, {8, 16}, {0, 0}, {2}, {2}},
    {70, 75, 8, 32, 16, O::b, Type::f16, Orders::row, {"m8n32k16.b.f16", 8, 16, 16, parse_layout("((4,2),(4,4)):((8,4),(1,32))")}, Threads::quad_pairs, {8, 16}, {0, 0}, {2}, {2}},
    {70, 75, 8, 32, 16, O::accumulator, Type::f16, Orders::any, {"m8n32k16.c.f16", 8, 8, 16, parse_layout("(8,8):(1,8)")}, Threads::quad_pairs, {0, 0}, {8, 16}, {2}, {2}},
    {70, 75, 8, 32, 16, O::accumulator, Type::f32, Orders::any, {"m8n32k16.c.f32", 8, 8, 32, parse_layout("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")}, Threads::quad_pairs, {0, 0}, {8, 16}, {4}, {4}},
    // Turing and everything after it.
    {75, none, 16, 16, 16, O::a, Type::f16, Orders::any, {"m16n16k16.a.f16", 16, 16, 16, parse_layout("((4,8),(2,2,2,2)):((32,1),(16,8,128,0))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {75, none, 16, 16, 16, O::b, Type::f16, Orders::any, {"m16n16k16.b.f16", 16, 16, 16, parse_layout("((4,8),(2,2,2,2)):((32,1),(16,128,8,0))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {80, none, 16, 16, 16, O::a, Type::bf16, Orders::any, {"m16n16k16.a.bf16", 16, 16, 16, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {80, none, 16, 16, 16, O::b, Type::bf16, Orders::any, {"m16n16k16.b.bf16", 16, 16, 16, parse_layout("((4,8),(2,2,2)):((32,1),(16,128,8))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {75, none, 16, 16, 16, O::a, Type::s8, Orders::any, {"m16n16k16.a.s8", 16, 16, 8, parse_layout("((4,8),(4,2)):((64,1),(16,8))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {1}},
    {75, none, 16, 16, 16, O::b, Type::s8, Orders::any, {"m16n16k16.b.s8", 16, 16, 8, parse_layout("((4,8),(4,2)):((64,1),(16,8))")}, Threads::warp, {0, 0}, {0, 0}, {1}, {4}},
    {75, none, 32, 8, 16, O::a, Type::f16, Orders::any, {"m32n8k16.a.f16", 32, 16, 16, parse_layout("((4,8),(2,2,2,2)):((64,1),(32,8,256,16))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {75, none, 32, 8, 16, O::b, Type::f16, Orders::any, {"m32n8k16.b.f16", 8, 16, 16, parse_layout("((4,8),(2,2,4)):((16,1),(8,64,0))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {80, none, 32, 8, 16, O::a, Type::bf16, Orders::any, {"m32n8k16.a.bf16", 32, 16, 16, parse_layout("((4,8),(2,2,2,2)):((64,1),(32,8,256,16))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {80, none, 32, 8, 16, O::b, Type::bf16, Orders::any, {"m32n8k16.b.bf16", 8, 16, 16, parse_layout("((4,8),(2,2)):((16,1),(8,64))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {75, none, 32, 8, 16, O::a, Type::s8, Orders::any, {"m32n8k16.a.s8", 32, 16, 8, parse_layout("((4,8),(4,4)):((128,1),(32,8))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {1}},
    {75, none, 32, 8, 16, O::b, Type::s8, Orders::any, {"m32n8k16.b.s8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {1}, {4}},
    {75, none, 8, 32, 16, O::a, Type::f16, Orders::any, {"m8n32k16.a.f16", 8, 16, 16, parse_layout("((4,8),(2,2,4)):((16,1),(8,64,0))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {75, none, 8, 32, 16, O::b, Type::f16, Orders::any, {"m8n32k16.b.f16", 32, 16, 16, parse_layout("((4,8),(2,2,2,2)):((64,1),(32,8,256,16))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {80, none, 8, 32, 16, O::a, Type::bf16, Orders::any, {"m8n32k16.a.bf16", 8, 16, 16, parse_layout("((4,8),(2,2)):((16,1),(8,64))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {80, none, 8, 32, 16, O::b, Type::bf16, Orders::any, {"m8n32k16.b.bf16", 32, 16, 16, parse_layout("((4,8),(2,2,2,2)):((64,1),(32,8,256,16))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {75, none, 8, 32, 16, O::a, Type::s8, Orders::any, {"m8n32k16.a.s8", 8, 16, 8, parse_layout("((4,8),4):((32,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {4}, {1}},
    {75, none, 8, 32, 16, O::b, Type::s8, Orders::any, {"m8n32k16.b.s8", 32, 16, 8, parse_layout("((4,8),(4,4)):((128,1),(32,8))")}, Threads::warp, {0, 0}, {0, 0}, {1}, {4}},
    {80, none, 16, 16, 8, O::a, Type::tf32, Orders::any, {"m16n16k8.a.tf32", 16, 8, 32, parse_layout("((4,8),(2,2)):((16,1),(8,64))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {80, none, 16, 16, 8, O::b, Type::tf32, Orders::any, {"m16n16k8.b.tf32", 16, 8, 32, parse_layout("((4,8),(2,2)):((16,1),(64,8))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {80, none, 8, 8, 4, O::a, Type::f64, Orders::any, {"m8n8k4.a.f64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")}, Threads::warp, {0, 0}, {0, 0}, {8}, {8}},
    {80, none, 8, 8, 4, O::b, Type::f64, Orders::any, {"m8n8k4.b.f64", 8, 4, 64, parse_layout("((4,8),1):((8,1),0)")}, Threads::warp, {0, 0}, {0, 0}, {8}, {8}},
    {75, none, 8, 8, 32, O::a, Type::s4, Orders::any, {"m8n8k32.a.s4", 8, 32, 4, parse_layout("((4,8),8):((64,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {75, none, 8, 8, 32, O::b, Type::s4, Orders::any, {"m8n8k32.b.s4", 8, 32, 4, parse_layout("((4,8),8):((64,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {75, none, 8, 8, 128, O::a, Type::b1, Orders::any, {"m8n8k128.a.b1", 8, 128, 1, parse_layout("((4,8),32):((256,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {75, none, 8, 8, 128, O::b, Type::b1, Orders::any, {"m8n8k128.b.b1", 8, 128, 1, parse_layout("((4,8),32):((256,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4}},
    {75, none, 16, 16, 16, O::accumulator, Type::f16, Orders::any, {"m16n16k16.c.f16", 16, 16, 16, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {75, none, 16, 16, 16, O::accumulator, Type::f32, Orders::any, {"m16n16k16.c.f32", 16, 16, 32, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {75, none, 16, 16, 16, O::accumulator, Type::s32, Orders::any, {"m16n16k16.c.s32", 16, 16, 32, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {75, none, 32, 8, 16, O::accumulator, Type::f16, Orders::any, {"m32n8k16.c.f16", 32, 8, 16, parse_layout("((4,8),(2,4)):((64,1),(32,8))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {4, true}},
    {75, none, 32, 8, 16, O::accumulator, Type::f32, Orders::any, {"m32n8k16.c.f32", 32, 8, 32, parse_layout("((4,8),(2,4)):((64,1),(32,8))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {75, none, 32, 8, 16, O::accumulator, Type::s32, Orders::any, {"m32n8k16.c.s32", 32, 8, 32, parse_layout("((4,8),(2,4)):((64,1),(32,8))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {75, none, 8, 32, 16, O::accumulator, Type::f16, Orders::any, {"m8n32k16.c.f16", 8, 32, 16, parse_layout("(32,(2,4)):(2,(1,64))")}, Threads::warp, {0, 0}, {0, 0}, {4, true}, {4}},
    {75, none, 8, 32, 16, O::accumulator, Type::f32, Orders::any, {"m8n32k16.c.f32", 8, 32, 32, parse_layout("(32,(2,4)):(2,(1,64))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {8}},
    {75, 80, 8, 32, 16, O::accumulator, Type::s32, Orders::any, {"m8n32k16.c.s32", 8, 32, 32, parse_layout("((4,8),(2,4)):((16,1),(8,64))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {80, none, 8, 32, 16, O::accumulator, Type::s32, Orders::any, {"m8n32k16.c.s32", 8, 32, 32, parse_layout("(32,(2,4)):(2,(1,64))")}, Threads::warp, {0, 0}, {0, 0}, {4}, {8}},
    {80, none, 16, 16, 8, O::accumulator, Type::f32, Orders::any, {"m16n16k8.c.f32", 16, 16, 32, parse_layout("((4,8),(2,2,2)):((32,1),(16,8,128))")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {80, none, 8, 8, 4, O::accumulator, Type::f64, Orders::any, {"m8n8k4.c.f64", 8, 8, 64, parse_layout("((4,8),2):((16,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {16}, {8}},
    {75, none, 8, 8, 32, O::accumulator, Type::s32, Orders::any, {"m8n8k32.c.s32", 8, 8, 32, parse_layout("((4,8),2):((16,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
    {75, none, 8, 8, 128, O::accumulator, Type::s32, Orders::any, {"m8n8k128.c.s32", 8, 8, 32, parse_layout("((4,8),2):((16,1),8)")}, Threads::warp, {0, 0}, {0, 0}, {8}, {4}},
});

constexpr auto variant_rows = std::to_array<WmmaVariant>({
    {"wmma.mma.m16n16k16.row.row.f16.f16.f16.f16", 16, 16, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.row.f16.f16.f16.f32", 16, 16, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.row.f32.f16.f16.f16", 16, 16, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.row.f32.f16.f16.f32", 16, 16, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.col.f16.f16.f16.f16", 16, 16, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.col.f16.f16.f16.f32", 16, 16, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.col.f32.f16.f16.f16", 16, 16, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", 16, 16, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.row.f16.f16.f16.f16", 16, 16, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.row.f16.f16.f16.f32", 16, 16, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.row.f32.f16.f16.f16", 16, 16, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.row.f32.f16.f16.f32", 16, 16, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.col.f16.f16.f16.f16", 16, 16, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.col.f16.f16.f16.f32", 16, 16, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.col.f32.f16.f16.f16", 16, 16, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.col.col.f32.f16.f16.f32", 16, 16, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.row.f16.f16.f16.f16", 32, 8, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.row.f16.f16.f16.f32", 32, 8, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.row.f32.f16.f16.f16", 32, 8, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.row.f32.f16.f16.f32", 32, 8, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.col.f16.f16.f16.f16", 32, 8, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.col.f16.f16.f16.f32", 32, 8, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.col.f32.f16.f16.f16", 32, 8, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.row.col.f32.f16.f16.f32", 32, 8, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.row.f16.f16.f16.f16", 32, 8, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.row.f16.f16.f16.f32", 32, 8, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.row.f32.f16.f16.f16", 32, 8, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.row.f32.f16.f16.f32", 32, 8, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.col.f16.f16.f16.f16", 32, 8, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.col.f16.f16.f16.f32", 32, 8, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.col.f32.f16.f16.f16", 32, 8, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m32n8k16.col.col.f32.f16.f16.f32", 32, 8, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.row.f16.f16.f16.f16", 8, 32, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.row.f16.f16.f16.f32", 8, 32, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.row.f32.f16.f16.f16", 8, 32, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.row.f32.f16.f16.f32", 8, 32, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.col.f16.f16.f16.f16", 8, 32, 16, Type::f16, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.col.f16.f16.f16.f32", 8, 32, 16, Type::f16, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.col.f32.f16.f16.f16", 8, 32, 16, Type::f32, Type::f16, Type::f16, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.row.col.f32.f16.f16.f32", 8, 32, 16, Type::f32, Type::f16, Type::f32, Order::row, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.row.f16.f16.f16.f16", 8, 32, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.row.f16.f16.f16.f32", 8, 32, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.row.f32.f16.f16.f16", 8, 32, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.row.f32.f16.f16.f32", 8, 32, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::row, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.col.f16.f16.f16.f16", 8, 32, 16, Type::f16, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.col.f16.f16.f16.f32", 8, 32, 16, Type::f16, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.col.f32.f16.f16.f16", 8, 32, 16, Type::f32, Type::f16, Type::f16, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m8n32k16.col.col.f32.f16.f16.f32", 8, 32, 16, Type::f32, Type::f16, Type::f32, Order::col, Order::col, Combine::none, false, 70},
    {"wmma.mma.m16n16k16.row.row.f32.bf16.bf16.f32", 16, 16, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::row, Combine::none, false, 80},
    {"wmma.mma.m16n16k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::col, Combine::none, false, 80},
    {"wmma.mma.m16n16k16.col.row.f32.bf16.bf16.f32", 16, 16, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::row, Combine::none, false, 80},
    {"wmma.mma.m16n16k16.col.col.f32.bf16.bf16.f32", 16, 16, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::col, Combine::none, false, 80},
    {"wmma.mma.m32n8k16.row.row.f32.bf16.bf16.f32", 32, 8, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::row, Combine::none, false, 80},
    {"wmma.mma.m32n8k16.row.col.f32.bf16.bf16.f32", 32, 8, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::col, Combine::none, false, 80},
    {"wmma.mma.m32n8k16.col.row.f32.bf16.bf16.f32", 32, 8, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::row, Combine::none, false, 80},
    {"wmma.mma.m32n8k16.col.col.f32.bf16.bf16.f32", 32, 8, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::col, Combine::none, false, 80},
    {"wmma.mma.m8n32k16.row.row.f32.bf16.bf16.f32", 8, 32, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::row, Combine::none, false, 80},
    {"wmma.mma.m8n32k16.row.col.f32.bf16.bf16.f32", 8, 32, 16, Type::f32, Type::bf16, Type::f32, Order::row, Order::col, Combine::none, false, 80},
    {"wmma.mma.m8n32k16.col.row.f32.bf16.bf16.f32", 8, 32, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::row, Combine::none, false, 80},
    {"wmma.mma.m8n32k16.col.col.f32.bf16.bf16.f32", 8, 32, 16, Type::f32, Type::bf16, Type::f32, Order::col, Order::col, Combine::none, false, 80},
    {"wmma.mma.m16n16k8.row.row.f32.tf32.tf32.f32", 16, 16, 8, Type::f32, Type::tf32, Type::f32, Order::row, Order::row, Combine::none, false, 80},
    {"wmma.mma.m16n16k8.row.col.f32.tf32.tf32.f32", 16, 16, 8, Type::f32, Type::tf32, Type::f32, Order::row, Order::col, Combine::none, false, 80},
    {"wmma.mma.m16n16k8.col.row.f32.tf32.tf32.f32", 16, 16, 8, Type::f32, Type::tf32, Type::f32, Order::col, Order::row, Combine::none, false, 80},
    {"wmma.mma.m16n16k8.col.col.f32.tf32.tf32.f32", 16, 16, 8, Type::f32, Type::tf32, Type::f32, Order::col, Order::col, Combine::none, false, 80},
    {"wmma.mma.m8n8k4.row.row.f64.f64.f64.f64", 8, 8, 4, Type::f64, Type::f64, Type::f64, Order::row, Order::row, Combine::none, false, 80},
    {"wmma.mma.m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, Type::f64, Type::f64, Type::f64, Order::row, Order::col, Combine::none, false, 80},
    {"wmma.mma.m8n8k4.col.row.f64.f64.f64.f64", 8, 8, 4, Type::f64, Type::f64, Type::f64, Order::col, Order::row, Combine::none, false, 80},
    {"wmma.mma.m8n8k4.col.col.f64.f64.f64.f64", 8, 8, 4, Type::f64, Type::f64, Type::f64, Order::col, Order::col, Combine::none, false, 80},
    {"wmma.mma.m16n16k16.row.row.s32.s8.s8.s32", 16, 16, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.row.col.s32.s8.s8.s32", 16, 16, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.col.row.s32.s8.s8.s32", 16, 16, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.col.col.s32.s8.s8.s32", 16, 16, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.row.row.s32.s8.s8.s32", 32, 8, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.row.col.s32.s8.s8.s32", 32, 8, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.col.row.s32.s8.s8.s32", 32, 8, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.col.col.s32.s8.s8.s32", 32, 8, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.row.row.s32.s8.s8.s32", 8, 32, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.row.col.s32.s8.s8.s32", 8, 32, 16, Type::s32, Type::s8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.col.row.s32.s8.s8.s32", 8, 32, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.col.col.s32.s8.s8.s32", 8, 32, 16, Type::s32, Type::s8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.row.row.s32.u8.u8.s32", 16, 16, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.row.col.s32.u8.u8.s32", 16, 16, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.col.row.s32.u8.u8.s32", 16, 16, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m16n16k16.col.col.s32.u8.u8.s32", 16, 16, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.row.row.s32.u8.u8.s32", 32, 8, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.row.col.s32.u8.u8.s32", 32, 8, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.col.row.s32.u8.u8.s32", 32, 8, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m32n8k16.col.col.s32.u8.u8.s32", 32, 8, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.row.row.s32.u8.u8.s32", 8, 32, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::row, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.row.col.s32.u8.u8.s32", 8, 32, 16, Type::s32, Type::u8, Type::s32, Order::row, Order::col, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.col.row.s32.u8.u8.s32", 8, 32, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::row, Combine::none, true, 72},
    {"wmma.mma.m8n32k16.col.col.s32.u8.u8.s32", 8, 32, 16, Type::s32, Type::u8, Type::s32, Order::col, Order::col, Combine::none, true, 72},
    {"wmma.mma.m8n8k32.row.col.s32.s4.s4.s32", 8, 8, 32, Type::s32, Type::s4, Type::s32, Order::row, Order::col, Combine::none, true, 75},
    {"wmma.mma.m8n8k32.row.col.s32.u4.u4.s32", 8, 8, 32, Type::s32, Type::u4, Type::s32, Order::row, Order::col, Combine::none, true, 75},
    {"wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 8, 128, Type::s32, Type::b1, Type::s32, Order::row, Order::col, Combine::xor_, false, 75},
    {"wmma.mma.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 8, 8, 128, Type::s32, Type::b1, Type::s32, Order::row, Order::col, Combine::and_, false, 80},
});
// clang-format on

constexpr std::string_view code = "ptxas 13.0's code, executed symbolically";

constexpr auto machine_rows = std::to_array<WmmaMachine>({
    {Arch::sm_70, Evidence::derived,
     "accumulator of 16x16x16 published as measured; the rest derived from mma.m8n8k4", false},
    {Arch::sm_75, Evidence::assembler, code, true},
    {Arch::sm_80, Evidence::assembler, code, true},
    {Arch::sm_86, Evidence::assembler, code, true},
    {Arch::sm_87, Evidence::derived, "as sm_86", true},
    {Arch::sm_89, Evidence::assembler, code, true},
    {Arch::sm_90, Evidence::measured, "H200", true},
    {Arch::sm_100, Evidence::assembler, code, true},
    {Arch::sm_103, Evidence::derived, "as sm_100", true},
    {Arch::sm_120, Evidence::assembler, code, true},
    {Arch::sm_121, Evidence::derived, "as sm_120", true},
});

static_assert(one_row_each(machine_rows),
              "each Arch has one row in machine_rows: how its fragments of wmma are known");

constexpr Type stored(Type t) { return t == Type::u8 ? Type::s8 : t == Type::u4 ? Type::s4 : t; }

// Every element has an owner, none lies outside, and the parts fill the matrix.
constexpr bool covers(const WmmaFragment& f) {
    const Layout& l = f.part.layout;
    const WmmaExtent whole = extent(f);
    if (!l.valid || l.threads() * instances(f.threads) != 32 || f.part.bits != bits(f.type))
        return false;
    std::array<bool, 1024> owned{};
    // The layout alone, as in matrix.cpp.
    const unsigned sets = instances(f.threads);
    const unsigned threads = l.threads();
    const unsigned values = l.values();
    for (unsigned set = 0; set < sets; ++set)
        for (unsigned i = 0; i < threads * values; ++i) {
            const unsigned index = l.at(i / values, i % values);
            const unsigned row =
                index % f.part.rows + f.row_step[0] * (set & 1) + f.row_step[1] * (set >> 1);
            const unsigned column =
                index / f.part.rows + f.column_step[0] * (set & 1) + f.column_step[1] * (set >> 1);
            if (row >= whole.rows || column >= whole.columns) return false;
            owned[row * whole.columns + column] = true;
        }
    for (unsigned e = 0; e < whole.rows * whole.columns; ++e)
        if (!owned[e]) return false;
    return true;
}

static_assert(
    [] {
        for (const WmmaFragment& f : fragment_rows)
            if (!covers(f)) return false;
        return true;
    }(),
    "each fragment's layout covers its elements");

constexpr bool overlap(const WmmaFragment& a, const WmmaFragment& b) {
    return a.m == b.m && a.n == b.n && a.k == b.k && a.operand == b.operand && a.type == b.type &&
           a.from < b.to && b.from < a.to &&
           (a.orders == b.orders || a.orders == Orders::any || b.orders == Orders::any);
}

// What is wrong is seen: with one thing changed a fragment does not cover its elements, or it
// overlaps what it was.
constexpr auto changed = [](auto change) {
    WmmaFragment f = fragment_rows[0];
    change(f);
    return f;
};
using Changed = WmmaFragment&;
static_assert(!covers(changed([](Changed f) { f.part.layout.valid = false; })));
static_assert(!covers(changed([](Changed f) { f.part.bits = 8; })));
static_assert(!covers(changed([](Changed f) { f.threads = Threads::warp; })));
static_assert(!covers(changed([](Changed f) { --f.m; })));
static_assert(!covers(changed([](Changed f) { ++f.m; })));
static_assert(!covers(changed([](Changed f) { --f.k; })));
static_assert(!covers(changed([](Changed f) { ++f.k; })));
constexpr bool overlaps(auto change) { return overlap(fragment_rows[0], changed(change)); }
static_assert(overlaps([](Changed) {}));
static_assert(!overlaps([](Changed f) { ++f.m; }) && !overlaps([](Changed f) { ++f.n; }) &&
              !overlaps([](Changed f) { ++f.k; }));
static_assert(!overlaps([](Changed f) { f.operand = O::b; }) &&
              !overlaps([](Changed f) { f.type = Type::f32; }));
static_assert(!overlaps([](Changed f) { f.from = f.to, f.to = 100; }) &&
              !overlaps([](Changed f) { f.to = f.from, f.from = 1; }) &&
              overlaps([](Changed f) { f.from = f.to - 1, f.to = 100; }) &&
              overlaps([](Changed f) { f.to = f.from + 1, f.from = 1; }));
static_assert(!overlaps([](Changed f) { f.orders = Orders::col; }) && overlaps([](Changed f) {
    f.orders = Orders::any;
}) && overlap(changed([](Changed f) { f.orders = Orders::any; }), fragment_rows[0]));

static_assert(
    [] {
        for (size_t i = 0; i < fragment_rows.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (overlap(fragment_rows[i], fragment_rows[j])) return false;
        return true;
    }(),
    "no two fragments answer the same question");

static_assert(
    [] {
        for (size_t i = 0; i < variant_rows.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (variant_rows[i].key == variant_rows[j].key) return false;
        return true;
    }(),
    "no two variants have one key");

}  // namespace

std::span<const WmmaFragment> wmma_fragments() { return fragment_rows; }

const WmmaFragment* find_wmma_fragment(Arch arch, unsigned m, unsigned n, unsigned k,
                                       WmmaOperand operand, Type type, Order order) {
    const unsigned number = row(arch).number;
    const Orders wanted = order == Order::row ? Orders::row : Orders::col;
    for (const WmmaFragment& f : fragment_rows)
        if (f.from <= number && number < f.to && f.m == m && f.n == n && f.k == k &&
            f.operand == operand && f.type == stored(type) &&
            (f.orders == Orders::any || f.orders == wanted))
            return &f;
    return nullptr;
}

std::span<const WmmaVariant> wmma_variants() { return variant_rows; }

const WmmaVariant* find_wmma(unsigned m, unsigned n, unsigned k, Type d, Type ab, Type c,
                             Order a_order, Order b_order, Combine combine) {
    for (const WmmaVariant& v : variant_rows)
        if (v.m == m && v.n == n && v.k == k && v.d == d && v.ab == ab && v.c == c &&
            v.a_order == a_order && v.b_order == b_order && v.combine == combine)
            return &v;
    return nullptr;
}

const WmmaMachine& wmma_machine(Arch arch) {
    return *std::ranges::find(machine_rows, arch, &WmmaMachine::arch);
}

}  // namespace lockwarp::isa
