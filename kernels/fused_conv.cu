/* SPDX-License-Identifier: MIT */
/* Convolutions of few images, with the pooling beside them. Forward: a thread per output, which stays in the block
 * until its pooling has read it. Backward: a thread per input pixel, which also hands its delta down through the
 * pooling below it. Over few pixels several threads share the source maps of one sum, each its own, and add up in their
 * order. Only connected pairs are touched.
 *
 * What bounds it is latency: everything a thread loads is asked for at once (loops over taps are unrolled for 3 x 3 and
 * 5 x 5), weights come to shared memory before the predecessor's end, and blocks are enough for every multiprocessor.
 */
#include "kernels/dependent.cuh"
#include "kernels/exact.cuh"
#include "kernels/fused.h"
#include "kernels/pool_window.cuh"
#include "kernels/tuning.h"

#define THREADS 256

struct conv_args {
    cuda_layer s, pool;
    pool_below down;
    int below;
    int lanes;        /* threads that share a sum */
    int side;         /* of a cell of outputs that are pooled together; 1: no pooling */
    int cells, tiles; /* of a map; blocks for them */
    int prefetch;
    const float *x, *weights, *bias, *gain, *pool_bias;
    float *y, *pooled, *dx;
    const float *dy;
};

/* What a block does: so many outputs of one map of one image, by `lanes` threads each. */
struct conv_place {
    int points, lane, point, tile, map, image;
};

__device__ static conv_place place_of(const conv_args &a, int maps)
{
    int points = THREADS / a.lanes, of_all = blockIdx.x / a.tiles;
    return conv_place{
        points,       (int)threadIdx.x / points, (int)threadIdx.x % points, (int)blockIdx.x % a.tiles, of_all % maps,
        of_all / maps
    };
}

struct conv_shared {
    float weights[FUSED_WEIGHTS], sums[THREADS];
    int maps[FUSED_MAPS]; /* sources, each with its taps in `weights` */
};

/* The pair of maps `k` of a map: forward among its inputs, backward among its outputs. */
template <bool BACK> __device__ static int pair_of(const cuda_layer &s, int map, int k)
{
    if (BACK)
        return s.first ? s.in_pair[s.in_first[map] + k] : k * s.in_maps + map;
    return s.first ? s.first[map] + k : map * s.in_maps + k;
}

/* Sources and weights of a map. Returns how many sources there are. */
template <bool BACK> __device__ static int fetch_weights(const conv_args &a, int map, conv_shared &shared)
{
    const cuda_layer &s = a.s;
    const int32_t *first = BACK ? s.in_first : s.first;
    int count = s.first ? first[map + 1] - first[map] : BACK ? s.out_maps : s.in_maps;
    for (int k = threadIdx.x; k < count; k += THREADS)
        shared.maps[k] = !s.first ? k
                         : BACK   ? s.pair_out[pair_of<BACK>(s, map, k)]
                                  : s.source[pair_of<BACK>(s, map, k)];
    for (int i = threadIdx.x; i < count * s.taps; i += THREADS)
        shared.weights[i] = __ldcg(&a.weights[(long long)pair_of<BACK>(s, map, i / s.taps) * s.taps + i % s.taps]);
    return count;
}

/* Sum over the taps of one pair; K 0: of any size. Taps beside the map count as zeros. */
template <int K>
__device__ __forceinline__ float window_product(const cuda_layer &s, const float *in, const float *w, int top, int left)
{
    float sum = 0;
    int rows = K ? K : s.kernel_rows, cols = K ? K : s.kernel_cols;
#pragma unroll(K ? K : 1)
    for (int row = 0; row < rows; row++)
#pragma unroll(K ? K : 1)
        for (int col = 0; col < cols; col++) {
            bool there = !s.padded ||
                         ((unsigned)(top + row) < (unsigned)s.in_rows && (unsigned)(left + col) < (unsigned)s.in_cols);
            sum = fmaf(w[row * cols + col], there ? in[(top + row) * s.in_cols + left + col] : 0, sum);
        }
    return sum;
}

/* What reaches an input pixel through one pair; K 0: any size and stride. */
template <int K>
__device__ __forceinline__ float gather_product(const cuda_layer &s, const float *delta, const float *w, int row,
                                                int col)
{
    if (!K)
        return exact_through_pair(s, w, delta, row, col);
    float sum = 0;
    int bottom = row + s.pad, right = col + s.pad;
#pragma unroll
    for (int i = 0; i < K; i++)
#pragma unroll
        for (int j = 0; j < K; j++) {
            bool there = (unsigned)(bottom - i) < (unsigned)s.out_rows && (unsigned)(right - j) < (unsigned)s.out_cols;
            sum = fmaf(w[i * K + j], there ? delta[(bottom - i) * s.out_cols + right - j] : 0, sum);
        }
    return sum;
}

