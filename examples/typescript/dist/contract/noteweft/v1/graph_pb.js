// Questions about links.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_noteweft_v1_common } from "./common_pb.js";
import { file_noteweft_v1_note } from "./note_pb.js";
/**
 * Describes the file noteweft/v1/graph.proto.
 */
export const file_noteweft_v1_graph = /*@__PURE__*/ fileDesc("Chdub3Rld2VmdC92MS9ncmFwaC5wcm90bxILbm90ZXdlZnQudjEiggEKDUV4cG9ydFJlcXVlc3QSIwoGZmlsdGVyGAEgASgLMhMubm90ZXdlZnQudjEuRmlsdGVyEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESACIAQESEgoFYXNfb2YYZSABKARIAYgBAUIRCg9fbWluX2dlbmVyYXRpb25CCAoGX2FzX29mInQKDkV4cG9ydFJlc3BvbnNlEiYKBW5vZGVzGAEgAygLMhcubm90ZXdlZnQudjEuRXhwb3J0Tm9kZRImCgVlZGdlcxgCIAMoCzIXLm5vdGV3ZWZ0LnYxLkV4cG9ydEVkZ2USEgoKZ2VuZXJhdGlvbhgDIAEoBCKCAQoKRXhwb3J0Tm9kZRIKCgJpZBgBIAEoCRINCgV0aXRsZRgCIAEoCRIRCgRwYXRoGAMgASgJSACIAQESEQoEdHlwZRgEIAEoCUgBiAEBEgwKBHRhZ3MYBSADKAkSEwoLcGxhY2Vob2xkZXIYBiABKAhCBwoFX3BhdGhCBwoFX3R5cGUiXQoKRXhwb3J0RWRnZRIMCgRmcm9tGAEgASgJEgoKAnRvGAIgASgJEgwKBHR5cGUYAyABKAkSJwoGc291cmNlGAQgASgOMhcubm90ZXdlZnQudjEuTGlua1NvdXJjZSLoAgoOUmVsYXRlZFJlcXVlc3QSDQoFZm9jdXMYASABKAkSEwoGYnVkZ2V0GAIgASgDSACIAQESEwoGd2luZG93GAMgASgDSAGIAQESFgoJZXN0aW1hdG9yGAQgASgJSAKIAQESIwoGZmlsdGVyGAUgASgLMhMubm90ZXdlZnQudjEuRmlsdGVyEhIKCmJvZHlfbGlua3MYBiABKAgSGQoRc2libGluZ19vZl90YXJnZXQYByABKAgSFAoMcmVzdW1lX3Rva2VuGAggASgJEikKCXJlbmRlcmluZxgJIAEoDjIWLm5vdGV3ZWZ0LnYxLlJlbmRlcmluZxIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgDiAEBEhIKBWFzX29mGGUgASgESASIAQFCCQoHX2J1ZGdldEIJCgdfd2luZG93QgwKCl9lc3RpbWF0b3JCEQoPX21pbl9nZW5lcmF0aW9uQggKBl9hc19vZiLaAgoPUmVsYXRlZFJlc3BvbnNlEioKCmZvY3VzX25vdGUYASABKAsyFi5ub3Rld2VmdC52MS5Gb2N1c05vdGUSLwoNcmVsYXRlZF9ub3RlcxgCIAMoCzIYLm5vdGV3ZWZ0LnYxLlJlbGF0ZWROb3RlEg4KBmJ1ZGdldBgDIAEoBBIMCgR1c2VkGAQgASgEEhEKCXJlbWFpbmluZxgFIAEoBBIUCgxmb2N1c190b2tlbnMYBiABKAQSKQoHc2tpcHBlZBgHIAMoCzIYLm5vdGV3ZWZ0LnYxLlNraXBwZWROb3RlEhQKDHNraXBwZWRfbW9yZRgIIAEoCBIZCgxyZXN1bWVfdG9rZW4YCSABKAlIAIgBARISCgpnZW5lcmF0aW9uGAogASgEEhUKCHJlbmRlcmVkGAsgASgJSAGIAQFCDwoNX3Jlc3VtZV90b2tlbkILCglfcmVuZGVyZWQirAMKCUZvY3VzTm90ZRILCgN1cmkYASABKAkSDQoFdGl0bGUYAiABKAkSDwoHZGV0YWlscxgDIAEoCRIpCgZwYXJlbnQYBCABKAsyFC5ub3Rld2VmdC52MS5Ob3RlUmVmSACIAQESKQoGb2JqZWN0GAUgASgLMhQubm90ZXdlZnQudjEuTm90ZVJlZkgBiAEBEicKCHJlbGF0aW9uGAYgASgOMhUubm90ZXdlZnQudjEuUmVsYXRpb24SLQoPY29udGV4dHVhbF9wYXRoGAcgAygLMhQubm90ZXdlZnQudjEuTm90ZVJlZhImCghjaGlsZHJlbhgIIAMoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSKAoKcmVmZXJyaW5ncxgJIAMoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSLAoOcHJpb3Jfc2libGluZ3MYCiADKAsyFC5ub3Rld2VmdC52MS5Ob3RlUmVmEi4KEHlvdW5nZXJfc2libGluZ3MYCyADKAsyFC5ub3Rld2VmdC52MS5Ob3RlUmVmQgkKB19wYXJlbnRCCQoHX29iamVjdCKhAgoLUmVsYXRlZE5vdGUSCwoDdXJpGAEgASgJEg0KBXRpdGxlGAIgASgJEg8KB2RldGFpbHMYAyABKAkSEQoJdHJ1bmNhdGVkGAQgASgIEikKBnBhcmVudBgFIAEoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWZIAIgBARIpCgZvYmplY3QYBiABKAsyFC5ub3Rld2VmdC52MS5Ob3RlUmVmSAGIAQESJwoIcmVsYXRpb24YByABKA4yFS5ub3Rld2VmdC52MS5SZWxhdGlvbhItCg5hbHNvX3JlbGF0aW9ucxgIIAMoDjIVLm5vdGV3ZWZ0LnYxLlJlbGF0aW9uEg4KBnRva2VucxgJIAEoBEIJCgdfcGFyZW50QgkKB19vYmplY3QiUwoLU2tpcHBlZE5vdGUSCwoDdXJpGAEgASgJEicKCHJlbGF0aW9uGAIgASgOMhUubm90ZXdlZnQudjEuUmVsYXRpb24SDgoGdG9rZW5zGAMgASgEIm4KCkVkZ2VGaWx0ZXISDQoFdHlwZXMYASADKAkSFQoNZXhjbHVkZV90eXBlcxgCIAMoCRISCgp0eXBlZF9vbmx5GAMgASgIEhMKC2lubGluZV9vbmx5GAQgASgIEhEKCWhpZXJhcmNoeRgFIAEoCCKZAQoIV2Fsa05vZGUSCgoCaWQYASABKAkSDQoFdGl0bGUYAiABKAkSEQoEdHlwZRgDIAEoCUgAiAEBEgwKBHRhZ3MYBCADKAkSDAoEcGF0aBgFIAEoCRIQCgNob3AYBiABKA1IAYgBARIUCgdzdW1tYXJ5GAcgASgJSAKIAQFCBwoFX3R5cGVCBgoEX2hvcEIKCghfc3VtbWFyeSJbCghXYWxrRWRnZRIMCgRmcm9tGAEgASgJEgoKAnRvGAIgASgJEgwKBHR5cGUYAyABKAkSJwoGc291cmNlGAQgASgOMhcubm90ZXdlZnQudjEuRWRnZVNvdXJjZSIxCghUcmVlRWRnZRIMCgRmcm9tGAEgASgJEgoKAnRvGAIgASgJEgsKA2hvcBgDIAEoDSIuCg5VbnJlc29sdmVkTGluaxIMCgRmcm9tGAEgASgJEg4KBnRhcmdldBgCIAEoCSKkAwoLVHJlZVJlcXVlc3QSDQoFcm9vdHMYASADKAkSKQoJZGlyZWN0aW9uGAIgASgOMhYubm90ZXdlZnQudjEuRGlyZWN0aW9uEiYKBWVkZ2VzGAMgASgLMhcubm90ZXdlZnQudjEuRWRnZUZpbHRlchIjCgZmaWx0ZXIYBCABKAsyEy5ub3Rld2VmdC52MS5GaWx0ZXISFQoIbWF4X2hvcHMYBSABKA1IAIgBARIWCgltYXhfbm9kZXMYBiABKA1IAYgBARIWCgltYXhfZWRnZXMYByABKA1IAogBARIXCgptYXhfZmFub3V0GAggASgNSAOIAQESFQoNaW52ZXJzZV9uYW1lcxgJIAEoCBIRCglzdW1tYXJpZXMYCiABKAgSGwoObWluX2dlbmVyYXRpb24YZCABKARIBIgBARISCgVhc19vZhhlIAEoBEgFiAEBQgsKCV9tYXhfaG9wc0IMCgpfbWF4X25vZGVzQgwKCl9tYXhfZWRnZXNCDQoLX21heF9mYW5vdXRCEQoPX21pbl9nZW5lcmF0aW9uQggKBl9hc19vZiKIBAoMVHJlZVJlc3BvbnNlEgwKBHJvb3QYASABKAkSDQoFcm9vdHMYAiADKAkSKQoJZGlyZWN0aW9uGAMgASgOMhYubm90ZXdlZnQudjEuRGlyZWN0aW9uEhUKCG1heF9ob3BzGAQgASgNSACIAQESEQoJdHJ1bmNhdGVkGAUgASgIEigKDHRydW5jYXRlZF9ieRgGIAMoDjISLm5vdGV3ZWZ0LnYxLkxpbWl0EiQKBW5vZGVzGAcgAygLMhUubm90ZXdlZnQudjEuV2Fsa05vZGUSJAoFZWRnZXMYCCADKAsyFS5ub3Rld2VmdC52MS5XYWxrRWRnZRIsCg1zcGFubmluZ190cmVlGAkgAygLMhUubm90ZXdlZnQudjEuVHJlZUVkZ2USLwoKdW5yZXNvbHZlZBgKIAMoCzIbLm5vdGV3ZWZ0LnYxLlVucmVzb2x2ZWRMaW5rEhcKD21vcmVfdW5yZXNvbHZlZBgLIAEoCBJCCg1pbnZlcnNlX25hbWVzGAwgAygLMisubm90ZXdlZnQudjEuVHJlZVJlc3BvbnNlLkludmVyc2VOYW1lc0VudHJ5EhIKCmdlbmVyYXRpb24YDSABKAQaMwoRSW52ZXJzZU5hbWVzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUILCglfbWF4X2hvcHMi4gIKC1BhdGhSZXF1ZXN0EgwKBGZyb20YASABKAkSCgoCdG8YAiABKAkSKQoJZGlyZWN0aW9uGAMgASgOMhYubm90ZXdlZnQudjEuRGlyZWN0aW9uEiYKBWVkZ2VzGAQgASgLMhcubm90ZXdlZnQudjEuRWRnZUZpbHRlchIjCgZmaWx0ZXIYBSABKAsyEy5ub3Rld2VmdC52MS5GaWx0ZXISFQoIbWF4X2hvcHMYBiABKA1IAIgBARIlCgVjb3N0cxgHIAEoCzIWLm5vdGV3ZWZ0LnYxLlBhdGhDb3N0cxIVCg1pbnZlcnNlX25hbWVzGAggASgIEhEKCXN1bW1hcmllcxgJIAEoCBIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgBiAEBEhIKBWFzX29mGGUgASgESAKIAQFCCwoJX21heF9ob3BzQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YinwEKCVBhdGhDb3N0cxISCgV0eXBlZBgBIAEoDUgAiAEBEhMKBmlubGluZRgCIAEoDUgBiAEBEhYKCWhpZXJhcmNoeRgDIAEoDUgCiAEBEhsKDnZhbHVlX3Byb3BlcnR5GAQgASgJSAOIAQFCCAoGX3R5cGVkQgkKB19pbmxpbmVCDAoKX2hpZXJhcmNoeUIRCg9fdmFsdWVfcHJvcGVydHkingMKDFBhdGhSZXNwb25zZRIMCgRmcm9tGAEgASgJEgoKAnRvGAIgASgJEikKCWRpcmVjdGlvbhgDIAEoDjIWLm5vdGV3ZWZ0LnYxLkRpcmVjdGlvbhIVCghtYXhfaG9wcxgEIAEoDUgAiAEBEg0KBWZvdW5kGAUgASgIEg4KBmxlbmd0aBgGIAEoDRIRCgRjb3N0GAcgASgESAGIAQESJAoFbm9kZXMYCCADKAsyFS5ub3Rld2VmdC52MS5XYWxrTm9kZRIkCgVlZGdlcxgJIAMoCzIVLm5vdGV3ZWZ0LnYxLldhbGtFZGdlEhEKCXRydW5jYXRlZBgKIAEoCBJCCg1pbnZlcnNlX25hbWVzGAsgAygLMisubm90ZXdlZnQudjEuUGF0aFJlc3BvbnNlLkludmVyc2VOYW1lc0VudHJ5EhIKCmdlbmVyYXRpb24YDCABKAQaMwoRSW52ZXJzZU5hbWVzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUILCglfbWF4X2hvcHNCBwoFX2Nvc3QiowIKEE5laWdoYm9yc1JlcXVlc3QSDAoEbm90ZRgBIAEoCRIpCglkaXJlY3Rpb24YAiABKA4yFi5ub3Rld2VmdC52MS5EaXJlY3Rpb24SJgoFZWRnZXMYAyABKAsyFy5ub3Rld2VmdC52MS5FZGdlRmlsdGVyEiMKBmZpbHRlchgEIAEoCzITLm5vdGV3ZWZ0LnYxLkZpbHRlchIWCgltYXhfbm9kZXMYBSABKA1IAIgBARIVCg1pbnZlcnNlX25hbWVzGAYgASgIEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESAGIAQESEgoFYXNfb2YYZSABKARIAogBAUIMCgpfbWF4X25vZGVzQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YiMAoHRGVncmVlcxIKCgJpbhgBIAEoDRILCgNvdXQYAiABKA0SDAoEYm90aBgDIAEoDSLNAgoRTmVpZ2hib3JzUmVzcG9uc2USDAoEcm9vdBgBIAEoCRINCgV0aXRsZRgCIAEoCRIpCglkaXJlY3Rpb24YAyABKA4yFi5ub3Rld2VmdC52MS5EaXJlY3Rpb24SJQoHZGVncmVlcxgEIAEoCzIULm5vdGV3ZWZ0LnYxLkRlZ3JlZXMSJAoFbm9kZXMYBSADKAsyFS5ub3Rld2VmdC52MS5OZWlnaGJvchIRCgl0cnVuY2F0ZWQYBiABKAgSRwoNaW52ZXJzZV9uYW1lcxgHIAMoCzIwLm5vdGV3ZWZ0LnYxLk5laWdoYm9yc1Jlc3BvbnNlLkludmVyc2VOYW1lc0VudHJ5EhIKCmdlbmVyYXRpb24YCCABKAQaMwoRSW52ZXJzZU5hbWVzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASKqAQoITmVpZ2hib3ISCgoCaWQYASABKAkSDQoFdGl0bGUYAiABKAkSEQoEdHlwZRgDIAEoCUgAiAEBEgwKBHRhZ3MYBCADKAkSDAoEcGF0aBgFIAEoCRIlCgdkZWdyZWVzGAYgASgLMhQubm90ZXdlZnQudjEuRGVncmVlcxIkCgVlZGdlcxgHIAMoCzIVLm5vdGV3ZWZ0LnYxLldhbGtFZGdlQgcKBV90eXBlIocCCg9TdWJncmFwaFJlcXVlc3QSDQoFbm90ZXMYASADKAkSIwoGZmlsdGVyGAIgASgLMhMubm90ZXdlZnQudjEuRmlsdGVyEiYKBWVkZ2VzGAMgASgLMhcubm90ZXdlZnQudjEuRWRnZUZpbHRlchIWCgltYXhfbm9kZXMYBCABKA1IAIgBARIWCgltYXhfZWRnZXMYBSABKA1IAYgBARIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgCiAEBEhIKBWFzX29mGGUgASgESAOIAQFCDAoKX21heF9ub2Rlc0IMCgpfbWF4X2VkZ2VzQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YirwEKEFN1YmdyYXBoUmVzcG9uc2USJAoFbm9kZXMYASADKAsyFS5ub3Rld2VmdC52MS5XYWxrTm9kZRIkCgVlZGdlcxgCIAMoCzIVLm5vdGV3ZWZ0LnYxLldhbGtFZGdlEhEKCXRydW5jYXRlZBgDIAEoCBIoCgx0cnVuY2F0ZWRfYnkYBCADKA4yEi5ub3Rld2VmdC52MS5MaW1pdBISCgpnZW5lcmF0aW9uGAUgASgEIvoBCg1DeWNsZXNSZXF1ZXN0EiYKBWVkZ2VzGAEgASgLMhcubm90ZXdlZnQudjEuRWRnZUZpbHRlchIjCgZmaWx0ZXIYAiABKAsyEy5ub3Rld2VmdC52MS5GaWx0ZXISFwoKbWF4X2xlbmd0aBgDIAEoDUgAiAEBEhcKCm1heF9jeWNsZXMYBCABKA1IAYgBARIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgCiAEBEhIKBWFzX29mGGUgASgESAOIAQFCDQoLX21heF9sZW5ndGhCDQoLX21heF9jeWNsZXNCEQoPX21pbl9nZW5lcmF0aW9uQggKBl9hc19vZiJbCg5DeWNsZXNSZXNwb25zZRIiCgZjeWNsZXMYASADKAsyEi5ub3Rld2VmdC52MS5DeWNsZRIRCgl0cnVuY2F0ZWQYAiABKAgSEgoKZ2VuZXJhdGlvbhgDIAEoBCJSCgVDeWNsZRIjCgVub2RlcxgBIAMoCzIULm5vdGV3ZWZ0LnYxLk5vdGVSZWYSJAoFZWRnZXMYAiADKAsyFS5ub3Rld2VmdC52MS5XYWxrRWRnZSLoAQoOT3JwaGFuc1JlcXVlc3QSKQoJZGlyZWN0aW9uGAEgASgOMhYubm90ZXdlZnQudjEuRGlyZWN0aW9uEiMKBmZpbHRlchgCIAEoCzITLm5vdGV3ZWZ0LnYxLkZpbHRlchIWCglwYWdlX3NpemUYAyABKA1IAIgBARISCgpwYWdlX3Rva2VuGAQgASgJEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESAGIAQESEgoFYXNfb2YYZSABKARIAogBAUIMCgpfcGFnZV9zaXplQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YidgoPT3JwaGFuc1Jlc3BvbnNlEicKBW5vdGVzGAEgAygLMhgubm90ZXdlZnQudjEuTm90ZVN1bW1hcnkSFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJEg0KBXRvdGFsGAMgASgEEhIKCmdlbmVyYXRpb24YBCABKAQiwAEKEVVucmVzb2x2ZWRSZXF1ZXN0EiMKBmZpbHRlchgBIAEoCzITLm5vdGV3ZWZ0LnYxLkZpbHRlchIWCglwYWdlX3NpemUYAiABKA1IAIgBARISCgpwYWdlX3Rva2VuGAMgASgJEhsKDm1pbl9nZW5lcmF0aW9uGGQgASgESAGIAQESEgoFYXNfb2YYZSABKARIAogBAUIMCgpfcGFnZV9zaXplQhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YilAEKElVucmVzb2x2ZWRSZXNwb25zZRIvCgp1bnJlc29sdmVkGAEgAygLMhsubm90ZXdlZnQudjEuVW5yZXNvbHZlZExpbmsSFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJEg0KBXRvdGFsGAMgASgEEhEKCW5fdGFyZ2V0cxgEIAEoBBISCgpnZW5lcmF0aW9uGAUgASgEIuABChRUb3BpY1NpYmxpbmdzUmVxdWVzdBIMCgRub3RlGAEgASgJEikKCWRpcmVjdGlvbhgCIAEoDjIWLm5vdGV3ZWZ0LnYxLkRpcmVjdGlvbhIjCgZmaWx0ZXIYAyABKAsyEy5ub3Rld2VmdC52MS5GaWx0ZXISEgoFbGltaXQYBCABKA1IAIgBARIbCg5taW5fZ2VuZXJhdGlvbhhkIAEoBEgBiAEBEhIKBWFzX29mGGUgASgESAKIAQFCCAoGX2xpbWl0QhEKD19taW5fZ2VuZXJhdGlvbkIICgZfYXNfb2YimgEKFVRvcGljU2libGluZ3NSZXNwb25zZRIiCgRub3RlGAEgASgLMhQubm90ZXdlZnQudjEuTm90ZVJlZhImCghzaWJsaW5ncxgCIAMoCzIULm5vdGV3ZWZ0LnYxLlNpYmxpbmcSEQoJdHJ1bmNhdGVkGAMgASgIEg4KBmNhcHBlZBgEIAMoCRISCgpnZW5lcmF0aW9uGAUgASgEIoEBCgdTaWJsaW5nEgsKA3VyaRgBIAEoCRIMCgRwYXRoGAIgASgJEg0KBXRpdGxlGAMgASgJEg0KBXNjb3JlGAQgASgBEiMKBGtpbmQYBSABKA4yFS5ub3Rld2VmdC52MS5OZWFybmVzcxIQCgN2aWEYBiABKAlIAIgBAUIGCgRfdmlhKt8ECghSZWxhdGlvbhIYChRSRUxBVElPTl9VTlNQRUNJRklFRBAAEhEKDVJFTEFUSU9OX1NFTEYQARITCg9SRUxBVElPTl9QQVJFTlQQAhITCg9SRUxBVElPTl9PQkpFQ1QQAxISCg5SRUxBVElPTl9DSElMRBAEEhoKFlJFTEFUSU9OX1BSSU9SX1NJQkxJTkcQBRIcChhSRUxBVElPTl9ZT1VOR0VSX1NJQkxJTkcQBhIbChdSRUxBVElPTl9SRUZFUlJJTkdfTk9URRAHEiQKIFJFTEFUSU9OX05PVEVfSU5fQ09OVEVYVFVBTF9QQVRIEAgSKwonUkVMQVRJT05fTk9URV9JTl9PQkpFQ1RfQ09OVEVYVFVBTF9QQVRIEAkSIQodUkVMQVRJT05fUkVJRklFRF9DSElMRF9PQkpFQ1QQChIbChdSRUxBVElPTl9QQVJFTlRfU0lCTElORxALEiIKHlJFTEFUSU9OX09CSkVDVF9QQVJFTlRfU0lCTElORxAMEh4KGlJFTEFUSU9OX1JFRkVSUklOR19TVUJKRUNUEA0SHgoaUkVMQVRJT05fU0lCTElOR19PRl9UQVJHRVQQDhIhCh1SRUxBVElPTl9QQVJFTlRfU0lCTElOR19DSElMRBAPEigKJFJFTEFUSU9OX09CSkVDVF9QQVJFTlRfU0lCTElOR19DSElMRBAQEi4KKlJFTEFUSU9OX05PVEVfSU5fUkVGRVJSSU5HX0NPTlRFWFRVQUxfUEFUSBAREh0KGVJFTEFUSU9OX1JFRkVSUklOR19DT1VTSU4QEipfCglEaXJlY3Rpb24SGQoVRElSRUNUSU9OX1VOU1BFQ0lGSUVEEAASEQoNRElSRUNUSU9OX09VVBABEhAKDERJUkVDVElPTl9JThACEhIKDkRJUkVDVElPTl9CT1RIEAMqcwoKRWRnZVNvdXJjZRIbChdFREdFX1NPVVJDRV9VTlNQRUNJRklFRBAAEhUKEUVER0VfU09VUkNFX1RZUEVEEAESFgoSRURHRV9TT1VSQ0VfSU5MSU5FEAISGQoVRURHRV9TT1VSQ0VfSElFUkFSQ0hZEAMqcgoFTGltaXQSFQoRTElNSVRfVU5TUEVDSUZJRUQQABISCg5MSU1JVF9NQVhfSE9QUxABEhMKD0xJTUlUX01BWF9OT0RFUxACEhMKD0xJTUlUX01BWF9FREdFUxADEhQKEExJTUlUX01BWF9GQU5PVVQQBCpPCghOZWFybmVzcxIYChRORUFSTkVTU19VTlNQRUNJRklFRBAAEhMKD05FQVJORVNTX0RJUkVDVBABEhQKEE5FQVJORVNTX1NJQkxJTkcQAjLYBQoMR3JhcGhTZXJ2aWNlEkQKB1JlbGF0ZWQSGy5ub3Rld2VmdC52MS5SZWxhdGVkUmVxdWVzdBocLm5vdGV3ZWZ0LnYxLlJlbGF0ZWRSZXNwb25zZRI7CgRUcmVlEhgubm90ZXdlZnQudjEuVHJlZVJlcXVlc3QaGS5ub3Rld2VmdC52MS5UcmVlUmVzcG9uc2USOwoEUGF0aBIYLm5vdGV3ZWZ0LnYxLlBhdGhSZXF1ZXN0Ghkubm90ZXdlZnQudjEuUGF0aFJlc3BvbnNlEkoKCU5laWdoYm9ycxIdLm5vdGV3ZWZ0LnYxLk5laWdoYm9yc1JlcXVlc3QaHi5ub3Rld2VmdC52MS5OZWlnaGJvcnNSZXNwb25zZRJWCg1Ub3BpY1NpYmxpbmdzEiEubm90ZXdlZnQudjEuVG9waWNTaWJsaW5nc1JlcXVlc3QaIi5ub3Rld2VmdC52MS5Ub3BpY1NpYmxpbmdzUmVzcG9uc2USRwoIU3ViZ3JhcGgSHC5ub3Rld2VmdC52MS5TdWJncmFwaFJlcXVlc3QaHS5ub3Rld2VmdC52MS5TdWJncmFwaFJlc3BvbnNlEkEKBkN5Y2xlcxIaLm5vdGV3ZWZ0LnYxLkN5Y2xlc1JlcXVlc3QaGy5ub3Rld2VmdC52MS5DeWNsZXNSZXNwb25zZRJECgdPcnBoYW5zEhsubm90ZXdlZnQudjEuT3JwaGFuc1JlcXVlc3QaHC5ub3Rld2VmdC52MS5PcnBoYW5zUmVzcG9uc2USTQoKVW5yZXNvbHZlZBIeLm5vdGV3ZWZ0LnYxLlVucmVzb2x2ZWRSZXF1ZXN0Gh8ubm90ZXdlZnQudjEuVW5yZXNvbHZlZFJlc3BvbnNlEkMKBkV4cG9ydBIaLm5vdGV3ZWZ0LnYxLkV4cG9ydFJlcXVlc3QaGy5ub3Rld2VmdC52MS5FeHBvcnRSZXNwb25zZTABYgZwcm90bzM", [file_noteweft_v1_common, file_noteweft_v1_note]);
/**
 * Describes the message noteweft.v1.ExportRequest.
 * Use `create(ExportRequestSchema)` to create a new message.
 */
