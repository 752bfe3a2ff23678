//! Builds the library as CMake installs it, and runs the tests of its C and C++ interfaces.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

#[test]
fn the_c_and_cpp_interfaces_pass_their_tests() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in that of the library");
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("capi");
    // What CMake misses, such as gemmlowp, it says on stderr: that goes into the panic's message.
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(source)
        .arg("-B")
        .arg(&build)
        .args(["-DCMAKE_BUILD_TYPE=Release", "-DQGEMM_ALL_TESTS=ON"])
        .stderr(Stdio::piped());
    run(&mut configure);
    run(Command::new("cmake").arg("--build").arg(&build).args(["--config", "Release", "--parallel", "2"]));
    run(Command::new("ctest").current_dir(&build).args(["-C", "Release", "--output-on-failure", "-j2"]));
}

/// Runs a command, whose output goes where ours goes unless it is piped.
fn run(command: &mut Command) {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.spawn().and_then(Child::wait_with_output) {
        Ok(Output { status, stderr, .. }) => {
            assert!(status.success(), "{name} failed ({status})\n{}", String::from_utf8_lossy(&stderr));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("{name} is not installed; on Debian and Ubuntu: apt install cmake libgemmlowp-dev g++")
        }
        Err(error) => panic!("{name} could not be run: {error}"),
    }
}