/* The lanes' sums of a point, in the order of lanes; for its first lane alone. */
__device__ static float join_lanes(const conv_args &a, const conv_place &p, const float *sums)
{
    float sum = 0;
    for (int lane = 0; lane < a.lanes; lane++)
        sum += sums[lane * p.points + p.point];
    return sum;
}

/* Pools the cells of the block's tile, whose outputs lie in shared memory, cell by cell. */
__device__ static void pool_cells(const conv_args &a, const conv_place &p, const float *outputs)
{
    int each = p.points / (a.side * a.side), cell = p.tile * each + threadIdx.x;
    int cell_cols = (a.s.out_cols + a.side - 1) / a.side, r = cell / cell_cols, c = cell % cell_cols;
    if (threadIdx.x >= each || r >= a.pool.out_rows || c >= a.pool.out_cols)
        return;
    cuda_layer window = a.pool;
    window.in_cols = a.side; /* as the outputs lie */
    float gain = a.pool.kind == CNN_SUBSAMPLE ? a.gain[p.map] : 0;
    float bias = a.pool.kind == CNN_SUBSAMPLE ? a.pool_bias[p.map] : 0;
    float value = window_value(window, outputs + threadIdx.x * a.side * a.side, gain, bias);
    long long of_all = (long long)p.image * a.s.out_maps + p.map;
    a.pooled[of_all * a.pool.out_rows * a.pool.out_cols + r * a.pool.out_cols + c] = activate(a.pool.activation, value);
}

template <int K> __global__ static void __launch_bounds__(THREADS) forward_kernel(const __grid_constant__ conv_args a)
{
    __shared__ conv_shared shared;
    const cuda_layer &s = a.s;
    conv_place p = place_of(a, s.out_maps);
    if (!a.prefetch)
        await_predecessor();
    int count = fetch_weights<false>(a, p.map, shared);
    if (a.prefetch)
        await_predecessor();
    __syncthreads();
    int area = a.side * a.side, each = p.points / area, cell = p.tile * each + p.point / area;
    int cell_cols = (s.out_cols + a.side - 1) / a.side, inside = p.point % area;
    int row = cell / cell_cols * a.side + inside / a.side, col = cell % cell_cols * a.side + inside % a.side;
    bool there = p.point < each * area && cell < a.cells && row < s.out_rows && col < s.out_cols;
    const float *x = a.x + (long long)p.image * s.in_maps * s.in_rows * s.in_cols;
    float sum = 0;
    for (int k = p.lane; there && k < count; k += a.lanes)
        sum += window_product<K>(s, x + shared.maps[k] * s.in_rows * s.in_cols, shared.weights + k * s.taps,
                                 row * s.stride - s.pad, col * s.stride - s.pad);
    shared.sums[threadIdx.x] = sum;
    __syncthreads();
    float value = 0;
    if (there && p.lane == 0) {
        int pixel = row * s.out_cols + col;
        float bias = a.bias[p.map];
        sum = join_lanes(a, p, shared.sums) + bias;
        if (!isfinite(sum)) /* a zero beside the map may have met an infinite weight */
            sum = repair_output(s, a.weights, bias, x, p.map, pixel);
        value = activate(s.activation, sum);
        a.y[((long long)p.image * s.out_maps + p.map) * s.out_rows * s.out_cols + pixel] = value;
    }
    if (!a.pooled)
        return;
    __syncthreads();
    if (p.lane == 0)
        shared.sums[p.point] = value;
    __syncthreads();
    pool_cells(a, p, shared.sums);
}

