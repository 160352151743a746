/* SPDX-License-Identifier: MIT */
/* Fully connected layers (and convolutions as large as their input) as products of the tensors as they lie: forward
 * rows are images and columns units; backward rows are images and columns inputs; the weight gradient has a row per
 * unit and a column per input, one more for the bias, images as terms. Bias and activation, or the slope of the layer
 * below, on the way out.
 *
 * On tensor cores (product.cuh) in tf32, and in fp32 by split tf32 from sums of SPLIT_TERMS terms on, which are then as
 * accurate as plain ones; else FFMA tiles (tile.cuh). */
#include "kernels/full.cuh"
#include "kernels/product_plan.cuh"

static constexpr tile_choice plain_choices[] = { choice_of<tile_square>(0.75f), choice_of<tile_64>(0.70f),
                                                 choice_of<tile_few>(0.40f, true) };

/* products, tile, a warp's part of it, groups of warps that share terms, stages, blocks per multiprocessor */
using tf32_huge = product_tile<1, 128, 256, 64, 64, 1, 3, 1>;
using tf32_large = product_tile<1, 128, 128, 64, 64, 1, 3, 2>;
using tf32_middle = product_tile<1, 64, 64, 32, 32, 2, 3, 2>;
using tf32_small = product_tile<1, 32, 32, 32, 32, 4, 4, 4>;
using split_large = product_tile<3, 128, 128, 64, 32, 1, 3, 1>;
using split_middle = product_tile<3, 64, 64, 32, 32, 2, 3, 2>;
using split_small = product_tile<3, 32, 32, 32, 32, 4, 4, 4>;

static constexpr product_choice tf32_choices[] = { choice_of_product<tf32_huge>(0.80, 2000),
                                                   choice_of_product<tf32_large>(0.68, 1100),
                                                   choice_of_product<tf32_middle>(0.50, 350),
                                                   choice_of_product<tf32_small>(0.30, 200) };
static constexpr product_choice split_choices[] = { choice_of_product<split_large>(0.80, 2900),
                                                    choice_of_product<split_middle>(0.65, 700),
                                                    choice_of_product<split_small>(0.45, 350) };

struct product_args {
    direct_args d;
    long long whole; /* tiles that have a block each; those behind them are dealt to d.split blocks */
};

template <class OP, class T>
__global__ static void __launch_bounds__(T::THREADS, T::BLOCKS)
    product_kernel(const __grid_constant__ product_args args)
{
    extern __shared__ __align__(16) float memory[];
    const direct_args &a = args.d;
    long long behind = blockIdx.x - args.whole, tile = behind < 0 ? blockIdx.x : args.whole + behind / a.split;
    int part = behind < 0 ? 0 : (int)(behind % a.split), slice = (int)blockIdx.y, begin, end;
    int row = (int)(tile % a.row_tiles) * T::BM, column = (int)(tile / a.row_tiles) * T::BN;
    typename OP::template A<T> rows;
    typename OP::template B<T> columns;
    OP::start(a, rows, columns, row, column);
    OP::terms(a, slice, &begin, &end);
    if (behind >= 0 && a.split > 1) {
        int rounds = (end - begin + PANEL_TERMS - 1) / PANEL_TERMS, each = (rounds + a.split - 1) / a.split;
        int last = end;
        begin = min(begin + part * each * PANEL_TERMS, last);
        end = min(begin + each * PANEL_TERMS, last);
    }
    product_run<T>(rows, columns, begin, end, memory);
    int groups = T::GROUPS;
    if (behind >= 0 && a.split > 1) {
        float *partial = a.partial + (tile - args.whole) * a.split * (T::BM * T::BN);
        if (!product_join<T>(memory, partial, a.tickets + (tile - args.whole), part, a.split))
            return;
        groups = 1;
    }
    auto put = [&](int r, int c, const auto &sums) { OP::put(a, slice, row + r, column + c, sums); };
    if (OP::wide(a))
        product_put<T, 4>(memory, groups, put);
    else
        product_put<T, 1>(memory, groups, put);
}

