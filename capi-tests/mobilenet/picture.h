// Pictures from files.

#ifndef MOBILENET_PICTURE_H
#define MOBILENET_PICTURE_H

#include <cstdint>
#include <string>
#include <vector>

// The grey levels of a picture, 0 to 255, row by row.
struct Picture {
    int height, width;
    std::vector<std::uint8_t> grey;
};

// A PGM file or, where libpng was found, a PNG file. Throws a std::runtime_error that names the file if it is neither.
Picture read_picture(const std::string &path);

// Of this height and width: each pixel the mean of those that it covers.
Picture scaled(const Picture &picture, int height, int width);

#endif