template <int K> __global__ static void __launch_bounds__(THREADS) data_kernel(const __grid_constant__ conv_args a)
{
    __shared__ conv_shared shared;
    const cuda_layer &s = a.s;
    conv_place p = place_of(a, s.in_maps);
    if (!a.prefetch)
        await_predecessor();
    int count = fetch_weights<true>(a, p.map, shared), plane = s.in_rows * s.in_cols;
    if (a.prefetch)
        await_predecessor();
    __syncthreads();
    int first = p.tile * p.points, pixel = first + p.point;
    const float *dy = a.dy + (long long)p.image * s.out_maps * s.out_rows * s.out_cols;
    float sum = 0;
    for (int k = p.lane; pixel < plane && k < count; k += a.lanes)
        sum += gather_product<K>(s, dy + shared.maps[k] * s.out_rows * s.out_cols, shared.weights + k * s.taps,
                                 pixel / s.in_cols, pixel % s.in_cols);
    shared.sums[threadIdx.x] = sum;
    __syncthreads();
    long long of_all = (long long)p.image * s.in_maps + p.map;
    if (pixel < plane && p.lane == 0) {
        sum = join_lanes(a, p, shared.sums);
        if (!isfinite(sum))
            sum = repair_gradient(s, a.weights, dy, p.map, pixel);
        if (a.below != CNN_LINEAR)
            sum *= slope_of(a.below, a.x[of_all * plane + pixel]);
        a.dx[of_all * plane + pixel] = sum;
    }
    if (!a.down.dx)
        return;
    __syncthreads();
    if (p.lane == 0)
        shared.sums[p.point] = sum;
    __syncthreads();
    int area = a.down.s.stride * a.down.s.stride, points = min(p.points, plane - first);
    for (int i = threadIdx.x; i < points * area; i += THREADS) {
        int at = first + i / area;
        spread_delta(a.down, of_all, at / s.in_cols, at % s.in_cols, i % area, shared.sums[i / area]);
    }
}

/* As many lanes, up to 8, as leave the threads of all outputs of a full batch within what the GPU holds at once. */
static int lanes_of(const cuda_job *job, int sources, long long outputs)
{
    int lanes = 1;
    while (2 * lanes <= 8 && 2 * lanes <= sources && outputs * 2 * lanes <= 1024LL * job->multiprocessors)
        lanes *= 2;
    return lanes;
}

static conv_args conv_args_of(const cuda_stage *stage, const cuda_batch *batch)
{
    const cuda_job *job = stage->job;
    conv_args a = {};
    a.s = *job->shape;
    a.below = job->below;
    a.prefetch = stage->prefetch;
    a.x = cuda_job_input(job, batch);
    a.weights = job->weights;
    a.bias = job->bias;
    a.y = job->y;
    a.dx = job->dx;
    a.dy = job->dy;
    a.side = 1;
    return a;
}

static cudaError_t launch(const cuda_stage *stage, const conv_args &a, long long maps, bool back, cudaStream_t stream)
{
    typedef void (*kernel)(conv_args);
    static const kernel kernels[2][3] = { { forward_kernel<0>, forward_kernel<3>, forward_kernel<5> },
                                          { data_kernel<0>, data_kernel<3>, data_kernel<5> } };
    const cuda_layer &s = a.s;
    bool square = s.kernel_rows == s.kernel_cols && (!back || s.stride == 1);
    int which = square && s.kernel_rows == 3 ? 1 : square && s.kernel_rows == 5 ? 2 : 0;
    if (maps * a.tiles > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    return launch_after(stage->early, kernels[back][which], (unsigned)(maps * a.tiles), THREADS, stream, a);
}

cudaError_t cuda_fused_conv_forward(const cuda_stage *stage, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_job *job = stage->job, *pool = stage->pool;
    conv_args a = conv_args_of(stage, batch);
    if (pool) {
        a.pool = *pool->shape;
        a.side = a.pool.stride;
        a.gain = pool->weights;
        a.pool_bias = pool->bias;
        a.pooled = pool->y;
    }
    a.cells = (a.s.out_rows + a.side - 1) / a.side * ((a.s.out_cols + a.side - 1) / a.side);
    a.lanes = lanes_of(job, a.s.in_maps, (long long)job->batch * a.s.out_maps * a.cells * a.side * a.side);
    int each = THREADS / a.lanes / (a.side * a.side);
    a.tiles = (a.cells + each - 1) / each;
    return launch(stage, a, (long long)batch->count * a.s.out_maps, false, stream);
}

cudaError_t cuda_fused_conv_data(const cuda_stage *stage, const cuda_batch *batch, cudaStream_t stream)
{
    const cuda_job *job = stage->job;
    conv_args a = conv_args_of(stage, batch);
    int plane = a.s.in_rows * a.s.in_cols;
    a.down = pool_below_of(stage->pool, batch);
    a.lanes = lanes_of(job, a.s.out_maps, (long long)job->batch * a.s.in_maps * plane);
    int each = THREADS / a.lanes;
    a.tiles = (plane + each - 1) / each;
    return launch(stage, a, (long long)batch->count * a.s.in_maps, true, stream);
}
