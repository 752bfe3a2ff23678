// Both halves, in turns.

#include "program.h"

int main() {
  for (int size : {1, 20, 100, 3}) {
    if (ProductByGemmlowp(size) != ProductByLibqgemm(size)) return 1;
    if (ProductByLibqgemm(size) != ProductByGemmlowp(size)) return 2;
  }
  return 0;
}