export const ExportRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 0);
/**
 * Describes the message noteweft.v1.ExportResponse.
 * Use `create(ExportResponseSchema)` to create a new message.
 */
export const ExportResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 1);
/**
 * Describes the message noteweft.v1.ExportNode.
 * Use `create(ExportNodeSchema)` to create a new message.
 */
export const ExportNodeSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 2);
/**
 * Describes the message noteweft.v1.ExportEdge.
 * Use `create(ExportEdgeSchema)` to create a new message.
 */
export const ExportEdgeSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 3);
/**
 * Describes the message noteweft.v1.RelatedRequest.
 * Use `create(RelatedRequestSchema)` to create a new message.
 */
export const RelatedRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 4);
/**
 * Describes the message noteweft.v1.RelatedResponse.
 * Use `create(RelatedResponseSchema)` to create a new message.
 */
export const RelatedResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 5);
/**
 * Describes the message noteweft.v1.FocusNote.
 * Use `create(FocusNoteSchema)` to create a new message.
 */
export const FocusNoteSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 6);
/**
 * Describes the message noteweft.v1.RelatedNote.
 * Use `create(RelatedNoteSchema)` to create a new message.
 */
export const RelatedNoteSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 7);
/**
 * Describes the message noteweft.v1.SkippedNote.
 * Use `create(SkippedNoteSchema)` to create a new message.
 */
