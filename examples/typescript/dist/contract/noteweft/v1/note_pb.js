// Questions about single notes.
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_struct } from "@bufbuild/protobuf/wkt";
import { file_noteweft_v1_common } from "./common_pb.js";
import { file_noteweft_v1_write } from "./write_pb.js";
/**
 * Describes the file noteweft/v1/note.proto.
 */
export const file_noteweft_v1_note = /*@__PURE__*/ fileDesc("ChZub3Rld2VmdC92MS9ub3RlLnByb3RvEgtub3Rld2VmdC52MSJsCg5HZXROb3RlUmVxdWVzdBIMCgRuYW1lGAEgASgJEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESACIAQESEgoFYXNfb2YYZSABKARIAYgBAUIRCg9fbWluX2dlbmVyYXRpb25CCAoGX2FzX29mIu4ECg9HZXROb3RlUmVzcG9uc2USCwoDdXJpGAEgASgJEg0KBXZhdWx0GAIgASgJEgwKBHBhdGgYAyABKAkSDQoFdGl0bGUYBCABKAkSDwoHYWxpYXNlcxgFIAMoCRIMCgR0YWdzGAYgAygJEhEKBHR5cGUYByABKAlIAIgBARIrCgpwcm9wZXJ0aWVzGAggASgLMhcuZ29vZ2xlLnByb3RvYnVmLlN0cnVjdBISCgVvcmRlchgJIAEoAUgBiAEBEikKBnBhcmVudBgKIAEoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWZIAogBARIpCgZvYmplY3QYCyABKAsyFC5ub3Rld2VmdC52MS5Ob3RlUmVmSAOIAQESLQoPY29udGV4dHVhbF9wYXRoGAwgAygLMhQubm90ZXdlZnQudjEuTm90ZVJlZhImCghjaGlsZHJlbhgNIAMoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSJgoIaGVhZGluZ3MYDiADKAsyFC5ub3Rld2VmdC52MS5IZWFkaW5nEiQKBWxpbmtzGA8gAygLMhUubm90ZXdlZnQudjEuTGlua1ZpZXcSKAoJYmFja2xpbmtzGBAgAygLMhUubm90ZXdlZnQudjEuTGlua1ZpZXcSDAoEYm9keRgRIAEoCRINCgVmcmVzaBgSIAEoCBISCgpnZW5lcmF0aW9uGBMgASgEEiIKBmJsb2NrcxgUIAMoCzISLm5vdGV3ZWZ0LnYxLkJsb2NrEgwKBGhhc2gYFSABKAlCBwoFX3R5cGVCCAoGX29yZGVyQgkKB19wYXJlbnRCCQoHX29iamVjdCJCCgdIZWFkaW5nEg0KBWxldmVsGAEgASgNEgwKBHRleHQYAiABKAkSDQoFc3RhcnQYAyABKA0SCwoDZW5kGAQgASgNIi8KBUJsb2NrEgoKAmlkGAEgASgJEg0KBXN0YXJ0GAIgASgNEgsKA2VuZBgDIAEoDSLyAQoITGlua1ZpZXcSDAoEdHlwZRgBIAEoCRInCgZzb3VyY2UYAiABKA4yFy5ub3Rld2VmdC52MS5MaW5rU291cmNlEg4KBnRhcmdldBgDIAEoCRIQCgN1cmkYBCABKAlIAIgBARIQCghyZXNvbHZlZBgFIAEoCBIVCghmcmFnbWVudBgGIAEoCUgBiAEBEhQKB2Rpc3BsYXkYByABKAlIAogBARIkCgRzcGFuGAggASgLMhEubm90ZXdlZnQudjEuU3BhbkgDiAEBQgYKBF91cmlCCwoJX2ZyYWdtZW50QgoKCF9kaXNwbGF5QgcKBV9zcGFuIr8BChBMaXN0Tm90ZXNSZXF1ZXN0EiMKBmZpbHRlchgBIAEoCzITLm5vdGV3ZWZ0LnYxLkZpbHRlchIWCglwYWdlX3NpemUYAiABKA1IAIgBARISCgpwYWdlX3Rva2VuGAMgASgJEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESAGIAQESEgoFYXNfb2YYZSABKARIAogBAUIMCgpfcGFnZV9zaXplQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YieAoRTGlzdE5vdGVzUmVzcG9uc2USJwoFbm90ZXMYASADKAsyGC5ub3Rld2VmdC52MS5Ob3RlU3VtbWFyeRIXCg9uZXh0X3BhZ2VfdG9rZW4YAiABKAkSDQoFdG90YWwYAyABKAQSEgoKZ2VuZXJhdGlvbhgEIAEoBCJwCgtOb3RlU3VtbWFyeRILCgN1cmkYASABKAkSDQoFdmF1bHQYAiABKAkSDAoEcGF0aBgDIAEoCRINCgV0aXRsZRgEIAEoCRIRCgR0eXBlGAUgASgJSACIAQESDAoEdGFncxgGIAMoCUIHCgVfdHlwZSKOAQoSUmVzb2x2ZUxpbmtSZXF1ZXN0Eg4KBnRhcmdldBgBIAEoCRIRCgRmcm9tGAIgASgJSACIAQESGwoObWluX2dlbmVyYXRpb24YZCABKARIAYgBARISCgVhc19vZhhlIAEoBEgCiAEBQgcKBV9mcm9tQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YiwwEKE1Jlc29sdmVMaW5rUmVzcG9uc2USDgoGdGFyZ2V0GAEgASgJEhAKA3VyaRgCIAEoCUgAiAEBEhEKBHBhdGgYAyABKAlIAYgBARIRCgRydWxlGAQgASgJSAKIAQESKAoKY2FuZGlkYXRlcxgFIAMoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSDAoEbmVhchgGIAMoCRISCgpnZW5lcmF0aW9uGAcgASgEQgYKBF91cmlCBwoFX3BhdGhCBwoFX3J1bGUyzwMKC05vdGVTZXJ2aWNlEkQKB0dldE5vdGUSGy5ub3Rld2VmdC52MS5HZXROb3RlUmVxdWVzdBocLm5vdGV3ZWZ0LnYxLkdldE5vdGVSZXNwb25zZRJKCglMaXN0Tm90ZXMSHS5ub3Rld2VmdC52MS5MaXN0Tm90ZXNSZXF1ZXN0Gh4ubm90ZXdlZnQudjEuTGlzdE5vdGVzUmVzcG9uc2USUAoLUmVzb2x2ZUxpbmsSHy5ub3Rld2VmdC52MS5SZXNvbHZlTGlua1JlcXVlc3QaIC5ub3Rld2VmdC52MS5SZXNvbHZlTGlua1Jlc3BvbnNlEkQKB1B1dE5vdGUSGy5ub3Rld2VmdC52MS5QdXROb3RlUmVxdWVzdBocLm5vdGV3ZWZ0LnYxLlB1dE5vdGVSZXNwb25zZRJNCgpEZWxldGVOb3RlEh4ubm90ZXdlZnQudjEuRGVsZXRlTm90ZVJlcXVlc3QaHy5ub3Rld2VmdC52MS5EZWxldGVOb3RlUmVzcG9uc2USRwoITW92ZU5vdGUSHC5ub3Rld2VmdC52MS5Nb3ZlTm90ZVJlcXVlc3QaHS5ub3Rld2VmdC52MS5Nb3ZlTm90ZVJlc3BvbnNlYgZwcm90bzM", [file_google_protobuf_struct, file_noteweft_v1_common, file_noteweft_v1_write]);
/**
 * Describes the message noteweft.v1.GetNoteRequest.
 * Use `create(GetNoteRequestSchema)` to create a new message.
 */
