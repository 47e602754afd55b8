// Rows in blocks that stay in the first-level cache, blocks over threads.
//
// Kernels only know contiguous numbers, mostly doubles. A Source hands them a block of any input: an array of their type as it
// lies, another one converted, a single value repeated. A Sink takes their output back in the caller's type.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace neglog {

constexpr std::size_t block_size = 512;  // seven blocks of doubles in 32 KiB

// The threads of another library's OpenMP. They wait for its next loop by spinning, so that threads of our own would get
// no core until the system takes one from them.
struct Team {
    void (*parallel)(void (*work)(void*), void* data, unsigned threads, unsigned flags);  // GOMP_parallel
    int (*number)();                                                                      // omp_get_thread_num
    int (*size)();                                                                        // omp_get_num_threads
    unsigned threads;  // how many of them; 0: as many as OpenMP would use
};

// Calls work(begin, end) on one range for each thread of the team, the same as its own loops over rows give it.
template <class Work>
void in_team(std::size_t n, const Team& team, const Work& work) {
    struct Job {
        std::size_t n;
        const Team& team;
        const Work& work;
        std::size_t edge(std::size_t part, std::size_t of) const {
            const std::size_t blocks = (n + block_size - 1) / block_size;
            return std::min(blocks * part / of * block_size, n);
        }
    } job{n, team, work};
    const auto take = [](void* data) {
        const Job& job = *static_cast<Job*>(data);
        const auto part = static_cast<std::size_t>(job.team.number()), of = static_cast<std::size_t>(job.team.size());
        job.work(job.edge(part, of), job.edge(part + 1, of));
    };
    team.parallel(take, &job, team.threads, 0);
}

// Calls work(begin, end) on ranges of a few blocks, in threads that take the next range when they are done with one: a thread
// that is kept waiting by something else on its core holds nobody up. Ranges are whole blocks, so that the blocks, and with
// them every result, are the same for any number of threads. More than one thread are those of the team, if there is one.
template <class Work>
void in_threads(std::size_t n, std::size_t threads, const std::optional<Team>& team, const Work& work) {
    constexpr std::size_t range = 16 * block_size;
    threads = std::max<std::size_t>(1, std::min(threads, (n + range - 1) / range));
    if (threads == 1) return work(std::size_t{0}, n);
    if (team) return in_team(n, *team, work);
    std::atomic<std::size_t> next{0};
    const auto take = [&] {
        for (std::size_t begin; (begin = next.fetch_add(range)) < n;) work(begin, std::min(begin + range, n));
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
    take();
    for (std::thread& other : others) other.join();
}

template <class Work>
void in_threads(std::size_t n, std::size_t threads, const Work& work) {
    in_threads(n, threads, std::nullopt, work);
}

struct Source {
    const void* data = nullptr;  // none: zeros
    bool single_precision = false;
    bool constant = false;
};

// A block of a source: a view where possible, otherwise a copy in the block's own buffer.
template <class Number>
class SourceBlockOf {
  public:
    explicit SourceBlockOf(const Source& source) : source_(source) {}
    const Number* at(std::size_t begin, std::size_t n) {
        if (!source_.data || source_.constant) {
            if (n > filled_) std::fill(buffer_ + filled_, buffer_ + n, value()), filled_ = n;
            return buffer_;
        }
        if (source_.single_precision == std::is_same_v<Number, float>) return static_cast<const Number*>(source_.data) + begin;
        if (source_.single_precision)
            std::copy_n(static_cast<const float*>(source_.data) + begin, n, buffer_);
        else
            std::copy_n(static_cast<const double*>(source_.data) + begin, n, buffer_);
        return buffer_;
    }

  private:
    Number value() const {
        if (!source_.data) return 0;
        return source_.single_precision ? *static_cast<const float*>(source_.data) : *static_cast<const double*>(source_.data);
    }

    Source source_;
    std::size_t filled_ = 0;  // of a value that is repeated
    Number buffer_[block_size];
};
using SourceBlock = SourceBlockOf<double>;

// Blocks of the parameters of a noise, as kernels take them. The two that every kernel may read are there in any case.
class ParameterBlocks {
  public:
    static constexpr std::size_t least = 2;
    ParameterBlocks(const Source* sources, std::size_t count) : count_(std::max(count, least)) {
        for (std::size_t k = 0; k < count_; ++k) blocks_[k].emplace(k < count ? sources[k] : Source{});
    }
    const double* const* at(std::size_t begin, std::size_t n) {
        for (std::size_t k = 0; k < count_; ++k) here_[k] = blocks_[k]->at(begin, n);
        return here_;
    }

  private:
    std::size_t count_;
    std::optional<SourceBlock> blocks_[8];
    const double* here_[8];
};

struct Sink {
    void* data = nullptr;  // none: nothing is wanted
    bool single_precision = false;
};

template <class Number>
class SinkBlockOf {
  public:
    explicit SinkBlockOf(const Sink& sink) : sink_(sink) {}
    Number* at(std::size_t begin) {
        if (!sink_.data) return nullptr;
        return is_view() ? static_cast<Number*>(sink_.data) + begin : buffer_;
    }
    void write(std::size_t begin, std::size_t n) {
        if (!sink_.data || is_view()) return;
        if (sink_.single_precision)
            std::copy_n(buffer_, n, static_cast<float*>(sink_.data) + begin);
        else
            std::copy_n(buffer_, n, static_cast<double*>(sink_.data) + begin);
    }

  private:
    bool is_view() const { return sink_.single_precision == std::is_same_v<Number, float>; }

    Sink sink_;
    Number buffer_[block_size];
};
using SinkBlock = SinkBlockOf<double>;

}  // namespace neglog
