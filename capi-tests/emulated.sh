#!/usr/bin/env bash
# Tests the kernels that this processor does not run, and no others, on an emulated one that does: the property tests of
# the kernels and of packed operands, the comparison with gemmlowp, products of packed operands, and the GoogLeNet layer.
# Takes some minutes; the first time a few more, for the emulator is built.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake -S . -B target/capi -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build target/capi --target googlenet golden_hashes packed_products drop_in drop_in_gemmlowp >/dev/null
programs=target/capi/cmake/capi-tests/programs

# AMX where only that is missing: the instructions that the processor refuses are done by the tests' own program.
if QGEMM_ISA=avx512vnni "$programs/googlenet" >/dev/null 2>&1 && ! QGEMM_ISA=amx "$programs/googlenet" >/dev/null 2>&1; then
  QGEMM_TESTS_EMULATE_AMX=1 PROPTEST_CASES=48 cargo test --locked --lib -- kernel::amx kernel::tests output::tests::products output::tests::relay conv::tests
fi

missing=()
for isa in avx512vnni avx512bw avxvnni; do
  QGEMM_ISA=$isa "$programs/googlenet" >/dev/null 2>&1 || missing+=("$isa")
done
if [ "$(uname -m)" != x86_64 ] || [ ${#missing[@]} -eq 0 ]; then
  echo "emulated: this processor runs all kernels that can be emulated"
  exit
fi

unit_tests=$(cargo test --locked --lib --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
test -x "$unit_tests"
"$programs/drop_in_gemmlowp" >target/gemmlowp.txt

cat >target/emulated-commands.sh <<END
for QGEMM_ISA in ${missing[*]}; do
  export QGEMM_ISA
  googlenet 1 /t/googlenet_conv && packed_products && golden_hashes golden_hashes.txt || exit 1
  drop_in gemmlowp.txt >drop_in.txt || { cat drop_in.txt; exit 1; }
  tail -n 1 drop_in.txt
done
unset QGEMM_ISA
QGEMM_TESTS_KERNELS="${missing[*]}" PROPTEST_CASES=24 $(basename "$unit_tests") every_kernel_agrees packed:: --skip damage
END
status=0
bash capi-tests/bochs.sh --timeout 2400 "$unit_tests" "$programs"/{googlenet,golden_hashes,packed_products,drop_in} \
  target/gemmlowp.txt capi-tests/data/{googlenet_conv,golden_hashes.txt} target/emulated-commands.sh -- sh emulated-commands.sh || status=$?
if [ $status -eq 125 ]; then
  echo "emulated: NOT TESTED: ${missing[*]}: there is no emulator to be had"
  exit
fi
exit $status
