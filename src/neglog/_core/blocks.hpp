// Rows in blocks that stay in the first-level cache, blocks over threads of the standard library.
//
// Kernels only know contiguous doubles. A Source hands them a block of any input: a double array as it lies, a
// float array converted, a single value repeated. A Sink takes their output back in the caller's type.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace neglog {

constexpr std::size_t block_size = 1024;

// Calls work(begin, end) on ranges of a few blocks, in threads that take the next range when they are done with one: a thread
// that is kept waiting by something else on its core holds nobody up. Ranges are whole blocks, so that the blocks, and with
// them every result, are the same for any number of threads.
template <class Work>
void in_threads(std::size_t n, std::size_t threads, Work work) {
    constexpr std::size_t range = 16 * block_size;
    threads = std::max<std::size_t>(1, std::min(threads, (n + range - 1) / range));
    if (threads == 1) return work(std::size_t{0}, n);
    std::atomic<std::size_t> next{0};
    const auto take = [&] {
        for (std::size_t begin; (begin = next.fetch_add(range)) < n;) work(begin, std::min(begin + range, n));
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
    take();
    for (std::thread& other : others) other.join();
}

struct Source {
    const void* data = nullptr;
    bool single_precision = false;
    bool constant = false;
};

// A block of a source: a view where possible, otherwise a copy in the block's own buffer.
class SourceBlock {
  public:
    explicit SourceBlock(const Source& source) : source_(source) {}
    const double* at(std::size_t begin, std::size_t n) {
        if (!source_.data || source_.constant) {
            if (n > filled_) std::fill(buffer_ + filled_, buffer_ + n, value()), filled_ = n;
            return buffer_;
        }
        if (!source_.single_precision) return static_cast<const double*>(source_.data) + begin;
        std::copy_n(static_cast<const float*>(source_.data) + begin, n, buffer_);
        return buffer_;
    }

  private:
    double value() const {
        if (!source_.data) return 0.0;
        return source_.single_precision ? *static_cast<const float*>(source_.data) : *static_cast<const double*>(source_.data);
    }

    Source source_;
    std::size_t filled_ = 0;  // of a value that is repeated
    double buffer_[block_size];
};

struct Sink {
    void* data = nullptr;
    bool single_precision = false;
};

class SinkBlock {
  public:
    explicit SinkBlock(const Sink& sink) : sink_(sink) {}
    double* at(std::size_t begin) { return sink_.single_precision ? buffer_ : static_cast<double*>(sink_.data) + begin; }
    void write(std::size_t begin, std::size_t n) {
        if (sink_.single_precision) std::copy_n(buffer_, n, static_cast<float*>(sink_.data) + begin);
    }

  private:
    Sink sink_;
    double buffer_[block_size];
};

}  // namespace neglog
