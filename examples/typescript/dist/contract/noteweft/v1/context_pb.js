// Questions answered with text: as much of the best notes as a budget holds.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_struct } from "@bufbuild/protobuf/wkt";
import { file_noteweft_v1_common } from "./common_pb.js";
import { file_noteweft_v1_graph } from "./graph_pb.js";
import { file_noteweft_v1_search } from "./search_pb.js";
/**
 * Describes the file noteweft/v1/context.proto.
 */
export const file_noteweft_v1_context = /*@__PURE__*/ fileDesc("Chlub3Rld2VmdC92MS9jb250ZXh0LnByb3RvEgtub3Rld2VmdC52MSLFBAoPQXNzZW1ibGVSZXF1ZXN0Eg0KBXF1ZXJ5GAEgASgJEicKBW5vdGVzGAIgAygLMhgubm90ZXdlZnQudjEuQ29udGV4dE5vdGUSIwoGZmlsdGVyGAMgASgLMhMubm90ZXdlZnQudjEuRmlsdGVyEiUKBG1vZGUYBCABKA4yFy5ub3Rld2VmdC52MS5TZWFyY2hNb2RlEhIKBWxpbWl0GAUgASgNSACIAQESEwoGYnVkZ2V0GAYgASgDSAGIAQESGQoMYnVkZ2V0X2NoYXJzGAcgASgDSAKIAQESFgoJZXN0aW1hdG9yGAggASgJSAOIAQESKQoJcmVuZGVyaW5nGAkgASgOMhYubm90ZXdlZnQudjEuUmVuZGVyaW5nEigKBW9yZGVyGAogASgOMhkubm90ZXdlZnQudjEuQ29udGV4dE9yZGVyEicKBWZvY3VzGAsgASgLMhgubm90ZXdlZnQudjEuRm9jdXNTb3VyY2USJgoEd2FsaxgMIAEoCzIYLm5vdGV3ZWZ0LnYxLlRyZWVSZXF1ZXN0EioKBmxpbWl0cxgNIAEoCzIaLm5vdGV3ZWZ0LnYxLkNvbnRleHRMaW1pdHMSGwoObWluX2dlbmVyYXRpb24YZCABKARIBIgBARISCgVhc19vZhhlIAEoBEgFiAEBQggKBl9saW1pdEIJCgdfYnVkZ2V0Qg8KDV9idWRnZXRfY2hhcnNCDAoKX2VzdGltYXRvckIRCg9fbWluX2dlbmVyYXRpb25CCAoGX2FzX29mIukBCg1Db250ZXh0TGltaXRzEigKBWJhbmRzGAEgASgLMhkubm90ZXdlZnQudjEuQ29udGV4dEJhbmRzEhcKCnNvZnRfcmF0aW8YAiABKAFIAIgBARIYCgtibG9ja19jaGFycxgDIAEoDUgBiAEBEhsKDnN0cnVjdHVyYWxfY2FwGAQgASgNSAKIAQESGgoNb3V0bGluZV9kZXB0aBgFIAEoDUgDiAEBQg0KC19zb2Z0X3JhdGlvQg4KDF9ibG9ja19jaGFyc0IRCg9fc3RydWN0dXJhbF9jYXBCEAoOX291dGxpbmVfZGVwdGgidAoMQ29udGV4dEJhbmRzEhEKBGZ1bGwYASABKAFIAIgBARIUCgdzbmlwcGV0GAIgASgBSAGIAQESFwoKc3RydWN0dXJhbBgDIAEoAUgCiAEBQgcKBV9mdWxsQgoKCF9zbmlwcGV0Qg0KC19zdHJ1Y3R1cmFsIkoKC0ZvY3VzU291cmNlEgwKBG5vdGUYASABKAkSEgoKYm9keV9saW5rcxgCIAEoCBIZChFzaWJsaW5nX29mX3RhcmdldBgDIAEoCCKbAQoLQ29udGV4dE5vdGUSDAoEbmFtZRgBIAEoCRISCgVzY29yZRgCIAEoAUgAiAEBEhUKCGRpc3RhbmNlGAMgASgNSAGIAQESFQoIcmVsYXRpb24YBCABKAlIAogBARIQCgN2aWEYBSABKAlIA4gBAUIICgZfc2NvcmVCCwoJX2Rpc3RhbmNlQgsKCV9yZWxhdGlvbkIGCgRfdmlhItwCChBBc3NlbWJsZVJlc3BvbnNlEicKBWl0ZW1zGAEgAygLMhgubm90ZXdlZnQudjEuQ29udGV4dEl0ZW0SJgoIbGVmdF9vdXQYAiADKAsyFC5ub3Rld2VmdC52MS5MZWZ0T3V0EhUKCHJlbmRlcmVkGAMgASgJSACIAQESDgoGYnVkZ2V0GAQgASgEEgwKBHVzZWQYBSABKAQSEQoJcmVtYWluaW5nGAYgASgEEiUKBHVuaXQYByABKA4yFy5ub3Rld2VmdC52MS5CdWRnZXRVbml0EhIKCmdlbmVyYXRpb24YCCABKAQSFAoMdHJ1bmNhdGVkX2J5GAkgAygJEhAKCGRlZ3JhZGVkGAogAygJEiwKC2xlZGdlcl91bml0GAsgASgOMhcubm90ZXdlZnQudjEuQnVkZ2V0VW5pdBIRCgllc3RpbWF0b3IYDCABKAlCCwoJX3JlbmRlcmVkIooDCgtDb250ZXh0SXRlbRILCgN1cmkYASABKAkSDQoFdGl0bGUYAiABKAkSDQoFc2NvcmUYAyABKAESJgoEbW9kZRgEIAEoDjIYLm5vdGV3ZWZ0LnYxLkNvbnRleHRNb2RlEgwKBHRleHQYBSABKAkSDQoFY2hhcnMYBiABKAQSDgoGdG9rZW5zGAcgASgEEgwKBGNvc3QYCCABKAQSEQoJYWxsb3dhbmNlGAkgASgEEhAKCGNhcnJ5X2luGAogASgEEhEKCWNhcnJ5X291dBgLIAEoBBIRCgl0cnVuY2F0ZWQYDCABKAgSIQoGYmxvY2tzGA0gAygLMhEubm90ZXdlZnQudjEuU3BhbhIUCgxoZWFkaW5nX3BhdGgYDiADKAkSFQoIcmVsYXRpb24YDyABKAlIAIgBARIQCgN2aWEYECABKAlIAYgBARIrCgpwcm9wZXJ0aWVzGBEgASgLMhcuZ29vZ2xlLnByb3RvYnVmLlN0cnVjdEILCglfcmVsYXRpb25CBgoEX3ZpYSJhCgdMZWZ0T3V0EgsKA3VyaRgBIAEoCRINCgVzY29yZRgCIAEoARIOCgZ0b2tlbnMYAyABKAQSKgoGcmVhc29uGAQgASgOMhoubm90ZXdlZnQudjEuTGVmdE91dFJlYXNvbipoCgxDb250ZXh0T3JkZXISHQoZQ09OVEVYVF9PUkRFUl9VTlNQRUNJRklFRBAAEhwKGENPTlRFWFRfT1JERVJfQkVTVF9GSVJTVBABEhsKF0NPTlRFWFRfT1JERVJfQk9USF9FTkRTEAIqeQoLQ29udGV4dE1vZGUSHAoYQ09OVEVYVF9NT0RFX1VOU1BFQ0lGSUVEEAASFQoRQ09OVEVYVF9NT0RFX0ZVTEwQARIYChRDT05URVhUX01PREVfU05JUFBFVBACEhsKF0NPTlRFWFRfTU9ERV9TVFJVQ1RVUkFMEAMqXQoKQnVkZ2V0VW5pdBIbChdCVURHRVRfVU5JVF9VTlNQRUNJRklFRBAAEhoKFkJVREdFVF9VTklUX0NIQVJBQ1RFUlMQARIWChJCVURHRVRfVU5JVF9UT0tFTlMQAirtAQoNTGVmdE91dFJlYXNvbhIfChtMRUZUX09VVF9SRUFTT05fVU5TUEVDSUZJRUQQABIbChdMRUZUX09VVF9SRUFTT05fTUlTU0lORxABEiMKH0xFRlRfT1VUX1JFQVNPTl9CRUxPV19USFJFU0hPTEQQAhIaChZMRUZUX09VVF9SRUFTT05fQlVER0VUEAMSIgoeTEVGVF9PVVRfUkVBU09OX1NUUlVDVFVSQUxfQ0FQEAQSGgoWTEVGVF9PVVRfUkVBU09OX0ZJTFRFUhAFEh0KGUxFRlRfT1VUX1JFQVNPTl9EVVBMSUNBVEUQBjKqAQoOQ29udGV4dFNlcnZpY2USRwoIQXNzZW1ibGUSHC5ub3Rld2VmdC52MS5Bc3NlbWJsZVJlcXVlc3QaHS5ub3Rld2VmdC52MS5Bc3NlbWJsZVJlc3BvbnNlEk8KDkFzc2VtYmxlU3RyZWFtEhwubm90ZXdlZnQudjEuQXNzZW1ibGVSZXF1ZXN0Gh0ubm90ZXdlZnQudjEuQXNzZW1ibGVSZXNwb25zZTABYgZwcm90bzM", [file_google_protobuf_struct, file_noteweft_v1_common, file_noteweft_v1_graph, file_noteweft_v1_search]);
/**
 * Describes the message noteweft.v1.AssembleRequest.
 * Use `create(AssembleRequestSchema)` to create a new message.
 */
