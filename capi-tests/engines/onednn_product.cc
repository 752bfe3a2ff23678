// A matrix product with attributes, by oneDNN, for onednn_cases.py.

#include <dnnl.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

using dnnl::memory;

enum Kind { ELTWISE, SUM, BINARY };
enum Axis { PER_COLUMN, PER_ELEMENT };

// All fields have 8 bytes, so that there are no gaps.
struct Post {
    int64_t kind;
    const char *algorithm;
    double alpha, beta;      // of an eltwise; the scale of a sum is alpha
    int64_t sum_zero_point;
    int64_t axis;
    const float *operand;    // of a binary
};

struct Product {
    int64_t m, n, k;
    const char *a_type, *c_type;
    const void *a;
    const int8_t *b;
    // NULL for none.
    const float *a_scales, *b_scales, *c_scale;
    int64_t a_scale_count, b_scale_count;
    const int32_t *a_zero_point, *b_zero_point, *c_zero_point;
    const float *bias;
    void *c;                 // read first if there is a sum
    int64_t post_count;
    const Post *posts;
    char told[256];          // the implementation's name, or why there is none
};

static memory::data_type type_of(const std::string &name) {
    static const std::unordered_map<std::string, memory::data_type> types = {
        {"u8", memory::data_type::u8},   {"s8", memory::data_type::s8},     {"s32", memory::data_type::s32},
        {"f32", memory::data_type::f32}, {"bf16", memory::data_type::bf16},
    };
    return types.at(name);
}

static dnnl::algorithm algorithm_of(const std::string &name) {
    static const std::unordered_map<std::string, dnnl::algorithm> algorithms = {
        {"relu", dnnl::algorithm::eltwise_relu},
        {"clip", dnnl::algorithm::eltwise_clip_v2},
        {"tanh", dnnl::algorithm::eltwise_tanh},
        {"logistic", dnnl::algorithm::eltwise_logistic},
        {"gelu_erf", dnnl::algorithm::eltwise_gelu_erf},
        {"gelu_tanh", dnnl::algorithm::eltwise_gelu_tanh},
        {"swish", dnnl::algorithm::eltwise_swish},
        {"hardswish", dnnl::algorithm::eltwise_hardswish},
        {"linear", dnnl::algorithm::eltwise_linear},
        {"add", dnnl::algorithm::binary_add},
        {"mul", dnnl::algorithm::binary_mul},
    };
    return algorithms.at(name);
}

struct Call {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::primitive_attr attributes;
    std::unordered_map<int, memory> arguments;

    memory::desc describe(memory::dims dims, memory::data_type type) {
        memory::dims strides = dims.size() == 1 ? memory::dims{1} : memory::dims{dims[1], 1};
        return memory::desc(dims, type, strides);
    }

    memory::desc argument(int which, memory::dims dims, memory::data_type type, const void *data) {
        memory::desc description = describe(dims, type);
        arguments.emplace(which, memory(description, engine, const_cast<void *>(data)));
        return description;
    }

    void scales(int which, const float *values, int64_t count, int mask) {
        if (values == nullptr)
            return;
        attributes.set_scales_mask(which, count == 1 ? 0 : mask);
        argument(DNNL_ARG_ATTR_SCALES | which, {count}, memory::data_type::f32, values);
    }

    void zero_point(int which, const int32_t *value) {
        if (value == nullptr)
            return;
        attributes.set_zero_points_mask(which, 0);
        argument(DNNL_ARG_ATTR_ZERO_POINTS | which, {1}, memory::data_type::s32, value);
    }

    void post_ops(const Product &p) {
        dnnl::post_ops list;
        for (int64_t i = 0; i < p.post_count; i++) {
            const Post &post = p.posts[i];
            if (post.kind == ELTWISE) {
                list.append_eltwise(algorithm_of(post.algorithm), (float)post.alpha, (float)post.beta);
            } else if (post.kind == SUM) {
                list.append_sum((float)post.alpha, (int32_t)post.sum_zero_point);
            } else {
                memory::dims dims = {post.axis == PER_ELEMENT ? p.m : 1, p.n};
                int which = DNNL_ARG_ATTR_MULTIPLE_POST_OP((int)i) | DNNL_ARG_SRC_1;
                list.append_binary(algorithm_of(post.algorithm),
                                   argument(which, dims, memory::data_type::f32, post.operand));
            }
        }
        attributes.set_post_ops(list);
    }

    std::string run(const Product &p) {
        memory::desc a = argument(DNNL_ARG_SRC, {p.m, p.k}, type_of(p.a_type), p.a);
        memory::desc b = argument(DNNL_ARG_WEIGHTS, {p.k, p.n}, memory::data_type::s8, p.b);
        memory::desc c = argument(DNNL_ARG_DST, {p.m, p.n}, type_of(p.c_type), p.c);
        memory::desc bias;
        if (p.bias != nullptr)
            bias = argument(DNNL_ARG_BIAS, {1, p.n}, memory::data_type::f32, p.bias);
        scales(DNNL_ARG_SRC, p.a_scales, p.a_scale_count, 1 << 0);
        scales(DNNL_ARG_WEIGHTS, p.b_scales, p.b_scale_count, 1 << 1);
        scales(DNNL_ARG_DST, p.c_scale, 1, 0);
        zero_point(DNNL_ARG_SRC, p.a_zero_point);
        zero_point(DNNL_ARG_WEIGHTS, p.b_zero_point);
        zero_point(DNNL_ARG_DST, p.c_zero_point);
        post_ops(p);
        dnnl::matmul::primitive_desc description(engine, a, b, bias, c, attributes);
        dnnl::matmul(description).execute(stream, arguments);
        stream.wait();
        return description.impl_info_str();
    }
};

// 1 if c was computed.
extern "C" int product(Product *p) {
    std::string told;
    int ok = 0;
    try {
        told = Call().run(*p);
        ok = 1;
    } catch (const std::exception &error) {
        told = error.what();
    }
    std::strncpy(p->told, told.c_str(), sizeof p->told - 1);
    p->told[sizeof p->told - 1] = '\0';
    return ok;
}

extern "C" const char *version(void) {
    static const std::string text = std::to_string(dnnl_version()->major) + "." +
                                    std::to_string(dnnl_version()->minor) + "." + std::to_string(dnnl_version()->patch);
    return text.c_str();
}
