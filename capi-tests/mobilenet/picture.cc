#include "picture.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#ifdef HAVE_PNG
#include <png.h>
#endif

namespace {

const int MOST = 1 << 15;  // pixels in a row or column

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw std::runtime_error(path + ": " + why);
}

// The next number of a PGM file's header, or of its pixels in digits; -1 if there is none.
int number(std::istream &file) {
    while (file >> std::ws && file.peek() == '#')
        file.ignore(1 << 20, '\n');
    int number;
    return file >> number ? number : -1;
}

// Netpbm's grey map, in bytes (P5) or in digits (P2).
Picture read_pgm(std::istream &file, bool in_digits, const std::string &path) {
    Picture picture;
    picture.width = number(file);
    picture.height = number(file);
    const int white = number(file);
    if (picture.width < 1 || picture.width > MOST || picture.height < 1 || picture.height > MOST)
        fail(path, "has not 1 to " + std::to_string(MOST) + " rows and columns");
    if (white < 1 || white > 255)
        fail(path, "has not 8 bits for each pixel");
    file.get();  // the one blank before the bytes
    picture.grey.resize(std::size_t(picture.height) * picture.width);
    for (std::uint8_t &grey : picture.grey) {
        const int level = in_digits ? number(file) : file.get();
        if (level < 0 || level > white)
            fail(path, "ends early, or has a pixel that is lighter than white");
        grey = std::uint8_t((level * 255 + white / 2) / white);
    }
    return picture;
}

#ifdef HAVE_PNG
Picture read_png(const std::string &path) {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    Picture picture;
    if (png_image_begin_read_from_file(&image, path.c_str())) {
        image.format = PNG_FORMAT_GRAY;
        picture.height = int(image.height), picture.width = int(image.width);
        picture.grey.resize(PNG_IMAGE_SIZE(image));
        const png_color black = {0, 0, 0};  // behind what is transparent
        png_image_finish_read(&image, &black, picture.grey.data(), 0, nullptr);
    }
    if (PNG_IMAGE_FAILED(image))
        fail(path, image.message);
    return picture;
}
#endif

}  // namespace

Picture read_picture(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    char magic[2] = {};
    if (!file.read(magic, 2))
        fail(path, "cannot be read");
    if (magic[0] == 'P' && (magic[1] == '2' || magic[1] == '5'))
        return read_pgm(file, magic[1] == '2', path);
#ifdef HAVE_PNG
    if (magic[0] == '\x89' && magic[1] == 'P')
        return read_png(path);
    fail(path, "is neither a PGM nor a PNG file");
#else
    fail(path, "is no PGM file (P2 or P5); to read PNG files, this program has to be built where libpng is installed");
#endif
}

Picture scaled(const Picture &picture, int height, int width) {
    // The pixels of the one that a pixel of the other covers; at least one.
    const auto covered = [](int pixel, int from, int to) {
        const int first = int(std::int64_t(pixel) * from / to);
        return std::make_pair(first, std::max(first + 1, int(std::int64_t(pixel + 1) * from / to)));
    };
    Picture result{height, width, {}};
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const auto rows = covered(y, picture.height, height), cols = covered(x, picture.width, width);
            std::int64_t sum = 0;
            for (int row = rows.first; row < rows.second; row++)
                for (int col = cols.first; col < cols.second; col++)
                    sum += picture.grey[std::size_t(row) * picture.width + col];
            const std::int64_t pixels = std::int64_t(rows.second - rows.first) * (cols.second - cols.first);
            result.grey.push_back(std::uint8_t((sum + pixels / 2) / pixels));
        }
    return result;
}
