// Questions answered with a ranked list of notes.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_noteweft_v1_common } from "./common_pb.js";
/**
 * Describes the file noteweft/v1/search.proto.
 */
export const file_noteweft_v1_search = /*@__PURE__*/ fileDesc("Chhub3Rld2VmdC92MS9zZWFyY2gucHJvdG8SC25vdGV3ZWZ0LnYxIowDCg1TZWFyY2hSZXF1ZXN0Eg0KBXF1ZXJ5GAEgASgJEhIKBWxpbWl0GAIgASgNSACIAQESJQoEbW9kZRgDIAEoDjIXLm5vdGV3ZWZ0LnYxLlNlYXJjaE1vZGUSIwoGZmlsdGVyGAQgASgLMhMubm90ZXdlZnQudjEuRmlsdGVyEiUKB3Byb2ZpbGUYBSABKA4yFC5ub3Rld2VmdC52MS5Qcm9maWxlEiUKB3dlaWdodHMYBiABKAsyFC5ub3Rld2VmdC52MS5XZWlnaHRzEhAKCG5vX2dyYXBoGAcgASgIEiUKB3dpdGhvdXQYCCABKAsyFC5ub3Rld2VmdC52MS5XaXRob3V0EhIKBXR5cG9zGAkgASgISAGIAQESDwoHZXhwbGFpbhgKIAEoCBIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgCiAEBEhIKBWFzX29mGGUgASgESAOIAQFCCAoGX2xpbWl0QggKBl90eXBvc0IRCg9fbWluX2dlbmVyYXRpb25CCAoGX2FzX29mIkUKB1dlaWdodHMSEgoKc2ltaWxhcml0eRgBIAEoARISCgpjZW50cmFsaXR5GAIgASgBEhIKCmFjdGl2YXRpb24YAyABKAEieQoHV2l0aG91dBINCgVuYW1lcxgBIAEoCBINCgVsaW5rcxgCIAEoCBIUCgxzaGFyZWRfd29yZHMYAyABKAgSEgoKc2ltaWxhcml0eRgEIAEoCBISCgpjZW50cmFsaXR5GAUgASgIEhIKCmFjdGl2YXRpb24YBiABKAgiqAEKDlNlYXJjaFJlc3BvbnNlEh4KBGhpdHMYASADKAsyEC5ub3Rld2VmdC52MS5IaXQSEgoKZ2VuZXJhdGlvbhgCIAEoBBIRCgl0cnVuY2F0ZWQYAyABKAgSEAoIZGVncmFkZWQYBCADKAkSDgoGY2FwcGVkGAUgAygJEi0KC2V4cGxhbmF0aW9uGAYgASgLMhgubm90ZXdlZnQudjEuRXhwbGFuYXRpb24itQMKA0hpdBILCgN1cmkYASABKAkSDAoEcGF0aBgCIAEoCRINCgV2YXVsdBgDIAEoCRINCgV0aXRsZRgEIAEoCRINCgVzY29yZRgFIAEoARIlCgdzaWduYWxzGAYgASgLMhQubm90ZXdlZnQudjEuU2lnbmFscxIrCg1jb250cmlidXRpb25zGAcgASgLMhQubm90ZXdlZnQudjEuU2lnbmFscxIUCgx2ZWN0b3Jfc2NvcmUYCCABKAESFQoNa2V5d29yZF9zY29yZRgJIAEoARIjCgZvcmlnaW4YCiABKA4yEy5ub3Rld2VmdC52MS5PcmlnaW4SEAoDdmlhGAsgASgJSACIAQESDQoFZnJlc2gYDCABKAgSJgoIc25pcHBldHMYDSADKAsyFC5ub3Rld2VmdC52MS5TbmlwcGV0EhIKCm5hbWVfc2NvcmUYDiABKAESKQoIdmlhX2tpbmQYDyABKA4yFy5ub3Rld2VmdC52MS5Db25uZWN0aW9uEjAKC2V4cGxhbmF0aW9uGBAgASgLMhsubm90ZXdlZnQudjEuSGl0RXhwbGFuYXRpb25CBgoEX3ZpYSJXCg5IaXRFeHBsYW5hdGlvbhIgCgVwYXJ0cxgBIAMoCzIRLm5vdGV3ZWZ0LnYxLlBhcnQSEAoIc3RyZW5ndGgYAiABKAESEQoJcmVtYWluZGVyGAMgASgBIl0KBFBhcnQSDgoGc2lnbmFsGAEgASgJEgsKA3JhdxgCIAEoARISCgpub3JtYWxpc2VkGAMgASgBEg4KBndlaWdodBgEIAEoARIUCgxjb250cmlidXRpb24YBSABKAEisQIKC0V4cGxhbmF0aW9uEiUKB3Byb2ZpbGUYASABKA4yFC5ub3Rld2VmdC52MS5Qcm9maWxlEiUKB3dlaWdodHMYAiABKAsyFC5ub3Rld2VmdC52MS5XZWlnaHRzEhQKDHZlY3Rvcl9zaGFyZRgDIAEoARIlCgV3b3JkcxgEIAMoCzIWLm5vdGV3ZWZ0LnYxLlF1ZXJ5V29yZBIgCgVzZWVkcxgFIAMoCzIRLm5vdGV3ZWZ0LnYxLlNlZWQSGAoQbl9zZWVkc19sZWZ0X291dBgGIAEoDRIkCgRwb29sGAcgAygLMhYubm90ZXdlZnQudjEuQ2FuZGlkYXRlEiIKBnN0YWdlcxgIIAMoCzISLm5vdGV3ZWZ0LnYxLlN0YWdlEhEKCWV4cHJlc3NlZBgJIAEoASJGCglRdWVyeVdvcmQSDAoEd29yZBgBIAEoCRINCgVjb3VudBgCIAEoDRIPCgduX25vdGVzGAMgASgNEgsKA2lkZhgEIAEoASJpCgRTZWVkEgsKA3VyaRgBIAEoCRISCgpzaW1pbGFyaXR5GAIgASgBEg4KBmRlZ3JlZRgDIAEoDRINCgV3b3JkcxgEIAMoCRIRCgluX3JlYWNoZWQYBSABKA0SDgoGY2FwcGVkGAYgASgIIlEKCUNhbmRpZGF0ZRILCgN1cmkYASABKAkSEgoKc2ltaWxhcml0eRgCIAEoARIjCgZvcmlnaW4YAyABKA4yEy5ub3Rld2VmdC52MS5PcmlnaW4iJQoFU3RhZ2USDAoEbmFtZRgBIAEoCRIOCgZtaWNyb3MYAiABKAQiRQoHU2lnbmFscxISCgpzaW1pbGFyaXR5GAEgASgBEhIKCmNlbnRyYWxpdHkYAiABKAESEgoKYWN0aXZhdGlvbhgDIAEoASJtCgdTbmlwcGV0EgwKBHRleHQYASABKAkSDQoFc3RhcnQYAiABKA0SCwoDZW5kGAMgASgNEhQKDGhlYWRpbmdfcGF0aBgEIAMoCRIiCgdtYXRjaGVzGAUgAygLMhEubm90ZXdlZnQudjEuU3BhbiJxChFXYXRjaFF1ZXJ5UmVxdWVzdBIqCgZzZWFyY2gYASABKAsyGi5ub3Rld2VmdC52MS5TZWFyY2hSZXF1ZXN0EhwKD21pbl9pbnRlcnZhbF9tcxgCIAEoDUgAiAEBQhIKEF9taW5faW50ZXJ2YWxfbXMiYAoSV2F0Y2hRdWVyeVJlc3BvbnNlEisKBmFuc3dlchgBIAEoCzIbLm5vdGV3ZWZ0LnYxLlNlYXJjaFJlc3BvbnNlEg8KB2VudGVyZWQYAiADKAkSDAoEbGVmdBgDIAMoCSJJCg1XaHlOb3RSZXF1ZXN0EgwKBG5vdGUYASABKAkSKgoGc2VhcmNoGAIgASgLMhoubm90ZXdlZnQudjEuU2VhcmNoUmVxdWVzdCL2AQoOV2h5Tm90UmVzcG9uc2USIgoEbm90ZRgBIAEoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSHwoEbG9zcxgCIAEoDjIRLm5vdGV3ZWZ0LnYxLkxvc3MSDgoGcmVhc29uGAMgASgJEg4KBmZhaWxlZBgEIAMoCRITCgZtYXJnaW4YBSABKAFIAIgBARIRCgRyYW5rGAYgASgNSAGIAQESHQoDaGl0GAcgASgLMhAubm90ZXdlZnQudjEuSGl0EhAKCGRlZ3JhZGVkGAggAygJEhIKCmdlbmVyYXRpb24YCSABKARCCQoHX21hcmdpbkIHCgVfcmFuaypyCgpTZWFyY2hNb2RlEhsKF1NFQVJDSF9NT0RFX1VOU1BFQ0lGSUVEEAASFgoSU0VBUkNIX01PREVfSFlCUklEEAESFgoSU0VBUkNIX01PREVfVkVDVE9SEAISFwoTU0VBUkNIX01PREVfS0VZV09SRBADKm0KBk9yaWdpbhIWChJPUklHSU5fVU5TUEVDSUZJRUQQABIRCg1PUklHSU5fVkVDVE9SEAESEgoOT1JJR0lOX0tFWVdPUkQQAhIPCgtPUklHSU5fQk9USBADEhMKD09SSUdJTl9FWFBBTkRFRBAEKksKB1Byb2ZpbGUSFwoTUFJPRklMRV9VTlNQRUNJRklFRBAAEhIKDlBST0ZJTEVfQlJJREdFEAESEwoPUFJPRklMRV9DTEFTU0lDEAIqiQEKCkNvbm5lY3Rpb24SGgoWQ09OTkVDVElPTl9VTlNQRUNJRklFRBAAEhMKD0NPTk5FQ1RJT05fTElOSxABEhcKE0NPTk5FQ1RJT05fQkFDS0xJTksQAhIbChdDT05ORUNUSU9OX1NIQVJFRF9XT1JEUxADEhQKEENPTk5FQ1RJT05fVE9QSUMQBCrYAQoETG9zcxIUChBMT1NTX1VOU1BFQ0lGSUVEEAASDQoJTE9TU19OT05FEAESFAoQTE9TU19OT1RfSU5ERVhFRBACEg8KC0xPU1NfRklMVEVSEAMSEQoNTE9TU19FWENMVURFRBAEEhcKE0xPU1NfVkVDVE9SX1BFTkRJTkcQBRITCg9MT1NTX0NBTkRJREFURVMQBhIOCgpMT1NTX0ZMT09SEAcSDwoLTE9TU19GQU5PVVQQCBISCg5MT1NTX05PX0FOU1dFUhAJEg4KCkxPU1NfTElNSVQQCjLmAQoNU2VhcmNoU2VydmljZRJBCgZTZWFyY2gSGi5ub3Rld2VmdC52MS5TZWFyY2hSZXF1ZXN0Ghsubm90ZXdlZnQudjEuU2VhcmNoUmVzcG9uc2USQQoGV2h5Tm90Ehoubm90ZXdlZnQudjEuV2h5Tm90UmVxdWVzdBobLm5vdGV3ZWZ0LnYxLldoeU5vdFJlc3BvbnNlEk8KCldhdGNoUXVlcnkSHi5ub3Rld2VmdC52MS5XYXRjaFF1ZXJ5UmVxdWVzdBofLm5vdGV3ZWZ0LnYxLldhdGNoUXVlcnlSZXNwb25zZTABYgZwcm90bzM", [file_noteweft_v1_common]);
/**
 * Describes the message noteweft.v1.SearchRequest.
 * Use `create(SearchRequestSchema)` to create a new message.
 */