export const GetNoteRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 0);
/**
 * Describes the message noteweft.v1.GetNoteResponse.
 * Use `create(GetNoteResponseSchema)` to create a new message.
 */
export const GetNoteResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 1);
/**
 * Describes the message noteweft.v1.Heading.
 * Use `create(HeadingSchema)` to create a new message.
 */
export const HeadingSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 2);
/**
 * Describes the message noteweft.v1.Block.
 * Use `create(BlockSchema)` to create a new message.
 */
export const BlockSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 3);
/**
 * Describes the message noteweft.v1.LinkView.
 * Use `create(LinkViewSchema)` to create a new message.
 */
export const LinkViewSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 4);
/**
 * Describes the message noteweft.v1.ListNotesRequest.
 * Use `create(ListNotesRequestSchema)` to create a new message.
 */
export const ListNotesRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 5);
/**
 * Describes the message noteweft.v1.ListNotesResponse.
 * Use `create(ListNotesResponseSchema)` to create a new message.
 */
export const ListNotesResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 6);
/**
 * Describes the message noteweft.v1.NoteSummary.
 * Use `create(NoteSummarySchema)` to create a new message.
 */
export const NoteSummarySchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 7);
/**
 * Describes the message noteweft.v1.ResolveLinkRequest.
 * Use `create(ResolveLinkRequestSchema)` to create a new message.
 */
export const ResolveLinkRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 8);
/**
 * Describes the message noteweft.v1.ResolveLinkResponse.
 * Use `create(ResolveLinkResponseSchema)` to create a new message.
 */
export const ResolveLinkResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_note, 9);
/**
 * Reads and writes notes, and finds what a name means.
 *
 * @generated from service noteweft.v1.NoteService
 */
export const NoteService = /*@__PURE__*/ serviceDesc(file_noteweft_v1_note, 0);
