// The network of capi-tests/mobilenet behind two functions, for compare.py.

#include "network.h"
#include "steps.h"

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

struct Opened {
    Network network;
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<std::vector<std::int8_t>> outputs;
};

}  // namespace

// The network in a directory; NULL if there is none, after a message.
extern "C" void *network_open(const char *directory) try {
    std::unique_ptr<Opened> opened(new Opened{read_network(directory), {}, {}});
    for (const Layer &layer : opened->network.layers) {
        opened->steps.push_back(make_step(layer));
        opened->outputs.emplace_back(layer.output.size());
    }
    return opened.release();
} catch (const std::exception &error) {
    std::fprintf(stderr, "network: %s\n", error.what());
    return nullptr;
}

// From an input of the network to the output of its last layer.
extern "C" void network_run(void *network, const std::int8_t *input, std::int8_t *output) {
    Opened &opened = *static_cast<Opened *>(network);
    for (std::size_t i = 0; i < opened.steps.size(); i++) {
        std::int8_t *to = opened.outputs[i].data();
        opened.steps[i]->run(input, to);
        input = to;
    }
    std::copy(opened.outputs.back().begin(), opened.outputs.back().end(), output);
}
