// Rows in blocks that stay in the first-level cache, blocks over threads of the standard library.
//
// Kernels only know contiguous doubles. A Source hands them a block of any input: a double array as it lies, a
// float array converted, a single value repeated. A Sink takes their output back in the caller's type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define NEGLOG_STREAMING_STORES
#endif

namespace neglog {

constexpr std::size_t block_size = 1024;

// Calls work(begin, end) on consecutive ranges, one thread each. Ranges are whole blocks, so that the blocks, and with
// them every result, are the same for any number of threads.
template <class Work>
void in_threads(std::size_t n, std::size_t threads, std::size_t block, Work work) {
    const std::size_t blocks = (n + block - 1) / block;
    threads = std::max<std::size_t>(1, std::min(threads, blocks));
    const std::size_t share = (blocks + threads - 1) / threads * block;
    std::vector<std::thread> others;
    for (std::size_t begin = share; begin < n; begin += share)
        others.emplace_back(work, begin, std::min(begin + share, n));
    work(std::size_t{0}, std::min(share, n));
    for (std::thread& other : others) other.join();
}

// Past the caches, stores that bypass them save reading the destination first.
inline void copy_out(double* to, const double* from, std::size_t n, [[maybe_unused]] bool streaming) {
#ifdef NEGLOG_STREAMING_STORES
    if (streaming && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
        std::size_t i = 0;
        if (reinterpret_cast<std::uintptr_t>(to) % 16 && n) to[i] = from[i], ++i;
        for (; i + 2 <= n; i += 2) _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
        if (i < n) to[i] = from[i];
        return;
    }
#endif
    std::memcpy(to, from, n * sizeof(double));
}

struct Source {
    const void* data = nullptr;
    bool single_precision = false;
    bool constant = false;
};

// A block of a source: a view where possible, otherwise a copy in the block's own buffer.
class SourceBlock {
  public:
    explicit SourceBlock(const Source& source) : source_(source) {
        if (!source.data) {
            std::fill_n(buffer_, block_size, 0.0);
        } else if (source.constant) {
            const double value = source.single_precision ? *static_cast<const float*>(source.data)
                                                         : *static_cast<const double*>(source.data);
            std::fill_n(buffer_, block_size, value);
        }
    }
    const double* at(std::size_t begin, std::size_t n) {
        if (!source_.data || source_.constant) return buffer_;
        if (!source_.single_precision) return static_cast<const double*>(source_.data) + begin;
        std::copy_n(static_cast<const float*>(source_.data) + begin, n, buffer_);
        return buffer_;
    }

  private:
    Source source_;
    double buffer_[block_size];
};

struct Sink {
    void* data = nullptr;
    bool single_precision = false;
    bool streaming = false;
};

class SinkBlock {
  public:
    explicit SinkBlock(const Sink& sink) : sink_(sink) {}
    double* at(std::size_t begin) { return direct() ? static_cast<double*>(sink_.data) + begin : buffer_; }
    void write(std::size_t begin, std::size_t n) {
        if (!sink_.data || direct()) return;
        if (sink_.single_precision)
            std::copy_n(buffer_, n, static_cast<float*>(sink_.data) + begin);
        else
            copy_out(static_cast<double*>(sink_.data) + begin, buffer_, n, true);
    }

  private:
    bool direct() const { return sink_.data && !sink_.single_precision && !sink_.streaming; }
    Sink sink_;
    double buffer_[block_size];
};

}  // namespace neglog
