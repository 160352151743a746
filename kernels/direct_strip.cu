/* SPDX-License-Identifier: MIT */
/* Convolutions of stride 1 with kernels of 3 x 3 and 5 x 5, forward and backward through the data, which is the same
 * loop with the kernel turned round. A thread has a strip of 4 pixels in a column and 8 or 16 maps in registers; for
 * each source map and kernel column it loads 4 + kernel - 1 pixels (neighbouring threads neighbouring columns) and
 * multiplies each into all maps, 4 * kernel * maps FMAs for as many loads and as many 16-byte broadcasts of weights as
 * make up a tenth of that. No barrier but one per chunk of source maps. Bound by FFMA issue; strips that end outside
 * the map and maps that fill up a group are waste. */
#include "kernels/direct.cuh"

#define THREADS 128
#define STRIP 4
#define CHUNK 16 /* source maps whose weights are in shared memory at once */
#define STAGED 4 /* maps whose outputs are */

struct strip_args {
    direct_args d;
    const float *from;
    int from_maps, from_rows, from_cols, to_maps, to_rows, to_cols, pad, strips, groups;
    long long items; /* strips of all images, column by column */
};

/* Weights of CHUNK source maps from `first` on: [source][kernel column][kernel row][map]. */
template <int K, int MAPS, bool BACK>
__device__ static void load_weights(const strip_args &a, float *weights, int first, int map0)
{
    int count = min(CHUNK, a.from_maps - first) * K * K * MAPS;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        int map = i % MAPS, tap = i / MAPS % (K * K), source = first + i / (MAPS * K * K);
        int row = tap % K, col = tap / K, to = map0 + map;
        const float *w = a.d.s.dense;
        float value = 0;
        if (to < a.to_maps)
            value = BACK ? w[((long long)source * a.to_maps + to) * (K * K) + (K - 1 - row) * K + K - 1 - col]
                         : w[((long long)to * a.from_maps + source) * (K * K) + row * K + col];
        weights[i] = value;
    }
}

/* One map's outputs of a thread's strip: bias and activation forward, the slope of the layer below backward. */
template <bool BACK>
__device__ __forceinline__ void finish(const strip_args &a, long long image, int map, int row, int col, int rows,
                                       long long at, float (&value)[STRIP])
{
    const direct_args &d = a.d;
    float bias = BACK ? 0 : d.bias[map], y[STRIP];
#pragma unroll
    for (int p = 0; p < STRIP; p++)
        y[p] = BACK && d.below != CNN_LINEAR && p < rows ? d.x[at + p * a.to_cols] : 0;
#pragma unroll
    for (int p = 0; p < STRIP; p++) {
        int pixel = (row + p) * a.to_cols + col;
        value[p] += bias;
        if (!d.s.first || isfinite(value[p]) || p >= rows)
            continue;
        value[p] =
            BACK ? repair_gradient(d.s, d.weights, a.from + image * a.from_maps * a.from_rows * a.from_cols, map, pixel)
                 : repair_output(d.s, d.weights, bias, a.from + image * a.from_maps * a.from_rows * a.from_cols, map,
                                 pixel);
    }
    if (BACK && d.below != CNN_LINEAR)
#pragma unroll
        for (int p = 0; p < STRIP; p++)
            value[p] *= slope_of(d.below, y[p]);
    else if (!BACK)
        activate_all(d.s.activation, value);
}

/* A thread's sums to memory. A loop over registers would be unrolled, which made the activation's code longer than the
 * caches of instructions; so four maps at a time go through the thread's own places in shared memory. */
template <int MAPS, bool BACK>
__device__ __forceinline__ void put(const strip_args &a, long long image, int map0, int row, int col,
                                    const float (&sum)[STRIP][MAPS], float *stage)
{
    int plane = a.to_rows * a.to_cols, rows = min(STRIP, a.to_rows - row), maps = min(MAPS, a.to_maps - map0);
    long long at = (image * a.to_maps + map0) * plane + row * a.to_cols + col;
    float *to = BACK ? a.d.dx : a.d.y;
    stage += threadIdx.x;
#pragma unroll 1
    for (int map = 0; map < maps; map++, at += plane) {
        float value[STRIP];
        if (map % STAGED == 0)
#pragma unroll
            for (int m = 0; m < MAPS; m++)
                if (m / STAGED == map / STAGED)
#pragma unroll
                    for (int p = 0; p < STRIP; p++)
                        stage[(m % STAGED * STRIP + p) * THREADS] = sum[p][m];
#pragma unroll
        for (int p = 0; p < STRIP; p++)
            value[p] = stage[(map % STAGED * STRIP + p) * THREADS];
        finish<BACK>(a, image, map0 + map, row, col, rows, at, value);
#pragma unroll
        for (int p = 0; p < STRIP; p++)
            if (p < rows)
                to[at + p * a.to_cols] = value[p];
    }
}

