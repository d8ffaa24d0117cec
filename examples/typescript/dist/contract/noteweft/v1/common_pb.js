// Messages that several services share.
//
// Offsets count Unicode scalar values of a note's body and are half-open: `start` is the first inside, `end` the first after.
// Lists are in the order their field states, and the same on every run of one generation.
// A field that may be unknown is `optional`; one that is not `optional` is always meant, also when it is zero or empty.
import { enumDesc, fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file noteweft/v1/common.proto.
 */
export const file_noteweft_v1_common = /*@__PURE__*/ fileDesc("Chhub3Rld2VmdC92MS9jb21tb24ucHJvdG8SC25vdGV3ZWZ0LnYxIpECCgZGaWx0ZXISDgoGdmF1bHRzGAEgAygJEg0KBXBhdGhzGAIgAygJEgwKBHRhZ3MYAyADKAkSDQoFdHlwZXMYBCADKAkSLgoKcHJvcGVydGllcxgFIAMoCzIaLm5vdGV3ZWZ0LnYxLlByb3BlcnR5TWF0Y2gSEgoFYWZ0ZXIYBiABKAlIAIgBARITCgZiZWZvcmUYByABKAlIAYgBARIRCglsaW5rZWRfdG8YCCADKAkSEwoLbGlua2VkX2Zyb20YCSADKAkSIwoGd2l0aGluGAogAygLMhMubm90ZXdlZnQudjEuV2l0aGluEhAKCGV4Y2x1ZGVkGAsgAygJQggKBl9hZnRlckIJCgdfYmVmb3JlIisKDVByb3BlcnR5TWF0Y2gSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJIiQKBldpdGhpbhIMCgRub3RlGAEgASgJEgwKBGhvcHMYAiABKA0iJQoHTm90ZVJlZhILCgN1cmkYASABKAkSDQoFdGl0bGUYAiABKAkiIgoEU3BhbhINCgVzdGFydBgBIAEoDRILCgNlbmQYAiABKA0qeQoJUmVuZGVyaW5nEhkKFVJFTkRFUklOR19VTlNQRUNJRklFRBAAEhIKDlJFTkRFUklOR19OT05FEAESFgoSUkVOREVSSU5HX01BUktET1dOEAISEQoNUkVOREVSSU5HX1hNTBADEhIKDlJFTkRFUklOR19KU09OEAQqWAoKTGlua1NvdXJjZRIbChdMSU5LX1NPVVJDRV9VTlNQRUNJRklFRBAAEhUKEUxJTktfU09VUkNFX1RZUEVEEAESFgoSTElOS19TT1VSQ0VfSU5MSU5FEAJiBnByb3RvMw");
/**
 * Describes the message noteweft.v1.Filter.
 * Use `create(FilterSchema)` to create a new message.
 */
export const FilterSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_common, 0);
/**
 * Describes the message noteweft.v1.PropertyMatch.
 * Use `create(PropertyMatchSchema)` to create a new message.
 */
export const PropertyMatchSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_common, 1);
/**
 * Describes the message noteweft.v1.Within.
 * Use `create(WithinSchema)` to create a new message.
 */
export const WithinSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_common, 2);
/**
 * Describes the message noteweft.v1.NoteRef.
 * Use `create(NoteRefSchema)` to create a new message.
 */
export const NoteRefSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_common, 3);
/**
 * Describes the message noteweft.v1.Span.
 * Use `create(SpanSchema)` to create a new message.
 */
export const SpanSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_common, 4);
/**
 * The form in which an answer is written as one text for a language model.
 *
 * @generated from enum noteweft.v1.Rendering
 */
export var Rendering;
(function (Rendering) {
    /**
     * What the question calls its default.
     *
     * @generated from enum value: RENDERING_UNSPECIFIED = 0;
     */
    Rendering[Rendering["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Not at all.
     *
     * @generated from enum value: RENDERING_NONE = 1;
     */
    Rendering[Rendering["NONE"] = 1] = "NONE";
    /**
     * Markdown, with note texts in fences longer than any run of backticks inside.
     *
     * @generated from enum value: RENDERING_MARKDOWN = 2;
     */
    Rendering[Rendering["MARKDOWN"] = 2] = "MARKDOWN";
    /**
     * XML elements, with note texts escaped.
     *
     * @generated from enum value: RENDERING_XML = 3;
     */
    Rendering[Rendering["XML"] = 3] = "XML";
    /**
     * JSON.
     *
     * @generated from enum value: RENDERING_JSON = 4;
     */
    Rendering[Rendering["JSON"] = 4] = "JSON";
})(Rendering || (Rendering = {}));
/**
 * Describes the enum noteweft.v1.Rendering.
 */
export const RenderingSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_common, 0);
/**
 * Where a link was written.
 *
 * @generated from enum noteweft.v1.LinkSource
 */
export var LinkSource;
(function (LinkSource) {
    /**
     * Never sent.
     *
     * @generated from enum value: LINK_SOURCE_UNSPECIFIED = 0;
     */
    LinkSource[LinkSource["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * In the frontmatter.
     *
     * @generated from enum value: LINK_SOURCE_TYPED = 1;
     */
    LinkSource[LinkSource["TYPED"] = 1] = "TYPED";
    /**
     * In the body.
     *
     * @generated from enum value: LINK_SOURCE_INLINE = 2;
     */
    LinkSource[LinkSource["INLINE"] = 2] = "INLINE";
})(LinkSource || (LinkSource = {}));
/**
 * Describes the enum noteweft.v1.LinkSource.
 */
export const LinkSourceSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_common, 1);
