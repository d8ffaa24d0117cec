// The state of the index, and work on it.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file noteweft/v1/admin.proto.
 */
export const file_noteweft_v1_admin = /*@__PURE__*/ fileDesc("Chdub3Rld2VmdC92MS9hZG1pbi5wcm90bxILbm90ZXdlZnQudjEiDwoNU3RhdHVzUmVxdWVzdCKvBAoOU3RhdHVzUmVzcG9uc2USEgoKZ2VuZXJhdGlvbhgBIAEoBBIhCgVwaGFzZRgCIAEoDjISLm5vdGV3ZWZ0LnYxLlBoYXNlEigKBnZhdWx0cxgDIAMoCzIYLm5vdGV3ZWZ0LnYxLlZhdWx0U3RhdHVzEg8KB25fbm90ZXMYBCABKAQSFgoObl9wbGFjZWhvbGRlcnMYBSABKAQSDwoHbl9saW5rcxgGIAEoBBIUCgxuX3VucmVzb2x2ZWQYByABKAQSEAoIbl9jaHVua3MYCCABKAQSGQoRbl92ZWN0b3JzX3BlbmRpbmcYCSABKAQSGgoSdmVjdG9yc19wZXJfc2Vjb25kGAogASgBEhkKDHNlY29uZHNfbGVmdBgLIAEoAUgAiAEBEhQKDG5fZmlsZXNfZG9uZRgMIAEoBBIVCg1uX2ZpbGVzX3RvdGFsGA0gASgEEiYKBW1vZGVsGA4gASgLMhIubm90ZXdlZnQudjEuTW9kZWxIAYgBARIPCgdub3RpY2VzGA8gAygJEhcKCmxhc3RfZXJyb3IYECABKAlIAogBARINCgVzdG9yZRgRIAEoCRITCgtzdG9yZV9ieXRlcxgSIAEoBBIPCgd2ZXJzaW9uGBMgASgJEg4KBmRpZ2VzdBgUIAEoCRIaChJzdG9yZWRfZ2VuZXJhdGlvbnMYFSADKARCDwoNX3NlY29uZHNfbGVmdEIICgZfbW9kZWxCDQoLX2xhc3RfZXJyb3IiSQoFTW9kZWwSDAoEbmFtZRgBIAEoCRIRCglkaW1lbnNpb24YAiABKA0SDgoGcnVubmVyGAMgASgJEg8KB3Bvb2xpbmcYBCABKAkixAEKC1ZhdWx0U3RhdHVzEgwKBG5hbWUYASABKAkSDAoEcm9vdBgCIAEoCRIPCgduX25vdGVzGAMgASgEEg8KB25fbGlua3MYBCABKAQSEgoKbl9yZXNvbHZlZBgFIAEoBBITCgtuX2FtYmlndW91cxgGIAEoBBIRCgluX3NraXBwZWQYByABKAQSEAoIbl9mYWlsZWQYCCABKAQSKQoId2F0Y2hpbmcYCSABKA4yFy5ub3Rld2VmdC52MS5XYXRjaFN0YXRlIhEKD0NvdmVyYWdlUmVxdWVzdCJQChBDb3ZlcmFnZVJlc3BvbnNlEigKBWZpbGVzGAEgAygLMhkubm90ZXdlZnQudjEuRmlsZUNvdmVyYWdlEhIKCmdlbmVyYXRpb24YAiABKAQiogIKDEZpbGVDb3ZlcmFnZRINCgV2YXVsdBgBIAEoCRIMCgRwYXRoGAIgASgJEiUKBXN0YXRlGAMgASgOMhYubm90ZXdlZnQudjEuRmlsZVN0YXRlEhMKBnJlYXNvbhgEIAEoCUgAiAEBEhAKA3VyaRgFIAEoCUgBiAEBEhEKBGhhc2gYBiABKAlIAogBARITCgttb2RpZmllZF9ucxgHIAEoAxIQCghuX2NodW5rcxgIIAEoBBIPCgduX2xpbmtzGAkgASgEEhIKCnVucmVzb2x2ZWQYCiADKAkSLAoLZGlhZ25vc3RpY3MYCyADKAsyFy5ub3Rld2VmdC52MS5EaWFnbm9zdGljQgkKB19yZWFzb25CBgoEX3VyaUIHCgVfaGFzaCJwCgpEaWFnbm9zdGljEicKCHNldmVyaXR5GAEgASgOMhUubm90ZXdlZnQudjEuU2V2ZXJpdHkSDAoEY29kZRgCIAEoCRIPCgdtZXNzYWdlGAMgASgJEhEKBGxpbmUYBCABKA1IAIgBAUIHCgVfbGluZSIRCg9TZXR0aW5nc1JlcXVlc3QiTgoQU2V0dGluZ3NSZXNwb25zZRImCghzZXR0aW5ncxgBIAMoCzIULm5vdGV3ZWZ0LnYxLlNldHRpbmcSEgoKZ2VuZXJhdGlvbhgCIAEoBCI1CgdTZXR0aW5nEgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCRIOCgZvcmlnaW4YAyABKAkiLwoOUmVpbmRleFJlcXVlc3QSDAoEZnVsbBgBIAEoCBIPCgdjb21wYWN0GAIgASgIIp4BCg9SZWluZGV4UmVzcG9uc2USIQoFcGhhc2UYASABKA4yEi5ub3Rld2VmdC52MS5QaGFzZRIUCgxuX2ZpbGVzX2RvbmUYAiABKAQSFQoNbl9maWxlc190b3RhbBgDIAEoBBIZChFuX3ZlY3RvcnNfcGVuZGluZxgEIAEoBBIMCgRkb25lGAUgASgIEhIKCmdlbmVyYXRpb24YBiABKAQiDgoMRmx1c2hSZXF1ZXN0IiMKDUZsdXNoUmVzcG9uc2USEgoKZ2VuZXJhdGlvbhgBIAEoBCIPCg1CYWNrdXBSZXF1ZXN0IoQBCg5CYWNrdXBSZXNwb25zZRIMCgRwYXRoGAEgASgJEg0KBWJ5dGVzGAIgASgMEhIKBWNyYzMyGAMgASgNSACIAQESFQoNbl9ieXRlc190b3RhbBgEIAEoBBIMCgRkb25lGAUgASgIEhIKCmdlbmVyYXRpb24YBiABKARCCAoGX2NyYzMyIjcKF1dhdGNoR2VuZXJhdGlvbnNSZXF1ZXN0EhIKBWFmdGVyGAEgASgESACIAQFCCAoGX2FmdGVyInwKGFdhdGNoR2VuZXJhdGlvbnNSZXNwb25zZRISCgpnZW5lcmF0aW9uGAEgASgEEg4KBmRpZ2VzdBgCIAEoCRIPCgduX25vdGVzGAMgASgEEhkKEW5fdmVjdG9yc19wZW5kaW5nGAQgASgEEhAKCG5fbWlzc2VkGAUgASgEKn8KBVBoYXNlEhUKEVBIQVNFX1VOU1BFQ0lGSUVEEAASEQoNUEhBU0VfT1BFTklORxABEhIKDlBIQVNFX1NDQU5OSU5HEAISEgoOUEhBU0VfSU5ERVhJTkcQAxITCg9QSEFTRV9FTUJFRERJTkcQBBIPCgtQSEFTRV9SRUFEWRAFKoYBCglGaWxlU3RhdGUSGgoWRklMRV9TVEFURV9VTlNQRUNJRklFRBAAEhYKEkZJTEVfU1RBVEVfSU5ERVhFRBABEhYKEkZJTEVfU1RBVEVfUEVORElORxACEhYKEkZJTEVfU1RBVEVfU0tJUFBFRBADEhUKEUZJTEVfU1RBVEVfRkFJTEVEEAQqcQoKV2F0Y2hTdGF0ZRIbChdXQVRDSF9TVEFURV9VTlNQRUNJRklFRBAAEhMKD1dBVENIX1NUQVRFX09GRhABEhkKFVdBVENIX1NUQVRFX0FOTk9VTkNFRBACEhYKEldBVENIX1NUQVRFX1BPTExFRBADKk8KCFNldmVyaXR5EhgKFFNFVkVSSVRZX1VOU1BFQ0lGSUVEEAASEwoPU0VWRVJJVFlfTk9USUNFEAESFAoQU0VWRVJJVFlfV0FSTklORxACMpUECgxBZG1pblNlcnZpY2USQQoGU3RhdHVzEhoubm90ZXdlZnQudjEuU3RhdHVzUmVxdWVzdBobLm5vdGV3ZWZ0LnYxLlN0YXR1c1Jlc3BvbnNlEkkKCENvdmVyYWdlEhwubm90ZXdlZnQudjEuQ292ZXJhZ2VSZXF1ZXN0Gh0ubm90ZXdlZnQudjEuQ292ZXJhZ2VSZXNwb25zZTABEkcKCFNldHRpbmdzEhwubm90ZXdlZnQudjEuU2V0dGluZ3NSZXF1ZXN0Gh0ubm90ZXdlZnQudjEuU2V0dGluZ3NSZXNwb25zZRJGCgdSZWluZGV4Ehsubm90ZXdlZnQudjEuUmVpbmRleFJlcXVlc3QaHC5ub3Rld2VmdC52MS5SZWluZGV4UmVzcG9uc2UwARI+CgVGbHVzaBIZLm5vdGV3ZWZ0LnYxLkZsdXNoUmVxdWVzdBoaLm5vdGV3ZWZ0LnYxLkZsdXNoUmVzcG9uc2USQwoGQmFja3VwEhoubm90ZXdlZnQudjEuQmFja3VwUmVxdWVzdBobLm5vdGV3ZWZ0LnYxLkJhY2t1cFJlc3BvbnNlMAESYQoQV2F0Y2hHZW5lcmF0aW9ucxIkLm5vdGV3ZWZ0LnYxLldhdGNoR2VuZXJhdGlvbnNSZXF1ZXN0GiUubm90ZXdlZnQudjEuV2F0Y2hHZW5lcmF0aW9uc1Jlc3BvbnNlMAFiBnByb3RvMw");
/**
 * Describes the message noteweft.v1.StatusRequest.
 * Use `create(StatusRequestSchema)` to create a new message.
 */
