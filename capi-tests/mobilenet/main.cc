// Is a person in the picture? An int8 MobileNet, computed by way of libqgemm's C interface.
//
// Usage: mobilenet [PICTURE [DIRECTORY]]
//
// Without a picture (PGM, or PNG), it looks at its own, and every byte of every layer has to be what TensorFlow Lite gave.
// network.* reads the files in the directory, steps.* turns layers into calls of libqgemm: that is where to look first.

#include "network.h"
#include "picture.h"
#include "steps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <qgemm/qgemm.h>

namespace {

using Numbers = std::vector<std::int8_t>;

// A layer, and what it gives.
struct Stage {
    const Layer &layer;
    std::unique_ptr<Step> step;
    Numbers output;
    std::vector<double> microseconds;

    explicit Stage(const Layer &layer) : layer(layer), step(make_step(layer)), output(layer.output.size()) {}
};

// One layer after the other. Returns how long all took, in microseconds.
double run(std::vector<Stage> &stages, const Numbers &input) {
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point start) {
        return std::chrono::duration<double, std::micro>(clock::now() - start).count();
    };
    const auto begin = clock::now();
    const std::int8_t *last = input.data();
    for (Stage &stage : stages) {
        const auto start = clock::now();
        stage.step->run(last, stage.output.data());
        stage.microseconds.push_back(since(start));
        last = stage.output.data();
    }
    return since(begin);
}

double median(std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

// The input for a picture: the network's numbers are grey levels less 128.
Numbers look_at(const std::string &path, const Tensor &input) {
    Numbers numbers;
    for (std::uint8_t grey : scaled(read_picture(path), input.height, input.width).grey)
        numbers.push_back(std::int8_t(grey - 128));
    return numbers;
}

// Returns whether all layers gave what they should.
bool compare(const std::vector<Stage> &stages) {
    bool are_right = true;
    for (const Stage &stage : stages) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < stage.output.size(); i++)
            wrong += stage.output[i] != stage.layer.golden[i];
        if (wrong > 0)
            std::printf("layer %s: %zu of %zu bytes are WRONG\n", stage.layer.number.c_str(), wrong,
                        stage.output.size());
        are_right = are_right && wrong == 0;
    }
    return are_right;
}

void print_times(const std::vector<Stage> &stages, const std::vector<double> &totals) {
    std::printf("layer                          output    microseconds (medians of %zu images)\n", totals.size());
    for (const Stage &stage : stages) {
        const Tensor &output = stage.layer.output;
        std::printf("%s %-18s %3d x %3d x %3d %10.1f\n", stage.layer.number.c_str(), stage.layer.kind.c_str(),
                    output.height, output.width, output.channels, median(stage.microseconds));
    }
    std::printf("all                                %10.1f\n", median(totals));
}

bool look(const char *path, const std::string &directory) {
    const Network network = read_network(directory);
    std::vector<Stage> stages;
    for (const Layer &layer : network.layers)
        stages.emplace_back(layer);
    const Numbers picture = path == nullptr ? network.picture : look_at(path, network.input);
    // The first image warms up.
    double left = 3e5 - run(stages, picture);
    const bool are_right = path != nullptr || compare(stages);
    std::vector<double> totals;
    for (Stage &stage : stages)
        stage.microseconds.clear();
    while (totals.empty() || (left > 0 && totals.size() < 501)) {
        totals.push_back(run(stages, picture));
        left -= totals.back();
    }
    print_times(stages, totals);
    if (path == nullptr && are_right)
        std::printf("All bytes of all %zu layers are those that TensorFlow Lite gives.\n", stages.size());
    const int sure = stages.back().output[1] + 128;
    std::printf("kernel %s: %s (%.0f %% sure)\n", qgemm_kernel_name(), sure > 128 ? "a person" : "nobody",
                100. * (sure > 128 ? sure : 256 - sure) / 256);
    return are_right;
}

}  // namespace

int main(int argc, char **argv) {
    if (qgemm_kernel_name() == nullptr) {
        std::printf("skipped: %s\n", qgemm_last_error());
        return 77;
    }
    try {
        return look(argc > 1 ? argv[1] : nullptr, argc > 2 ? argv[2] : MOBILENET_DATA) ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "mobilenet: %s\n", error.what());
        return 1;
    }
}