export const SkippedNoteSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 8);
/**
 * Describes the message noteweft.v1.EdgeFilter.
 * Use `create(EdgeFilterSchema)` to create a new message.
 */
export const EdgeFilterSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 9);
/**
 * Describes the message noteweft.v1.WalkNode.
 * Use `create(WalkNodeSchema)` to create a new message.
 */
export const WalkNodeSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 10);
/**
 * Describes the message noteweft.v1.WalkEdge.
 * Use `create(WalkEdgeSchema)` to create a new message.
 */
export const WalkEdgeSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 11);
/**
 * Describes the message noteweft.v1.TreeEdge.
 * Use `create(TreeEdgeSchema)` to create a new message.
 */
export const TreeEdgeSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 12);
/**
 * Describes the message noteweft.v1.UnresolvedLink.
 * Use `create(UnresolvedLinkSchema)` to create a new message.
 */
export const UnresolvedLinkSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 13);
/**
 * Describes the message noteweft.v1.TreeRequest.
 * Use `create(TreeRequestSchema)` to create a new message.
 */
export const TreeRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 14);
/**
 * Describes the message noteweft.v1.TreeResponse.
 * Use `create(TreeResponseSchema)` to create a new message.
 */
export const TreeResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 15);
/**
 * Describes the message noteweft.v1.PathRequest.
 * Use `create(PathRequestSchema)` to create a new message.
 */