export const SearchRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 0);
/**
 * Describes the message noteweft.v1.Weights.
 * Use `create(WeightsSchema)` to create a new message.
 */
export const WeightsSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 1);
/**
 * Describes the message noteweft.v1.Without.
 * Use `create(WithoutSchema)` to create a new message.
 */
export const WithoutSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 2);
/**
 * Describes the message noteweft.v1.SearchResponse.
 * Use `create(SearchResponseSchema)` to create a new message.
 */
export const SearchResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 3);
/**
 * Describes the message noteweft.v1.Hit.
 * Use `create(HitSchema)` to create a new message.
 */
export const HitSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 4);
/**
 * Describes the message noteweft.v1.HitExplanation.
 * Use `create(HitExplanationSchema)` to create a new message.
 */
export const HitExplanationSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 5);
/**
 * Describes the message noteweft.v1.Part.
 * Use `create(PartSchema)` to create a new message.
 */
export const PartSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 6);
/**
 * Describes the message noteweft.v1.Explanation.
 * Use `create(ExplanationSchema)` to create a new message.
 */
export const ExplanationSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 7);
/**
 * Describes the message noteweft.v1.QueryWord.
 * Use `create(QueryWordSchema)` to create a new message.
 */
export const QueryWordSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 8);
/**
 * Describes the message noteweft.v1.Seed.
 * Use `create(SeedSchema)` to create a new message.
 */