export const StatusRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 0);
/**
 * Describes the message noteweft.v1.StatusResponse.
 * Use `create(StatusResponseSchema)` to create a new message.
 */
export const StatusResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 1);
/**
 * Describes the message noteweft.v1.Model.
 * Use `create(ModelSchema)` to create a new message.
 */
export const ModelSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 2);
/**
 * Describes the message noteweft.v1.VaultStatus.
 * Use `create(VaultStatusSchema)` to create a new message.
 */
export const VaultStatusSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 3);
/**
 * Describes the message noteweft.v1.CoverageRequest.
 * Use `create(CoverageRequestSchema)` to create a new message.
 */
export const CoverageRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 4);
/**
 * Describes the message noteweft.v1.CoverageResponse.
 * Use `create(CoverageResponseSchema)` to create a new message.
 */
export const CoverageResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 5);
/**
 * Describes the message noteweft.v1.FileCoverage.
 * Use `create(FileCoverageSchema)` to create a new message.
 */
export const FileCoverageSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 6);
/**
 * Describes the message noteweft.v1.Diagnostic.
 * Use `create(DiagnosticSchema)` to create a new message.
 */
export const DiagnosticSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 7);
/**
 * Describes the message noteweft.v1.SettingsRequest.
 * Use `create(SettingsRequestSchema)` to create a new message.
 */