export const PathRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 16);
/**
 * Describes the message noteweft.v1.PathCosts.
 * Use `create(PathCostsSchema)` to create a new message.
 */
export const PathCostsSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 17);
/**
 * Describes the message noteweft.v1.PathResponse.
 * Use `create(PathResponseSchema)` to create a new message.
 */
export const PathResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 18);
/**
 * Describes the message noteweft.v1.NeighborsRequest.
 * Use `create(NeighborsRequestSchema)` to create a new message.
 */
export const NeighborsRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 19);
/**
 * Describes the message noteweft.v1.Degrees.
 * Use `create(DegreesSchema)` to create a new message.
 */
export const DegreesSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 20);
/**
 * Describes the message noteweft.v1.NeighborsResponse.
 * Use `create(NeighborsResponseSchema)` to create a new message.
 */
export const NeighborsResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 21);
/**
 * Describes the message noteweft.v1.Neighbor.
 * Use `create(NeighborSchema)` to create a new message.
 */
export const NeighborSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 22);
/**
 * Describes the message noteweft.v1.SubgraphRequest.
 * Use `create(SubgraphRequestSchema)` to create a new message.
 */
export const SubgraphRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 23);
/**
 * Describes the message noteweft.v1.SubgraphResponse.
 * Use `create(SubgraphResponseSchema)` to create a new message.
 */