/* A product of a full batch has the tiles of its plan; one of a short batch fewer whole ones. */
template <class OP, class T>
static cudaError_t launch_product(const product_plan &plan, direct_args d, long long rows, long long columns,
                                  int slices, cudaStream_t stream)
{
    d.row_tiles = (int)((rows + T::BM - 1) / T::BM);
    long long tiles = d.row_tiles * ((columns + T::BN - 1) / T::BN), whole = tiles > plan.tail ? tiles - plan.tail : 0;
    product_args args = { d, whole };
    args.d.split = plan.split;
    long long blocks = whole + (tiles - whole) * plan.split;
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    cudaError_t code =
        cudaFuncSetAttribute(product_kernel<OP, T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES);
    if (code)
        return code;
    product_kernel<OP, T><<<dim3((unsigned)blocks, (unsigned)slices), T::THREADS, T::BYTES, stream>>>(args);
    return cudaGetLastError();
}

template <template <int> class OP>
static cudaError_t launch_tensor(const cuda_job *job, const product_plan &plan, const direct_args &a, long long rows,
                                 long long columns, int slices, cudaStream_t stream)
{
    if (job->products == 1)
        switch (plan.choice) {
        case 0:
            return launch_product<OP<1>, tf32_huge>(plan, a, rows, columns, slices, stream);
        case 1:
            return launch_product<OP<1>, tf32_large>(plan, a, rows, columns, slices, stream);
        case 2:
            return launch_product<OP<1>, tf32_middle>(plan, a, rows, columns, slices, stream);
        default:
            return launch_product<OP<1>, tf32_small>(plan, a, rows, columns, slices, stream);
        }
    switch (plan.choice) {
    case 0:
        return launch_product<OP<3>, split_large>(plan, a, rows, columns, slices, stream);
    case 1:
        return launch_product<OP<3>, split_middle>(plan, a, rows, columns, slices, stream);
    default:
        return launch_product<OP<3>, split_small>(plan, a, rows, columns, slices, stream);
    }
}

template <template <class> class OP>
static cudaError_t launch_plain(const cuda_job *job, const direct_args &a, long long rows, long long columns,
                                int slices, cudaStream_t stream)
{
    switch (job->tile) {
    case 0:
        return launch_tiles<OP, tile_square>(a, rows, columns, slices, stream);
    case 1:
        return launch_tiles<OP, tile_64>(a, rows, columns, slices, stream);
    default:
        return launch_tiles<OP, tile_few>(a, rows, columns, slices, stream);
    }
}

/* The sizes of a product, at a batch of so many images. */
struct full_sizes {
    long long rows, columns, terms;
};

static full_sizes forward_sizes(const cuda_job *job, long long images)
{
    return { images, job->shape->out_maps, job->shape->reduction };
}

static full_sizes data_sizes(const cuda_job *job, long long images)
{
    return { images, job->shape->reduction, job->shape->out_maps };
}

static full_sizes weights_sizes(const cuda_job *job, long long images)
{
    return { job->shape->out_maps, (long long)job->shape->reduction + 1, images };
}

static bool on_tensor_cores(const cuda_job *job, const full_sizes &full)
{
    return job->products && full.terms >= (job->products == 3 ? SPLIT_TERMS : TENSOR_TERMS);
}

/* Of the program's batch: the same for its short ones. */
static product_plan plan_of(const cuda_job *job, const full_sizes &full)
{
    return job->products == 1 ? plan_product(job, tf32_choices, full.rows, full.columns, full.terms)
                              : plan_product(job, split_choices, full.rows, full.columns, full.terms);
}

static product_plan plan_of_weights(const cuda_job *job, const full_sizes &full)
{
    return job->products == 1 ? plan_slices(job, tf32_choices, full.rows, full.columns, full.terms)
                              : plan_slices(job, split_choices, full.rows, full.columns, full.terms);
}