export const SeedSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 9);
/**
 * Describes the message noteweft.v1.Candidate.
 * Use `create(CandidateSchema)` to create a new message.
 */
export const CandidateSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 10);
/**
 * Describes the message noteweft.v1.Stage.
 * Use `create(StageSchema)` to create a new message.
 */
export const StageSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 11);
/**
 * Describes the message noteweft.v1.Signals.
 * Use `create(SignalsSchema)` to create a new message.
 */
export const SignalsSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 12);
/**
 * Describes the message noteweft.v1.Snippet.
 * Use `create(SnippetSchema)` to create a new message.
 */
export const SnippetSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 13);
/**
 * Describes the message noteweft.v1.WatchQueryRequest.
 * Use `create(WatchQueryRequestSchema)` to create a new message.
 */
export const WatchQueryRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 14);
/**
 * Describes the message noteweft.v1.WatchQueryResponse.
 * Use `create(WatchQueryResponseSchema)` to create a new message.
 */
export const WatchQueryResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 15);
/**
 * Describes the message noteweft.v1.WhyNotRequest.
 * Use `create(WhyNotRequestSchema)` to create a new message.
 */
export const WhyNotRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 16);
/**
 * Describes the message noteweft.v1.WhyNotResponse.
 * Use `create(WhyNotResponseSchema)` to create a new message.
 */
