/** Messages, enums and services of the contract, with a schema for each message. */

export * from "./contract/noteweft/v1/admin_pb.js";
export * from "./contract/noteweft/v1/common_pb.js";
export * from "./contract/noteweft/v1/context_pb.js";
export * from "./contract/noteweft/v1/graph_pb.js";
export * from "./contract/noteweft/v1/hygiene_pb.js";
export * from "./contract/noteweft/v1/note_pb.js";
export * from "./contract/noteweft/v1/search_pb.js";
export * from "./contract/noteweft/v1/write_pb.js";
