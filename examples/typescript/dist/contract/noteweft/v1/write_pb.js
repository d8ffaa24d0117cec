// Notes written on request. Files are replaced whole, inside their vault, and nothing is overwritten that the request does not name.
//
// Each answer names a generation that holds the change: a later question with `min_generation` sees it.
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file noteweft/v1/write.proto.
 */
export const file_noteweft_v1_write = /*@__PURE__*/ fileDesc("Chdub3Rld2VmdC92MS93cml0ZS5wcm90bxILbm90ZXdlZnQudjEiogEKDlB1dE5vdGVSZXF1ZXN0EhIKBXZhdWx0GAEgASgJSACIAQESDAoEcGF0aBgCIAEoCRIRCgR0ZXh0GAMgASgJSAGIAQESEQoEYm9keRgEIAEoCUgCiAEBEhoKDWV4cGVjdGVkX2hhc2gYBSABKAlIA4gBAUIICgZfdmF1bHRCBwoFX3RleHRCBwoFX2JvZHlCEAoOX2V4cGVjdGVkX2hhc2giTwoRRGVsZXRlTm90ZVJlcXVlc3QSDAoEbmFtZRgBIAEoCRIaCg1leHBlY3RlZF9oYXNoGAIgASgJSACIAQFCEAoOX2V4cGVjdGVkX2hhc2gicAoPTW92ZU5vdGVSZXF1ZXN0EgwKBG5hbWUYASABKAkSCgoCdG8YAiABKAkSGgoNZXhwZWN0ZWRfaGFzaBgDIAEoCUgAiAEBEhUKDXJld3JpdGVfbGlua3MYBCABKAhCEAoOX2V4cGVjdGVkX2hhc2giswEKD1B1dE5vdGVSZXNwb25zZRINCgV2YXVsdBgBIAEoCRIMCgRwYXRoGAIgASgJEhAKA3VyaRgDIAEoCUgAiAEBEhEKBGhhc2gYBCABKAlIAYgBARIPCgdjcmVhdGVkGAUgASgIEhgKC25vdF9pbmRleGVkGAYgASgJSAKIAQESEgoKZ2VuZXJhdGlvbhgHIAEoBEIGCgRfdXJpQgcKBV9oYXNoQg4KDF9ub3RfaW5kZXhlZCJFChJEZWxldGVOb3RlUmVzcG9uc2USDQoFdmF1bHQYASABKAkSDAoEcGF0aBgCIAEoCRISCgpnZW5lcmF0aW9uGAMgASgEIqUBChBNb3ZlTm90ZVJlc3BvbnNlEg0KBXZhdWx0GAEgASgJEgwKBHBhdGgYAiABKAkSEAoDdXJpGAMgASgJSACIAQESEQoEaGFzaBgEIAEoCUgBiAEBEioKBWxpbmtzGAUgAygLMhsubm90ZXdlZnQudjEuUmV3cml0dGVuTGlua3MSEgoKZ2VuZXJhdGlvbhgGIAEoBEIGCgRfdXJpQgcKBV9oYXNoIj8KDlJld3JpdHRlbkxpbmtzEgwKBHBhdGgYASABKAkSDwoHbl9saW5rcxgCIAEoBBIOCgZuX2xlZnQYAyABKARiBnByb3RvMw");
/**
 * Describes the message noteweft.v1.PutNoteRequest.
 * Use `create(PutNoteRequestSchema)` to create a new message.
 */
export const PutNoteRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 0);
/**
 * Describes the message noteweft.v1.DeleteNoteRequest.
 * Use `create(DeleteNoteRequestSchema)` to create a new message.
 */
export const DeleteNoteRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 1);
/**
 * Describes the message noteweft.v1.MoveNoteRequest.
 * Use `create(MoveNoteRequestSchema)` to create a new message.
 */
export const MoveNoteRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 2);
/**
 * Describes the message noteweft.v1.PutNoteResponse.
 * Use `create(PutNoteResponseSchema)` to create a new message.
 */
export const PutNoteResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 3);
/**
 * Describes the message noteweft.v1.DeleteNoteResponse.
 * Use `create(DeleteNoteResponseSchema)` to create a new message.
 */
export const DeleteNoteResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 4);
/**
 * Describes the message noteweft.v1.MoveNoteResponse.
 * Use `create(MoveNoteResponseSchema)` to create a new message.
 */
export const MoveNoteResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 5);
/**
 * Describes the message noteweft.v1.RewrittenLinks.
 * Use `create(RewrittenLinksSchema)` to create a new message.
 */
export const RewrittenLinksSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_write, 6);
