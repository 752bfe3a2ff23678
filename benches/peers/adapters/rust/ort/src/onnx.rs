//! Writing a model of one node: as much of protobuf and of ONNX's schema as that takes.

use qb_abi::Problem;

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut x: u64) {
        while x >= 128 {
            self.0.push(x as u8 | 128);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn integer(mut self, field: u64, x: u64) -> Self {
        self.varint(field << 3);
        self.varint(x);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, inner: Message) -> Self {
        self.bytes(field, &inner.0)
    }
}

/// TensorProto.DataType of a type in the letters of qbench.h.
fn data_type(letter: u8) -> u64 {
    match letter {
        b'u' => 2,
        b's' => 3,
        b'i' => 6,
        _ => 1,
    }
}

/// A TensorProto.
fn constant(name: &str, letter: u8, dims: &[usize], raw: &[u8]) -> Message {
    dims.iter()
        .fold(Message::default(), |message, &d| message.integer(1, d as u64))
        .integer(2, data_type(letter))
        .bytes(8, name.as_bytes())
        .bytes(9, raw)
}

/// A ValueInfoProto.
fn value(name: &str, letter: u8, dims: &[usize]) -> Message {
    let shape =
        dims.iter().fold(Message::default(), |message, &d| message.message(1, Message::default().integer(1, d as u64)));
    let tensor = Message::default().integer(1, data_type(letter)).message(2, shape);
    Message::default().bytes(1, name.as_bytes()).message(2, Message::default().message(1, tensor))
}

/// An OperatorSetIdProto.
fn operators(domain: &str, version: u64) -> Message {
    Message::default().bytes(1, domain.as_bytes()).integer(2, version)
}

/// A ModelProto of one node, named by the part of the variant's name before the first `_`. What the variant
/// packs beforehand is a constant of the model.
pub fn model(problem: &Problem) -> Vec<u8> {
    let &Problem { m, n, k, .. } = problem;
    let [a, b, out] = problem.variant().types();
    let name = problem.variant().name().to_str().expect("names are ASCII");
    let operator = name.split('_').next().expect("split gives one part at least");
    let (inputs, domain): (&[&str], &str) = match operator {
        "MatMulInteger" => (&["A", "B", "a_zero", "b_zero"], ""),
        "MatMulIntegerToFloat" => (&["A", "B", "a_scale", "one", "a_zero", "b_zero"], "com.microsoft"),
        "QLinearMatMul" => (&["A", "a_scale", "a_zero", "B", "one", "b_zero", "one", "c_zero"], ""),
        _ => (&["A", "B"], ""),
    };
    let node = inputs
        .iter()
        .fold(Message::default(), |node, input| node.bytes(1, input.as_bytes()))
        .bytes(2, b"C")
        .bytes(4, operator.as_bytes())
        .bytes(7, domain.as_bytes());
    let mut graph = Message::default().message(1, node).bytes(2, b"product");
    for (name, letter, raw) in [
        ("a_zero", a, &[problem.za as u8][..]),
        ("b_zero", b, &[problem.zb as u8]),
        ("c_zero", out, &[problem.zc as u8]),
        ("a_scale", b'f', &problem.scale.to_le_bytes()),
        ("one", b'f', &1f32.to_le_bytes()),
    ] {
        if inputs.contains(&name) {
            graph = graph.message(5, constant(name, letter, &[], raw));
        }
    }
    graph = graph.message(11, value("A", a, &[m, k]));
    graph = match problem.variant().is_prepacked() {
        true => graph.message(5, constant("B", b, &[k, n], problem.b_bytes())),
        false => graph.message(11, value("B", b, &[k, n])),
    };
    graph = graph.message(12, value("C", out, &[m, n]));
    Message::default()
        .integer(1, 8) // IR version
        .message(8, operators("", 13))
        .message(8, operators("com.microsoft", 1))
        .message(7, graph)
        .0
}