export const SubgraphResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 24);
/**
 * Describes the message noteweft.v1.CyclesRequest.
 * Use `create(CyclesRequestSchema)` to create a new message.
 */
export const CyclesRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 25);
/**
 * Describes the message noteweft.v1.CyclesResponse.
 * Use `create(CyclesResponseSchema)` to create a new message.
 */
export const CyclesResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 26);
/**
 * Describes the message noteweft.v1.Cycle.
 * Use `create(CycleSchema)` to create a new message.
 */
export const CycleSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 27);
/**
 * Describes the message noteweft.v1.OrphansRequest.
 * Use `create(OrphansRequestSchema)` to create a new message.
 */
export const OrphansRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 28);
/**
 * Describes the message noteweft.v1.OrphansResponse.
 * Use `create(OrphansResponseSchema)` to create a new message.
 */
export const OrphansResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 29);
/**
 * Describes the message noteweft.v1.UnresolvedRequest.
 * Use `create(UnresolvedRequestSchema)` to create a new message.
 */
export const UnresolvedRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 30);
/**
 * Describes the message noteweft.v1.UnresolvedResponse.
 * Use `create(UnresolvedResponseSchema)` to create a new message.
 */
export const UnresolvedResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 31);
/**
 * Describes the message noteweft.v1.TopicSiblingsRequest.
 * Use `create(TopicSiblingsRequestSchema)` to create a new message.
 */
