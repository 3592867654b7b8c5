/** The body of every refused exchange. */
export const flatRefusal =
  '{"error":"invalid_request","error_description":"The token was not exchanged. An administrator can see why: POST /v1/access-rules/{id}/checks."}'