static cudaError_t forward(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    full_sizes full = forward_sizes(job, job->batch);
    if (on_tensor_cores(job, full))
        return launch_tensor<full_forward>(job, plan_of(job, full), a, a.images, full.columns, 1, stream);
    return launch_plain<plain_forward>(job, a, a.images, full.columns, 1, stream);
}

static cudaError_t backward_data(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    full_sizes full = data_sizes(job, job->batch);
    if (on_tensor_cores(job, full))
        return launch_tensor<full_backward_data>(job, plan_of(job, full), a, a.images, full.columns, 1, stream);
    return launch_plain<plain_backward_data>(job, a, a.images, full.columns, 1, stream);
}

static cudaError_t backward_weights(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    direct_args a = direct_args_of(job, batch);
    full_sizes full = weights_sizes(job, job->batch);
    if (on_tensor_cores(job, full)) {
        product_plan plan = plan_of_weights(job, full);
        plan.split = 1;
        return launch_tensor<full_backward_weights>(job, plan, a, full.rows, full.columns, a.s.slices, stream);
    }
    return launch_plain<plain_backward_weights>(job, a, full.rows, full.columns, a.s.slices, stream);
}

static int is_full(const cuda_job *job)
{
    return job->shape->full;
}

static void prepare(cuda_job *job, const full_sizes &full)
{
    job->executed_macs = (double)job->layer->macs_dense;
    if (!on_tensor_cores(job, full)) {
        choose_tile(job, plain_choices, full.rows, full.columns, full.terms);
        return;
    }
    product_plan plan = plan_of(job, full);
    const product_choice &choice = job->products == 1 ? tf32_choices[plan.choice] : split_choices[plan.choice];
    job->tickets = (plan.tail + 63) / 64 * 64;
    job->workspace_size = job->tickets + plan.tail * plan.split * choice.rows * choice.columns;
}

static void prepare_forward(cuda_job *job)
{
    prepare(job, forward_sizes(job, job->batch));
}

static void prepare_data(cuda_job *job)
{
    prepare(job, data_sizes(job, job->batch));
}

/* FFMA tiles: slices where the matrix alone does not fill the GPU, of at least SLICE_TERMS images. */
static void prepare_weights(cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    full_sizes full = weights_sizes(job, job->batch);
    job->executed_macs = (double)job->layer->macs_dense;
    if (on_tensor_cores(job, full)) {
        job->shape->slices = plan_of_weights(job, full).split;
        return;
    }
    choose_tile(job, plain_choices, full.rows, full.columns, 1);
    long long size = (long long)s.out_maps * (s.reduction + 1), tiles = (size + 1023) / 1024;
    long long slices = job->multiprocessors / tiles, most = job->batch / SLICE_TERMS;
    slices = slices < most ? slices : most;
    job->shape->slices = (int)(slices < 1 ? 1 : slices);
}

#define FULL(symbol, operation, supports_function, prepare_function, launch_function)                                 \
    extern "C" const cuda_kernel CUDA_KERNEL(symbol) = { #symbol,        "direct",          "kernels/direct_full.cu", \
                                                         operation,      supports_function, prepare_function,         \
                                                         launch_function };

FULL(direct_whole_forward, CNN_OP_CONV_FORWARD, is_full, prepare_forward, forward)
FULL(direct_full_forward, CNN_OP_FULL_FORWARD, NULL, prepare_forward, forward)
FULL(direct_whole_backward_data, CNN_OP_CONV_BACKWARD_DATA, is_full, prepare_data, backward_data)
FULL(direct_full_backward_data, CNN_OP_FULL_BACKWARD_DATA, NULL, prepare_data, backward_data)
FULL(direct_whole_backward_weights, CNN_OP_CONV_BACKWARD_WEIGHTS, is_full, prepare_weights, backward_weights)
FULL(direct_full_backward_weights, CNN_OP_FULL_BACKWARD_WEIGHTS, NULL, prepare_weights, backward_weights)