template <int K, int MAPS, bool BACK>
__global__ static void __launch_bounds__(THREADS, MAPS == 8 ? 5 : 4) strip_kernel(const __grid_constant__ strip_args a)
{
    constexpr int ROWS = STRIP + K - 1;
    constexpr int WEIGHTS = CHUNK * K * K * MAPS, OUTPUTS = STAGED * STRIP * THREADS;
    __shared__ __align__(16) float shared[WEIGHTS > OUTPUTS ? WEIGHTS : OUTPUTS];
    int map0 = (int)(blockIdx.x % a.groups) * MAPS;
    long long item = (long long)(blockIdx.x / a.groups) * THREADS + threadIdx.x, strip_of_all, image;
    int col, strip, plane = a.from_rows * a.from_cols;
    divide(min(item, a.items - 1), a.to_cols, &strip_of_all, &col);
    divide(strip_of_all, a.strips, &image, &strip);
    int top = strip * STRIP - a.pad, left = col - a.pad;
    unsigned inside = bits_forward(top, ROWS, a.from_rows); /* rows of the strip's windows that exist */
    const float *from = a.from + image * a.from_maps * plane + (top * a.from_cols + left);
    float sum[STRIP][MAPS];
#pragma unroll
    for (int p = 0; p < STRIP; p++)
#pragma unroll
        for (int m = 0; m < MAPS; m++)
            sum[p][m] = 0;
    for (int first = 0; first < a.from_maps; first += CHUNK) {
        __syncthreads();
        load_weights<K, MAPS, BACK>(a, shared, first, map0);
        __syncthreads();
        int count = min(CHUNK, a.from_maps - first);
        for (int source = 0; source < count; source++, from += plane) {
            const float *w = shared + source * (K * K * MAPS);
#pragma unroll(MAPS == 8 ? K : 1)
            for (int j = 0; j < K; j++) {
                float in[ROWS];
                bool there = (unsigned)(left + j) < (unsigned)a.from_cols;
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    in[r] = there && (inside >> r & 1) ? from[r * a.from_cols + j] : 0;
#pragma unroll
                for (int i = 0; i < K; i++) {
                    float tap[MAPS];
#pragma unroll
                    for (int m = 0; m < MAPS; m += 4)
                        *(float4 *)&tap[m] = *(const float4 *)(w + (j * K + i) * MAPS + m);
#pragma unroll
                    for (int p = 0; p < STRIP; p++)
#pragma unroll
                        for (int m = 0; m < MAPS; m++)
                            sum[p][m] = fmaf(tap[m], in[p + i], sum[p][m]);
                }
            }
        }
    }
    __syncthreads();
    if (item < a.items)
        put<MAPS, BACK>(a, image, map0, strip * STRIP, col, sum, shared);
}

/* Groups of 16 maps where they fill up at least as well, and where there are strips enough for the GPU. */
static int maps_of(const cuda_job *job, int maps, long long items)
{
    bool many = items * ((maps + 15) / 16) >= 512LL * job->multiprocessors;
    return many && (maps + 15) / 16 * 16 - maps < 8 ? 16 : 8;
}

template <bool BACK> static strip_args strip_args_of(const cuda_job *job, long long images)
{
    const cuda_layer &s = *job->shape;
    strip_args a = {};
    a.from_maps = BACK ? s.out_maps : s.in_maps;
    a.from_rows = BACK ? s.out_rows : s.in_rows;
    a.from_cols = BACK ? s.out_cols : s.in_cols;
    a.to_maps = BACK ? s.in_maps : s.out_maps;
    a.to_rows = BACK ? s.in_rows : s.out_rows;
    a.to_cols = BACK ? s.in_cols : s.out_cols;
    a.pad = BACK ? s.kernel_rows - 1 - s.pad : s.pad;
    a.strips = (a.to_rows + STRIP - 1) / STRIP;
    a.items = images * a.strips * a.to_cols;
    return a;
}

template <bool BACK> static cudaError_t launch(const cuda_job *job, const cuda_batch *batch, cudaStream_t stream)
{
    strip_args a = strip_args_of<BACK>(job, batch->count);
    int maps = maps_of(job, a.to_maps, strip_args_of<BACK>(job, job->batch).items); /* the same for a short batch */
    a.d = direct_args_of(job, batch);
    a.from = BACK ? a.d.dy : a.d.x;
    a.groups = (a.to_maps + maps - 1) / maps;
    long long blocks = (a.items + THREADS - 1) / THREADS * a.groups;
    if (blocks > 0x7fffffffLL)
        return cudaErrorInvalidConfiguration;
    if (job->shape->kernel_rows == 5 && maps == 16)
        strip_kernel<5, 16, BACK><<<(unsigned)blocks, THREADS, 0, stream>>>(a);
    else if (job->shape->kernel_rows == 5)
        strip_kernel<5, 8, BACK><<<(unsigned)blocks, THREADS, 0, stream>>>(a);
    else if (maps == 16)
        strip_kernel<3, 16, BACK><<<(unsigned)blocks, THREADS, 0, stream>>>(a);
    else
        strip_kernel<3, 8, BACK><<<(unsigned)blocks, THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

/* Where threads are enough for the GPU; fewer pixels are better off in tiles that share their terms. */
template <bool BACK> static int supports(const cuda_job *job)
{
    const cuda_layer &s = *job->shape;
    bool kernel = s.kernel_rows == s.kernel_cols && (s.kernel_rows == 3 || s.kernel_rows == 5);
    if (s.full || s.stride != 1 || !kernel)
        return 0;
    strip_args a = strip_args_of<BACK>(job, job->batch);
    bool wide = a.to_maps >= STRIP_TENSOR_MAPS && a.from_maps >= STRIP_TENSOR_MAPS;
    return !(job->tensor_cores && wide) &&
           a.items * ((a.to_maps + 7) / 8) >= (long long)STRIP_ITEMS * job->multiprocessors;
}

static void prepare(cuda_job *job)
{
    job->executed_macs = (double)job->layer->macs_dense;
}

extern "C" const cuda_kernel CUDA_KERNEL(strip_conv_forward) = {
    "strip_conv_forward", "direct", "kernels/direct_strip.cu", CNN_OP_CONV_FORWARD, supports<false>, prepare,
    launch<false>
};
extern "C" const cuda_kernel CUDA_KERNEL(strip_conv_backward_data) = { "strip_conv_backward_data",
                                                                       "direct",
                                                                       "kernels/direct_strip.cu",
                                                                       CNN_OP_CONV_BACKWARD_DATA,
                                                                       supports<true>,
                                                                       prepare,
                                                                       launch<true> };
