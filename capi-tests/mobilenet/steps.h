// The layers of a network, ready to be computed.

#ifndef MOBILENET_STEPS_H
#define MOBILENET_STEPS_H

#include "network.h"

#include <memory>

class Step {
public:
    virtual ~Step() = default;
    virtual void run(const std::int8_t *input, std::int8_t *output) const = 0;
};

// Throws a std::runtime_error if the layer is of a kind that is not known here, or if libqgemm refuses it.
std::unique_ptr<Step> make_step(const Layer &layer);

#endif