export const SettingsRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 8);
/**
 * Describes the message noteweft.v1.SettingsResponse.
 * Use `create(SettingsResponseSchema)` to create a new message.
 */
export const SettingsResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 9);
/**
 * Describes the message noteweft.v1.Setting.
 * Use `create(SettingSchema)` to create a new message.
 */
export const SettingSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 10);
/**
 * Describes the message noteweft.v1.ReindexRequest.
 * Use `create(ReindexRequestSchema)` to create a new message.
 */
export const ReindexRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 11);
/**
 * Describes the message noteweft.v1.ReindexResponse.
 * Use `create(ReindexResponseSchema)` to create a new message.
 */
export const ReindexResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 12);
/**
 * Describes the message noteweft.v1.FlushRequest.
 * Use `create(FlushRequestSchema)` to create a new message.
 */
export const FlushRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 13);
/**
 * Describes the message noteweft.v1.FlushResponse.
 * Use `create(FlushResponseSchema)` to create a new message.
 */
export const FlushResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 14);
/**
 * Describes the message noteweft.v1.BackupRequest.
 * Use `create(BackupRequestSchema)` to create a new message.
 */
export const BackupRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 15);
/**
 * Describes the message noteweft.v1.BackupResponse.
 * Use `create(BackupResponseSchema)` to create a new message.
 */
export const BackupResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 16);
/**
 * Describes the message noteweft.v1.WatchGenerationsRequest.
 * Use `create(WatchGenerationsRequestSchema)` to create a new message.
 */
export const WatchGenerationsRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 17);
/**
 * Describes the message noteweft.v1.WatchGenerationsResponse.
 * Use `create(WatchGenerationsResponseSchema)` to create a new message.
 */
export const WatchGenerationsResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_admin, 18);
/**
 * What the writer is doing.
 *
 * @generated from enum noteweft.v1.Phase
 */
