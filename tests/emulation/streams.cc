/* SPDX-License-Identifier: MIT */
/* Streams, events and recorded graphs in the emulation. What is put on a stream is done at once; while a stream
 * records, it becomes a node that waits for the nodes before it. A graph runs its nodes one after another, in an order
 * that these waits allow: as recorded, or as far from that as can be (emulated_order()), so that a wait that is missing
 * shows. */
#include "tests/emulation/block.h"
#include "tests/emulation/runtime.h"

#include <time.h>
#include <vector>

struct node {
    std::function<void()> work;
    std::vector<int> after;
};

struct CUgraph_st {
    std::vector<struct node> nodes;
};

struct CUgraphExec_st {
    std::vector<struct node> nodes;
};

struct recording {
    struct CUgraph_st *graph;
    cudaStream_t origin;
    std::vector<cudaStream_t> joined;
};

struct CUstream_st {
    struct recording *recording; /* NULL: none */
    std::vector<int> last;       /* nodes that the next one waits for */
};

struct CUevent_st {
    struct recording *recording; /* it was recorded in, with these nodes before it */
    std::vector<int> last;
    double seconds;
    bool timed, done;
};

static thread_local cudaError_t last_error;

cudaError_t emulated_fail(cudaError_t code)
{
    last_error = code;
    return code;
}

bool emulated_records(cudaStream_t stream)
{
    return stream && stream->recording;
}

static int add_node(cudaStream_t stream, std::function<void()> work)
{
    std::vector<struct node> *nodes = &stream->recording->graph->nodes;
    nodes->push_back({ std::move(work), stream->last });
    stream->last.assign(1, (int)nodes->size() - 1);
    return stream->last[0];
}

void emulated_enqueue(cudaStream_t stream, std::function<void()> work)
{
    if (emulated_records(stream))
        add_node(stream, std::move(work));
    else
        work();
}

static bool is_ready(const struct node &node, const std::vector<bool> &done)
{
    for (int before : node.after)
        if (!done[(size_t)before])
            return false;
    return true;
}

/* Which of the nodes that may run does. */
static size_t next_node(const std::vector<struct node> &nodes, const std::vector<bool> &done)
{
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); i++)
        if (!done[i] && is_ready(nodes[i], done))
            ready.push_back(i);
    enum emulated_order order = emulated_order();
    return order == EMULATED_ASCENDING    ? ready.front()
           : order == EMULATED_DESCENDING ? ready.back()
                                          : ready[emulated_random((unsigned)ready.size())];
}

static void run_nodes(const std::vector<struct node> &nodes)
{
    std::vector<bool> done(nodes.size());
    for (size_t left = nodes.size(); left > 0; left--) {
        size_t i = next_node(nodes, done);
        nodes[i].work();
        done[i] = true;
    }
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

extern "C" {

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = last_error;
    last_error = cudaSuccess;
    return code;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    *out = new CUstream_st();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return emulated_records(stream) ? emulated_fail(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    *out = new CUevent_st();
    (*out)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->recording = stream ? stream->recording : NULL;
    event->done = !event->recording;
    if (event->recording)
        event->last = stream->last;
    else
        event->seconds = clock_seconds();
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    if (!begin->timed || !end->timed || !begin->done || !end->done)
        return emulated_fail(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)(1e3 * (end->seconds - begin->seconds));
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

/* A stream that waits for an event of a recording becomes a part of it. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (!event->recording)
        return emulated_records(stream) ? emulated_fail(cudaErrorStreamCaptureIsolation) : cudaSuccess;
    if (!stream || (stream->recording && stream->recording != event->recording))
        return emulated_fail(cudaErrorStreamCaptureMerge);
    if (!stream->recording) {
        stream->recording = event->recording;
        stream->recording->joined.push_back(stream);
        stream->last.clear();
    }
    stream->last.insert(stream->last.end(), event->last.begin(), event->last.end());
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    if (!stream || stream->recording)
        return emulated_fail(cudaErrorStreamCaptureUnsupported);
    stream->recording = new recording{ new CUgraph_st(), stream, {} };
    stream->last.clear();
    return cudaSuccess;
}

/* Whether `from` comes after `node`, over however many others. */
static bool comes_after(const std::vector<struct node> &nodes, const std::vector<int> &from, int node)
{
    for (int before : from)
        if (before == node || (before > node && comes_after(nodes, nodes[(size_t)before].after, node)))
            return true;
    return false;
}

/* Streams that joined must have been joined again. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    *out = NULL;
    if (!emulated_records(stream) || stream->recording->origin != stream)
        return emulated_fail(cudaErrorIllegalState);
    struct recording *recording = stream->recording;
    bool whole = true;
    for (cudaStream_t other : recording->joined) {
        for (int node : other->last)
            whole = whole && comes_after(recording->graph->nodes, stream->last, node);
        other->recording = NULL;
    }
    stream->recording = NULL;
    if (whole)
        *out = recording->graph;
    else
        delete recording->graph;
    delete recording;
    return whole ? cudaSuccess : emulated_fail(cudaErrorStreamCaptureUnjoined);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *out = new CUgraphExec_st{ graph->nodes };
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph;
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (emulated_records(stream))
        return emulated_fail(cudaErrorStreamCaptureUnsupported);
    run_nodes(graph->nodes);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return cudaSuccess;
}
}