export const AssembleRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 0);
/**
 * Describes the message noteweft.v1.ContextLimits.
 * Use `create(ContextLimitsSchema)` to create a new message.
 */
export const ContextLimitsSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 1);
/**
 * Describes the message noteweft.v1.ContextBands.
 * Use `create(ContextBandsSchema)` to create a new message.
 */
export const ContextBandsSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 2);
/**
 * Describes the message noteweft.v1.FocusSource.
 * Use `create(FocusSourceSchema)` to create a new message.
 */
export const FocusSourceSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 3);
/**
 * Describes the message noteweft.v1.ContextNote.
 * Use `create(ContextNoteSchema)` to create a new message.
 */
export const ContextNoteSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 4);
/**
 * Describes the message noteweft.v1.AssembleResponse.
 * Use `create(AssembleResponseSchema)` to create a new message.
 */
export const AssembleResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 5);
/**
 * Describes the message noteweft.v1.ContextItem.
 * Use `create(ContextItemSchema)` to create a new message.
 */
export const ContextItemSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 6);
/**
 * Describes the message noteweft.v1.LeftOut.
 * Use `create(LeftOutSchema)` to create a new message.
 */
export const LeftOutSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_context, 7);
/**
 * In which order a rendered context shows its notes; items are always best first.
 *
 * @generated from enum noteweft.v1.ContextOrder
 */
