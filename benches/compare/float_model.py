"""Converts the bundled model back to the published network in 32-bit floats.

Only the values of the weights remain rounded, which does not affect the speed of a runner.
"""

import numpy
import onnx
from onnx import numpy_helper


def unrounded(path):
    """Returns the model at `path` with all products in floats."""
    model = onnx.load(path)
    graph = model.graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made_by = {output: node for node in graph.node for output in node.output}
    used_by = {}
    for node in graph.node:
        for name in node.input:
            used_by.setdefault(name, []).append(node)

    def add(name, value):
        graph.initializer.append(numpy_helper.from_array(value.astype("f4"), name))
        return name

    def follow(name, *kinds):
        """Returns the last node of a chain of these kinds that starts where `name` is used."""
        for kind in kinds:
            node = next(node for node in used_by[name] if node.op_type == kind)
            name = node.output[0]
        return node

    for product in [node for node in graph.node if node.op_type == "MatMulInteger"]:
        prefix = product.input[1].removesuffix(".q")
        weights = values[f"{prefix}.q"].astype("f4") * values[f"{prefix}.s"]
        bias = values[f"{prefix}.b"].copy()
        # The rounded value is the input times a factor of its row, possibly scaled by channel or shifted before.
        scaled = made_by[made_by[product.input[0]].input[0]]
        source = scaled.input[0]
        before = made_by[source]
        if before.op_type == "Mul" and before.input[1].endswith((".d1", ".d2")):
            weights *= values[before.input[1]][:, None]
            source = before.input[0]
        elif before.op_type == "Add" and before.input[1] == "gelu_low":
            bias += values["gelu_low"] * weights.sum(0)
            source = before.input[0]
        last = follow(product.output[0], "Cast", "Mul", "Mul", "Add")
        product.op_type = "MatMul"
        del product.input[:]
        product.input.extend([source, add(f"{prefix}.weight", weights)])
        del last.input[:]
        last.input.extend([product.output[0], add(f"{prefix}.bias", bias)])

    words = next(node for node in graph.node if node.input[0] == "word.q")
    product = follow(words.output[0], "Cast", "Mul")
    product.op_type = "Gather"
    del product.input[:]
    product.input.extend([add("word", values["word.q"] * values["word.s"]), "input_ids"])

    needed, nodes = {output.name for output in graph.output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            nodes.append(node)
    kept = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(nodes))
    graph.initializer.extend(kept)
    onnx.checker.check_model(model)
    return model