export var Phase;
(function (Phase) {
    /**
     * Never sent.
     *
     * @generated from enum value: PHASE_UNSPECIFIED = 0;
     */
    Phase[Phase["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Reading the store.
     *
     * @generated from enum value: PHASE_OPENING = 1;
     */
    Phase[Phase["OPENING"] = 1] = "OPENING";
    /**
     * Looking for changed files.
     *
     * @generated from enum value: PHASE_SCANNING = 2;
     */
    Phase[Phase["SCANNING"] = 2] = "SCANNING";
    /**
     * Reading files; words and links follow at once.
     *
     * @generated from enum value: PHASE_INDEXING = 3;
     */
    Phase[Phase["INDEXING"] = 3] = "INDEXING";
    /**
     * Making vectors; words and links are in.
     *
     * @generated from enum value: PHASE_EMBEDDING = 4;
     */
    Phase[Phase["EMBEDDING"] = 4] = "EMBEDDING";
    /**
     * Nothing: the index is up to date.
     *
     * @generated from enum value: PHASE_READY = 5;
     */
    Phase[Phase["READY"] = 5] = "READY";
})(Phase || (Phase = {}));
/**
 * Describes the enum noteweft.v1.Phase.
 */
export const PhaseSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_admin, 0);
/**
 * What became of a file.
 *
 * @generated from enum noteweft.v1.FileState
 */
export var FileState;
(function (FileState) {
    /**
     * Never sent.
     *
     * @generated from enum value: FILE_STATE_UNSPECIFIED = 0;
     */
    FileState[FileState["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * In the index, with all its vectors.
     *
     * @generated from enum value: FILE_STATE_INDEXED = 1;
     */
    FileState[FileState["INDEXED"] = 1] = "INDEXED";
    /**
     * In the index; vectors are missing.
     *
     * @generated from enum value: FILE_STATE_PENDING = 2;
     */
    FileState[FileState["PENDING"] = 2] = "PENDING";
    /**
     * Left out on purpose, for `reason`.
     *
     * @generated from enum value: FILE_STATE_SKIPPED = 3;
     */
    FileState[FileState["SKIPPED"] = 3] = "SKIPPED";
    /**
     * Not readable, for `reason`.
     *
     * @generated from enum value: FILE_STATE_FAILED = 4;
     */
    FileState[FileState["FAILED"] = 4] = "FAILED";
})(FileState || (FileState = {}));
/**
 * Describes the enum noteweft.v1.FileState.
 */
export const FileStateSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_admin, 1);
/**
 * How changes of a vault's files are noticed.
 *
 * @generated from enum noteweft.v1.WatchState
 */
export var WatchState;
(function (WatchState) {
    /**
     * Never sent.
     *
     * @generated from enum value: WATCH_STATE_UNSPECIFIED = 0;
     */
    WatchState[WatchState["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Not by themselves.
     *
     * @generated from enum value: WATCH_STATE_OFF = 1;
     */
    WatchState[WatchState["OFF"] = 1] = "OFF";
    /**
     * The system announces them.
     *
     * @generated from enum value: WATCH_STATE_ANNOUNCED = 2;
     */
    WatchState[WatchState["ANNOUNCED"] = 2] = "ANNOUNCED";
    /**
     * All files are looked at from time to time.
     *
     * @generated from enum value: WATCH_STATE_POLLED = 3;
     */
    WatchState[WatchState["POLLED"] = 3] = "POLLED";
})(WatchState || (WatchState = {}));
/**
 * Describes the enum noteweft.v1.WatchState.
 */
export const WatchStateSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_admin, 2);
/**
 * How much a diagnostic takes away.
 *
 * @generated from enum noteweft.v1.Severity
 */
export var Severity;
(function (Severity) {
    /**
     * Never sent.
     *
     * @generated from enum value: SEVERITY_UNSPECIFIED = 0;
     */
    Severity[Severity["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Everything was read; something is odd.
     *
     * @generated from enum value: SEVERITY_NOTICE = 1;
     */
    Severity[Severity["NOTICE"] = 1] = "NOTICE";
    /**
     * Part of the file is missing from the index.
     *
     * @generated from enum value: SEVERITY_WARNING = 2;
     */
    Severity[Severity["WARNING"] = 2] = "WARNING";
})(Severity || (Severity = {}));
/**
 * Describes the enum noteweft.v1.Severity.
 */
export const SeveritySchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_admin, 3);
/**
 * Watches over the index.
 *
 * @generated from service noteweft.v1.AdminService
 */
export const AdminService = /*@__PURE__*/ serviceDesc(file_noteweft_v1_admin, 0);