export const TopicSiblingsRequestSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 32);
/**
 * Describes the message noteweft.v1.TopicSiblingsResponse.
 * Use `create(TopicSiblingsResponseSchema)` to create a new message.
 */
export const TopicSiblingsResponseSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 33);
/**
 * Describes the message noteweft.v1.Sibling.
 * Use `create(SiblingSchema)` to create a new message.
 */
export const SiblingSchema = /*@__PURE__*/ messageDesc(file_noteweft_v1_graph, 34);
/**
 * How a note stands to the focus note.
 *
 * A note with an object states a relation: its parent is the subject, its title the predicate.
 *
 * @generated from enum noteweft.v1.Relation
 */
export var Relation;
(function (Relation) {
    /**
     * Never sent.
     *
     * @generated from enum value: RELATION_UNSPECIFIED = 0;
     */
    Relation[Relation["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * It is the focus note.
     *
     * @generated from enum value: RELATION_SELF = 1;
     */
    Relation[Relation["SELF"] = 1] = "SELF";
    /**
     * The note above the focus note.
     *
     * @generated from enum value: RELATION_PARENT = 2;
     */
    Relation[Relation["PARENT"] = 2] = "PARENT";
    /**
     * The note that the focus note is about.
     *
     * @generated from enum value: RELATION_OBJECT = 3;
     */
    Relation[Relation["OBJECT"] = 3] = "OBJECT";
    /**
     * A note below the focus note.
     *
     * @generated from enum value: RELATION_CHILD = 4;
     */
    Relation[Relation["CHILD"] = 4] = "CHILD";
    /**
     * A child of the same parent that stands before it.
     *
     * @generated from enum value: RELATION_PRIOR_SIBLING = 5;
     */
    Relation[Relation["PRIOR_SIBLING"] = 5] = "PRIOR_SIBLING";
    /**
     * A child of the same parent that stands after it.
     *
     * @generated from enum value: RELATION_YOUNGER_SIBLING = 6;
     */
    Relation[Relation["YOUNGER_SIBLING"] = 6] = "YOUNGER_SIBLING";
    /**
     * A note whose object is the focus note.
     *
     * @generated from enum value: RELATION_REFERRING_NOTE = 7;
     */
    Relation[Relation["REFERRING_NOTE"] = 7] = "REFERRING_NOTE";
    /**
     * An ancestor of the focus note.
     *
     * @generated from enum value: RELATION_NOTE_IN_CONTEXTUAL_PATH = 8;
     */
    Relation[Relation["NOTE_IN_CONTEXTUAL_PATH"] = 8] = "NOTE_IN_CONTEXTUAL_PATH";
    /**
     * An ancestor of the object.
     *
     * @generated from enum value: RELATION_NOTE_IN_OBJECT_CONTEXTUAL_PATH = 9;
     */
    Relation[Relation["NOTE_IN_OBJECT_CONTEXTUAL_PATH"] = 9] = "NOTE_IN_OBJECT_CONTEXTUAL_PATH";
    /**
     * The object of a child.
     *
     * @generated from enum value: RELATION_REIFIED_CHILD_OBJECT = 10;
     */
    Relation[Relation["REIFIED_CHILD_OBJECT"] = 10] = "REIFIED_CHILD_OBJECT";
    /**
     * A sibling of the parent.
     *
     * @generated from enum value: RELATION_PARENT_SIBLING = 11;
     */
    Relation[Relation["PARENT_SIBLING"] = 11] = "PARENT_SIBLING";
    /**
     * A sibling of the object's parent.
     *
     * @generated from enum value: RELATION_OBJECT_PARENT_SIBLING = 12;
     */
    Relation[Relation["OBJECT_PARENT_SIBLING"] = 12] = "OBJECT_PARENT_SIBLING";
    /**
     * The parent of a referring note.
     *
     * @generated from enum value: RELATION_REFERRING_SUBJECT = 13;
     */
    Relation[Relation["REFERRING_SUBJECT"] = 13] = "REFERRING_SUBJECT";
    /**
     * Another note with the same object.
     *
     * @generated from enum value: RELATION_SIBLING_OF_TARGET = 14;
     */
    Relation[Relation["SIBLING_OF_TARGET"] = 14] = "SIBLING_OF_TARGET";
    /**
     * A child of a parent's sibling.
     *
     * @generated from enum value: RELATION_PARENT_SIBLING_CHILD = 15;
     */
    Relation[Relation["PARENT_SIBLING_CHILD"] = 15] = "PARENT_SIBLING_CHILD";
    /**
     * A child of a sibling of the object's parent.
     *
     * @generated from enum value: RELATION_OBJECT_PARENT_SIBLING_CHILD = 16;
     */
    Relation[Relation["OBJECT_PARENT_SIBLING_CHILD"] = 16] = "OBJECT_PARENT_SIBLING_CHILD";
    /**
     * An ancestor of a referring note.
     *
     * @generated from enum value: RELATION_NOTE_IN_REFERRING_CONTEXTUAL_PATH = 17;
     */
    Relation[Relation["NOTE_IN_REFERRING_CONTEXTUAL_PATH"] = 17] = "NOTE_IN_REFERRING_CONTEXTUAL_PATH";
    /**
     * Another child of a referring note's parent.
     *
     * @generated from enum value: RELATION_REFERRING_COUSIN = 18;
     */
    Relation[Relation["REFERRING_COUSIN"] = 18] = "REFERRING_COUSIN";
})(Relation || (Relation = {}));
/**
 * Describes the enum noteweft.v1.Relation.
 */
export const RelationSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_graph, 0);
/**
 * Which edges of a note are followed.
 *
 * @generated from enum noteweft.v1.Direction
 */
export var Direction;
(function (Direction) {
    /**
     * The same as `DIRECTION_BOTH`.
     *
     * @generated from enum value: DIRECTION_UNSPECIFIED = 0;
     */
    Direction[Direction["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Links of the note.
     *
     * @generated from enum value: DIRECTION_OUT = 1;
     */
    Direction[Direction["OUT"] = 1] = "OUT";
    /**
     * Links to the note.
     *
     * @generated from enum value: DIRECTION_IN = 2;
     */
    Direction[Direction["IN"] = 2] = "IN";
    /**
     * Both.
     *
     * @generated from enum value: DIRECTION_BOTH = 3;
     */
    Direction[Direction["BOTH"] = 3] = "BOTH";
})(Direction || (Direction = {}));
/**
 * Describes the enum noteweft.v1.Direction.
 */
export const DirectionSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_graph, 1);
/**
 * Where an edge comes from.
 *
 * @generated from enum noteweft.v1.EdgeSource
 */
export var EdgeSource;
(function (EdgeSource) {
    /**
     * Never sent.
     *
     * @generated from enum value: EDGE_SOURCE_UNSPECIFIED = 0;
     */
    EdgeSource[EdgeSource["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * A link in the frontmatter.
     *
     * @generated from enum value: EDGE_SOURCE_TYPED = 1;
     */
    EdgeSource[EdgeSource["TYPED"] = 1] = "TYPED";
    /**
     * A link in the body.
     *
     * @generated from enum value: EDGE_SOURCE_INLINE = 2;
     */
    EdgeSource[EdgeSource["INLINE"] = 2] = "INLINE";
    /**
     * The note's place below its parent, where no link says so; only where `hierarchy` is asked for.
     *
     * @generated from enum value: EDGE_SOURCE_HIERARCHY = 3;
     */
    EdgeSource[EdgeSource["HIERARCHY"] = 3] = "HIERARCHY";
})(EdgeSource || (EdgeSource = {}));
/**
 * Describes the enum noteweft.v1.EdgeSource.
 */
export const EdgeSourceSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_graph, 2);
/**
 * A bound of a walk.
 *
 * @generated from enum noteweft.v1.Limit
 */
export var Limit;
(function (Limit) {
    /**
     * Never sent.
     *
     * @generated from enum value: LIMIT_UNSPECIFIED = 0;
     */
    Limit[Limit["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Hops from the nearest root.
     *
     * @generated from enum value: LIMIT_MAX_HOPS = 1;
     */
    Limit[Limit["MAX_HOPS"] = 1] = "MAX_HOPS";
    /**
     * Notes of the answer.
     *
     * @generated from enum value: LIMIT_MAX_NODES = 2;
     */
    Limit[Limit["MAX_NODES"] = 2] = "MAX_NODES";
    /**
     * Edges of the answer.
     *
     * @generated from enum value: LIMIT_MAX_EDGES = 3;
     */
    Limit[Limit["MAX_EDGES"] = 3] = "MAX_EDGES";
    /**
     * Edges looked at per note.
     *
     * @generated from enum value: LIMIT_MAX_FANOUT = 4;
     */
    Limit[Limit["MAX_FANOUT"] = 4] = "MAX_FANOUT";
})(Limit || (Limit = {}));
/**
 * Describes the enum noteweft.v1.Limit.
 */
export const LimitSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_graph, 3);
/**
 * How a note is near another.
 *
 * @generated from enum noteweft.v1.Nearness
 */
export var Nearness;
(function (Nearness) {
    /**
     * Never sent.
     *
     * @generated from enum value: NEARNESS_UNSPECIFIED = 0;
     */
    Nearness[Nearness["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * A link joins them.
     *
     * @generated from enum value: NEARNESS_DIRECT = 1;
     */
    Nearness[Nearness["DIRECT"] = 1] = "DIRECT";
    /**
     * A topic joins them: both link to it.
     *
     * @generated from enum value: NEARNESS_SIBLING = 2;
     */
    Nearness[Nearness["SIBLING"] = 2] = "SIBLING";
})(Nearness || (Nearness = {}));
/**
 * Describes the enum noteweft.v1.Nearness.
 */
export const NearnessSchema = /*@__PURE__*/ enumDesc(file_noteweft_v1_graph, 4);
/**
 * Walks the links between notes.
 *
 * Walks stand in one order: by edge type, then the uri of the other end (both by bytes), outgoing before incoming, typed before inline.
 * An edge is reported once and as it is stored, from the note that links to the note linked to.
 * Links that no note answers to are no part of a walk.
 *
 * Every call: NOT_FOUND where a note is unknown, with near ones in the details; INVALID_ARGUMENT where a field cannot be used, with the field.
 *
 * @generated from service noteweft.v1.GraphService
 */
export const GraphService = /*@__PURE__*/ serviceDesc(file_noteweft_v1_graph, 0);