export var ContextOrder;
(function (ContextOrder) {
    /**
     * The same as `CONTEXT_ORDER_BEST_FIRST`.
     *
     * @generated from enum value: CONTEXT_ORDER_UNSPECIFIED = 0;
     */
    ContextOrder[ContextOrder["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Best first.
     *
     * @generated from enum value: CONTEXT_ORDER_BEST_FIRST = 1;
     */
    ContextOrder[ContextOrder["BEST_FIRST"] = 1] = "BEST_FIRST";
    /**
     * Best first, second best last and so inward: models read the middle of a long text least.
     *
     * @generated from enum value: CONTEXT_ORDER_BOTH_ENDS = 2;
     */
    ContextOrder[ContextOrder["BOTH_ENDS"] = 2] = "BOTH_ENDS";
})(ContextOrder || (ContextOrder = {}));
/**
 * Describes the enum noteweft.v1.ContextOrder.
 */
export const ContextOrderSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_context, 0);
/**
 * How much of a note is taken.
 *
 * @generated from enum noteweft.v1.ContextMode
 */
export var ContextMode;
(function (ContextMode) {
    /**
     * Never sent.
     *
     * @generated from enum value: CONTEXT_MODE_UNSPECIFIED = 0;
     */
    ContextMode[ContextMode["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The body, or its head.
     *
     * @generated from enum value: CONTEXT_MODE_FULL = 1;
     */
    ContextMode[ContextMode["FULL"] = 1] = "FULL";
    /**
     * Blocks around what the query asks for.
     *
     * @generated from enum value: CONTEXT_MODE_SNIPPET = 2;
     */
    ContextMode[ContextMode["SNIPPET"] = 2] = "SNIPPET";
    /**
     * The headings.
     *
     * @generated from enum value: CONTEXT_MODE_STRUCTURAL = 3;
     */
    ContextMode[ContextMode["STRUCTURAL"] = 3] = "STRUCTURAL";
})(ContextMode || (ContextMode = {}));
/**
 * Describes the enum noteweft.v1.ContextMode.
 */
export const ContextModeSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_context, 1);
/**
 * What a budget counts.
 *
 * @generated from enum noteweft.v1.BudgetUnit
 */
export var BudgetUnit;
(function (BudgetUnit) {
    /**
     * Never sent.
     *
     * @generated from enum value: BUDGET_UNIT_UNSPECIFIED = 0;
     */
    BudgetUnit[BudgetUnit["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Unicode scalar values.
     *
     * @generated from enum value: BUDGET_UNIT_CHARACTERS = 1;
     */
    BudgetUnit[BudgetUnit["CHARACTERS"] = 1] = "CHARACTERS";
    /**
     * Tokens.
     *
     * @generated from enum value: BUDGET_UNIT_TOKENS = 2;
     */
    BudgetUnit[BudgetUnit["TOKENS"] = 2] = "TOKENS";
})(BudgetUnit || (BudgetUnit = {}));
/**
 * Describes the enum noteweft.v1.BudgetUnit.
 */
export const BudgetUnitSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_context, 2);
/**
 * Why a note stayed out; the first that applies, in this order.
 *
 * @generated from enum noteweft.v1.LeftOutReason
 */
export var LeftOutReason;
(function (LeftOutReason) {
    /**
     * Never sent.
     *
     * @generated from enum value: LEFT_OUT_REASON_UNSPECIFIED = 0;
     */
    LeftOutReason[LeftOutReason["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * No note answers to the name.
     *
     * @generated from enum value: LEFT_OUT_REASON_MISSING = 1;
     */
    LeftOutReason[LeftOutReason["MISSING"] = 1] = "MISSING";
    /**
     * Its score is too small a share of the best one.
     *
     * @generated from enum value: LEFT_OUT_REASON_BELOW_THRESHOLD = 2;
     */
    LeftOutReason[LeftOutReason["BELOW_THRESHOLD"] = 2] = "BELOW_THRESHOLD";
    /**
     * Not even its beginning fitted.
     *
     * @generated from enum value: LEFT_OUT_REASON_BUDGET = 3;
     */
    LeftOutReason[LeftOutReason["BUDGET"] = 3] = "BUDGET";
    /**
     * Enough notes are given by their headings already.
     *
     * @generated from enum value: LEFT_OUT_REASON_STRUCTURAL_CAP = 4;
     */
    LeftOutReason[LeftOutReason["STRUCTURAL_CAP"] = 4] = "STRUCTURAL_CAP";
    /**
     * The filter excludes it.
     *
     * @generated from enum value: LEFT_OUT_REASON_FILTER = 5;
     */
    LeftOutReason[LeftOutReason["FILTER"] = 5] = "FILTER";
    /**
     * The same note, or the same text, stands higher up.
     *
     * @generated from enum value: LEFT_OUT_REASON_DUPLICATE = 6;
     */
    LeftOutReason[LeftOutReason["DUPLICATE"] = 6] = "DUPLICATE";
})(LeftOutReason || (LeftOutReason = {}));
/**
 * Describes the enum noteweft.v1.LeftOutReason.
 */
export const LeftOutReasonSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_context, 3);
/**
 * Packs notes into a context that never exceeds its budget, and accounts for it.
 *
 * @generated from service noteweft.v1.ContextService
 */
export const ContextService = /*@__PURE__*/ serviceDesc(file_noteweft_v1_context, 0);