export const WhyNotResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_search, 17);
/**
 * Which legs look for candidates.
 *
 * @generated from enum noteweft.v1.SearchMode
 */
export var SearchMode;
(function (SearchMode) {
    /**
     * The same as `SEARCH_MODE_HYBRID`.
     *
     * @generated from enum value: SEARCH_MODE_UNSPECIFIED = 0;
     */
    SearchMode[SearchMode["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * By meaning and by word.
     *
     * @generated from enum value: SEARCH_MODE_HYBRID = 1;
     */
    SearchMode[SearchMode["HYBRID"] = 1] = "HYBRID";
    /**
     * By meaning alone.
     *
     * @generated from enum value: SEARCH_MODE_VECTOR = 2;
     */
    SearchMode[SearchMode["VECTOR"] = 2] = "VECTOR";
    /**
     * By word alone; nothing is embedded.
     *
     * @generated from enum value: SEARCH_MODE_KEYWORD = 3;
     */
    SearchMode[SearchMode["KEYWORD"] = 3] = "KEYWORD";
})(SearchMode || (SearchMode = {}));
/**
 * Describes the enum noteweft.v1.SearchMode.
 */
export const SearchModeSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_search, 0);
/**
 * How a hit came into the list.
 *
 * @generated from enum noteweft.v1.Origin
 */
export var Origin;
(function (Origin) {
    /**
     * Never sent.
     *
     * @generated from enum value: ORIGIN_UNSPECIFIED = 0;
     */
    Origin[Origin["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Found by meaning.
     *
     * @generated from enum value: ORIGIN_VECTOR = 1;
     */
    Origin[Origin["VECTOR"] = 1] = "VECTOR";
    /**
     * Found by word.
     *
     * @generated from enum value: ORIGIN_KEYWORD = 2;
     */
    Origin[Origin["KEYWORD"] = 2] = "KEYWORD";
    /**
     * Found by meaning and by word.
     *
     * @generated from enum value: ORIGIN_BOTH = 3;
     */
    Origin[Origin["BOTH"] = 3] = "BOTH";
    /**
     * Reached from another hit, over a link, a topic, or words they share.
     *
     * @generated from enum value: ORIGIN_EXPANDED = 4;
     */
    Origin[Origin["EXPANDED"] = 4] = "EXPANDED";
})(Origin || (Origin = {}));
/**
 * Describes the enum noteweft.v1.Origin.
 */
export const OriginSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_search, 1);
/**
 * What the signals of a search are made of.
 *
 * @generated from enum noteweft.v1.Profile
 */
export var Profile;
(function (Profile) {
    /**
     * As the daemon is configured: `bridge` by default.
     *
     * @generated from enum value: PROFILE_UNSPECIFIED = 0;
     */
    Profile[Profile["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Links and shared words lift a note by a part of its distance to a better hit; names in the query count.
     *
     * @generated from enum value: PROFILE_BRIDGE = 1;
     */
    Profile[Profile["BRIDGE"] = 1] = "BRIDGE";
    /**
     * Linked hits activate each other.
     *
     * @generated from enum value: PROFILE_CLASSIC = 2;
     */
    Profile[Profile["CLASSIC"] = 2] = "CLASSIC";
})(Profile || (Profile = {}));
/**
 * Describes the enum noteweft.v1.Profile.
 */
export const ProfileSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_search, 2);
/**
 * How a note is connected with the hit that lifts it.
 *
 * @generated from enum noteweft.v1.Connection
 */
export var Connection;
(function (Connection) {
    /**
     * Nothing lifts it.
     *
     * @generated from enum value: CONNECTION_UNSPECIFIED = 0;
     */
    Connection[Connection["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The hit links to the note.
     *
     * @generated from enum value: CONNECTION_LINK = 1;
     */
    Connection[Connection["LINK"] = 1] = "LINK";
    /**
     * The note links to the hit.
     *
     * @generated from enum value: CONNECTION_BACKLINK = 2;
     */
    Connection[Connection["BACKLINK"] = 2] = "BACKLINK";
    /**
     * Both hold words that few notes hold.
     *
     * @generated from enum value: CONNECTION_SHARED_WORDS = 3;
     */
    Connection[Connection["SHARED_WORDS"] = 3] = "SHARED_WORDS";
    /**
     * Both link to a topic.
     *
     * @generated from enum value: CONNECTION_TOPIC = 4;
     */
    Connection[Connection["TOPIC"] = 4] = "TOPIC";
})(Connection || (Connection = {}));
/**
 * Describes the enum noteweft.v1.Connection.
 */
export const ConnectionSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_search, 3);
/**
 * The stage at which a note was lost.
 *
 * @generated from enum noteweft.v1.Loss
 */
export var Loss;
(function (Loss) {
    /**
     * Never sent.
     *
     * @generated from enum value: LOSS_UNSPECIFIED = 0;
     */
    Loss[Loss["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * At none: it is a hit.
     *
     * @generated from enum value: LOSS_NONE = 1;
     */
    Loss[Loss["NONE"] = 1] = "NONE";
    /**
     * No note of the index answers to the name; `reason` says what became of the file.
     *
     * @generated from enum value: LOSS_NOT_INDEXED = 2;
     */
    Loss[Loss["NOT_INDEXED"] = 2] = "NOT_INDEXED";
    /**
     * The filter keeps it out.
     *
     * @generated from enum value: LOSS_FILTER = 3;
     */
    Loss[Loss["FILTER"] = 3] = "FILTER";
    /**
     * The query excludes a word of it, or asks for one that it lacks.
     *
     * @generated from enum value: LOSS_EXCLUDED = 4;
     */
    Loss[Loss["EXCLUDED"] = 4] = "EXCLUDED";
    /**
     * Its vector is not there yet, and nothing else brings it in.
     *
     * @generated from enum value: LOSS_VECTOR_PENDING = 5;
     */
    Loss[Loss["VECTOR_PENDING"] = 5] = "VECTOR_PENDING";
    /**
     * Each leg found enough better notes.
     *
     * @generated from enum value: LOSS_CANDIDATES = 6;
     */
    Loss[Loss["CANDIDATES"] = 6] = "CANDIDATES";
    /**
     * The hits it is linked with are below the floor of expansion.
     *
     * @generated from enum value: LOSS_FLOOR = 7;
     */
    Loss[Loss["FLOOR"] = 7] = "FLOOR";
    /**
     * A hit it is linked with has too many links to follow them all.
     *
     * @generated from enum value: LOSS_FANOUT = 8;
     */
    Loss[Loss["FANOUT"] = 8] = "FANOUT";
    /**
     * Nothing about it answers.
     *
     * @generated from enum value: LOSS_NO_ANSWER = 9;
     */
    Loss[Loss["NO_ANSWER"] = 9] = "NO_ANSWER";
    /**
     * It is ranked, below the last hit that was asked for.
     *
     * @generated from enum value: LOSS_LIMIT = 10;
     */
    Loss[Loss["LIMIT"] = 10] = "LIMIT";
})(Loss || (Loss = {}));
/**
 * Describes the enum noteweft.v1.Loss.
 */
export const LossSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_search, 4);
/**
 * Finds notes by meaning, by word and by link.
 *
 * @generated from service noteweft.v1.SearchService
 */
export const SearchService = /*@__PURE__*/ serviceDesc(file_noteweft_v1_search, 0);
