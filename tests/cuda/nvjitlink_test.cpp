// SPDX-License-Identifier: Apache-2.0
// nvJitLink of the stand-in driver: its results are those of NVIDIA's library of toolkit 13.5.
#include "driver.hpp"

namespace lockwarp::test::nvjitlink_test {
namespace {

using JitLinking = Cuda;

constexpr int unrecognized_option = 1, missing_arch = 2, invalid_input = 3, ptx_compile = 4,
              internal_error = 6, null_input = 10, incompatible_options = 11, incorrect_type = 12,
              unsupported_arch = 17, lto_not_enabled = 18;
constexpr int cubin = 1, ptx = 2, lto_ir = 3, fat_binary = 4, object = 5, library_file = 6,
              any = 10;

const auto create = exported<int(Handle*, uint32_t, const char* const*)>("nvJitLinkCreate");
const auto destroy = exported<int(Handle*)>("nvJitLinkDestroy");
const auto add_data =
    exported<int(Handle, int, const void*, size_t, const char*)>("nvJitLinkAddData");
const auto add_file = exported<int(Handle, int, const char*)>("nvJitLinkAddFile");
const auto complete = exported<int(Handle)>("nvJitLinkComplete");
const auto cubin_size = exported<int(Handle, size_t*)>("nvJitLinkGetLinkedCubinSize");
const auto cubin_of = exported<int(Handle, void*)>("nvJitLinkGetLinkedCubin");
const auto ptx_size = exported<int(Handle, size_t*)>("nvJitLinkGetLinkedPtxSize");
const auto log_size = exported<int(Handle, size_t*)>("nvJitLinkGetErrorLogSize");
const auto log_of = exported<int(Handle, char*)>("nvJitLinkGetErrorLog");

const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n";
// k(x) stores twice(21).
const std::string user = head + R"(
.extern .func (.param .b32 r) twice(.param .b32 a);
.visible .entry k(.param .u64 x)
{
 .reg .b32 %r; .reg .b64 %p;
 .param .b32 a; .param .b32 r;
 ld.param.u64 %p, [x];
 st.param.b32 [a], 21;
 call.uni (r), twice, (a);
 ld.param.b32 %r, [r];
 st.global.u32 [%p], %r;
 ret;
}
)";
const std::string definer = head + R"(
.visible .func (.param .b32 r) twice(.param .b32 a)
{
 .reg .b32 %r;
 ld.param.b32 %r, [a];
 add.u32 %r, %r, %r;
 st.param.b32 [r], %r;
 ret;
}
)";

class JitLink {
  public:
    explicit JitLink(const std::vector<const char*>& options = {"-arch=sm_80"})
        : created(create(&handle, static_cast<uint32_t>(options.size()), options.data())) {}
    JitLink(const JitLink&) = delete;
    ~JitLink() {
        EXPECT_EQ(destroy(&handle), success);
        EXPECT_EQ(handle, nullptr);
    }
    int add(const std::string& text, int type = ptx, const char* name = "input") {
        return add_data(handle, type, text.data(), text.size(), name);
    }
    std::string log() const {
        size_t size = 0;
        EXPECT_EQ(log_size(handle, &size), success);
        std::string out(size + 1, '\0');
        EXPECT_EQ(log_of(handle, out.data()), success);
        out.resize(size);
        return out;
    }

    Handle handle = nullptr;
    int created;
};

int created_with(const std::vector<const char*>& options) { return JitLink(options).created; }

