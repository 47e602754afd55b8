// Work in parts that threads take in turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace neglog {

template <class Work>
void over_parts(std::size_t parts, std::size_t threads, Work work) {
    threads = std::min(threads, parts);
    std::atomic<std::size_t> next{0};
    const auto take = [&] {
        for (std::size_t part; (part = next.fetch_add(1)) < parts;) work(part);
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take);
    take();
    for (std::thread& other : others) other.join();
}

}  // namespace neglog
