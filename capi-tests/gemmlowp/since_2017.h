// gemmlowp's own tests take it that L7R5 is L8R8, as it has been in gemmlowp since 2017. To be included before them.

#include "public/bit_depth.h"

#define DefaultL7R5BitDepthParams DefaultL8R8BitDepthParams