TEST_F(JitLinking, GivesATextThatLoadsAsMachineCodeDoes) {
    JitLink link;
    ASSERT_EQ(link.created, success);
    size_t size = 77;
    EXPECT_EQ(cubin_size(link.handle, &size), internal_error);
    EXPECT_EQ(size, 77u);
    EXPECT_EQ(link.add(user), success);
    EXPECT_EQ(link.add(definer + '\0', any), success);
    ASSERT_EQ(complete(link.handle), success) << link.log();
    EXPECT_EQ(ptx_size(link.handle, &size), invalid_input);  // without -ptx
    ASSERT_EQ(cubin_size(link.handle, &size), success);
    std::vector<char> image(size, 'x');
    ASSERT_EQ(cubin_of(link.handle, image.data()), success);
    EXPECT_EQ(image.back(), 0);
    const Address x = allocate(4);
    ASSERT_EQ(run(function(load(image.data()), "k"), x), success);
    EXPECT_EQ(read<uint32_t>(x, 1)[0], 42u);
    EXPECT_EQ(complete(link.handle), internal_error);
    EXPECT_EQ(link.add(definer), internal_error);
}

TEST_F(JitLinking, TakesItsOptionsAndNoOthers) {
    EXPECT_EQ(created_with({}), missing_arch);
    EXPECT_EQ(created_with({"-O3"}), missing_arch);
    EXPECT_EQ(created_with({"-arch=sm_80", "-g", "-lineinfo", "-ftz=true", "-maxrregcount=32"}),
              success);
    EXPECT_EQ(created_with({"-arch=sm_80", "-lto", "-ptx"}), success);
    EXPECT_EQ(created_with({"-arch=sm_12"}), unsupported_arch);
    EXPECT_EQ(created_with({"-arch=other"}), unrecognized_option);
    EXPECT_EQ(created_with({"-arch=sm_80", "-ptx"}), incompatible_options);
    EXPECT_EQ(created_with({"-arch=compute_80"}), incompatible_options);
    EXPECT_EQ(created_with({"-arch=compute_80", "-lto", "-ptx"}), success);
    JitLink link({"-arch=sm_80", "-other"});
    EXPECT_EQ(link.created, unrecognized_option);
    EXPECT_EQ(link.log(), "unrecognized option: -other\n");
}

TEST_F(JitLinking, SaysWhatIsWrong) {
    JitLink wrong, lacking, twice, empty;
    EXPECT_EQ(wrong.add(head + "other;"), ptx_compile);
    EXPECT_EQ(wrong.log().substr(0, 6), "PTX:4:");
    EXPECT_EQ(lacking.add(user), success);
    EXPECT_EQ(complete(lacking.handle), internal_error);
    EXPECT_NE(lacking.log().find("twice"), std::string::npos);
    EXPECT_EQ(twice.add(definer), success);
    EXPECT_EQ(twice.add(definer), success);
    EXPECT_EQ(complete(twice.handle), internal_error);
    EXPECT_EQ(twice.log(), "'twice' is defined in two modules\n");
    EXPECT_EQ(complete(empty.handle), success);
}

TEST_F(JitLinking, TakesWhatItsTypeSays) {
    JitLink link;
    for (const int type : {0, cubin, fat_binary, object, library_file, 9})
        EXPECT_EQ(link.add(user, type), incorrect_type) << type;
    EXPECT_EQ(link.add("\x7f"
                       "ELF machine code",
                       any),
              incorrect_type);
    EXPECT_EQ(link.add(user, lto_ir), lto_not_enabled);
    EXPECT_EQ(link.add(user, library_file, "folder/libcudadevrt.a"), success);
    EXPECT_EQ(add_data(link.handle, ptx, nullptr, 4, "none"), invalid_input);
    EXPECT_EQ(add_data(link.handle, ptx, user.data(), 0, "none"), invalid_input);
    EXPECT_EQ(add_file(link.handle, ptx, "/no/such/file"), invalid_input);
    EXPECT_EQ(add_data(nullptr, ptx, user.data(), user.size(), "none"), null_input);
    EXPECT_EQ(complete(nullptr), null_input);
    EXPECT_EQ(destroy(nullptr), null_input);
    EXPECT_EQ(create(nullptr, 0, nullptr), null_input);
}

}  // namespace
}  // namespace lockwarp::test::nvjitlink_test
